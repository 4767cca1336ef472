"""WebVTT subtitles (W3C). Words of a sentence carry their start as a timestamp tag, so that players can follow them.

"&", "<" and ">" are escaped, so the text can hold neither a tag nor the arrow of a cue.
"""

from __future__ import annotations

import html
import re

from asr_core.annotation.timing import spread
from asr_core.formats.contents import Contents, Malformed, Row, Track, lines_of, shown
from asr_core.formats.cues import Cue, Piece, clock, cue_times, cues, seconds
from asr_core.formats.layout import Source, one_line

NAME = "WebVTT"
SUFFIXES = ("vtt",)
TIERS = ("sentences", "words")
KEEPS = "Sentences, their times and speakers, and where each word begins; a word lasts until the next. No confidences."

_TAG = re.compile(r"<([^>]*)(?:>|\Z)")
_STAMP = re.compile(r"(?:([0-9]{1,4}):)?([0-9]{2}):([0-9]{2})\.([0-9]{3})")
_VOICE = re.compile(r"v(?:\.\S+)?\s+(.+)", re.DOTALL)


def render(source: Source, tier: str | None, name: str) -> str:
    """The file; times are hh:mm:ss.mmm."""
    blocks = (
        f"\n{clock(cue.start, '.')} --> {clock(cue.end, '.')}\n{_voice(cue)}{_text(cue)}\n"
        for cue in cues(source, tier)
    )
    return "WEBVTT\n" + "".join(blocks)


def sniff(text: str) -> bool:
    """Whether it begins with the format's name."""
    return text.startswith("WEBVTT")


def read(text: str, wanted: str | None) -> Contents:
    """A sentence for each cue, with its speaker; words too where a cue has timestamps. Notes, styles: left out."""
    lines = lines_of(text)
    if not re.fullmatch(r"WEBVTT(?:[ \t].*)?", lines[0]):
        raise Malformed(1, f"the first line is WEBVTT, not {shown(lines[0])}.")
    sentences: list[Row] = []
    words: list[Row] = []
    timed = False
    for first, block in _blocks(lines):
        head = next((i for i, line in enumerate(block[:2]) if "-->" in line), None)
        if head is None:
            if first > 1 and not re.match(r"(?:NOTE|STYLE|REGION)(?:\s|$)", block[0]):
                raise Malformed(
                    first, f"a block is a cue, a NOTE, a STYLE or a REGION, and has times; {shown(block[0])}."
                )
            continue
        start, end = cue_times(block[head], first + head, ".")
        cue = Row(first + head, start, end, "")
        sentence, inside = _cue(cue, "\n".join(block[head + 1 :]))
        sentences.append(sentence)
        timed |= len(inside) > 1
        words += inside or [
            cue._replace(start=s, end=e, text=t, speaker=sentence.speaker)
            for t, s, e in spread(sentence.text, start, end)
        ]
    tracks = [Track("sentences", "sentences", tuple(sentences))]
    if timed:
        tracks.insert(0, Track("words", "words", tuple(words)))
    return Contents(tuple(tracks))


def escape(text: str) -> str:
    """Text that a WebVTT reader takes literally."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _voice(cue: Cue) -> str:
    name = escape(one_line(cue.speaker)) if cue.speaker else ""
    return f"<v {name}>" if name else ""


def _text(cue: Cue) -> str:
    return "\n".join("".join(_word(piece, cue, piece is line[0]) for piece in line) for line in cue.lines)


def _word(piece: Piece, cue: Cue, begins_line: bool) -> str:
    """A tag's time lies inside its cue (W3C): the first word has none, and no word whose time is not known."""
    text = ("" if begins_line else " ") + escape(piece.text)
    return text if piece.start == cue.start or not cue.timed else f"<{clock(piece.start, '.')}><c>{text}</c>"


def _blocks(lines: list[str]) -> list[tuple[int, list[str]]]:
    """Runs of lines that are not empty, with the number of their first."""
    blocks: list[tuple[int, list[str]]] = []
    apart = True
    for i, line in enumerate(lines, 1):
        if line and apart:
            blocks.append((i, []))
        if line:
            blocks[-1][1].append(line)
        apart = not line
    return blocks


def _cue(cue: Row, text: str) -> tuple[Row, list[Row]]:
    """The sentence of a cue, and its words where timestamps part them."""
    speaker, at, parts = None, cue.start, [(cue.start, "")]
    for i, piece in enumerate(_TAG.split(text)):
        if i % 2 == 0:
            parts[-1] = (at, parts[-1][1] + html.unescape(piece))
        elif stamp := _STAMP.fullmatch(piece):
            at = seconds(*stamp.groups(), cue.line)
            if not parts[-1][0] <= at <= cue.end:
                raise Malformed(cue.line, f"the timestamps of a cue go forward inside it; <{piece}> does not.")
            parts.append((at, ""))
        elif voice := _VOICE.fullmatch(piece):
            speaker = html.unescape(voice[1].strip()) or None
    ends = [start for start, _ in parts[1:]] + [cue.end]
    sentence = cue._replace(text=" ".join("".join(part for _, part in parts).split()), speaker=speaker)
    if len(parts) == 1:
        return sentence, []
    words = [
        cue._replace(start=s, end=e, text=word, speaker=speaker)
        for (start, part), end in zip(parts, ends, strict=True)
        for word, s, e in spread(part, start, end)
    ]
    return sentence, words
