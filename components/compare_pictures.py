"""Pictures of a comparison for its report: waveform, spectrogram and tiers as SVG, a line of ten seconds each."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterator, Sequence
from html import escape

import numpy as np

import asr_core
from components.align_view import tile_of
from components.documents import Audio, Document
from components.png import data_address
from components.trials import LETTERS, Trial

#: Seconds of a line; lines at most; recordings up to so many lines are shown whole.
LINE, MOST, WHOLE = 10.0, 60, 6
WIDTH, LEFT, WAVE, SPECTRUM, TIER, GAP = 1120, 28, 48, 64, 26, 10
#: Where the tiers begin, below waveform and spectrogram.
TIERS = WAVE + SPECTRUM + 8
#: Of the spectrogram: pixels a column, and Hz of its upper edge.
COLUMN, TOP = 2, 8_000.0
#: Widths in pixels of a character, and of the smallest box that gets a text.
CHARACTER, READABLE = 7.2, 14


def pictures(trial: Trial, document: Document, colours: Sequence[str]) -> Iterator[str]:
    """Lines with differences; all of a short recording. Says so where there are more."""
    audio = document.audio
    lines = max(1, math.ceil(audio.duration / LINE))
    touched = sorted({int(one.start // LINE) for one in trial.comparison.differences})
    wanted = list(range(lines)) if lines <= WHOLE else touched
    for line in wanted[:MOST]:
        start = line * LINE
        yield f'<p class="dim">{start:.0f}–{min(start + LINE, audio.duration):.1f} s</p>'
        yield _picture(trial, document, colours, start, min(start + LINE, max(audio.duration, start + 1)))
    if len(wanted) > MOST:
        yield f'<p class="dim">{len(wanted) - MOST} more stretches differ; the table lists them.</p>'
    elif not wanted:
        yield '<p class="dim">Nowhere.</p>'


def _picture(trial: Trial, document: Document, colours: Sequence[str], start: float, end: float) -> str:
    scale = (WIDTH - LEFT) / LINE
    height = TIERS + len(trial.columns) * (TIER + GAP) + 16
    shapes = [_waveform(document.audio, start, end, scale), _spectrogram(document, start, end, scale)]
    shapes += _ruler(start, end, scale, height)
    for k, transcript in enumerate(trial.comparison.transcripts):
        marked = {one.readings[k] for one in trial.comparison.differences if one.kind != "boundary"}
        y = TIERS + k * (TIER + GAP)
        shapes.append(f'<rect x="0" y="{y + 3}" width="20" height="20" rx="4" fill="{colours[k]}"/>')
        shapes.append(_text(10, y + 17, LETTERS[k], "#fff", True))
        for i, word in enumerate(transcript.words):
            if word.end > start and word.start < end:
                shapes += _word(word, LEFT - start * scale, y, scale, colours[k] if i in marked else "")
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" font-family="system-ui,sans-serif" font-size="12" '
        f'aria-label="Tiers from {start:.0f} s on">{"".join(shapes)}</svg>'
    )


def _word(word: asr_core.Word, offset: float, y: float, scale: float, colour: str) -> Iterator[str]:
    left = max(LEFT, offset + word.start * scale)
    width = max(1.0, min(WIDTH, offset + word.end * scale) - left)
    edge = f'stroke="{colour}" stroke-width="2"' if colour else 'stroke="#828d9a" stroke-width="0.5"'
    yield f'<rect x="{left:.1f}" y="{y}" width="{width:.1f}" height="{TIER}" rx="2" fill="#edf0f3" {edge}/>'
    room = int((width - 4) / CHARACTER)
    if width < READABLE or room < 1:
        return
    text = word.text if len(word.text) <= room else f"{word.text[: max(0, room - 1)]}…"
    yield _text(left + width / 2, y + 17, text, "#16202b", bool(colour))


def _text(x: float, y: float, text: str, colour: str, strong: bool = False) -> str:
    weight = ' font-weight="700"' if strong else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle" fill="{colour}"{weight}>{escape(text)}</text>'


def _ruler(start: float, end: float, scale: float, height: float) -> Iterator[str]:
    for second in range(math.ceil(start), math.floor(end) + 1):
        x = LEFT + (second - start) * scale
        yield f'<path d="M{x:.1f} {TIERS - 6}V{height - 14}" stroke="#dce0e6" stroke-width="0.5"/>'
        yield _text(min(x, WIDTH - 8), height - 3, str(second), "#5f6a78")


def _spectrogram(document: Document, start: float, end: float, scale: float) -> str:
    """Dark on white, as far as the recording goes."""
    width = max(1, round((min(end, document.audio.duration) - start) * scale))
    tile = tile_of(document, start, end, width // COLUMN, SPECTRUM, TOP)
    if tile is None:
        return ""
    grey = np.frombuffer(base64.b64decode(tile["pixels"]), np.uint8).reshape(tile["height"], tile["width"])
    place = f'x="{LEFT}" y="{WAVE}" width="{width}" height="{SPECTRUM}" preserveAspectRatio="none"'
    return f'<image {place} href="{data_address(255 - grey)}"/>'


def _waveform(audio: Audio, start: float, end: float, scale: float) -> str:
    """Lowest and highest sample of every two pixels, as one closed shape."""
    first, last = int(start * audio.sample_rate), min(audio.samples, int(end * audio.sample_rate))
    if last <= first:
        return ""
    hop = max(1, int(2 * audio.sample_rate / scale))
    pairs = asr_core.peaks(audio.open()[first:last].astype(np.float32) / 32_768, hop).reshape(-1, 2) / 128.0
    loudest = max(0.05, float(np.abs(pairs).max(initial=0)))
    points = [(LEFT + 2 * i, pair) for i, pair in enumerate(pairs)]
    middle, half = WAVE / 2, WAVE / 2 - 4
    above = [f"{x} {middle - high / loudest * half:.1f}" for x, (_, high) in points]
    below = [f"{x} {middle - low / loudest * half:.1f}" for x, (low, _) in reversed(points)]
    return f'<path d="M{"L".join(above + below)}Z" fill="#8793a1"/>'
