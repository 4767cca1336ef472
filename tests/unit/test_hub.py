"""Models from a Hub: a small server on this machine speaks the few calls that a download needs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ORACLE
from tests.hub import Hub

ROOT = Path(__file__).parents[2]

FETCH = """
import sys, asr_core
from asr_core.models import downloading

if sys.argv[3] == "lost":
    downloading.PATIENCE = 3.0
seen = []

def report(progress):
    seen.append(progress)
    if sys.argv[3] == "cancel" and progress.done > 300_000:
        raise asr_core.Cancelled()

try:
    model = asr_core.load_model(sys.argv[1], revision=sys.argv[2] or None, local_files_only=sys.argv[3] == "local",
                                on_progress=report)
    print("kind", model.info.kind)
    downloads = [p for p in seen if p.stage == "download"]
    if downloads:
        print("progress", downloads[-1].done == downloads[-1].total > 100_000, len(downloads) > 2)
except asr_core.AsrError as error:
    print(type(error).__name__, error)
"""


@pytest.fixture
def hub(tmp_path):
    folder = tmp_path / "hub" / "owner" / "tiny"
    folder.mkdir(parents=True)
    for name in ("config.json", "tokenizer.model", "vocab.txt"):
        shutil.copy(ORACLE / "ctc" / name, folder)
    shutil.copy(ORACLE / "ctc" / "nemo.safetensors", folder / "model.safetensors")
    made = Hub(tmp_path / "hub")
    yield made
    made.end()


def fetch(
    hub_url: str,
    cache: Path,
    source: str = "owner/tiny",
    revision: str = "",
    how: str = "",
    network_timeout: int = 2,
) -> str:
    environment = os.environ | {"HF_ENDPOINT": hub_url, "HF_HOME": str(cache), "HF_HUB_DISABLE_TELEMETRY": "1"}
    environment |= {
        "HF_HUB_DOWNLOAD_TIMEOUT": str(network_timeout),
        "HF_HUB_ETAG_TIMEOUT": "2",
        "HF_HUB_DISABLE_XET": "1",
    }
    run = subprocess.run(
        [sys.executable, "-c", FETCH, source, revision, how],
        capture_output=True,
        text=True,
        env=environment,
        cwd=ROOT,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_downloads_with_progress_and_then_needs_no_server(hub, tmp_path):
    said = fetch(hub.url, tmp_path / "cache")
    assert "kind ctc" in said
    assert "progress True True" in said
    asked = len(hub.requests)
    assert "kind ctc" in fetch(hub.url, tmp_path / "cache", how="local")
    assert len(hub.requests) == asked
    hub.server.shutdown()
    hub.server.server_close()
    assert "kind ctc" in fetch(hub.url, tmp_path / "cache")


def test_says_what_is_wrong_in_one_sentence(hub, tmp_path):
    cases = {
        ("owner/none", "", ""): "There is no model owner/none",
        ("owner/gated", "", ""): "accept its terms",
        ("owner/tiny", "v9", ""): "no revision 'v9'",
        ("owner/tiny", "", "local"): "not in the cache",
    }
    for arguments, expected in cases.items():
        said = fetch(hub.url, tmp_path / "cache", *arguments)
        assert said.startswith("ModelError"), said
        assert expected in said
        assert said.count("\n") == 1
    said = fetch("http://127.0.0.1:9", tmp_path / "cache")
    assert "does not answer" in said


def test_an_interrupted_download_is_an_error_and_the_next_one_finishes(hub, tmp_path):
    hub.last = 300_000
    said = fetch(hub.url, tmp_path / "cache")
    assert said.startswith("ModelError"), said
    hub.last, hub.cut = None, 600_000  # a line that breaks gets there piece by piece
    assert "kind ctc" in fetch(hub.url, tmp_path / "cache")


@pytest.mark.parametrize("how", ["lost", "cancel"])
def test_a_network_that_is_lost_in_the_middle_is_not_waited_for(hub, tmp_path, how):
    hub.last, hub.stands_still = 600_000, True
    said = fetch(hub.url, tmp_path / "cache", how=how, network_timeout=90)
    if how == "cancel":
        assert said == "Cancelled The work was cancelled.\n"
    else:
        where = r"ModelError owner/tiny cannot be had: no byte has come for 3 s \(after \d of 2 MB\)"
        assert re.fullmatch(rf"{where}, and .*\. Connect to the network.*\.\n", said)
    # Nothing is left over that no later download would use.
    assert not [*(tmp_path / "cache").rglob("*.incomplete")]
    hub.last = None
    assert "kind ctc" in fetch(hub.url, tmp_path / "cache")


def test_a_repository_without_a_model(hub, tmp_path):
    (hub.root / "owner/tiny/model.safetensors").unlink()
    assert "holds no model of a known kind" in fetch(hub.url, tmp_path / "cache")
