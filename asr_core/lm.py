"""Make a language model for fusion from text: `python -m asr_core.lm text.txt --model demo -o lm.arpa`.

Interpolated Witten-Bell n-grams over a model's own tokens, as an ARPA file in NeMo's token encoding. Any other program
that writes such a file (KenLM, say) will do as well.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from asr_core.decoding.ngram_lm import BEGIN, END, OFFSET, UNKNOWN, Gram
from asr_core.errors import AsrError, DecodingError

#: Log-prob that ARPA files give to the start of a sentence, which is never predicted.
NEVER = -99.0


def write_arpa(path: str | Path, sentences: Iterable[Sequence[int]], vocabulary: int, order: int = 4) -> None:
    """Count n-grams and write a model.

    Args:
        sentences: labels of each.
        vocabulary: number of labels.
        order: of the longest n-grams.
    Raises:
        DecodingError: no sentences, or an order below 1.
    """
    if order < 1:
        raise DecodingError(f"The order of a language model is a whole number from 1, not {order}.")
    counts = _count(sentences, order)
    if not counts[0]:
        raise DecodingError("There is no text to make a language model from; give a file with a sentence a line.")
    probabilities, backoffs = _witten_bell(counts, vocabulary)
    with Path(path).open("w", encoding="utf-8", newline="\n") as file:
        file.write("\\data\\\n")
        for n, part in enumerate(probabilities, 1):
            file.write(f"ngram {n}={len(part)}\n")
        for n, part in enumerate(probabilities, 1):
            file.write(f"\n\\{n}-grams:\n")
            for gram in sorted(part):
                backoff = f"\t{math.log10(backoffs[gram]):.6f}" if gram in backoffs else ""
                value = NEVER if gram == (BEGIN,) else math.log10(part[gram])
                file.write(f"{value:.6f}\t{' '.join(gram)}{backoff}\n")
        file.write("\n\\end\\\n")


def _count(sentences: Iterable[Sequence[int]], order: int) -> list[Counter[Gram]]:
    """How often each n-gram occurs; a start of sentence begins n-grams and ends none."""
    counts: list[Counter[Gram]] = [Counter() for _ in range(order)]
    for labels in sentences:
        if not labels:
            continue
        tokens = (BEGIN, *(chr(label + OFFSET) for label in labels), END)
        for end in range(2, len(tokens) + 1):
            for n in range(1, min(order, end) + 1):
                counts[n - 1][tokens[end - n : end]] += 1
    return counts


def _witten_bell(counts: Sequence[Counter[Gram]], vocabulary: int) -> tuple[list[dict[Gram, float]], dict[Gram, float]]:
    """Interpolated probabilities for each order, and back-off weights (Witten and Bell 1991).

    A history that was followed by T kinds of token in c places gives T / (c + T) to what follows shorter histories; one
    that knows nothing takes every label, and the end, as equally likely.
    """
    places: dict[Gram, int] = defaultdict(int)
    kinds: dict[Gram, int] = defaultdict(int)
    for part in counts:
        for gram, count in part.items():
            places[gram[:-1]] += count
            kinds[gram[:-1]] += 1
    uniform = 1 / (vocabulary + 1)
    known: dict[Gram, float] = {}
    out: list[dict[Gram, float]] = []
    for part in counts:
        level = {}
        for gram, count in part.items():
            history = gram[:-1]
            shorter = known[gram[1:]] if len(gram) > 1 else uniform
            level[gram] = (count + kinds[history] * shorter) / (places[history] + kinds[history])
        known |= level
        out.append(level)
    backoffs = {history: kinds[history] / (places[history] + kinds[history]) for history in kinds if history}
    missing = vocabulary + 1 - len(out[0])
    # The unknown token stands for all labels that were never seen.
    out[0][(UNKNOWN,)] = max(missing, 1e-6) * uniform * kinds[()] / (places[()] + kinds[()])
    out[0][(BEGIN,)] = 1.0
    return out, backoffs


def encode_lines(lines: Iterable[str], encode: Callable[[str], Sequence[int]]) -> Iterable[Sequence[int]]:
    """Labels of each line that has some text."""
    return (encode(line) for line in lines if line.strip())


def main(arguments: Sequence[str] | None = None) -> int:
    """The command. Returns 0, or 1 after saying what was wrong."""
    parser = argparse.ArgumentParser(prog="python -m asr_core.lm", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("text", nargs="+", help="text files in UTF-8, a sentence a line")
    parser.add_argument("--model", default="demo", help='model whose tokens it is made of (default: "demo")')
    parser.add_argument("--order", type=int, default=4, help="length of the longest n-grams (default: 4)")
    parser.add_argument("-o", "--output", required=True, help="ARPA file to write")
    options = parser.parse_args(arguments)
    try:
        from asr_core.loading import load_model

        model = load_model(options.model)
        lines = [line for path in options.text for line in Path(path).read_text(encoding="utf-8").split("\n")]
        sentences = list(encode_lines(lines, model.tokenizer.encode))
        write_arpa(options.output, sentences, len(model.vocabulary), options.order)
    except (AsrError, OSError, UnicodeDecodeError) as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{len(sentences)} sentences, order {options.order}, interpolated Witten-Bell: {options.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
