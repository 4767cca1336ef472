"""Models from a Hub: a small server on this machine speaks the few calls that a download needs."""

from __future__ import annotations

import hashlib
import http.server
import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.conftest import ORACLE

SHA = "a" * 40
ROOT = Path(__file__).parents[2]

FETCH = """
import sys, asr_core
seen = []
try:
    model = asr_core.load_model(sys.argv[1], revision=sys.argv[2] or None, local_files_only=sys.argv[3] == "local",
                                on_progress=lambda p: seen.append(p))
    print("kind", model.info.kind)
    downloads = [p for p in seen if p.stage == "download"]
    if downloads:
        print("progress", downloads[-1].done == downloads[-1].total > 100_000, len(downloads) > 2)
except asr_core.ModelError as error:
    print("ModelError", error)
"""


class Hub:
    """A server with one repository, owner/tiny; `cut` ends the next large answer after that many bytes."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.cut, self.requests = folder, None, []
        handler = type("Handler", (_Handler,), {"hub": self})
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"


class _Handler(http.server.BaseHTTPRequestHandler):
    hub: Hub

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.answer(body=False)

    def do_GET(self):
        self.answer(body=True)

    def answer(self, body: bool) -> None:
        path = self.path.split("?")[0]
        self.hub.requests.append(path)
        if path.startswith("/api/models/owner/tiny"):
            if "/revision/" in path and not path.endswith(("/main", SHA)):
                return self.refuse("RevisionNotFound")
            files = [{"rfilename": f.name, "size": f.stat().st_size} for f in self.hub.folder.iterdir()]
            return self.send(json.dumps({"id": "owner/tiny", "sha": SHA, "siblings": files}).encode(), body)
        if path.startswith("/owner/tiny/resolve/"):
            return self.send((self.hub.folder / path.rsplit("/", 1)[1]).read_bytes(), body)
        return self.refuse("GatedRepo" if "gated" in path else "RepoNotFound", 403 if "gated" in path else 401)

    def refuse(self, code: str, status: int = 404) -> None:
        self.send_response(status)
        self.send_header("X-Error-Code", code)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def send(self, data: bytes, body: bool) -> None:
        first = int(self.headers["Range"].split("=")[1].split("-")[0]) if self.headers.get("Range") else 0
        self.send_response(206 if first else 200)
        self.send_header("ETag", f'"{hashlib.sha256(data).hexdigest()}"')
        self.send_header("X-Repo-Commit", SHA)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(len(data) - first))
        if first:
            self.send_header("Content-Range", f"bytes {first}-{len(data) - 1}/{len(data)}")
        self.end_headers()
        if body:
            data = data[first:]
            if self.hub.cut is not None and len(data) > self.hub.cut:
                self.wfile.write(data[: self.hub.cut])
                self.wfile.flush()
                self.close_connection = True
                self.connection.close()
                return
            self.wfile.write(data)


@pytest.fixture
def hub(tmp_path):
    folder = tmp_path / "repository"
    folder.mkdir()
    for name in ("config.json", "tokenizer.model", "vocab.txt"):
        shutil.copy(ORACLE / "ctc" / name, folder)
    shutil.copy(ORACLE / "ctc" / "nemo.safetensors", folder / "model.safetensors")
    made = Hub(folder)
    yield made
    made.server.shutdown()


def fetch(hub_url: str, cache: Path, source: str = "owner/tiny", revision: str = "", how: str = "") -> str:
    environment = os.environ | {"HF_ENDPOINT": hub_url, "HF_HOME": str(cache), "HF_HUB_DISABLE_TELEMETRY": "1"}
    environment |= {"HF_HUB_DOWNLOAD_TIMEOUT": "2", "HF_HUB_ETAG_TIMEOUT": "2", "HF_HUB_DISABLE_XET": "1"}
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
    hub.cut = 300_000
    said = fetch(hub.url, tmp_path / "cache")
    assert said.startswith("ModelError"), said
    hub.cut = None
    assert "kind ctc" in fetch(hub.url, tmp_path / "cache")


def test_a_repository_without_a_model(hub, tmp_path):
    (hub.folder / "model.safetensors").unlink()
    assert "holds no model of a known kind" in fetch(hub.url, tmp_path / "cache")
