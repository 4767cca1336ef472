"""What a person does to a document. Every edit is a function from one document to the next.

`Change.between(before, after, label)` is the edit as a value, with its inverse. The tiers follow each other: a word
takes its tokens along, and a sentence says what its words say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from typing import Literal

from asr_core.annotation.document import STATES, Document
from asr_core.annotation.draft import Draft, shared
from asr_core.annotation.segments import DECIMALS, DocumentError, Segment, Tier, words_in

#: Seconds that a segment keeps at least when its boundary is moved.
SHORTEST = 0.001


def set_text(document: Document, id: int, text: str) -> Document:
    """Say something else in a segment.

    Words of it that stay keep their times and confidence; new ones share the time of those they replace, and count as
    accepted. Raises DocumentError where nothing would be left.
    """
    tier, at = document.find(id)
    segment, text = tier.segments[at], " ".join(words_in(text))
    if not text:
        raise DocumentError("A segment has a text; delete it if nothing is said there.")
    draft = Draft(document)
    if _is_own(document, tier, "words"):
        _say(draft, at, at + 1, text.split())
        return draft.done()
    if _is_own(document, tier, "sentences") and document.first("words"):
        places = [i for i, word in enumerate(draft.words) if draft.home.get(word.id) == id]
        if places:
            _say(draft, places[0], places[-1] + 1, text.split())
            return draft.done()
    if _is_own(document, tier, "tokens"):
        return _spell(document, segment, text)
    return document.with_tiers(_with(tier, at, replace(segment, text=text, accepted=True)))


def set_texts(document: Document, texts: Mapping[int, str]) -> Document:
    """Say something else in several segments at once; of a text without words nothing is left.

    Sentences and words are changed in one draft, so that many of them take hardly longer than one.
    """
    draft, others = Draft(document), []
    for id, text in texts.items():
        tier, _ = document.find(id)
        if _is_own(document, tier, "words"):
            at = draft.place(id)
            places = [at]
        elif _is_own(document, tier, "sentences"):
            places = [i for i, word in enumerate(draft.words) if draft.home.get(word.id) == id]
        else:
            places = []
        if not places:
            others.append((id, text))
        elif words := words_in(text):
            _say(draft, places[0], places[-1] + 1, words)
        else:
            draft.put_words(places[0], places[-1] + 1, [])
    document = draft.done()
    for id, text in others:
        document = set_text(document, id, text) if words_in(text) else delete(document, id)
    return document


def move_boundary(document: Document, id: int, edge: Literal["start", "end"], time: float) -> Document:
    """Move the start or end of a segment; a neighbour that touches it there moves along.

    A word takes its tokens along, in proportion. Raises DocumentError where there is no room.
    """
    if edge not in ("start", "end"):
        raise DocumentError(f"A boundary is the start or the end of a segment, not {edge!r}.")
    tier, at = document.find(id)
    time = round(time, DECIMALS)
    segment = tier.segments[at]
    beside = at + (1 if edge == "end" else -1)
    neighbour = tier.segments[beside] if 0 <= beside < len(tier.segments) else None
    joined = neighbour is not None and neighbour.start < neighbour.end and _touch(segment, neighbour, edge)
    low, high = _room(document, segment, neighbour, joined, edge)
    if not low <= time <= high:
        raise DocumentError(f"The {edge} of {segment} may lie from {low:g} to {high:g} s; {time:g} does not.")
    moved = {at: replace(segment, **{edge: time})}
    if joined:
        moved[beside] = replace(neighbour, **{"start" if edge == "end" else "end": time})
    if _is_own(document, tier, "words"):
        draft = Draft(document)
        first, last = min(moved), max(moved) + 1
        draft.put_words(first, last, [moved[i] for i in range(first, last)])
        return draft.done()
    return document.with_tiers(_with(tier, *moved.items()))


def split(document: Document, id: int, time: float, texts: tuple[str, str] | None = None) -> Document:
    """Cut a segment in two at a time; a sentence is cut between its words.

    Args:
        texts: of both parts; None = the text is cut in proportion to the time.
    """
    tier, at = document.find(id)
    segment, time = tier.segments[at], round(time, DECIMALS)
    if not segment.start + SHORTEST <= time <= segment.end - SHORTEST:
        raise DocumentError(f"{segment} lasts from {segment.start:g} to {segment.end:g} s; a cut lies inside of that.")
    draft = Draft(document)
    if _is_own(document, tier, "sentences") and document.first("words"):
        return _split_sentence(draft, at, time)
    first, second = (" ".join(words_in(text)) for text in texts) if texts else _cut(segment, time)
    if texts and not (first and second):
        raise DocumentError("Both parts of a segment that is split have a text.")
    new = replace(segment, id=draft.new_id(), text=second, start=time, token_id=None, log_prob=None)
    parts = [replace(segment, text=first, end=time, token_id=None, log_prob=None), new]
    if _is_own(document, tier, "words"):
        draft.put_words(at, at + 1, parts, draft.home.get(id))
        return draft.done()
    segments = (*tier.segments[:at], *parts, *tier.segments[at + 1 :])
    return document.with_tiers(Tier(tier.name, tier.kind, segments), next_id=draft.next_id)


def merge(document: Document, id: int) -> Document:
    """Join a segment with the one that follows it in its tier."""
    tier, at = document.find(id)
    if at + 1 >= len(tier.segments):
        raise DocumentError(f"{tier.segments[at]} is the last one; nothing follows that it could be joined with.")
    a, b = tier.segments[at : at + 2]
    known = [s.confidence for s in (a, b) if s.confidence is not None]
    glue = "" if tier.kind in ("words", "tokens") or not (a.text and b.text) else " "
    both = replace(
        a,
        text=a.text + glue + b.text,
        end=b.end,
        confidence=min(known, default=None),
        token_id=None,
        log_prob=None,
        accepted=a.accepted and b.accepted,
    )
    draft = Draft(document)
    if _is_own(document, tier, "words"):
        if draft.home.get(a.id) != draft.home.get(b.id):
            raise DocumentError("These words belong to two sentences; join the sentences first.")
        draft.put_words(at, at + 2, [both])
        return draft.done()
    if _is_own(document, tier, "sentences"):
        draft.home = {word: a.id if home == b.id else home for word, home in draft.home.items()}
        draft.sentences[at : at + 2] = [both]
        return draft.done()
    return document.with_tiers(Tier(tier.name, tier.kind, (*tier.segments[:at], both, *tier.segments[at + 2 :])))


def insert(document: Document, tier: str, start: float, end: float, text: str = "") -> Document:
    """Put a new segment where there is room; several words share its time. Raises DocumentError where there is none."""
    into = document.tier(tier)
    draft = Draft(document)
    segment = Segment(draft.new_id(), " ".join(words_in(text)), start, end, accepted=True)
    at = next((i for i, other in enumerate(into.segments) if other.start >= segment.end), len(into.segments))
    if _is_own(document, into, "words"):
        if not segment.text:
            raise DocumentError("A word has a text; give one.")
        texts = segment.text.split()
        ids = [segment.id, *(draft.new_id() for _ in texts[1:])]
        spans = shared(texts, segment.start, segment.end)
        made = [
            replace(segment, id=id, text=one, start=a, end=b) for id, one, (a, b) in zip(ids, texts, spans, strict=True)
        ]
        around = [s.id for s in draft.sentences if s.start <= segment.start <= s.end]
        before = draft.home.get(draft.words[at - 1].id) if at else None
        draft.put_words(at, at, made, around[0] if around else before)
        return draft.done()
    segments = (*into.segments[:at], segment, *into.segments[at:])
    return document.with_tiers(Tier(into.name, into.kind, segments), next_id=draft.next_id)


def delete(document: Document, id: int) -> Document:
    """Remove a segment; a word with its tokens, a sentence with its words."""
    tier, at = document.find(id)
    draft = Draft(document)
    if _is_own(document, tier, "words"):
        draft.put_words(at, at + 1, [])
        return draft.done()
    if _is_own(document, tier, "sentences"):
        places = [i for i, word in enumerate(draft.words) if draft.home.get(word.id) == id]
        if places:
            draft.put_words(places[0], places[-1] + 1, [])
            return draft.done()
    return document.with_tiers(Tier(tier.name, tier.kind, tier.segments[:at] + tier.segments[at + 1 :]))


def copy_to(document: Document, id: int, tier: str, *, move: bool = False) -> Document:
    """Put a segment into another tier, a free one if there is none of that name; `move` deletes it where it was.

    Raises DocumentError where there is no room.
    """
    segment = document.segment(id)
    if not any(one.name == tier for one in document.tiers):
        document = document.with_tiers(Tier(tier, "free"))
    copied = insert(document, tier, segment.start, segment.end, segment.text)
    return delete(copied, id) if move else copied


def accept(document: Document, ids: Sequence[int], accepted: bool = True) -> Document:
    """Say that segments are right; a word takes its tokens along, a sentence its words."""
    draft, wanted = Draft(document), set(ids)
    for id in ids:
        document.find(id)
    wanted |= {word for word, home in draft.home.items() if home in wanted}
    words = [word for word in draft.words if word.id in wanted]
    wanted |= {token.id for inside in draft.tokens_of(words) for token in inside}
    tiers = [
        Tier(t.name, t.kind, tuple(replace(s, accepted=accepted) if s.id in wanted else s for s in t.segments))
        for t in document.tiers
    ]
    return document.with_tiers(*tiers)


def set_state(document: Document, state: str) -> Document:
    """Say how far the work is: "new", "in review" or "done"."""
    if state not in STATES:
        raise DocumentError(f"States are {', '.join(STATES)}; {state!r} is none of them.")
    return replace(document, state=state)


def retime(document: Document, times: Sequence[tuple[int, float, float]]) -> Document:
    """Give words new times, as a forced alignment proposes them: (id, start, end)."""
    new = {id: (start, end) for id, start, end in times}
    draft = Draft(document)
    places = [i for i, word in enumerate(draft.words) if word.id in new]
    if len(places) != len(new):
        known = {word.id for word in draft.words}
        missing = next(id for id in new if id not in known)
        raise DocumentError(f"This document has no word {missing!r}; it may have been deleted or merged.")
    if not places:
        return document
    first, last = places[0], places[-1] + 1
    words = [replace(w, start=new[w.id][0], end=new[w.id][1]) if w.id in new else w for w in draft.words[first:last]]
    draft.put_words(first, last, words)
    return draft.done()


def _say(draft: Draft, first: int, last: int, texts: Sequence[str]) -> None:
    """Other texts in the place of words [first, last), which belong to one sentence."""
    old = draft.words[first:last]
    home = draft.home.get(old[0].id)
    made: list[Segment] = []
    operations = SequenceMatcher(None, [word.text for word in old], texts, autojunk=False).get_opcodes()
    for tag, a, b, c, d in _with_time(operations):
        if tag == "equal":
            made += old[a:b]
        elif c < d:
            ids = [word.id for word in old[a:b]]
            kept = {word.text: word for word in old[a:b]}
            for text, (start, end) in zip(texts[c:d], shared(texts[c:d], old[a].start, old[b - 1].end), strict=True):
                id = ids.pop(0) if ids else draft.new_id()
                sure = kept[text].confidence if text in kept else None
                made.append(Segment(id, text, start, end, sure, accepted=True))
    draft.put_words(first, last, made, home)


def _with_time(operations: Sequence[tuple[str, int, int, int, int]]) -> list[tuple[str, int, int, int, int]]:
    """Operations in which a word that is put between others shares the time of the one before it (or after it)."""
    made: list[tuple[str, int, int, int, int]] = []
    waiting = None
    for tag, a, b, c, d in operations:
        if waiting is not None:
            made.append(("replace", a, a + 1, waiting, c + 1) if tag == "equal" else ("replace", a, b, waiting, d))
            a, c, waiting = (a + 1, c + 1, None) if tag == "equal" else (b, d, None)
            if a >= b:
                continue
        if tag != "insert":
            made.append((tag, a, b, c, d))
        elif not made:
            waiting = c
        else:
            last, a0, b0, c0, d0 = made.pop()
            if last == "equal":
                if b0 - a0 > 1:
                    made.append(("equal", a0, b0 - 1, c0, d0 - 1))
                made.append(("replace", b0 - 1, b0, d0 - 1, d))
            else:
                made.append(("replace", a0, b0, c0, d))
    return made


def _spell(document: Document, token: Segment, text: str) -> Document:
    """Another text of a token; its word says what its tokens say."""
    draft = Draft(document)
    lead = " " if token.text.startswith(" ") else ""
    changed = replace(token, text=lead + text, token_id=None, log_prob=None, accepted=True)
    at = draft.tokens.index(token)
    for place, (word, inside) in enumerate(zip(draft.words, draft.tokens_of(draft.words), strict=True)):
        if token in inside:
            spelled = "".join(changed.text if one is token else one.text for one in inside).strip()
            draft.words[place] = replace(word, text=spelled, accepted=True)
            draft.touch([draft.home[word.id]] if word.id in draft.home else [])
    draft.tokens[at] = changed
    return draft.done()


def _split_sentence(draft: Draft, at: int, time: float) -> Document:
    sentence = draft.sentences[at]
    words = [word for word in draft.words if draft.home.get(word.id) == sentence.id]
    behind = [word for word in words if (word.start + word.end) / 2 >= time]
    if not behind or len(behind) == len(words):
        raise DocumentError("A sentence is cut between its words; choose a time that has words on both sides.")
    second = replace(sentence, id=draft.new_id(), start=behind[0].start)
    draft.sentences[at : at + 1] = [replace(sentence, end=words[-len(behind) - 1].end), second]
    draft.home |= {word.id: second.id for word in behind}
    draft.touch([sentence.id, second.id])
    return draft.done()


def _cut(segment: Segment, time: float) -> tuple[str, str]:
    """The text in two, in proportion to the time; each part has at least one letter where there are two."""
    text = segment.text
    at = round(len(text) * (time - segment.start) / (segment.end - segment.start))
    at = min(max(at, 1), len(text) - 1) if len(text) > 1 else len(text)
    return text[:at], text[at:] or text


def _room(
    document: Document, segment: Segment, neighbour: Segment | None, joined: bool, edge: str
) -> tuple[float, float]:
    """Seconds from and to which a boundary may be moved."""
    if edge == "end":
        low = segment.start + SHORTEST
        end = document.audio.duration if document.audio.duration is not None else float("inf")
        high = end if neighbour is None else neighbour.end - SHORTEST if joined else neighbour.start
    else:
        high = segment.end - SHORTEST
        low = 0.0 if neighbour is None else neighbour.start + SHORTEST if joined else neighbour.end
    return round(low, DECIMALS), round(high, DECIMALS)


def _touch(segment: Segment, neighbour: Segment, edge: str) -> bool:
    return segment.end == neighbour.start if edge == "end" else segment.start == neighbour.end


def _is_own(document: Document, tier: Tier, kind: str) -> bool:
    """Whether the tier is the document's own of that kind, which hangs together with the others."""
    return tier.kind == kind and document.first(kind) is tier


def _with(tier: Tier, *changed: object) -> Tier:
    """The tier with other segments at some places: (place, segment) pairs, or one place and its segment."""
    pairs = dict([changed] if isinstance(changed[0], int) else changed)
    return Tier(tier.name, tier.kind, tuple(pairs.get(i, segment) for i, segment in enumerate(tier.segments)))
