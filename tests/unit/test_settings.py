"""Settings of a host: defaults, what the environment changes, and how a bad value is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from components.settings import Settings, SettingsError


def test_defaults(tmp_path: Path) -> None:
    settings = Settings.from_environment({"XDG_CACHE_HOME": str(tmp_path)})
    assert (settings.model, settings.mode, settings.max_minutes) == ("demo", "local", 120.0)
    assert settings.data == tmp_path / "tokenscope"
    assert (settings.host, settings.port) == ("127.0.0.1", None)


def test_the_environment_is_followed(tmp_path: Path) -> None:
    settings = Settings.from_environment(
        {
            "TOKENSCOPE_MODEL": "owner/name",
            "TOKENSCOPE_DATA": str(tmp_path / "deep" / "data"),
            "TOKENSCOPE_MODE": "hosted",
            "TOKENSCOPE_MAX_MINUTES": "2.5",
            "TOKENSCOPE_MAX_DOCUMENTS": "7",
            "GRADIO_SERVER_NAME": "0.0.0.0",
            "GRADIO_SERVER_PORT": "8123",
        }
    )
    assert (settings.model, settings.mode, settings.max_minutes) == ("owner/name", "hosted", 2.5)
    assert settings.data.is_dir()
    assert (settings.max_documents, settings.host, settings.port) == (7, "0.0.0.0", 8123)


def test_a_space_is_hosted_and_reachable(tmp_path: Path) -> None:
    settings = Settings.from_environment({"SPACE_ID": "owner/name", "TOKENSCOPE_DATA": str(tmp_path)})
    assert (settings.mode, settings.host, settings.port) == ("hosted", "0.0.0.0", 7860)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("TOKENSCOPE_MODE", "public"),
        ("TOKENSCOPE_MAX_MINUTES", "0"),
        ("TOKENSCOPE_MAX_MINUTES", "many"),
        ("TOKENSCOPE_MAX_MINUTES", "nan"),
        ("TOKENSCOPE_MAX_UPLOAD_MB", "1.5"),
        ("TOKENSCOPE_MAX_DOCUMENTS", "0"),
        ("GRADIO_SERVER_PORT", "70000"),
    ],
)
def test_a_bad_value_is_one_sentence_with_name_and_value(tmp_path: Path, name: str, value: str) -> None:
    with pytest.raises(SettingsError) as refusal:
        Settings.from_environment({"TOKENSCOPE_DATA": str(tmp_path), name: value})
    assert name in str(refusal.value) and value in str(refusal.value)


def test_a_data_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match="TOKENSCOPE_DATA"):
        Settings.from_environment({"TOKENSCOPE_DATA": str(tmp_path / "file" / "data")})


def test_documents_are_kept_beside_the_data_or_where_work_is_kept(tmp_path: Path) -> None:
    given = Settings.from_environment({"TOKENSCOPE_DATA": str(tmp_path / "data")})
    assert given.documents == tmp_path / "data" / "documents"
    own = Settings.from_environment({"XDG_CACHE_HOME": str(tmp_path / "c"), "XDG_DATA_HOME": str(tmp_path / "d")})
    assert own.documents == tmp_path / "d" / "tokenscope" and own.data == tmp_path / "c" / "tokenscope"
    assert own.keep_days is None
    hosted = Settings.from_environment({"TOKENSCOPE_DATA": str(tmp_path), "TOKENSCOPE_MODE": "hosted"})
    assert (hosted.keep_days, hosted.max_kept, hosted.max_kept_mb) == (7.0, 50, 5000)
