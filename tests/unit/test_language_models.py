"""Uploaded language models: what is taken, what is refused, and that the store stays small."""

from __future__ import annotations

from pathlib import Path

import pytest

import asr_core
from asr_core.lm import write_arpa
from components.decoder_settings import take_upload
from components.language_models import LanguageModels
from components.settings import Settings


def arpa(path: Path, *sentence: int) -> Path:
    write_arpa(path, [sentence or (1, 2, 3)], vocabulary=8, order=2)
    return path


def test_the_same_file_is_read_once(tmp_path: Path) -> None:
    models = LanguageModels(max_mb=1)
    first = models.add(arpa(tmp_path / "a.arpa"), "mine.arpa")
    kept = models.get(first)
    assert models.add(arpa(tmp_path / "b.arpa"), "mine.arpa") == first
    assert models.get(first) is kept
    assert list(tmp_path.iterdir()) == [], "uploads must not pile up"


def test_a_name_is_told_to_nobody_else(tmp_path: Path) -> None:
    models = LanguageModels(max_mb=1)
    models.add(arpa(tmp_path / "a.arpa"), "secret project.arpa")
    key = models.add(arpa(tmp_path / "b.arpa"), "mine.arpa")
    assert models.get(key).source == "mine.arpa"


def test_the_one_unused_for_longest_goes(tmp_path: Path) -> None:
    models = LanguageModels(max_mb=1, kept=2)
    a = models.add(arpa(tmp_path / "a", 1), "a.arpa")
    b = models.add(arpa(tmp_path / "b", 2), "b.arpa")
    models.get(a)
    models.add(arpa(tmp_path / "c", 3), "c.arpa")
    assert len(models) == 2
    assert models.get(a).source == "a.arpa"
    with pytest.raises(asr_core.DecodingError, match="no longer kept"):
        models.get(b)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "notes.arpa is not a whole ARPA file"),
        (b"These are my notes.\n", "notes.arpa is not a whole ARPA file"),
        (b"\x00\xff\xfe", "not an ARPA file in UTF-8"),
        (b"\\data\\\nngram 1=2\n\n\\1-grams:\n-1\t\xc2\x80\n\\end\\\n", "declares [2] n-grams and holds [1]"),
        (b"\\data\\\nngram 1=1\n\n\\1-grams:\n-1\thello\n\\end\\\n", "Line 5 of notes.arpa"),
        (b"\\data\\\nngram 1=many\n", "Line 2 of notes.arpa"),
    ],
)
def test_what_is_no_language_model_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    models = LanguageModels(max_mb=1)
    file = tmp_path / "x.bin"
    file.write_bytes(content)
    with pytest.raises(asr_core.DecodingError) as error:
        models.add(file, "notes.arpa")
    assert said in str(error.value)
    assert "python -m asr_core.lm" in str(error.value)
    assert str(tmp_path) not in str(error.value)
    assert list(tmp_path.iterdir()) == []
    assert len(models) == 0


def test_a_file_above_the_limit_is_refused_unread(tmp_path: Path) -> None:
    file = tmp_path / "x.bin"
    file.write_bytes(b"\\data\\\n" + b" " * 2_000_000)
    with pytest.raises(asr_core.DecodingError, match=r"big\.arpa has 2 MB; language models up to 1 MB are taken here"):
        LanguageModels(max_mb=1).add(file, "big.arpa")


def test_an_upload_by_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path))
    (tmp_path / "abc").mkdir()
    models = LanguageModels(max_mb=1)
    answer = take_upload(models, [str(arpa(tmp_path / "abc" / "x.arpa")), "../../my <b>LM</b>.arpa"])
    assert answer["name"] == "../../my <b>LM</b>.arpa"
    assert "/" not in models.get(answer["id"]).source
    assert list(tmp_path.rglob("*.arpa")) == []


@pytest.mark.parametrize("request_", [None, [], ["/etc/passwd", "x"], [5, 6], ["a\0b", "x"], ["x" * 5000, "x"]])
def test_only_uploads_can_be_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request_: object) -> None:
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path))
    assert "did not arrive" in take_upload(LanguageModels(max_mb=1), request_)["error"]


def test_strangers_may_send_less() -> None:
    assert Settings.from_environment({"TOKENSCOPE_MODE": "hosted"}).max_lm_mb == 10
    assert Settings.from_environment({"TOKENSCOPE_MODE": "local"}).max_lm_mb == 100
    assert Settings.from_environment({"TOKENSCOPE_MAX_LM_MB": "3"}).max_lm_mb == 3
