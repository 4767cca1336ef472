"""From encoded windows of audio to texts: the loop between the decoder's network and a search.

The network is asked token by token, each time as a job of its own, so that live audio need not wait for a long file.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from asr_core.decoding.autoregressive import BeamSearch, Candidate, GreedySearch, ranking
from asr_core.decoding.options import Beam, Greedy, Whisper
from asr_core.engine import Engine, Priority
from asr_core.errors import Cancelled
from asr_core.models.whisper_config import NEXT, Wanted
from asr_core.whisper.filters import Filters
from asr_core.whisper.tokenizer import WhisperTokenizer

if TYPE_CHECKING:
    from asr_core.models.whisper import Whisper as Model
    from asr_core.models.whisper_cache import DecoderCache


@dataclass(frozen=True)
class Decoder:
    """A model's decoder, for any thread: jobs of the engine at one priority."""

    model: Model
    engine: Engine
    priority: Priority = Priority.FILE

    @property
    def room(self) -> int:
        """Tokens that the decoder can hold."""
        return self.model.config.dimensions.n_text_ctx

    @property
    def multilingual(self) -> bool:
        return self.model.config.dimensions.multilingual

    def begin(self, encoded: np.ndarray) -> DecoderCache:
        return self.engine.run_at(self.priority, self.model.begin, encoded)

    def only(self, cache: DecoderCache, audio: int) -> DecoderCache:
        """The part of one of a cache's audios, before the first token."""
        return self.engine.run_at(self.priority, self.model.only, cache, audio)

    def step(
        self, tokens: np.ndarray, cache: DecoderCache, sources: np.ndarray | None = None, wanted: Wanted = NEXT
    ) -> tuple[np.ndarray, DecoderCache, np.ndarray | None]:
        """See `Whisper.step` in asr_core/models/whisper.py."""
        return self.engine.run_at(self.priority, self.model.step, tokens, cache, sources, wanted)

    def choose(
        self,
        tokens: np.ndarray,
        cache: DecoderCache,
        sources: np.ndarray,
        filters: Filters,
        sequences: Sequence[Sequence[int]],
        count: int,
    ) -> tuple[np.ndarray, np.ndarray, DecoderCache]:
        """The best entries after one more token (rows,) of each row, chosen on the device; see `Whisper.choose`."""
        spans = [filters.spans(sequence) for sequence in sequences]
        return self.engine.run_at(
            self.priority,
            self.model.choose,
            tokens[:, None],
            cache,
            sources,
            count,
            filters.suppressed,
            spans,
            filters.first_timestamp,
        )


@dataclass(frozen=True)
class Prompt:
    """What stands before the text: `tokens`, with the token that starts it at position `start`."""

    tokens: tuple[int, ...]
    start: int = 0


@dataclass(frozen=True)
class Reading:
    """What a search found in one window.

    Args:
        candidates: best first.
        no_speech: probability, before any filter, that there is no speech.
        temperature: at which it was found.
    """

    candidates: tuple[Candidate, ...]
    no_speech: float
    temperature: float = 0.0

    @property
    def best(self) -> Candidate:
        return self.candidates[0]

    @property
    def mean_log_prob(self) -> float:
        """Of a token of the best text, its end counted."""
        return self.best.sum_log_prob / (len(self.best.tokens) + 1)


def prompt_of(
    tokenizer: WhisperTokenizer, options: Whisper, language: str | None, before: Sequence[int], room: int
) -> Prompt:
    """The tokens before a window's text.

    Args:
        before: tokens of what was said before, of which the last `room // 2 - 1` are kept.
        room: tokens that the decoder can hold.
    """
    special = tokenizer.vocabulary.special
    kept = list(before)[-(room // 2 - 1) :]
    head = [special.start_of_previous, *kept] if kept else []
    tail = [] if options.timestamps else [special.no_timestamps]
    return Prompt((*head, *tokenizer.start_tokens(language, options.task), *tail), len(head))


def filters_of(tokenizer: WhisperTokenizer, options: Whisper) -> Filters:
    """openai-whisper's own choice of filters."""
    special = tokenizer.vocabulary.special
    return Filters(special, tokenizer.suppressed, tokenizer.blank, options.timestamps)


def search_of(decoding: Greedy | Beam, temperature: float, best_of: int | None, end: int) -> GreedySearch | BeamSearch:
    """The search at a temperature; above 0 there are no beams, only draws."""
    if temperature > 0:
        return GreedySearch(end, temperature, best_of or 1)
    if isinstance(decoding, Beam):
        return BeamSearch(end, decoding.size, decoding.patience)
    return GreedySearch(end)


def read(
    decoder: Decoder,
    cache: DecoderCache,
    prompts: Sequence[Prompt],
    search: GreedySearch | BeamSearch,
    filters: Filters,
    tokenizer: WhisperTokenizer,
    *,
    length_penalty: float | None = None,
    seed: int = 0,
    cancel: threading.Event | None = None,
) -> list[Reading]:
    """Search the texts of several windows together.

    Args:
        cache: the decoder's, before its first token.
        prompts: of each of its audios, of equal lengths.
    Raises:
        Cancelled: in the middle of it.
    """
    group = search.size if isinstance(search, BeamSearch) else search.group
    state = search.start(len(prompts)) if isinstance(search, BeamSearch) else search.start(len(prompts), seed)
    # All sequences of an audio begin alike: the prompt is read once for each audio.
    tokens, wanted = np.array([prompt.tokens for prompt in prompts]), Wanted((prompts[0].start, -1))
    logits, cache, _ = decoder.step(tokens, cache, wanted=wanted)
    no_speech = probabilities(logits[:, 0])[:, tokenizer.vocabulary.special.no_speech]
    sources = np.repeat(np.arange(len(prompts)), group)
    following = logits[sources, 1]
    filters.apply(following, state.sequences)
    state, ask, done = search.update(state, following)
    # After the prompt the cache has one row an audio, then one a sequence.
    came_from = sources[ask.sources]
    for _ in range(decoder.room // 2 - 1):
        if done or cache.length >= decoder.room:
            break
        if cancel is not None and cancel.is_set():
            raise Cancelled
        if decoder.model.chooses and not getattr(search, "temperature", 0.0):
            values, ids, cache = decoder.choose(ask.tokens, cache, came_from, filters, state.sequences, search.entries)
            state, ask, done = search.update_from(state, values, ids)
        else:
            logits, cache, _ = decoder.step(ask.tokens[:, None], cache, came_from)
            filters.apply(logits[:, 0], state.sequences)
            state, ask, done = search.update(state, logits[:, 0])
        came_from = ask.sources
    found = []
    for candidates, silence in zip(search.finalize(state), no_speech, strict=True):
        order = ranking(candidates, length_penalty)
        temperature = getattr(search, "temperature", 0.0)
        found.append(Reading(tuple(candidates[i] for i in order), float(silence), temperature))
    return found


def probabilities(logits: np.ndarray) -> np.ndarray:
    """Softmax of (..., V)."""
    exponentials = np.exp(logits - logits.max(-1, keepdims=True))
    return exponentials / exponentials.sum(-1, keepdims=True)
