"""The decoder's settings: a table of what a person can set, the controls made of it, and the `Decoding` it stands for.

The table is the dataclass `DecoderChoice` (see components/form.py); assets/decoder_settings.js draws the controls from
the same table, so that nothing is said twice. A page may have several decoders, each with controls of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import gradio as gr

import asr_core
from asr_core.decoding.options import Decoding
from asr_core.whisper.languages import NAMES
from components import form
from components.form import FILLED, setting
from components.language_models import LanguageModels
from components.models import Models
from components.part import part
from components.phrases import parse_phrases
from components.uploads import uploaded_file

#: Names of the heads. A Whisper model has none; here its decoder stands for one, so that the controls know what fits.
HEADS = {"tdt": "TDT", "rnnt": "RNN-T", "ctc": "CTC", "whisper": "Whisper"}
#: What each strategy is, in a line under the choice.
STRATEGY_NOTES = {
    "greedy": "Fast. Takes the best token at each step.",
    "beam": "Slower. Follows several readings at once, and lists them.",
    "maes": "A beam for RNN-T that looks further only where it pays.",
}
#: Parts of the form: key and title; the first has none and is always open.
GROUPS = (
    ("main", ""),
    ("search", "Advanced"),
    ("lm", "Language model"),
    ("phrases", "Phrases to prefer"),
    ("confidence", "Confidence"),
)
SEARCH = ("beam", "maes")
TRANSDUCERS = ("tdt", "rnnt")
WHISPER = ("whisper",)
#: "" is the language that the model hears by itself.
LANGUAGES = (("", "The one it hears"), *sorted(NAMES.items(), key=lambda entry: entry[1]))
#: What phrases and language models can be fused with; None = the model is not known yet.
FUSED = (None, "tdt", "rnnt", "ctc")


@dataclass(frozen=True)
class DecoderChoice:
    """The raw values of one decoder's controls. A setting that does not apply has its default."""

    strategy: str = setting(
        "greedy", "Decoder", "main", "choice", options=(("greedy", "Greedy"), ("beam", "Beam"), ("maes", "MAES"))
    )
    head: str | None = setting(
        None, "Head", "main", "choice", options=tuple(HEADS.items()), when={"strategy": ("greedy", "beam")}
    )
    language: str = setting("", "Language spoken", "main", "choice", options=LANGUAGES, when={"head": WHISPER})
    task: str = setting(
        "transcribe",
        "Text",
        "main",
        "choice",
        options=(("transcribe", "As spoken"), ("translate", "English translation")),
        when={"head": WHISPER},
    )
    size: int = setting(4, "Beam size", "main", "whole", least=1, most=16, when={"strategy": SEARCH})
    n_best: int | None = setting(
        None, "Readings listed", "main", "whole", least=1, most=16, empty="all", when={"strategy": SEARCH}
    )
    max_symbols: int | None = setting(
        None,
        "Labels per frame",
        "search",
        "whole",
        least=1,
        most=50,
        empty="model’s",
        when={"strategy": ("greedy", "beam"), "head": TRANSDUCERS},
    )
    length_penalty: float | None = setting(
        None, "Length penalty", "search", "number", most=3, step=0.1, empty="1", when={"strategy": ("beam",)}
    )
    label_bonus: float = setting(
        0.0,
        "Bonus per label",
        "search",
        "number",
        least=-10,
        most=10,
        step=0.1,
        when={"strategy": ("beam",), "head": FUSED},
    )
    patience: float = setting(
        1.0, "Patience", "search", "number", most=4, step=0.1, when={"strategy": ("beam",), "head": WHISPER}
    )
    temperature: float = setting(
        0.0, "Temperature", "search", "number", most=2, step=0.1, when={"strategy": ("greedy",), "head": WHISPER}
    )
    duration_weight: float = setting(
        1.0, "Duration weight", "search", "number", most=5, step=0.1, when={"strategy": ("beam",), "head": ("tdt",)}
    )
    prune: float = setting(
        20.0,
        "Prune",
        "search",
        "number",
        least=0.5,
        most=1000,
        step=0.5,
        when={"strategy": ("beam",), "head": ("ctc",)},
    )
    num_steps: int = setting(2, "Steps per frame", "search", "whole", least=1, most=10, when={"strategy": ("maes",)})
    expansion_beta: int = setting(2, "Expansion beta", "search", "whole", most=16, when={"strategy": ("maes",)})
    expansion_gamma: float = setting(
        2.3, "Expansion gamma", "search", "number", least=0.1, most=50, step=0.1, when={"strategy": ("maes",)}
    )
    lm: str | None = setting(None, "ARPA file", "lm", "file", when={"head": FUSED})
    lm_weight: float = setting(0.3, "Weight", "lm", "number", most=5, step=0.05, when={"lm": FILLED})
    pruning: str = setting(
        "late",
        "Candidates are chosen",
        "lm",
        "choice",
        options=(("late", "with its scores (late)"), ("early", "without (early)")),
        when={"lm": FILLED, "strategy": SEARCH, "head": TRANSDUCERS},
    )
    phrases: str = setting(
        "",
        "One a line",
        "phrases",
        "lines",
        when={"head": FUSED},
        hint="With a weight where it is not 1: tokenscope: 2.5",
    )
    phrase_weight: float = setting(
        1.0, "Weight of all", "phrases", "number", most=20, step=0.1, when={"phrases": FILLED}
    )
    any_case: bool = setting(True, "In any letter case", "phrases", "switch", when={"phrases": FILLED})
    method: str = setting(
        "tsallis",
        "Measure",
        "confidence",
        "choice",
        options=(
            ("max_prob", "Max probability"),
            ("gibbs", "Gibbs entropy"),
            ("tsallis", "Tsallis entropy"),
            ("renyi", "Rényi entropy"),
        ),
    )
    norm: str = setting(
        "exp",
        "Normalisation",
        "confidence",
        "choice",
        options=(("exp", "Exponential"), ("lin", "Linear")),
        when={"method": ("gibbs", "tsallis", "renyi")},
    )
    alpha: float = setting(0.33, "Alpha", "confidence", "number", least=0.01, most=10, step=0.01)
    aggregation: str = setting(
        "min",
        "Confidence of a word",
        "confidence",
        "choice",
        options=(("min", "Lowest of its tokens"), ("mean", "Mean"), ("max", "Highest"), ("prod", "Product")),
    )
    include_duration: bool = setting(False, "Count the duration in", "confidence", "switch", when={"head": ("tdt",)})

    @classmethod
    def from_page(cls, value: Any) -> DecoderChoice:
        """What the page sends. Raises DecodingError that calls the setting what the page calls it."""
        return cls(**form.values_of(cls, value))


