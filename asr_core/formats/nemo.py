"""NeMo manifest: one JSON object a line, with the recording, its duration and the text; words and segments with times.

The times are named as NeMo's own transcription names them.
"""

from __future__ import annotations

from asr_core.alignment import Transcript
from asr_core.formats import jsonl
from asr_core.formats.contents import Contents, Row, Track, recording
from asr_core.formats.layout import Source

NAME = "NeMo manifest"
SUFFIXES = ("jsonl", "json")
TIERS = ("sentences", "words", "tokens")
KEEPS = "Text, words and sentences with times and confidences, language. No tokens, no speakers."


def render(source: Source, tier: str | None, name: str) -> str:
    """The line of one recording.

    Args:
        name: of the recording, for a transcript; a document knows its own.
    """
    own = "" if isinstance(source, Transcript) else source.audio.name
    text, times = jsonl.said(source, TIERS, tier)
    head = {"audio_filepath": own or name, "duration": jsonl.seconds(source), "text": text}
    return jsonl.line({**head, **jsonl.language(source, "lang"), **times})


def sniff(text: str) -> bool:
    """Whether its first line is an object that names a recording."""
    first = text.lstrip()[:100_000].split("\n", 1)[0]
    return first.startswith("{") and '"audio_filepath"' in first


def read(text: str, wanted: str | None) -> Contents:
    """One recording. Several lines of it, each with an "offset", are its sentences."""
    lines = jsonl.rows(text, "audio_filepath")
    chosen = recording((row["audio_filepath"] for _, row in lines), wanted)
    words: list[Row] = []
    sentences: list[Row] = []
    duration, guessed, language = None, False, None
    for i, row in lines:
        if row["audio_filepath"] != chosen:
            continue
        offset, lasting = jsonl.number(row, "offset", i), jsonl.number(row, "duration", i)
        start = offset or 0.0
        around = start, start + (lasting or 0.0)
        duration = lasting if offset is None else None
        found, lacking = jsonl.times(row, jsonl.WORDS, "word", i, around)
        words += found
        whole, more = jsonl.times(row, jsonl.SENTENCES, "segment", i, around)
        guessed |= lacking or more
        said = jsonl.text(row, ("text", "pred_text"), i)
        end = around[1] if lasting is not None else max([start, *(one.end for one in found)])
        sentences += whole or ([Row(i, start, end, said)] if said.strip() else [])
        language = jsonl.text(row, ("lang", "language"), i) or language
    tracks = (Track("words", "words", tuple(words)),) if words else ()
    warnings = (jsonl.GUESSED,) if guessed else ()
    tracks += (Track("sentences", "sentences", tuple(sentences)),)
    known = bool(words) or any(row.end for row in sentences)
    return Contents(tracks, duration, chosen, language, warnings, timed=known)
