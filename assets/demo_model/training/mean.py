"""The mean of the weights of several models: runs that go on from each other are better together than each alone.

    python -m assets.demo_model.training.mean runs/sixth/model runs/seventh/model averaged/

They have the same shapes and pieces. Why it helps: Izmailov et al., https://arxiv.org/abs/1803.05407; the statistics of
the batch normalisation are averaged with the weights.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from sentencepiece import SentencePieceProcessor

from .export import write_folder
from .model import HybridModel, load


def mean_of(folders: Sequence[Path]) -> HybridModel:
    """The model with the mean weights. Raises SystemExit where their pieces or shapes differ."""
    first, *others = folders
    for folder in others:
        if (folder / "tokenizer.model").read_bytes() != (first / "tokenizer.model").read_bytes():
            raise SystemExit(f"{folder} has other pieces than {first}; only models of the same pieces can be averaged.")
    states = [load(folder).state_dict() for folder in folders]
    model = load(first)
    for name, tensor in model.state_dict().items():
        if any(state[name].shape != tensor.shape for state in states):
            raise SystemExit(f"{name} has another shape in one of the models; only models of one kind can be averaged.")
        if tensor.is_floating_point():
            tensor.copy_(sum(state[name].double() for state in states) / len(states))
    return model


def main() -> None:
    """Write the mean of model folders as a model folder."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+", help="of models; the last is the one to write")
    *folders, target = parser.parse_args().folders
    if len(folders) < 2:
        parser.error("at least two models and a folder to write are needed")
    model = mean_of(folders)
    pieces = SentencePieceProcessor(model_file=str(folders[0] / "tokenizer.model"))
    write_folder(target, model.config, model.state_dict(), pieces)


if __name__ == "__main__":
    main()
