"""Live sessions without a page: packets in any order, text as it grows, and recordings that survive what goes wrong."""

from __future__ import annotations

import base64
import errno
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import asr_core
from components import live_sessions
from components.documents import Documents
from components.live import live_decoding, open_session, save
from components.live_difference import difference_of
from components.live_figures import Stability
from components.live_recording import AHEAD, Recording
from components.live_session import PAUSE, WINDOW, LiveSession
from components.live_sessions import LiveSessions
from tests.conftest import SAMPLES

RATE = 16_000


class Ready:
    """Models of which one is loaded; or none, with the error that loading it gives."""

    def __init__(self, recognizer: asr_core.Recognizer | Exception) -> None:
        self.recognizer = recognizer

    def get(self, source: str) -> asr_core.Recognizer:
        if isinstance(self.recognizer, Exception):
            raise self.recognizer
        return self.recognizer


def sessions(folder: Path, recognizer: asr_core.Recognizer | Exception, **options: Any) -> LiveSessions:
    documents = Documents(folder, max_documents=5, retention_hours=1)
    return LiveSessions(folder, documents, Ready(recognizer), **{"max_sessions": 2, "max_minutes": 2, **options})


@pytest.fixture(scope="module")
def clip() -> np.ndarray:
    """(samples,) int16 of a sample."""
    return np.rint(asr_core.read_audio(SAMPLES / "meeting-date.flac") * 32_767).astype(np.int16)


def packet(number: int, samples: np.ndarray, last: bool = False) -> dict[str, Any]:
    pcm = base64.b64encode(samples.astype("<i2").tobytes()).decode("ascii")
    return {"number": number, "pcm": pcm, "age": 0.1, "last": last}


def packets(clip: np.ndarray, size: int = 4000) -> list[dict[str, Any]]:
    pieces = [clip[first : first + size] for first in range(0, len(clip), size)]
    return [packet(i, piece, i == len(pieces) - 1) for i, piece in enumerate(pieces)]


def finished(session: LiveSession) -> LiveSession:
    session.wait(60)
    assert session.stage == "done"
    return session


def kept(live: LiveSessions, session: LiveSession) -> np.ndarray:
    """The recording as it can be saved, in 16-bit values."""
    path = save(SimpleNamespace(documents=live._documents), session, "wav")
    return np.frombuffer(path.read_bytes()[44:], "<i2")


def streamed(recognizer: asr_core.Recognizer, clip: np.ndarray) -> asr_core.Transcript:
    with recognizer.stream(window=WINDOW, pause=PAUSE) as stream:
        stream.feed(clip, RATE)
        return stream.finish()


# Packets.


def test_packets_are_put_in_order(tmp_path: Path) -> None:
    recording = Recording(tmp_path / "a.wav", RATE, 1000)
    parts = [np.full(3, i, np.int16) for i in range(4)]
    assert recording.put(1, parts[1], False) == []
    assert recording.put(1, parts[0], False) == []  # the same number again: the first one counts
    assert recording.put(0, parts[0], False) == [0, 1]
    assert recording.put(0, parts[3], False) == []
    assert recording.put(3, parts[3], True) == [] and not recording.ended
    assert recording.put(2, parts[2], False) == [2, 3] and recording.ended
    assert recording.put(4, parts[0], False) == []
    assert list(recording.wait(0, 1, 100, 1.0)) == list(np.repeat(range(4), 3))
    recording.close()
    info = asr_core.probe(tmp_path / "a.wav")
    assert (info.sample_rate, info.channels, info.duration * RATE) == (RATE, 1, 12)


def test_packets_far_ahead_are_not_kept(tmp_path: Path) -> None:
    recording = Recording(tmp_path / "a.wav", RATE, 1000)
    recording.put(AHEAD, np.ones(3, np.int16), False)
    for number in range(AHEAD):
        recording.put(number, np.zeros(1, np.int16), False)
    assert (recording.next, recording.samples) == (AHEAD, AHEAD)


def test_the_file_is_whole_after_every_packet(tmp_path: Path) -> None:
    recording = Recording(tmp_path / "a.wav", RATE, 10**6)
    for number in range(3):
        recording.put(number, np.full(160, 1000, np.int16), False)
        assert len(asr_core.read_audio(tmp_path / "a.wav")) == 160 * (number + 1)


def test_a_recording_ends_at_its_limit(tmp_path: Path) -> None:
    recording = Recording(tmp_path / "a.wav", RATE, 250)
    recording.put(0, np.ones(200, np.int16), False)
    recording.put(1, np.ones(200, np.int16), False)
    assert recording.full and recording.ended and recording.samples == 250


# Sessions.


def test_a_session_hears_what_a_stream_hears(tmp_path: Path, demo: asr_core.Recognizer, clip: np.ndarray) -> None:
    live = sessions(tmp_path, demo)
    session = live.open("demo", RATE)
    for one in reversed(packets(clip)[:4]):
        assert session.push(one)
    for one in packets(clip):  # some come again
        assert session.push(one)
    finished(session)
    assert np.array_equal(kept(live, session), clip)
    assert session.heard.final.text == streamed(demo, clip).text
    document = live._documents.get(session.document)
    assert document.transcript == session.heard.final
    assert live.of_document(session.document) is session
    assert not list(tmp_path.glob("work/*/*"))


