"""A folder that `asr_core.load_model` and parakeet-mlx open: config.json, model.safetensors (float16), tokenizer.model.

python -m assets.demo_model.training.export runs/first/checkpoint.pt exported/
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import torch
from safetensors.torch import save_file
from sentencepiece import SentencePieceProcessor
from torch import Tensor

from .model import to_mlx

DEMO = Path(__file__).parents[1]


def write_folder(folder: Path, config: dict, state: dict[str, Tensor], tokenizer: SentencePieceProcessor) -> None:
    """Write the three files. `state` is that of `model.HybridModel`, in any precision; `tokenizer` has its pieces."""
    folder.mkdir(parents=True, exist_ok=True)
    state = {name: tensor.float() if tensor.is_floating_point() else tensor for name, tensor in state.items()}
    weights = {name: tensor.half() for name, tensor in to_mlx(state).items()}
    save_file(weights, folder / "model.safetensors", metadata={"format": "mlx"})
    (folder / "model.safetensors").chmod(0o644)  # safetensors makes files only their owner may read
    (folder / "config.json").write_text(json.dumps(config, indent=1, ensure_ascii=False) + "\n", "utf-8")
    (folder / "tokenizer.model").write_bytes(tokenizer.serialized_model_proto())


def main() -> None:
    """Export the averaged weights of a checkpoint, with the pieces of its run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--last", action="store_true", help="the weights of the last step instead of the average")
    arguments = parser.parse_args()
    checkpoint = torch.load(arguments.checkpoint, weights_only=True)
    state = checkpoint["weights" if arguments.last else "average"]
    pieces = SentencePieceProcessor(model_file=str(arguments.checkpoint.parent / "model" / "tokenizer.model"))
    write_folder(arguments.folder, checkpoint["config"], state, pieces)


if __name__ == "__main__":
    main()