def decoding_of(choice: DecoderChoice, language_models: LanguageModels) -> Decoding:
    """The settings as the core takes them. Raises DecodingError: a bad line of phrases, or a language model gone."""
    shared: dict[str, Any] = {
        "confidence": _taken(asr_core.Confidence, choice),
        "fusion": _fusion(choice, language_models),
    }
    if choice.head == "whisper":
        shared["whisper"] = asr_core.Whisper(language=choice.language or None, task=choice.task)
        choice = replace(choice, head=None)
    kind = {"greedy": asr_core.Greedy, "beam": asr_core.Beam, "maes": asr_core.Maes}[choice.strategy]
    return _taken(kind, choice, **shared)


def decoder_name(decoding: Any, heads: Sequence[str]) -> str:
    """What made a transcript, in words: "Greedy, TDT", "Beam 5, TDT, LM 0.3", "Greedy, Whisper, German into English".

    Args:
        heads: of the model, its own choice first.
    """
    match decoding:
        case asr_core.Beam():
            words = [f"Beam {decoding.size}"]
        case asr_core.Maes():
            words = [f"MAES {decoding.size}"]
        case _:
            words = ["Greedy"]
    head = getattr(decoding, "head", None) or (heads[0] if heads else None)
    if getattr(decoding, "whisper", None) is not None:
        head = "whisper"
    if head in HEADS:
        words.append(HEADS[head])
    words += _told(getattr(decoding, "whisper", None))
    fusion = getattr(decoding, "fusion", None)
    if fusion is not None and fusion.lm is not None:
        words.append(f"LM {fusion.lm_weight:g}")
    if fusion is not None and fusion.phrases is not None:
        count = len(fusion.phrases.phrases)
        words.append(f"{count} phrase{'' if count == 1 else 's'}")
    return ", ".join(words)


def _told(options: asr_core.Whisper | None) -> list[str]:
    """The language and the task that were set, in words."""
    if options is None:
        return []
    name = NAMES.get(options.language or "", "")
    if options.task == "translate":
        return [f"{name} into English".strip()]
    return [name] if name else []


def build_decoder_settings(
    language_models: LanguageModels,
    choice: DecoderChoice = DecoderChoice(),
    **options: Any,
) -> gr.HTML:
    """The controls of one decoder; the component's value is what `DecoderChoice.from_page` reads.

    Args:
        choice: what they show at first.
    """

    def take_language_model(request: Any) -> dict[str, Any]:
        return take_upload(language_models, request)

    def check_phrases(text: Any) -> dict[str, Any]:
        try:
            return {"count": len(parse_phrases(text if isinstance(text, str) else ""))}
        except asr_core.DecodingError as error:
            return {"error": str(error)}

    return part(
        "decoder",
        asdict(choice),
        server_functions=(take_language_model, check_phrases),
        form=form.described(DecoderChoice),
        groups=[list(group) for group in GROUPS],
        notes=STRATEGY_NOTES,
        limit=language_models.max_mb,
        heads=[],
        languages=[],
        **options,
    )


def with_model(models: Models, source: str | None, **more: Any) -> Any:
    """Update of the controls for another model: what it cannot do is not offered."""
    return gr.update(heads=list(models.heads(source)), languages=list(models.languages(source)), **more)


def take_upload(language_models: LanguageModels, request: Any) -> dict[str, Any]:
    """A language model has been sent: [path, name]. Answers with {id, name}, or {error}."""
    path, name = request if isinstance(request, list) and len(request) == 2 else (None, None)
    file = uploaded_file(path)
    if file is None:
        return {"error": "The file did not arrive. Choose it again."}
    name = name[:200] if isinstance(name, str) and name.strip() else file.name
    try:
        return {"id": language_models.add(file, name), "name": name}
    except asr_core.DecodingError as error:
        return {"error": str(error)}


def _taken(kind: type, choice: DecoderChoice, **more: Any) -> Any:
    """A value of the core's, with all that has the same name in the choice."""
    names = {one.name for one in fields(kind)} & {one.name for one in fields(choice)}
    return kind(**{name: getattr(choice, name) for name in names}, **more)


def _fusion(choice: DecoderChoice, language_models: LanguageModels) -> asr_core.Fusion | None:
    lm = language_models.get(choice.lm) if choice.lm is not None else None
    given = parse_phrases(choice.phrases)
    if lm is None and not given:
        return None
    phrases = asr_core.PhraseBoost(given, any_case=choice.any_case) if given else None
    return asr_core.Fusion(
        lm=lm, lm_weight=choice.lm_weight, pruning=choice.pruning, phrases=phrases, phrase_weight=choice.phrase_weight
    )
