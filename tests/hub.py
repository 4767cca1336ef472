"""A small server that speaks the few calls of the Hugging Face Hub that a download needs."""

from __future__ import annotations

import hashlib
import http.server
import json
import threading
from pathlib import Path

SHA = "a" * 40


class Hub:
    """A server of the repositories owner/name in a folder.

    With `cut`, answers end after that many bytes. With `last`, nothing after that many bytes of a file is ever sent:
    answers end there, or with `stands_still` last until the server ends.
    """

    def __init__(self, root: Path) -> None:
        self.root, self.requests = root, []
        self.cut, self.last, self.stands_still = None, None, False
        self.ended = threading.Event()
        handler = type("Handler", (_Handler,), {"hub": self})
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def end(self) -> None:
        self.ended.set()
        self.server.shutdown()

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
        asks_api = path.startswith("/api/models/")
        owner, name, *rest = path.removeprefix("/api/models").strip("/").split("/")
        folder = self.hub.root / owner / name
        if not folder.is_dir():
            return self.refuse("GatedRepo" if "gated" in path else "RepoNotFound", 403 if "gated" in path else 401)
        if asks_api:
            if "revision" in rest and rest[-1] not in ("main", SHA):
                return self.refuse("RevisionNotFound")
            files = [{"rfilename": f.name, "size": f.stat().st_size} for f in sorted(folder.iterdir())]
            return self.send(json.dumps({"id": f"{owner}/{name}", "sha": SHA, "siblings": files}).encode(), body)
        file = folder / rest[-1]
        return self.send(file.read_bytes(), body) if file.is_file() else self.refuse("EntryNotFound")

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
            sent = data[first : self.hub.last][: self.hub.cut]
            self.wfile.write(sent)
            if first + len(sent) < len(data):
                self.wfile.flush()
                if self.hub.stands_still:
                    self.hub.ended.wait()
                self.close_connection = True
                self.connection.close()
