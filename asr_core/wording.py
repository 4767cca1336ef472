"""From hypotheses to transcripts: frames to seconds, tokens to words, words to sentences."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import replace

from asr_core import checks
from asr_core.alignment import Hypothesis, Token, Transcript, Word
from asr_core.confidence import aggregate
from asr_core.decoding.options import Confidence
from asr_core.segmentation import Segmentation, sentences_of
from asr_core.text import SPACE, UNKNOWN, Vocabulary

_OPENING = ("Ps", "Pi")
_OPENING_MARKS = "¡¿"
_FULL_STOPS = ("。", "！", "？")


def build_transcript(
    hypothesis: Hypothesis,
    vocabulary: Vocabulary,
    *,
    frame_seconds: float,
    duration: float,
    segmentation: Segmentation = Segmentation(),  # noqa: B008 - frozen values
    confidence: Confidence = Confidence(),  # noqa: B008
) -> Transcript:
    """Tokens, words and sentences of one hypothesis.

    Args:
        frame_seconds: seconds of an encoder frame.
        duration: seconds of the recording; every time is brought inside it.
        confidence: how tokens make a word, and words a sentence.
    """
    tokens = timed_tokens(hypothesis, vocabulary, frame_seconds=frame_seconds, duration=duration)
    words = words_of(tokens, vocabulary, confidence)
    return Transcript(
        text=vocabulary.decode(hypothesis.token_ids),
        sentences=sentences_of(words, segmentation, frame_seconds=frame_seconds, aggregation=confidence.aggregation),
        words=words,
        tokens=tuple(token for token in tokens if token.text or not vocabulary.is_special(token.id)),
        score=hypothesis.score,
        duration=duration,
        hypothesis=hypothesis,
    )


def timed_tokens(
    hypothesis: Hypothesis, vocabulary: Vocabulary, *, frame_seconds: float, duration: float
) -> tuple[Token, ...]:
    """The tokens of a hypothesis in seconds.

    A punctuation mark has no length: it stands at the end of the token before it, since models write it long after the
    word, behind a silence (NeMo does so for TDT; here it holds for every head).
    """
    log_probs = hypothesis.log_probs or (float("nan"),) * len(hypothesis.token_ids)
    columns = zip(
        hypothesis.token_ids,
        vocabulary.token_texts(hypothesis.token_ids),
        hypothesis.start_frames,
        hypothesis.end_frames,
        hypothesis.confidences,
        log_probs,
        strict=True,
    )
    tokens: list[Token] = []
    for token, text, start, end, sure, log_prob in columns:
        first, last = min(start * frame_seconds, duration), min(end * frame_seconds, duration)
        if tokens and vocabulary.is_punctuation(token):
            first = last = tokens[-1].end
        # NeMo's measures end slightly below 0 on a flat distribution.
        tokens.append(Token(token, text, first, last, min(1.0, max(0.0, sure)), log_prob))
    return tuple(tokens)


def words_of(tokens: Sequence[Token], vocabulary: Vocabulary, confidence: Confidence) -> tuple[Word, ...]:
    """Group tokens into words, as NeMo does.

    A word begins at a token with a leading space. Punctuation belongs to the word before it, except an opening mark
    with a space before it. A space of its own that no letters follow belongs to the word before it and counts for
    nothing. An unknown piece is a word of its own.
    """
    shown = [token for token in tokens if not vocabulary.is_special(token.id)]
    groups: list[list[Token]] = []
    for i, token in enumerate(shown):
        if not groups or _begins(shown, i, vocabulary):
            groups.append([])
        groups[-1].append(token)
    words = (_word(group, vocabulary, confidence) for group in groups)
    return tuple(word for word in words if word.text)


def resegment(transcript: Transcript, segmentation: Segmentation, *, frame_seconds: float = 0.08) -> Transcript:
    """The same tokens and words in other sentences; also for its alternatives.

    Args:
        frame_seconds: seconds of an encoder frame, for `Segmentation.gap_frames`.
    Raises:
        DecodingError: one of them is of another kind.
    """
    checks.instance("transcript", transcript, Transcript)
    checks.instance("segmentation", segmentation, Segmentation)
    checks.positive("frame_seconds", frame_seconds)
    how = getattr(getattr(transcript.decoding, "confidence", None), "aggregation", "min")

    def cut(one: Transcript) -> Transcript:
        sentences = sentences_of(one.words, segmentation, frame_seconds=frame_seconds, aggregation=how)
        return replace(one, sentences=sentences, alternatives=tuple(map(cut, one.alternatives)))

    return cut(transcript)


def _begins(tokens: Sequence[Token], i: int, vocabulary: Vocabulary) -> bool:
    piece = vocabulary.pieces[tokens[i].id]
    if piece == UNKNOWN or vocabulary.pieces[tokens[i - 1].id] == UNKNOWN:
        return not vocabulary.is_punctuation(tokens[i].id)
    if piece == SPACE:
        return i + 1 < len(tokens) and _continues(tokens[i + 1].id, vocabulary)
    if not piece.startswith(SPACE):
        # Scripts without spaces: a sentence that ends inside a run of letters would have no word to end with.
        return tokens[i - 1].text.endswith(_FULL_STOPS) and not vocabulary.is_punctuation(tokens[i].id)
    return not closes_word(tokens[i].id, vocabulary)


def closes_word(token: int, vocabulary: Vocabulary) -> bool:
    """Whether the token is punctuation that belongs to the word before it, whether or not it has a space before it."""
    if not vocabulary.is_punctuation(token):
        return False
    return not _opens(vocabulary.pieces[token].removeprefix(SPACE))


def _continues(token: int, vocabulary: Vocabulary) -> bool:
    """Whether the token goes on with letters after a lone space."""
    return not vocabulary.starts_word(token) and not vocabulary.is_punctuation(token)


def _opens(mark: str) -> bool:
    return mark in _OPENING_MARKS or unicodedata.category(mark) in _OPENING


def _word(group: Sequence[Token], vocabulary: Vocabulary, confidence: Confidence) -> Word:
    trailing = [token for token in group[1:] if vocabulary.pieces[token.id] == SPACE]
    counted = [token for token in group if token not in trailing]
    return Word(
        text=vocabulary.tidy("".join(token.text for token in counted).strip()),
        start=group[0].start,
        end=max(token.end for token in counted),
        confidence=aggregate(_values(counted), confidence.aggregation),
        tokens=tuple(group),
    )


def _values(tokens: Iterable[Token]) -> list[float]:
    return [token.confidence for token in tokens]
