"""What a person can set about decoding. Plain values: checked here, read by the decoders."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from asr_core import checks
from asr_core.errors import DecodingError

if TYPE_CHECKING:
    from asr_core.decoding.boosting import PhraseBoost
    from asr_core.decoding.ngram_lm import NgramLM

Head = Literal["tdt", "rnnt", "ctc"]
HEADS = ("tdt", "rnnt", "ctc")
METHODS = ("max_prob", "gibbs", "tsallis", "renyi")
NORMS = ("lin", "exp")
AGGREGATIONS = ("mean", "min", "max", "prod")

#: Labels that a transducer may emit on one frame where neither the settings nor the model say; never unlimited.
MAX_SYMBOLS = 10
#: Hypotheses of a search at most; their states must fit the memory.
MOST = 1000


@dataclass(frozen=True)
class Confidence:
    """How sure a token is, from the distribution it was chosen from.

    The measures and their defaults are NeMo's (`ConfidenceMethodConfig`): an entropy of the token distribution over
    V + 1 entries, normalised to 0..1.

    Args:
        method: "max_prob", or the entropy "gibbs", "tsallis" or "renyi".
        norm: "lin" or "exp" normalisation of an entropy; "max_prob" has only one.
        alpha: exponent that sharpens (> 1) or flattens (< 1) the distribution first.
        aggregation: how tokens make a word and words a sentence: "mean", "min", "max" or "prod".
        exclude_blank: leave out the frames on which nothing was emitted; otherwise they count to the token before.
        include_duration: aggregate a TDT token with the confidence of its duration.
    """

    method: Literal["max_prob", "gibbs", "tsallis", "renyi"] = "tsallis"
    norm: Literal["lin", "exp"] = "exp"
    alpha: float = 0.33
    aggregation: Literal["mean", "min", "max", "prod"] = "min"
    exclude_blank: bool = True
    include_duration: bool = False

    def __post_init__(self) -> None:
        checks.one_of("Confidence.method", self.method, METHODS)
        checks.one_of("Confidence.norm", self.norm, NORMS)
        checks.one_of("Confidence.aggregation", self.aggregation, AGGREGATIONS)
        checks.positive("Confidence.alpha", self.alpha)
        checks.flag("Confidence.exclude_blank", self.exclude_blank)
        checks.flag("Confidence.include_duration", self.include_duration)


@dataclass(frozen=True)
class Fusion:
    """A language model or boosted phrases that have a say in the search.

    Args:
        lm: n-gram model over the model's tokens.
        lm_weight: factor on its log-probs.
        pruning: "late" = the best candidates are chosen with its scores, "early" = without them.
        blank_lm_score: what blank gets. "no_score" = nothing; "lm_weighted_full" = blank's own log-prob is weighted by
            1 + weight, and labels share the log-prob of not being blank.
        phrases: phrases to prefer.
        phrase_weight: factor on their bonus.
    """

    lm: NgramLM | None = None
    lm_weight: float = 0.3
    pruning: Literal["early", "late"] = "late"
    blank_lm_score: Literal["no_score", "lm_weighted_full"] = "lm_weighted_full"
    phrases: PhraseBoost | None = None
    phrase_weight: float = 1.0

    def __post_init__(self) -> None:
        checks.one_of("Fusion.pruning", self.pruning, ("early", "late"))
        checks.one_of("Fusion.blank_lm_score", self.blank_lm_score, ("no_score", "lm_weighted_full"))
        for name in ("lm_weight", "phrase_weight"):
            checks.number(f"Fusion.{name}", getattr(self, name))
        for name in ("lm", "phrases"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, type) or not hasattr(value, "automaton")):
                kind = "an NgramLM" if name == "lm" else "a PhraseBoost"
                raise DecodingError(f"Fusion.{name} is {kind} or None, not {checks.shown(value)}.")


@dataclass(frozen=True)
class Whisper:
    """What only Whisper models have to be told.

    Args:
        language: code of the language that is spoken, as "de"; None = it is found out. English-only models take "en".
        task: "transcribe", or "translate" into English.
        timestamps: let the model write when its segments begin and end.
        prompt: text that is taken to come before, for names and style.
        temperatures: tried in this order until the text is neither repetitive nor improbable (`Greedy.temperature`
            takes their place where it is not 0: then nothing else is tried).
        best_of: texts drawn at temperatures above 0, of which the most probable is taken; None = 1.
        seed: of the draws.
    """

    language: str | None = None
    task: Literal["transcribe", "translate"] = "transcribe"
    timestamps: bool = True
    prompt: str | None = None
    temperatures: tuple[float, ...] = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
    best_of: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        checks.one_of("Whisper.task", self.task, ("transcribe", "translate"))
        for name in ("language", "prompt"):
            if not isinstance(getattr(self, name), str | None):
                raise DecodingError(f"Whisper.{name} is a text or None, not {checks.shown(getattr(self, name))}.")
        checks.flag("Whisper.timestamps", self.timestamps)
        if not isinstance(self.temperatures, tuple | list) or not self.temperatures:
            raise DecodingError(f"Whisper.temperatures is a tuple of numbers, not {checks.shown(self.temperatures)}.")
        for value in self.temperatures:
            checks.from_zero("Whisper.temperatures", value)
        object.__setattr__(self, "temperatures", tuple(self.temperatures))
        checks.whole("Whisper.best_of", self.best_of, most=MOST, optional=True)
        checks.whole("Whisper.seed", self.seed, least=0, most=2**63 - 1)


@dataclass(frozen=True)
class Greedy:
    """Take the best entry at each step (NeMo's `greedy_batch`).

    Args:
        head: "tdt", "rnnt" or "ctc"; None = the transducer where the model has one.
        max_symbols: labels that may be emitted on one frame; None = the model's value, else 10.
        temperature: Whisper only: above 0, draw each token from the distribution sharpened by 1 / temperature.
        confidence: how token confidence is measured.
        fusion: a language model or phrases; they choose among labels, never between label and blank.
        whisper: what only Whisper models have to be told; None = its defaults.
    """

    head: Head | None = None
    max_symbols: int | None = None
    temperature: float = 0.0
    confidence: Confidence = field(default_factory=Confidence)
    fusion: Fusion | None = None
    whisper: Whisper | None = None

    def __post_init__(self) -> None:
        _head(self)
        checks.whole("Greedy.max_symbols", self.max_symbols, optional=True)
        checks.from_zero("Greedy.temperature", self.temperature)
        _shared(self)


@dataclass(frozen=True)
class Beam:
    """Keep the best few hypotheses (NeMo's `malsd_batch` for transducers, `beam_batch` for CTC).

    Args:
        size: hypotheses kept.
        head: "tdt", "rnnt" or "ctc"; None = the transducer where the model has one.
        max_symbols: labels that may be emitted on one frame; None = the model's value, else 10.
        length_penalty: a in the ranking score / (labels + 1) ** a; None = 1. With Whisper a in
            sum / ((5 + tokens) / 6) ** a; None = sum / tokens.
        patience: Whisper only: the search is over when `round(size * patience)` texts have ended; 0 counts as 1.
        duration_weight: factor on the log-prob of a TDT duration; 1 weighs it like the label's.
        label_bonus: added for every label.
        prune: CTC hypotheses this much worse than the best are dropped.
        n_best: hypotheses returned; None = all.
        confidence, fusion, whisper: as for `Greedy`.
    """

    size: int = 4
    head: Head | None = None
    max_symbols: int | None = None
    length_penalty: float | None = None
    patience: float = 1.0
    duration_weight: float = 1.0
    label_bonus: float = 0.0
    prune: float = 20.0
    n_best: int | None = None
    confidence: Confidence = field(default_factory=Confidence)
    fusion: Fusion | None = None
    whisper: Whisper | None = None

    def __post_init__(self) -> None:
        _head(self)
        checks.whole("Beam.size", self.size, most=MOST)
        checks.whole("Beam.max_symbols", self.max_symbols, optional=True)
        checks.whole("Beam.n_best", self.n_best, optional=True)
        for name in ("patience", "duration_weight", "label_bonus"):
            checks.number(f"Beam.{name}", getattr(self, name))
        if self.length_penalty is not None:
            checks.number("Beam.length_penalty", self.length_penalty)
        checks.positive("Beam.prune", self.prune)
        checks.from_zero("Beam.patience", self.patience)
        _shared(self)


@dataclass(frozen=True)
class Maes:
    """Modified adaptive expansion search, for RNN-T (NeMo's `maes_batch`; Kim et al. 2020).

    Args:
        size: hypotheses kept.
        num_steps: labels that may be emitted on one frame.
        expansion_beta: candidates of a hypothesis beyond `size`.
        expansion_gamma: candidates this much worse than the hypothesis's best are dropped.
        n_best: hypotheses returned; None = all.
        confidence, fusion: as for `Greedy`.
        compat: "nemo" reproduces NeMo 3.0.0 with its two defects; None does not.
    """

    size: int = 4
    num_steps: int = 2
    expansion_beta: int = 2
    expansion_gamma: float = 2.3
    n_best: int | None = None
    confidence: Confidence = field(default_factory=Confidence)
    fusion: Fusion | None = None
    compat: Literal["nemo"] | None = None

    def __post_init__(self) -> None:
        checks.whole("Maes.size", self.size, most=MOST)
        checks.whole("Maes.num_steps", self.num_steps)
        checks.whole("Maes.n_best", self.n_best, optional=True)
        checks.whole("Maes.expansion_beta", self.expansion_beta, least=0)
        checks.positive("Maes.expansion_gamma", self.expansion_gamma)
        _shared(self)
        if self.compat is not None:
            checks.one_of("Maes.compat", self.compat, ("nemo",))

    @property
    def head(self) -> None:
        """MAES always decodes the transducer."""
        return None


Decoding = Greedy | Beam | Maes


def _shared(options: Greedy | Beam | Maes) -> None:
    name = type(options).__name__
    checks.instance(f"{name}.confidence", options.confidence, Confidence)
    checks.instance(f"{name}.fusion", options.fusion, Fusion, optional=True)
    checks.instance(f"{name}.whisper", getattr(options, "whisper", None), Whisper, optional=True)


def _head(options: Greedy | Beam) -> None:
    if options.head is not None:
        checks.one_of(f"{type(options).__name__}.head", options.head, HEADS)