def test_a_page_that_takes_what_is_new_has_all_of_it(
    tmp_path: Path, demo: asr_core.Recognizer, clip: np.ndarray
) -> None:
    session = sessions(tmp_path, demo).open("demo", RATE)
    known: dict[str, int] = {"words": 0, "sentences": 0, "draft": 0}
    page: dict[str, list[Any]] = {"words": [], "sentences": []}
    most = 0
    for one in packets(np.concatenate([clip, clip]), 8000):
        session.push(one)
        time.sleep(0.15)
        most = max(most, _take(session, known, page))
    finished(session)
    _take(session, known, page)
    final = session.heard.final
    assert [row[0] for row in page["words"]] == [word.text for word in final.words]
    assert [row[1:3] for row in page["words"]] == [[round(w.start, 3), round(w.end, 3)] for w in final.words]
    assert [row[0] for row in page["sentences"]] == [sentence.text for sentence in final.sentences]
    assert most < len(final.words)


def _take(session: LiveSession, known: dict[str, int], page: dict[str, list[Any]]) -> int:
    """What assets/live.js does with an answer; the number of words that it held."""
    view = session.view(known)
    for name in ("words", "sentences"):
        page[name][view[name]["first"] :] = view[name]["items"]
        known[name] = view[name]["count"]
    if view["draft"]:
        known["draft"] = view["draft"]["revision"]
    return len(view["words"]["items"])


def test_two_sessions_do_not_mix(tmp_path: Path, demo: asr_core.Recognizer, clip: np.ndarray) -> None:
    live = sessions(tmp_path, demo)
    other = np.rint(asr_core.read_audio(SAMPLES / "platform-nineteen.flac") * 32_767).astype(np.int16)
    both = live.open("demo", RATE), live.open("demo", RATE)
    queues = packets(clip), packets(other)
    for i in range(max(map(len, queues))):
        for session, queue in zip(both, queues, strict=True):
            if i < len(queue):
                session.push(queue[i])
    for session, sound in zip(both, (clip, other), strict=True):
        assert finished(session).heard.final.text == streamed(demo, sound).text


def test_a_recording_survives_a_model_that_fails(tmp_path: Path, clip: np.ndarray) -> None:
    live = sessions(tmp_path, asr_core.ModelError("The model is broken."))
    session = live.open("demo", RATE)
    for one in packets(clip):
        session.push(one)
    finished(session)
    assert session.problem == "The model is broken."
    assert np.array_equal(kept(live, session), clip)


