"""Another vocabulary for a model: pieces of the domain's text, and rows for them to begin with.

    python -m assets.demo_model.training.vocabulary start/ --pieces 1024
    python -m assets.demo_model.training.train first --start start/

The encoder, the prediction network's LSTM and the joint network's width stay as they are. A new piece is said where the
old vocabulary said its first old piece, and is remembered as its last old piece was; training tells them apart.
"""

from __future__ import annotations

import argparse
import copy
import io
import math
import string
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import torch
from sentencepiece import SentencePieceProcessor, SentencePieceTrainer

from .export import DEMO, write_folder
from .model import HybridModel, load
from .text import Grammar

CHARACTERS = string.ascii_letters + ".,?'-"
#: Rows of the network's outputs and of the prediction network's embedding, by the names of their parameters.
OUTPUTS = (
    "joint.joint_net.2.weight",
    "joint.joint_net.2.bias",
    "ctc_decoder.decoder_layers.0.weight",
    "ctc_decoder.decoder_layers.0.bias",
)
EMBEDDING = "decoder.prediction.embed.weight"


def train_tokenizer(pieces: int, clips: int = 40_000) -> SentencePieceProcessor:
    """Byte-pair pieces (https://arxiv.org/abs/1508.07909) of the text of so many clips of training."""
    model = io.BytesIO()
    SentencePieceTrainer.train(
        sentence_iterator=_lines(clips),
        model_writer=model,
        model_type="bpe",
        vocab_size=pieces,
        normalization_rule_name="identity",
        character_coverage=1.0,
        required_chars=CHARACTERS,
        bos_id=-1,
        eos_id=-1,
        minloglevel=2,
    )
    return SentencePieceProcessor(model_proto=model.getvalue())


def _lines(clips: int) -> Iterator[str]:
    grammar, random = Grammar("training"), Random("vocabulary")
    for _ in range(clips):
        yield from grammar.clip(random)


def with_vocabulary(model: HybridModel, old: SentencePieceProcessor, new: SentencePieceProcessor) -> HybridModel:
    """The model with the outputs and embeddings of another vocabulary."""
    parts = [_old_pieces(old, new.id_to_piece(piece)) for piece in range(new.get_piece_size())]
    blank = old.get_piece_size()
    state = dict(model.state_dict())
    first = [part[0] for part in parts]
    alike = Counter(first)
    # Pieces that begin alike share what their first old piece was expected with.
    shares = torch.tensor([math.log(alike[piece]) for piece in first])
    for name in OUTPUTS:
        rows = state[name]
        begun = rows[first] - shares if name.endswith("bias") else rows[first]
        state[name] = torch.cat([begun, rows[blank:]])
    state[EMBEDDING] = state[EMBEDDING][[part[-1] for part in parts] + [blank]]
    grown = HybridModel(_config(model.config, new), model.dropout.dropped / 256)
    grown.load_state_dict(state)
    return grown


def _old_pieces(old: SentencePieceProcessor, piece: str) -> list[int]:
    """A piece in as few pieces of the old vocabulary as write it."""
    if (same := old.piece_to_id(piece)) != old.unk_id() or piece == old.id_to_piece(old.unk_id()):
        return [same]
    if piece.startswith("▁"):
        return old.encode(piece.replace("▁", " "))
    # Inside a word: behind a letter that stays a piece of its own.
    words = ((old.encode(letter), old.encode(letter + piece)) for letter in string.ascii_lowercase)
    inside = [word[1:] for alone, word in words if word[:1] == alone]
    return min(inside, key=len, default=[old.piece_to_id(character) for character in piece])


def _config(config: dict[str, Any], tokenizer: SentencePieceProcessor) -> dict[str, Any]:
    """config.json with the vocabulary of a tokenizer."""
    config = copy.deepcopy(config)
    vocabulary = [tokenizer.id_to_piece(piece) for piece in range(tokenizer.get_piece_size())]
    config["labels"] = vocabulary
    config["decoder"]["vocab_size"] = len(vocabulary)
    for part in (config["joint"], config["aux_ctc"]["decoder"]):
        part["num_classes"], part["vocabulary"] = len(vocabulary), vocabulary
    return config


def main() -> None:
    """Write a folder for `train --start`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--start", type=Path, default=DEMO, help="folder of the model whose weights go on")
    parser.add_argument("--pieces", type=int, default=1024)
    arguments = parser.parse_args()
    model = load(arguments.start)
    old = SentencePieceProcessor(model_file=str(arguments.start / "tokenizer.model"))
    new = train_tokenizer(arguments.pieces)
    grown = with_vocabulary(model, old, new)
    write_folder(arguments.folder, grown.config, grown.state_dict(), new)


if __name__ == "__main__":
    main()
