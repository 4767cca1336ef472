"""Finished documents on the Hub: a small server on this machine takes the commits."""

from __future__ import annotations

import base64
import http.server
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from asr_core import formats

ROOT = Path(__file__).parents[2]
SHA = "b" * 40

FINISH = """
import sys, time
from pathlib import Path
import numpy as np
from asr_core import formats
from asr_core.annotation import Store
from asr_core.annotation.syncing import FinishedSync
from asr_core.audio import write_wav
from asr_core.errors import StoreError

folder = Path(sys.argv[1])
audio = folder / "talk.wav"
write_wav(audio, np.linspace(-0.5, 0.5, 8000, dtype=np.float32), 8000)
store = Store(folder / "store")
sync = FinishedSync(store, sys.argv[2], token="hf_secret", every=1000)
cue = b"1\\n00:00:00,200 --> 00:00:00,900\\nhello <b>\\n"
for name in sys.argv[3:]:
    document = formats.read(cue, format="srt", audio=audio)
    sync.put(store.add(document, name=name, audio=audio).id)
until = time.monotonic() + 20
while not (sync.problem or sync._scheduler) and time.monotonic() < until:
    time.sleep(0.05)
try:
    sync.upload()
except StoreError as error:
    print("StoreError", error)
sync.close()
"""


class Hub:
    """A Hub that takes commits to datasets: `files` holds what was committed."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.created: list[dict] = []
        self.tokens: set[str] = set()
        self.refuse = False
        handler = type("Handler", (_Handler,), {"hub": self})
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


class _Handler(http.server.BaseHTTPRequestHandler):
    hub: Hub

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.hub.tokens.add(self.headers.get("Authorization", ""))
        if self.hub.refuse:
            return self.send({"error": "You may not write here"}, 403)
        if self.path == "/api/repos/create":
            self.hub.created.append(json.loads(body))
            return self.send({"url": f"http://{self.headers['Host']}/datasets/me/done", "id": "x"})
        if "/preupload/" in self.path:
            files = json.loads(body)["files"]
            kinds = [{"path": file["path"], "uploadMode": "regular", "shouldIgnore": False} for file in files]
            return self.send({"files": kinds})
        if "/commit/" in self.path:
            for line in body.decode().splitlines():
                entry = json.loads(line)
                if entry["key"] == "file":
                    self.hub.files[entry["value"]["path"]] = base64.b64decode(entry["value"]["content"])
            url = f"http://{self.headers['Host']}/datasets/me/done/commit/{SHA}"
            return self.send({"success": True, "commitOid": SHA, "commitUrl": url})
        return self.send({"error": "not found"}, 404)

    def send(self, answer: dict, status: int = 200) -> None:
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@pytest.fixture
def hub():
    made = Hub()
    yield made
    made.server.shutdown()


def finish(hub: Hub, folder: Path, *names: str, repository: str = "me/done") -> str:
    url = f"http://127.0.0.1:{hub.server.server_port}"
    settings = {"HF_ENDPOINT": url, "HF_HOME": str(folder / "hub"), "HF_HUB_DISABLE_XET": "1"}
    settings |= {"HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
    run = subprocess.run(
        [sys.executable, "-c", FINISH, str(folder), repository, *names],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=os.environ | settings,
        timeout=60,
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_finished_documents_and_their_recordings_are_committed(hub, tmp_path):
    assert finish(hub, tmp_path, "talk.wav", "talk.wav", "other/../x.wav") == ""
    (made,) = hub.created
    assert made["type"] == "dataset" and (made.get("private") is True or made.get("visibility") == "private")
    assert hub.tokens == {"Bearer hf_secret"}
    (root,) = {path.split("/")[0] for path in hub.files}
    documents = [data for path, data in hub.files.items() if path.startswith(f"{root}/documents/")]
    assert len(documents) == 3
    texts = {formats.read(data, format="json").transcript().text for data in documents}
    assert texts == {"hello <b>"}
    rows = [json.loads(line) for line in hub.files[f"{root}/audio/metadata.jsonl"].decode().splitlines()]
    (row,) = rows  # one recording, whose content all three share
    sound = hub.files[f"{root}/audio/{row['file_name']}"]
    assert sound[:4] == b"RIFF" and row["transcription"] == "hello <b>"


def test_a_restarted_store_goes_on_in_its_folder_and_an_empty_one_takes_another(hub, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    finish(hub, tmp_path / "a", "first.wav")
    finish(hub, tmp_path / "a", "second.wav")
    finish(hub, tmp_path / "b", "third.wav")
    folders = {path.split("/")[0] for path in hub.files if "/documents/" in path}
    assert len(folders) == 2


@pytest.mark.parametrize(
    ("repository", "refuse", "said"),
    [("me/done", True, "me/done cannot be reached: "), ("no such id", False, "'no such id' is not the id")],
)
def test_a_repository_that_cannot_be_written_to_is_told_of(hub, tmp_path, repository, refuse, said):
    hub.refuse = refuse
    assert finish(hub, tmp_path, "talk.wav", repository=repository).startswith(f"StoreError {said}")
    assert list((tmp_path / "store" / "finished").rglob("*.json")), "what was put in waits for the next start"


PAGE = """
import sys, time
from pathlib import Path
import numpy as np
from asr_core import formats
from asr_core.audio import write_wav
from components import annotate_desk
from components.services import Services
from components.settings import Settings

folder = Path(sys.argv[1])
audio = folder / "talk.wav"
write_wav(audio, np.linspace(-0.5, 0.5, 8000, dtype=np.float32), 8000)
services = Services.start(Settings(data=folder / "data", sync_repository=sys.argv[2], sync_minutes=0.005))
cue = b"1\\n00:00:00,200 --> 00:00:00,900\\nhello\\n"
entry = services.annotations.add("", formats.read(cue, format="srt", audio=audio), "talk.wav", audio)
op = {"op": "state", "state": "done"}
annotate_desk.edit(services, "", entry.id, 0, op, "ticket")
until = time.monotonic() + 20
while time.monotonic() < until:
    kept = annotate_desk.list_documents(services, "")["kept"]
    if (sys.argv[3] in kept):
        break
    time.sleep(0.1)
print(kept)
time.sleep(1.0)
"""


@pytest.mark.parametrize("refuse", [False, True])
def test_what_the_page_sets_to_done_is_uploaded(hub, tmp_path, refuse):
    hub.refuse = refuse
    url = f"http://127.0.0.1:{hub.server.server_port}"
    settings = {"HF_ENDPOINT": url, "HF_HOME": str(tmp_path / "hub"), "HF_HUB_DISABLE_XET": "1", "HF_TOKEN": "hf_x"}
    settings |= {"HF_HUB_DISABLE_PROGRESS_BARS": "1"}
    expected = "me/done cannot be reached" if refuse else "Finished documents are uploaded to me/done"
    run = subprocess.run(
        [sys.executable, "-c", PAGE, str(tmp_path), "me/done", expected],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=os.environ | settings,
        timeout=60,
    )
    assert run.returncode == 0, run.stderr
    assert expected in run.stdout
    assert any("/documents/talk-" in path for path in hub.files) is not refuse
