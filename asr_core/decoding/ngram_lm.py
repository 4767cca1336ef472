"""N-gram language models over labels, from ARPA files in NeMo's token encoding."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from asr_core import checks
from asr_core.decoding.automaton import START, Automaton, build
from asr_core.errors import DecodingError

#: NeMo writes token i as the character of code i + 100.
OFFSET = 100
BEGIN, END, UNKNOWN = "<s>", "</s>", "<unk>"
_LN10 = math.log(10)

Gram = tuple[str, ...]


@dataclass(frozen=True)
class NgramLM:
    """An n-gram model.

    Args:
        order: of the longest n-grams.
        grams: for each order from 1, n-gram to (log-prob, back-off weight), both natural log.
        source: where it came from, for messages.
    """

    order: int
    grams: tuple[dict[Gram, tuple[float, float]], ...]
    source: str
    #: Automata that were built, kept as long as the model is.
    _automata: dict[tuple[int, bool], Automaton] = field(default_factory=dict, repr=False)

    @classmethod
    def from_arpa(cls, path: str | Path) -> NgramLM:
        """Read an ARPA file whose tokens are characters of code id + 100.

        Raises DecodingError that names the line where the file does not follow the format. Lines end at "\\n" only and
        tokens at single spaces: some token characters are themselves white space to `str.split`.
        """
        try:
            path = Path(path)
            lines = path.read_bytes().decode("utf-8").split("\n")
        except OSError as error:
            raise DecodingError(f"The language model {path.name} cannot be read: {error.strerror}.") from error
        except UnicodeDecodeError as error:
            raise DecodingError(f"The language model {path.name} is not an ARPA file in UTF-8.") from error
        except (TypeError, ValueError) as error:  # no path, or one that no file can have
            given = checks.shown(str(path) if isinstance(path, Path) else path)
            raise DecodingError(f"A language model is named by the path of an ARPA file, not {given}.") from error
        return cls.from_lines(lines, path.name)

    @classmethod
    def from_lines(cls, lines: Iterable[str], source: str = "ARPA") -> NgramLM:
        """Read an ARPA file's lines."""
        grams: list[dict[Gram, tuple[float, float]]] = []
        declared: list[int] = []
        order = 0
        for number, line in enumerate(lines, 1):
            line = line.removesuffix("\r")
            if line.startswith("ngram ") and order == 0:
                declared.append(_count(line, source, number))
            elif line.startswith("\\") and line.endswith("-grams:"):
                order += 1
                grams.append({})
                if line != f"\\{order}-grams:":
                    raise DecodingError(f"Line {number} of {source} is {line!r}; \\{order}-grams: is expected.")
            elif line == "\\end\\":
                break
            elif order and line:
                gram, values = _entry(line, order, source, number)
                grams[-1][gram] = values
        if not grams:
            raise DecodingError(f"{source} is not a whole ARPA file: it has no line \\1-grams:.")
        if [len(part) for part in grams] != declared:
            raise DecodingError(
                f"{source} is not a whole ARPA file: it declares {declared} n-grams and holds "
                f"{[len(part) for part in grams]}."
            )
        return cls(len(grams), tuple(grams), source)

    def described(self) -> dict[str, object]:
        """What a file of results says of it: its name and size, not its n-grams."""
        return {"source": self.source, "order": self.order, "ngrams": [len(part) for part in self.grams]}

    def automaton(self, vocabulary: int, *, normalize_unknown: bool = True) -> Automaton:
        """The model as an automaton over `vocabulary` labels.

        Args:
            normalize_unknown: share the probability of `<unk>` among the labels that the model does not know.
        Raises:
            DecodingError: an n-gram's suffix is missing, or a token lies outside the vocabulary.
        """
        wanted = vocabulary, normalize_unknown
        if wanted not in self._automata:
            self._automata[wanted] = _automaton(self, vocabulary, normalize_unknown)
        return self._automata[wanted]

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other