def test_a_page_that_has_gone_leaves_its_recording(
    tmp_path: Path, demo: asr_core.Recognizer, clip: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    live = sessions(tmp_path, demo)
    session = live.open("demo", RATE)
    for one in packets(clip)[:-1]:
        session.push(one)
    monkeypatch.setattr(live_sessions, "SILENT_PAGE", 0.0)
    time.sleep(0.01)
    live.sweep()
    assert np.array_equal(kept(live, finished(session)), clip[: 4000 * (len(packets(clip)) - 1)])


def test_nothing_is_kept_of_what_is_dropped_or_empty(
    tmp_path: Path, demo: asr_core.Recognizer, clip: np.ndarray
) -> None:
    live = sessions(tmp_path, demo)
    dropped, empty = live.open("demo", RATE), live.open("demo", RATE)
    dropped.push(packets(clip)[0])
    dropped.drop()
    empty.push(packet(0, np.zeros(0, np.int16), last=True))
    for session in (dropped, empty):
        assert finished(session).document == "" and session.problem == ""
    assert len(live._documents) == 0 and not list(tmp_path.glob("work/*/*"))


def test_a_server_takes_so_many_at_once(tmp_path: Path, demo: asr_core.Recognizer) -> None:
    live = sessions(tmp_path, demo, max_sessions=1)
    first = live.open("demo", RATE)
    with pytest.raises(asr_core.AudioError, match="takes no more live recordings at once than 1"):
        live.open("demo", RATE)
    first.drop()
    finished(first)
    live.open("demo", RATE).drop()


@pytest.mark.parametrize(
    "sent",
    [
        None,
        [],
        {},
        {"number": -1, "pcm": ""},
        {"number": True, "pcm": ""},
        {"number": 0, "pcm": "not base64!"},
        {"number": 0, "pcm": "QQ=="},
        {"number": 0, "pcm": 5},
        {"number": 0, "pcm": "A" * 4_000_000},
    ],
)
def test_what_is_no_packet_is_refused(tmp_path: Path, demo: asr_core.Recognizer, sent: Any) -> None:
    session = sessions(tmp_path, demo).open("demo", RATE)
    assert not session.push(sent)
    assert session.view({"words": "x", "draft": {}})["samples"] == 0
    session.drop()


@pytest.mark.parametrize("rate", [None, True, "16000", 0, 1e9, float("nan")])
def test_rates_that_no_microphone_has_are_refused(tmp_path: Path, demo: asr_core.Recognizer, rate: Any) -> None:
    answer = open_session(sessions(tmp_path, demo), "demo", None, SimpleNamespace(rate=rate, ticket="t"))
    assert "Hz" in answer["error"] and answer["ticket"] == "t"


# Figures.


def transcript(text: str, start: float = 0.0) -> asr_core.Transcript:
    words = tuple(asr_core.Word(w, start + i, start + i + 0.5, 0.9, ()) for i, w in enumerate(text.split()))
    return asr_core.Transcript(text=text, words=words)


def test_changed_draft_words_are_counted_once() -> None:
    stability = Stability()
    stability.captured(10.0, 10.0)
    for final, draft in (
        ("", " the clean"),  # two words
        ("", " the green back"),  # "clean" changed; two more
        ("the green", " bag at"),  # "back" changed; two more
        ("the green bag at", ""),
    ):
        stability.take(transcript(final), draft, 5.0)
    figures = stability.figures()
    assert (figures.drafted, figures.changed) == (6, 2)


def test_a_draft_that_goes_on_with_a_final_word() -> None:
    stability = Stability()
    stability.captured(10.0, 10.0)
    for final, draft in (("", " call David"), ("call Dav", "id,"), ("call David,", "")):
        stability.take(transcript(final), draft, 5.0)
    assert (stability.figures().drafted, stability.figures().changed) == (2, 0)


def test_delays_are_from_spoken_to_final() -> None:
    stability = Stability()
    for second in range(1, 6):
        stability.captured(second, 100.0 + second)  # spoken from 100 on, without pauses
    stability.take(transcript("one two"), "", 104.0)  # they end at 0.5 and 1.5
    figures = stability.figures()
    assert figures.delay == pytest.approx(3.0) and figures.delay_p95 == pytest.approx(3.5, abs=0.06)


def test_the_difference_shows_both_texts() -> None:
    shown = difference_of(transcript("the clean bag"), transcript("the green bag today"))
    assert shown["live"] == [["the", "same"], ["clean", "other"], ["bag", "same"], ["", "missing"]]
    assert shown["whole"] == [["the", "same"], ["green", "other"], ["bag", "same"], ["today", "extra"]]
    assert (shown["words"], shown["differ"]) == (4, 2)


def test_a_stream_says_up_to_where_its_text_is_final(demo: asr_core.Recognizer, clip: np.ndarray) -> None:
    with demo.stream(window=WINDOW) as stream:
        for first in range(0, len(clip), 8000):
            update = stream.feed(clip[first : first + 8000], RATE)
            assert 0 <= update.settled <= max(0.0, update.seconds - WINDOW.right)
            assert all(token.start >= update.settled for token in update.draft.tokens)
            assert all(word.start < update.settled for word in update.final.words)
        assert update.settled >= update.seconds - WINDOW.right - WINDOW.chunk - 0.2


class FullDisk:
    """A file that takes half of what it is given, then nothing, as on a full disk, until there is room."""

    def __init__(self, file: Any) -> None:
        self.file, self.is_full, self.takes = file, True, 100

    def write(self, data: bytes) -> int:
        if not self.is_full:
            return self.file.write(data)
        if not self.takes:
            raise OSError(errno.ENOSPC, "No space left on device")
        written = self.file.write(data[: self.takes])
        self.takes -= written
        return written

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)


def test_a_full_disk_is_said_and_nothing_is_lost(tmp_path: Path, demo: asr_core.Recognizer, clip: np.ndarray) -> None:
    live = sessions(tmp_path, demo)
    session = live.open("demo", RATE)
    first, second, *rest = packets(clip)
    assert session.push(first)
    session.recording._file = disk = FullDisk(session.recording._file)
    assert session.push(second)
    view = session.view({})
    assert (view["trouble"], view["next"], view["samples"]) == ("The server's disk is full.", 1, 4000)
    disk.is_full = False
    for one in (second, *rest):
        assert session.push(one) and session.view({})["trouble"] == ""
    assert np.array_equal(kept(live, finished(session)), clip)


def test_no_recording_begins_on_a_full_disk(tmp_path: Path, demo: asr_core.Recognizer) -> None:
    live = sessions(tmp_path, demo)
    live._folder.path = Path("/dev/full/..")
    with pytest.raises(asr_core.AudioError, match="cannot store the sound"):
        live.open("demo", RATE)
    with pytest.raises(OSError, match="No space left"):
        Recording(Path("/dev/full"), RATE, 1000)


def test_live_sound_is_heard_in_the_language_that_was_set() -> None:
    sent = {"head": "whisper", "strategy": "beam", "language": "de", "task": "translate"}
    assert live_decoding(sent) == asr_core.Greedy(whisper=asr_core.Whisper(language="de", task="translate"))
    assert live_decoding({"head": "tdt", "strategy": "beam"}) == live_decoding(None) == asr_core.Greedy()
    # What is wrong among the settings that do not hold here does not keep anybody from recording.
    assert live_decoding({**sent, "size": 99, "alpha": None}) == live_decoding(sent)
