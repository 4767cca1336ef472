"""Models from a Hub: a small server on this machine speaks the few calls that a download needs."""

from __future__ import annotations

import json
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

#: Loads models one after the other; says in a line for each what came of it.
FETCH = """
import json, sys, asr_core
from asr_core.models import downloading

def fetch(source, revision, how):
    downloading.PATIENCE = 3.0 if how == "lost" else 60.0
    seen = []

    def report(progress):
        if progress.stage == "download":
            seen.append(progress)
        if how == "cancel" and progress.done > 300_000:
            raise asr_core.Cancelled()

    options = {"revision": revision or None, "local_files_only": how == "local", "on_progress": report}
    try:
        model = asr_core.load_model(source, **options)
    except asr_core.AsrError as error:
        return f"{type(error).__name__} {error}"
    progress = f" progress {seen[-1].done == seen[-1].total > 100_000} {len(seen) > 2}" if seen else ""
    return f"kind {model.info.kind}{progress}"

for case in json.loads(sys.argv[1]):
    print(fetch(*case), flush=True)
"""
TINY = ("owner/tiny", "", "")


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


def fetch(hub_url: str, cache: Path, *cases: tuple[str, str, str], timeout: int = 2) -> list[str]:
    """What comes of each (source, revision, how), in a process of their own with a cache of its own.

    Args:
        cases: how: "local" asks no server, "lost" waits three seconds for a byte, "cancel" stops in the middle.
        timeout: seconds that huggingface_hub itself waits for an answer.
    """
    environment = os.environ | {"HF_ENDPOINT": hub_url, "HF_HOME": str(cache), "HF_HUB_DISABLE_TELEMETRY": "1"}
    environment |= {"HF_HUB_DOWNLOAD_TIMEOUT": str(timeout), "HF_HUB_ETAG_TIMEOUT": "2", "HF_HUB_DISABLE_XET": "1"}
    run = subprocess.run(
        [sys.executable, "-c", FETCH, json.dumps(cases or [TINY])],
        capture_output=True,
        text=True,
        env=environment,
        cwd=ROOT,
        timeout=120,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    said = run.stdout.splitlines()
    assert len(said) == len(cases or [TINY]), said
    return said


def test_downloads_with_progress_and_then_needs_no_server(hub, tmp_path):
    assert fetch(hub.url, tmp_path / "cache") == ["kind ctc progress True True"]
    asked = len(hub.requests)
    assert fetch(hub.url, tmp_path / "cache", ("owner/tiny", "", "local")) == ["kind ctc"]
    assert len(hub.requests) == asked
    hub.server.shutdown()
    hub.server.server_close()
    assert fetch(hub.url, tmp_path / "cache") == ["kind ctc"]


def test_says_what_is_wrong_in_one_sentence(hub, tmp_path):
    cases = {
        ("owner/none", "", ""): "There is no model owner/none",
        ("owner/gated", "", ""): "accept its terms",
        ("owner/tiny", "v9", ""): "no revision 'v9'",
        ("owner/tiny", "", "local"): "not in the cache",
    }
    for said, expected in zip(fetch(hub.url, tmp_path / "cache", *cases), cases.values(), strict=True):
        assert said.startswith("ModelError"), said
        assert expected in said
    assert "does not answer" in fetch("http://127.0.0.1:9", tmp_path / "cache")[0]


def test_an_interrupted_download_is_an_error_and_the_next_one_finishes(hub, tmp_path):
    hub.last = 300_000
    assert fetch(hub.url, tmp_path / "cache")[0].startswith("ModelError")
    hub.last, hub.cut = None, 600_000  # a line that breaks gets there piece by piece
    assert fetch(hub.url, tmp_path / "cache")[0].startswith("kind ctc")


def test_a_network_that_is_lost_in_the_middle_is_not_waited_for(hub, tmp_path):
    hub.last, hub.stands_still = 600_000, True
    lost, cancelled = (("owner/tiny", "", how) for how in ("lost", "cancel"))
    said = fetch(hub.url, tmp_path / "cache", lost, cancelled, timeout=90)
    where = r"ModelError owner/tiny cannot be had: no byte has come for 3 s \(after \d of 2 MB\)"
    assert re.fullmatch(rf"{where}, and .*\. Connect to the network.*\.", said[0])
    assert said[1] == "Cancelled The work was cancelled."
    # Nothing is left over that no later download would use.
    assert not [*(tmp_path / "cache").rglob("*.incomplete")]
    hub.last = None
    assert fetch(hub.url, tmp_path / "cache")[0].startswith("kind ctc")


def test_a_repository_without_a_model(hub, tmp_path):
    (hub.root / "owner/tiny/model.safetensors").unlink()
    assert "holds no model of a known kind" in fetch(hub.url, tmp_path / "cache")[0]


@pytest.mark.parametrize("name", ["model.safetensors", "config.json"])
def test_a_file_that_is_damaged_in_the_cache_is_fetched_again(hub, tmp_path, name):
    cache = tmp_path / "cache"
    fetch(hub.url, cache)
    damage(cache, name)
    asked = len(hub.requests)
    assert fetch(hub.url, cache, ("owner/tiny", "", "local"))[0].startswith("DamagedError")
    assert len(hub.requests) == asked
    assert fetch(hub.url, cache) == ["kind ctc progress True True"]
    assert fetch(hub.url, cache, ("owner/tiny", "", "local")) == ["kind ctc"]


def test_what_is_damaged_stays_so_without_a_network(hub, tmp_path):
    fetch(hub.url, tmp_path / "cache")
    damage(tmp_path / "cache", "model.safetensors")
    said = fetch("http://127.0.0.1:9", tmp_path / "cache")[0]
    assert "model.safetensors is broken or incomplete" in said and said.endswith("Fetch it again.")


def test_what_is_damaged_on_the_hub_is_not_fetched_again(hub, tmp_path):
    file = hub.root / "owner/tiny/model.safetensors"
    file.write_bytes(file.read_bytes()[:500_000])
    for _ in range(2):
        assert "model.safetensors is broken or incomplete" in fetch(hub.url, tmp_path / "cache")[0]
    gets = [path for path in hub.requests if path.endswith("model.safetensors")]
    assert len(gets) <= 5  # a question and an answer, then only questions: one a load, and one whether it is whole


def damage(cache: Path, name: str) -> None:
    """Cut a file in the cache in half."""
    [file] = {path.resolve() for path in cache.rglob(name)}
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