def _automaton(model: NgramLM, vocabulary: int, normalize_unknown: bool) -> Automaton:
    every = [gram for part in model.grams for gram in part]
    ids = {gram: tuple(_label(token, vocabulary, model.source) for token in gram) for gram in every}
    # The state of every n-gram that more can follow, shorter ones first, in the order of their labels.
    states: dict[Gram, int] = {(): START, (BEGIN,): 1}
    for part in model.grams[: max(1, model.order - 1)] if model.order > 1 else ():
        known = (gram for gram in part if gram[-1] not in (BEGIN, END, UNKNOWN))
        for gram in sorted(known, key=ids.__getitem__):
            states[gram] = len(states)
    arcs: list[dict[int, tuple[float, int]]] = [{} for _ in states]
    backoffs, finals = [(0.0, START)] * len(states), [-math.inf] * len(states)
    ends: dict[int, float] = {}
    for part in model.grams:
        for gram, (log_prob, backoff) in part.items():
            before = _state(gram[:-1], states, model.source)
            if gram in states and gram:
                backoffs[states[gram]] = (backoff, _state(_suffix(gram, states), states, model.source))
            if gram[-1] == END:
                ends[before] = log_prob
            elif gram[-1] not in (BEGIN, UNKNOWN):
                target = states[_suffix(gram, states)] if gram not in states else states[gram]
                arcs[before][ids[gram][-1]] = (log_prob, target)
    for state in range(len(states)):  # a back-off leads to a state of a shorter n-gram, which comes earlier
        weight, target = backoffs[state]
        finals[state] = ends[state] if state in ends else (weight + finals[target] if state else -math.inf)
    unknown = model.grams[0].get((UNKNOWN,), (-math.inf, 0.0))[0]
    missing = vocabulary - len(arcs[START])
    if normalize_unknown and missing > 1:
        unknown -= math.log(missing)
    return build(vocabulary, arcs, backoffs, finals, initial=1, unknown=unknown)


def _suffix(gram: Gram, states: dict[Gram, int]) -> Gram:
    """The longest proper suffix that is a state."""
    return next(gram[i:] for i in range(1, len(gram) + 1) if gram[i:] in states)


def _state(gram: Gram, states: dict[Gram, int], source: str) -> int:
    if gram not in states:
        raise DecodingError(f"{source} holds an n-gram whose beginning {gram} it does not hold itself.")
    return states[gram]


def _label(token: str, vocabulary: int, source: str) -> int:
    if token in (BEGIN, END, UNKNOWN):
        return -1
    label = ord(token) - OFFSET
    if not 0 <= label < vocabulary:
        raise DecodingError(
            f"{source} has the token {token!r} (id {label}), but the model's ids are 0 to {vocabulary - 1}: "
            "make the language model with this model's tokenizer."
        )
    return label


def _count(line: str, source: str, number: int) -> int:
    try:
        return int(line.split("=", 1)[1])
    except (IndexError, ValueError) as error:
        raise DecodingError(f"Line {number} of {source} is {line!r}; ngram N=count is expected.") from error


def _entry(line: str, order: int, source: str, number: int) -> tuple[Gram, tuple[float, float]]:
    fields = line.split("\t")
    try:
        gram = tuple(fields[1].split(" "))
        values = [float(field) for field in fields[:1] + fields[2:3]]
        if not all(math.isfinite(value) for value in values):
            raise ValueError
        log_prob, backoff = float(fields[0]) * _LN10, float(fields[2]) * _LN10 if len(fields) > 2 else 0.0
    except (IndexError, ValueError) as error:
        raise DecodingError(f"Line {number} of {source} is no n-gram: log-prob, tokens, back-off with tabs.") from error
    if len(gram) != order or not all(len(t) == 1 or t in (BEGIN, END, UNKNOWN) for t in gram):
        raise DecodingError(
            f"Line {number} of {source} holds {len(gram)} tokens; {order} single characters of code id + {OFFSET} "
            "are expected."
        )
    return gram, (log_prob, backoff)
