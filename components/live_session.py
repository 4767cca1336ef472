"""One live recording that goes on: packets come in, a worker feeds the stream in order, the page looks at the text.

A request never waits for the model: it stores its packet and takes along what is new. The sound lies on disk, so a slow
model only lags behind, and the recording survives whatever goes wrong with its text.
"""

from __future__ import annotations

import base64
import binascii
import errno
import logging
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

import asr_core
from components.documents import Document, UnknownDocumentError
from components.job import Job
from components.live_figures import Stability
from components.live_recording import Recording

log = logging.getLogger(__name__)

Stage = Literal["loading", "listening", "finishing", "done"]

WINDOW = asr_core.StreamWindow(left=10.0, chunk=2.0, right=2.0, draft_every=0.5)
#: Seconds of silence after which a sentence is over.
PAUSE = 1.5
#: Seconds of sound that are fed at once: at least, and at most.
LEAST, MOST = 0.1, 8.0
#: Seconds of sound in one packet, at most.
LONGEST_PACKET = 15.0


@dataclass(frozen=True)
class Heard:
    """What the stream has made of the recording so far.

    Args:
        final: the text that stays.
        draft: what follows it, as it is written; it begins with a space unless it goes on with the last word.
        draft_revision: +1 with every other draft.
        seconds: of sound that the stream has been fed.
        settled: seconds that have been decoded for good.
        work: seconds of computing.
    """

    final: asr_core.Transcript = field(default_factory=asr_core.Transcript)
    draft: str = ""
    draft_revision: int = 0
    seconds: float = 0.0
    settled: float = 0.0
    work: float = 0.0


class LiveSession:
    """One recording. Its `id` is unguessable: knowing it is what gives access.

    Args:
        name: of the recording, as the person will know it.
        model: source of the model.
        rate: in Hz, of the packets.
        decoding: of the live text, and of the recording as a whole.
        keep: makes a document of the session's sound, once it has ended.
    """

    def __init__(
        self,
        *,
        path: Path,
        name: str,
        model: str,
        rate: int,
        decoding: asr_core.Greedy,
        max_seconds: float,
        recognizer: Callable[[], asr_core.Recognizer],
        keep: Callable[[LiveSession], Document],
    ) -> None:
        self.id = secrets.token_urlsafe(18)
        self.name, self.model, self.rate, self.decoding = name, model, rate, decoding
        self.recording = Recording(path, rate, int(max_seconds * rate))
        self.stage: Stage = "loading"
        self.problem = ""
        #: Why the last packet could not be stored; it is sent again.
        self.trouble = ""
        self.heard = Heard()
        self.document = ""
        self.model_rate = 16_000
        #: The transcription of the whole recording, once somebody has asked for it.
        self.again: Job | None = None
        self.seen = time.monotonic()
        self._recognizer, self._keep = recognizer, keep
        self._stability = Stability()
        self._settled_words = 0
        self._lock = threading.Lock()
        self._dropped = threading.Event()
        self._thread = threading.Thread(target=self._work, name="live", daemon=True)
        self._thread.start()

    def push(self, packet: Any) -> bool:
        """Take a packet {number, pcm, age, last} in; False if it is no such thing.

        `pcm` is base64 of 16-bit little-endian samples, `age` the seconds since its last sample was spoken.
        """
        self.seen = time.monotonic()
        made = _packet(packet, self.rate)
        if made is None:
            return False
        number, samples, age, last = made
        try:
            written = self.recording.put(number, samples, last)
        except OSError as error:
            self.trouble = not_stored(error)
            return True
        self.trouble = ""
        if number in written:
            with self._lock:
                self._stability.captured(self.recording.samples / self.rate, time.monotonic() - age)
        return True

    def end(self) -> None:
        """Take no more packets; what has come is heard and kept."""
        self.recording.end()

    def drop(self) -> None:
        """Stop and delete the sound; a document that was made of it stays."""
        self._dropped.set()
        self.recording.end()

    def wait(self, seconds: float) -> None:
        """Wait until the session is done."""
        self._thread.join(seconds)

    def view(self, known: Any) -> dict[str, Any]:
        """What is new for a page that knows {words, sentences, draft}: so many of each, and the draft's revision."""
        self.seen = time.monotonic()
        heard, known = self.heard, known if isinstance(known, dict) else {}
        words = min(_count(known.get("words")), self._settled_words) if self.stage == "done" else None
        with self._lock:
            figures = self._stability.figures()
        return {
            "stage": self.stage,
            "problem": self.problem,
            "trouble": self.trouble,
            "next": self.recording.next,
            "samples": self.recording.samples,
            "ended": self.recording.ended,
            "full": self.recording.full,
            "seconds": round(heard.seconds, 3),
            "settled": round(heard.settled, 3),
            "speed": round(heard.work / heard.seconds, 3) if heard.seconds else None,
            "words": _tail(heard.final.words, _count(known.get("words")) if words is None else words, 1),
            "sentences": _tail(heard.final.sentences, _count(known.get("sentences")), 2),
            "draft": None
            if known.get("draft") == heard.draft_revision
            else {"revision": heard.draft_revision, "text": heard.draft},
            "drafted": figures.drafted,
            "changed": figures.changed,
            "delay": figures.delay,
            "delay_p95": figures.delay_p95,
            "document": self.document,
        }

    def _work(self) -> None:
        try:
            self._listen(self._recognizer())
        except asr_core.AsrError as error:
            self.problem = str(error)
        except Exception as error:  # a bug; the recording goes on, and the page says so
            log.exception("A live recording failed")
            self.problem = f"Something went wrong inside the app ({type(error).__name__}). See its log."
        try:
            self.recording.wait_for_end()
            self.stage = "finishing"
            self.recording.close()
            if not self._dropped.is_set() and self.recording.samples:
                self.document = self._keep(self).id
        except (asr_core.AsrError, UnknownDocumentError, OSError) as error:
            log.exception("A live recording could not be kept")
            said = not_stored(error) if isinstance(error, OSError) else str(error)
            self.problem = self.problem or f"The recording could not be kept. {said}"
        finally:
            self.stage = "done"
            self.recording.path.unlink(missing_ok=True)

    def _listen(self, recognizer: asr_core.Recognizer) -> None:
        """Feed the stream until the recording has ended and all of it was heard."""
        fed = 0
        self.model_rate = recognizer.info.sample_rate
        with recognizer.stream(decoding=self.decoding, window=WINDOW, pause=PAUSE) as stream:
            self.stage = "listening"
            while not self._dropped.is_set():
                piece = self.recording.wait(fed, int(LEAST * self.rate), int(MOST * self.rate), 1.0)
                began = time.perf_counter()
                if len(piece):
                    fed += len(piece)
                    update = stream.feed(piece, self.rate)
                    self._take(update.final, update.draft, update.seconds, update.settled, began)
                elif self.recording.ended:
                    self.stage = "finishing"
                    whole = stream.finish()
                    self._settled_words = _same(self.heard.final.words, whole.words)
                    self._take(whole, asr_core.Transcript(), fed / self.rate, fed / self.rate, began)
                    return

    def _take(
        self, final: asr_core.Transcript, draft: asr_core.Transcript, seconds: float, settled: float, began: float
    ) -> None:
        text = "".join(token.text for token in draft.tokens)
        with self._lock:
            self._stability.take(final, text, time.monotonic())
        before = self.heard
        self.heard = Heard(
            final,
            text,
            before.draft_revision + (text != before.draft),
            seconds,
            settled,
            before.work + time.perf_counter() - began,
        )


