"""A transcript that grows: tokens are added at its end, and what has been said is not computed again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from asr_core.alignment import Hypothesis, Sentence, Token, Transcript, Word
from asr_core.decoding.options import Confidence
from asr_core.segmentation import Segmentation, sentences_of
from asr_core.text import SPACE, Vocabulary
from asr_core.wording import closes_word, timed_tokens, words_of

#: Control tokens with which a model says that somebody has finished speaking.
END_OF_UTTERANCE = ("<EOU>", "[EOU]", "<eou>", "<|endofutterance|>")


class LiveTranscript:
    """The final part of a stream.

    Sentences are frozen once the words behind them can no longer change where they end; only what follows is put
    together anew when tokens come. The last frozen one is opened again for punctuation that belongs to its last word,
    such as a full stop that comes after the pause. It keeps the result's own tokens and nothing else.
    """

    def __init__(
        self, vocabulary: Vocabulary, frame_seconds: float, segmentation: Segmentation, confidence: Confidence
    ) -> None:
        self._vocabulary, self._frame_seconds = vocabulary, frame_seconds
        self._segmentation, self._confidence = segmentation, confidence
        self._ends = {vocabulary.pieces.index(piece) for piece in END_OF_UTTERANCE if piece in vocabulary.pieces}
        self._columns: tuple[list, ...] = ([], [], [], [], [])
        self._score = 0.0
        self._frozen: list[Sentence] = []
        self._frozen_tokens: list[Token] = []
        self._frozen_text = ""
        #: Position of the first token that is not frozen.
        self._open = 0
        #: How long tokens and text were before the last frozen sentence.
        self._before_last = (0, 0, "")
        #: Whether anything but such punctuation has come since the last utterance ended.
        self._speaking = False
        #: The frame behind the last token that is no such punctuation.
        self._said_until = 0
        self.utterances = 0
        self.made = Transcript()

    @property
    def last_end(self) -> int | None:
        """The frame behind the last token of the utterance that goes on; None where none has begun."""
        ends = self._columns[2]
        return ends[-1] if len(ends) > self._open else None

    def add(self, piece: Hypothesis, pause: float | None) -> None:
        """Take tokens in, with frames counted from the start of the recording.

        Args:
            pause: seconds of silence between two tokens that end an utterance.
        """
        for token in zip(
            piece.token_ids, piece.start_frames, piece.end_frames, piece.confidences, piece.log_probs, strict=True
        ):
            last = self.last_end
            if closes_word(token[0], self._vocabulary) and (self._frozen or last is not None):
                if last is None:
                    self._reopen()
            else:
                silent = (token[1] - self._said_until) * self._frame_seconds
                # Open without speech: opened again for a mark, behind which the next utterance begins.
                if not self._speaking or (pause is not None and last is not None and silent >= pause):
                    self.end_utterance()
                self._speaking = self._speaking or not self._vocabulary.is_special(token[0])
                self._said_until = token[2]
            for column, value in zip(self._columns, token, strict=True):
                column.append(value)
            if token[0] in self._ends:
                self.end_utterance()
        self._score += piece.score
        self._freeze(self._build())

    def end_utterance(self) -> None:
        """Close the sentence that goes on: somebody has finished speaking."""
        if self.last_end is not None:
            self._freeze(self._build(), keep=0)
            self.utterances += self._speaking
            self._speaking = False

    def hypothesis(self) -> Hypothesis:
        """All tokens, in frames."""
        ids, starts, ends, sure, log_probs = (tuple(column) for column in self._columns)
        return Hypothesis(ids, starts, ends, self._score, sure, log_probs)

    def finish(self, duration: float) -> None:
        """Bring the last times inside the recording."""
        self._freeze(self._build(duration), keep=0)
        last = self._frozen[-1:]
        if last and last[0].end > duration:
            self._frozen[-1] = _clipped(last[0], duration)
        self.made = self._transcript((), (), "")

    def _build(self, duration: float = math.inf) -> tuple[tuple[Token, ...], tuple[Sentence, ...], str]:
        """Tokens, sentences and text of what is not frozen."""
        ids, starts, ends, sure, log_probs = (tuple(column[self._open :]) for column in self._columns)
        open_ = Hypothesis(ids, starts, ends, 0.0, sure, log_probs)
        tokens = timed_tokens(open_, self._vocabulary, frame_seconds=self._frame_seconds, duration=duration)
        words = words_of(tokens, self._vocabulary, self._confidence)
        sentences = sentences_of(
            words,
            self._segmentation,
            frame_seconds=self._frame_seconds,
            aggregation=self._confidence.aggregation,
        )
        return tokens, sentences, self._vocabulary.decode(ids)

    def _freeze(self, built: tuple[tuple[Token, ...], tuple[Sentence, ...], str], keep: int | None = None) -> None:
        """Freeze all sentences but the last, whose end the next word decides, and make the transcript.

        Args:
            keep: sentences to keep open; None = one, or two while the last consists of a word that may go on.
        """
        tokens, sentences, text = built
        if keep is None:
            keep = 2 if sentences and len(sentences[-1].words) == 1 else 1
        closed = sentences[: len(sentences) - keep] if keep else sentences
        if keep and not closed:
            self.made = self._transcript(tokens, sentences, text)
            return
        count = len(tokens) if not keep else _tokens_before(tokens, sentences[len(closed)])
        ids = self._columns[0][self._open : self._open + count]
        if closed:
            before = _tokens_before(tokens, closed[-1])
            text_before = self._joined(self._vocabulary.decode(ids[:before]))
            self._before_last = (self._open + before, len(self._frozen_tokens) + before, text_before)
        self._frozen_text = self._joined(self._vocabulary.decode(ids))
        self._frozen += closed
        self._frozen_tokens += tokens[:count]
        self._open += count
        rest = sentences[len(closed) :]
        self.made = self._transcript(tokens[count:], rest, self._vocabulary.decode(self._columns[0][self._open :]))

    def _reopen(self) -> None:
        """Take the last sentence back among what is not frozen."""
        self._frozen.pop()
        self._open, count, self._frozen_text = self._before_last
        del self._frozen_tokens[count:]

    def _joined(self, text: str) -> str:
        if not self._frozen_text or not text:
            return self._frozen_text + text
        ids = self._columns[0]
        begins = self._open < len(ids) and self._vocabulary.pieces[ids[self._open]].startswith(SPACE)
        return self._frozen_text + (" " if begins else "") + text

    def _transcript(self, tokens: Sequence[Token], sentences: Sequence[Sentence], text: str) -> Transcript:
        every = (*self._frozen, *sentences)
        shown = (*self._frozen_tokens, *tokens)
        return Transcript(
            text=self._joined(text),
            sentences=every,
            words=tuple(word for sentence in every for word in sentence.words),
            tokens=tuple(t for t in shown if t.text or not self._vocabulary.is_special(t.id)),
            score=self._score,
        )


def _tokens_before(tokens: Sequence[Token], sentence: Sentence) -> int:
    first = sentence.words[0].tokens[0]
    return next(i for i, token in enumerate(tokens) if token is first)


def _clipped(sentence: Sentence, duration: float) -> Sentence:
    def inside(item: Token | Word) -> dict[str, float]:
        return {"start": min(item.start, duration), "end": min(item.end, duration)}

    words = tuple(
        replace(word, **inside(word), tokens=tuple(replace(token, **inside(token)) for token in word.tokens))
        for word in sentence.words
    )
    return replace(sentence, words=words, start=min(sentence.start, duration), end=min(sentence.end, duration))
