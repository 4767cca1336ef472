"""What a model's name means, and what can be listed without loading anything."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from pathlib import Path

import pytest

from asr_core import ModelError, list_models
from asr_core.models import registry

KINDS = {"tdt", "rnnt", "ctc", "tdt_ctc", "rnnt_ctc", "whisper"}


def test_every_listed_model_can_be_named_to_a_person():
    for model in list_models():
        assert model.kind in KINDS
        assert "_".join(model.heads) == ("" if model.kind == "whisper" else model.kind)
        assert model.name
        assert model.license
        assert model.languages
        assert model.frame_seconds == (0.02 if model.kind == "whisper" else 0.08)
        assert model.parameters is model.dtype is model.device is None
    assert len({model.name for model in list_models()}) == len(list_models())


def test_what_is_listed_is_not_changed_by_accident():
    with pytest.raises(dataclasses.FrozenInstanceError):
        list_models()[0].name = "another"


def test_version_3_knows_25_european_languages():
    model = registry.known("mlx-community/parakeet-tdt-0.6b-v3")
    assert len(set(model.languages)) == 25


def test_a_name_becomes_a_place(tmp_path, monkeypatch):
    assert registry.locate("demo") == registry.DEMO_FOLDER
    assert registry.locate(tmp_path) == registry.locate(str(tmp_path)) == tmp_path
    archive = tmp_path / "model.nemo"
    archive.write_bytes(b"x")
    assert registry.locate(archive) == archive
    monkeypatch.setenv("HOME", str(tmp_path))
    assert registry.locate("~/model.nemo") == archive
    # A folder that is there goes before a repository of the same name.
    (tmp_path / "owner" / "name").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    assert registry.locate("owner/name") == Path("owner/name")


@pytest.mark.parametrize("source", ["", "tiny", "a/b/c", "/no/such/folder", "name with spaces", "https://x.org/y"])
def test_what_is_no_model_is_told_what_is(source):
    with pytest.raises(ModelError, match=r"a model is \"demo\", .*a folder .* Hub id such as owner/name"):
        registry.locate(source)


def test_listing_loads_neither_mlx_nor_a_page():
    program = (
        "import sys, asr_core; asr_core.list_models(); "
        "print([m for m in ('mlx', 'mlx.core', 'gradio', 'plotly', 'huggingface_hub') if m in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"