def not_stored(error: OSError) -> str:
    """Why the sound is not on disk, for a person."""
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    return "The server's disk is full." if full else f"The server cannot store the sound ({error.strerror})."


def _packet(packet: Any, rate: int) -> tuple[int, np.ndarray, float, bool] | None:
    """Number, samples, age and whether it is the last; None for anything else that a client may send."""
    if not isinstance(packet, dict):
        return None
    number, pcm, age, last = (packet.get(name) for name in ("number", "pcm", "age", "last"))
    if not isinstance(number, int) or isinstance(number, bool) or number < 0 or not isinstance(pcm, str):
        return None
    if len(pcm) > LONGEST_PACKET * rate * 2 * 4 / 3 + 8:
        return None
    try:
        data = base64.b64decode(pcm, validate=True)
    except (binascii.Error, ValueError):
        return None
    if len(data) % 2:
        return None
    age = float(age) if isinstance(age, int | float) and 0 <= age < 86_400 else 0.0
    return number, np.frombuffer(data, "<i2").astype(np.int16), age, last is True


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0


def _tail(items: tuple[Any, ...], known: int, open_: int) -> dict[str, Any]:
    """Items that a page with the first `known` lacks, and the last `open_` of those, which may have changed."""
    first = max(0, min(known, len(items)) - open_)
    rows = [[one.text, round(one.start, 3), round(one.end, 3), round(one.confidence, 4)] for one in items[first:]]
    return {"first": first, "items": rows, "count": len(items)}


def _same(before: tuple[asr_core.Word, ...], now: tuple[asr_core.Word, ...]) -> int:
    """How many words at the beginning are the same."""
    pairs = enumerate(zip(before, now, strict=False))
    return next((i for i, (one, other) in pairs if one != other), min(len(before), len(now)))
