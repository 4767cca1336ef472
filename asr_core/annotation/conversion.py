"""Between transcripts and tiers."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import is_dataclass
from typing import Any

from asr_core.alignment import Sentence, Token, Transcript, Word
from asr_core.annotation.segments import DocumentError, Segment, Tier
from asr_core.annotation.timing import Span, Timed, members, placed, spread
from asr_core.segmentation import Segmentation, sentences_of

INTERPOLATED = "The words have no times of their own; their sentences' times were divided among them by letters."
UNKNOWN = math.nan


def tiers_of(transcript: Transcript, limit: float) -> tuple[Tier, ...]:
    """Tokens, words and sentences of a transcript as tiers, with ids from 0 on.

    Times that overlap are parted (`placed`), and words last from their first token to their last one.

    Args:
        limit: seconds of the recording; infinity where unknown.
    """
    for item in (*transcript.tokens, *transcript.words, *transcript.sentences):
        if not (math.isfinite(item.start) and math.isfinite(item.end)):
            raise DocumentError(f"{item.text[:40]!r} has no times; a document needs a start and an end of everything.")
    tokens = placed(((token.start, token.end) for token in transcript.tokens), limit)
    words = _around(transcript.words, transcript.tokens, tokens, lambda word: word.tokens, limit)
    sentences = _around(transcript.sentences, transcript.words, words, lambda sentence: sentence.words, limit)
    tiers, first = [], 0
    for kind, spans in (("tokens", tokens), ("words", words), ("sentences", sentences)):
        items = getattr(transcript, kind)
        segments = [_segment(first + i, item, span) for i, (item, span) in enumerate(zip(items, spans, strict=True))]
        tiers.append(Tier(kind, kind, tuple(segments)))
        first += len(segments)
    return tuple(tiers)


def transcript_of(first: Callable[[str], Tier | None], duration: float | None, **known: Any) -> Transcript:
    """Tiers as a transcript. What is unknown is NaN there (confidence, log-prob) or -1 (the token's id).

    Without words those of the sentences are used, their times divided by letters; without sentences the words are cut
    into some. A document of free tiers only gives its first one.

    Args:
        first: the first tier of a kind.
        known: other fields of the transcript.
    """
    token_tier, word_tier = first("tokens"), first("words")
    sentence_tier = first("sentences")
    if token_tier is None and word_tier is None and sentence_tier is None:
        sentence_tier = first("free") or first("reference")
    tokens = tuple(_token(segment) for segment in token_tier.segments) if token_tier else ()
    warnings = known.pop("warnings", ())
    if word_tier is not None:
        groups = members(word_tier.segments, tokens)
        words = [_word(one, group) for one, group in zip(word_tier.segments, groups, strict=True)]
    elif sentence_tier is not None:
        words = [word for segment in sentence_tier.segments for word in _spread_word(segment)]
        several = any(len(segment.text.split()) > 1 for segment in sentence_tier.segments)
        warnings += (INTERPOLATED,) if several else ()
    else:
        words = _joined(tokens)
    if sentence_tier is not None:
        groups = members(sentence_tier.segments, words) if word_tier else _counted(sentence_tier.segments, words)
        pairs = zip(sentence_tier.segments, groups, strict=True)
        sentences = tuple(Sentence(s.text, s.start, s.end, _value(s.confidence), tuple(group)) for s, group in pairs)
    else:
        sentences = sentences_of(words, Segmentation())
    last = max((item.end for item in (*tokens, *words, *sentences)), default=0.0)
    return Transcript(
        text=" ".join(text for sentence in sentences if (text := sentence.text.strip())),
        sentences=sentences,
        words=tuple(words),
        tokens=tokens,
        duration=last if duration is None else duration,
        warnings=warnings,
        **known,
    )


def plain(value: Any) -> Any:
    """Settings as JSON has them: a dataclass becomes a mapping with its name as "type"; NaN and infinity None."""
    if isinstance(value, bool | int | str) or value is None:
        return value
    if is_dataclass(value) and not isinstance(value, type):
        described = getattr(value, "described", None)
        fields = described() if described else {n: plain(getattr(value, n)) for n in value.__dataclass_fields__}
        return {"type": type(value).__name__, **fields}
    if hasattr(value, "items"):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(one) for one in value]
    try:
        number = float(value)
    except (TypeError, ValueError):
        return str(value)
    return number if math.isfinite(number) else None


def _around(
    wholes: Sequence[Any], parts: Sequence[Any], spans: Sequence[Span], parts_of: Callable[[Any], Any], limit: float
) -> list[Span]:
    """Times of words around their tokens (or sentences around their words), whose own times are `spans`."""
    where: dict[Any, list[int]] = defaultdict(list)
    for i, part in enumerate(parts):
        where[_key(part)].append(i)
    found, at = [], 0
    for whole in wholes:
        indices = []
        for part in parts_of(whole):
            known = where.get(_key(part), [])
            position = bisect_left(known, at)
            if position < len(known):
                indices.append(known[position])
                at = known[position] + 1
        start, end = whole.start, whole.end
        counted = [i for i in indices if parts[i].end <= end]
        if counted:
            start = spans[counted[0]][0] if start >= parts[counted[0]].start else start
            until = max(spans[i][1] for i in counted)
            end = until if end <= max(parts[i].end for i in counted) else max(end, until)
        found.append((start, end))
    return placed(found, limit)


def _key(item: Any) -> tuple[Any, ...]:
    return item.text, item.start, item.end, getattr(item, "id", None)


def _segment(id: int, item: Any, span: Span) -> Segment:
    log_prob = getattr(item, "log_prob", UNKNOWN)
    return Segment(
        id,
        item.text,
        *span,
        confidence=min(1.0, max(0.0, item.confidence)) if math.isfinite(item.confidence) else None,
        token_id=getattr(item, "id", None),
        log_prob=log_prob if math.isfinite(log_prob) else None,
    )


def _value(number: float | None) -> float:
    return UNKNOWN if number is None else number


def _token(segment: Segment) -> Token:
    id = -1 if segment.token_id is None else segment.token_id
    return Token(id, segment.text, segment.start, segment.end, _value(segment.confidence), _value(segment.log_prob))


def _word(segment: Segment, tokens: Sequence[Token]) -> Word:
    return Word(segment.text, segment.start, segment.end, _value(segment.confidence), tuple(tokens))


def _spread_word(segment: Segment) -> list[Word]:
    spans = spread(segment.text, segment.start, segment.end)
    return [Word(text, start, end, _value(segment.confidence), ()) for text, start, end in spans]


def _counted(sentences: Sequence[Timed], words: Sequence[Word]) -> list[Sequence[Word]]:
    """The words that were spread over each sentence."""
    groups, at = [], 0
    for sentence in sentences:
        count = len(sentence.text.split())
        groups.append(words[at : at + count])
        at += count
    return groups


def _joined(tokens: Sequence[Token]) -> list[Word]:
    """Words of tokens that have no words: a word begins with a space; without any space every token is one."""
    spaced = any(token.text[:1].isspace() for token in tokens)
    groups: list[list[Token]] = []
    for token in tokens:
        if not groups or not spaced or token.text[:1].isspace():
            groups.append([])
        groups[-1].append(token)
    return [
        Word(text, group[0].start, group[-1].end, min(token.confidence for token in group), tuple(group))
        for group in groups
        if (text := "".join(token.text for token in group).strip())
    ]
