"""A comparison as one HTML file that needs nothing else: no script, no network, pictures inside it.

Whatever a person, a file or a model says goes through `html.escape`; the file also forbids scripts and requests itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape

from asr_core import judging
from components import wording
from components.compare_data import Slots, pick_name, tally_of, what_of
from components.compare_pictures import pictures
from components.compare_reference import measured
from components.documents import Document
from components.trials import LETTERS, Trial

#: Colour of each decoder, dark enough on white.
COLOURS = ("#6247e0", "#3e5708", "#b5307f", "#16202b")
LINES = ("solid", "dashed", "dotted", "double")

STYLE = """
body{font:15px/1.5 system-ui,sans-serif;color:#16202b;background:#fff;max-width:1180px;margin:32px auto;padding:0 24px}
h1{font-size:22px}h2{font-size:16px;margin:28px 0 8px}table{border-collapse:collapse;font-size:14px;width:100%}
th{font-weight:400;color:#5f6a78;text-align:left;vertical-align:bottom}
td,th{padding:5px 10px 5px 0;border-bottom:1px solid #dce0e6}
.n{text-align:right}td.n{font-family:ui-monospace,monospace;white-space:nowrap}bdi{unicode-bidi:isolate}
.id{display:inline-block;width:20px;text-align:center;border-radius:4px;color:#fff;font-weight:700;font-size:12px}
.text{overflow-wrap:anywhere}.dim{color:#5f6a78}svg{display:block;width:100%;height:auto;margin:4px 0 12px}
@media(max-width:640px){body{padding:0 12px}table{display:block;overflow-x:auto}}
"""


def report_of(trial: Trial, document: Document) -> str:
    """The whole file."""
    name = escape(document.name)
    policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    body = "\n".join(
        (
            f"<h1>{name}</h1>",
            f'<p class="dim">{escape(wording.length(document.audio.duration))}, '
            f"{len(trial.columns)} decoders compared with Tokenscope.</p>",
            _decoders(trial),
            _reference(trial),
            "<h2>Texts</h2>",
            *_texts(trial),
            f"<h2>Differences ({len(trial.comparison.differences)})</h2>",
            _differences(trial),
            _picks(trial),
            "<h2>Where they differ</h2>",
            *pictures(trial, document, COLOURS),
        )
    )
    colours = "".join(f".{letter}{{background:{colour}}}" for letter, colour in zip(LETTERS, COLOURS, strict=True))
    marks = "".join(
        f".m{letter}{{font-weight:700;border-bottom:2px {line} {colour}}}"
        for letter, colour, line in zip(LETTERS, COLOURS, LINES, strict=True)
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{name}</title><style>{STYLE}{colours}{marks}</style></head>\n<body>\n{body}\n</body></html>\n"
    )


def _id(column: int) -> str:
    return f'<span class="id {LETTERS[column]}">{LETTERS[column]}</span>'


def _said(text: str) -> str:
    return f"<bdi>{escape(text)}</bdi>"


def _table(head: Sequence[str], rows: Sequence[Sequence[tuple[str, bool]]]) -> str:
    """Cells are (markup, whether it is a figure)."""
    figures = [figure for _, figure in rows[0]] if rows else [False] * len(head)
    cells = "".join(
        f'<th class="n">{n}</th>' if figure else f"<th>{n}</th>" for n, figure in zip(head, figures, strict=True)
    )
    lines = (
        "".join(f'<td class="n">{cell}</td>' if figure else f"<td>{cell}</td>" for cell, figure in row) for row in rows
    )
    body = "\n".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><thead><tr>{cells}</tr></thead><tbody>\n{body}\n</tbody></table>"


def _decoders(trial: Trial) -> str:
    rows = []
    for i, column in enumerate(trial.columns):
        duration = column.shown.duration
        row = [(f"{_id(i)} {escape(column.name)}", False), (escape(column.shown.model or ""), False)]
        row += [(f"{column.seconds:.2f} s", True)]
        row += [(f"{column.seconds / duration:.2f}" if duration else "–", True)]
        if i == 0:
            row += [("–", True)] * 4
        else:
            one = trial.comparison.summaries[i - 1]
            row += [(f"{one.words_differ} of {one.words}", True), (f"{100 * one.word_error_rate:.1f} %", True)]
            row += [(_milliseconds(one.mean_shift), True), (_milliseconds(one.p95_shift), True)]
        rows.append(row)
    head = ("Decoder", "Model", "Took", "× real time", "Words differ from A", "Word error rate, A to it")
    return "<h2>At a glance</h2>" + _table((*head, "Mean boundary shift", "95 % are within"), rows)


def _milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:.0f} ms" if seconds == seconds else "–"


def _reference(trial: Trial) -> str:
    found = measured(trial)
    if found is None:
        return ""
    rows = []
    for i, one in enumerate(found["results"]):
        row = [(_id(i), False), (f"{100 * one['wer']:.2f} %", True), (f"{100 * one['cer']:.2f} %", True)]
        edges = one["boundaries"]
        row += [(_milliseconds(edges["mean"]) if edges else "–", True)]
        row += [(_milliseconds(edges["median"]) if edges else "–", True)]
        row += [(f"{100 * share:.0f} %", True) for share in edges["within"]] if edges else [("–", True)] * 3
        rows.append(row)
    how = [name for name, on in (("case", trial.normalization.ignore_case),) if on]
    how += ["punctuation"] if trial.normalization.ignore_punctuation else []
    said = f"Ignored: {' and '.join(how)}." if how else "Compared as it is written."
    head = ("", "Word error rate", "Character error rate", "Mean boundary error", "Median")
    table = _table((*head, "within 20 ms", "50 ms", "80 ms"), rows)
    return f'<h2>Against the right text</h2>{table}<p class="dim">{found["words"]} words. {said}</p>'


def _texts(trial: Trial) -> Iterator[str]:
    slots = Slots(trial.comparison)
    differences = [one for one in trial.comparison.differences if one.kind != "boundary"]
    places = [list(slots.of(one)) for one in differences]
    for k, column in enumerate(trial.columns):
        marked = {one.readings[k] for one in differences}
        empty = Counter(place[k] for place in places)
        words = []
        for i, word in enumerate(column.shown.words):
            words += [f'<span class="m{LETTERS[k]}">–</span>'] * empty[i]
            said = _said(word.text)
            words.append(f'<span class="m{LETTERS[k]}">{said}</span>' if i in marked else said)
        words += [f'<span class="m{LETTERS[k]}">–</span>'] * empty[len(column.shown.words)]
        yield f'<p class="text" dir="auto">{_id(k)} {" ".join(words)}</p>'


def _differences(trial: Trial) -> str:
    if not trial.comparison.differences:
        return '<p class="dim">None.</p>'
    rows = []
    for i, one in enumerate(trial.comparison.differences):
        row = [(f"{one.at:.2f}", True), (what_of(one), False)]
        for transcript, place in zip(trial.comparison.transcripts, one.readings, strict=True):
            if place is None:
                row.append(('<span class="dim">nothing</span>', False))
                continue
            word = transcript.words[place]
            row.append((f'{_said(word.text)} <span class="dim">{word.confidence:.2f}</span>', False))
        shift = "–" if one.shift is None else f"{1000 * one.shift:+.0f} ms".replace("-", "−")
        rows.append([*row, (shift, True), (pick_name(trial.judged.get(i)), False)])
    return _table(("At, s", "What", *map(_id, range(len(trial.columns))), "Shift", "Right"), rows)


def _picks(trial: Trial) -> str:
    if not trial.judged:
        return ""
    tally = tally_of(trial)
    counts = ", ".join(f"{LETTERS[i]} {count}" for i, count in enumerate(tally["right"]))
    text = " ".join(word.text for word in judging.reviewed(trial.comparison, trial.judged).words)
    return (
        f"<h2>Picks</h2><p>{counts}, neither {tally['neither']}, {tally['left']} left. {tally['verdict']}</p>"
        f'<p class="text" dir="auto">Reviewed text: {_said(text)}</p>'
    )
