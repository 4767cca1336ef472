"""A run: what it writes, how it goes on after an interruption, and that its processes stay one model."""

import argparse
import copy
import json
import socket
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("sentencepiece")

from safetensors.torch import load_file  # noqa: E402
from sentencepiece import SentencePieceProcessor  # noqa: E402

from assets.demo_model.training import train  # noqa: E402
from assets.demo_model.training.export import DEMO, write_folder  # noqa: E402
from assets.demo_model.training.model import HybridModel, load, to_mlx  # noqa: E402
from assets.demo_model.training.storage import SAMPLE_RATE, Clip, Sentence, Shard  # noqa: E402
from assets.demo_model.training.vocabulary import train_tokenizer  # noqa: E402

SENTENCES = ("Turn the lamp on.", "Who is at the door?", "Seven.", "We need more bread and two green apples.")


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A small model with pieces of its own, which a run begins with."""
    config = json.loads((DEMO / "config.json").read_text("utf-8"))
    config["encoder"] |= {"d_model": 16, "n_layers": 1, "n_heads": 2, "subsampling_conv_channels": 4}
    config["joint"]["jointnet"]["joint_hidden"] = config["decoder"]["prednet"]["pred_hidden"] = 16
    pieces = train_tokenizer(280, clips=500)
    config["joint"]["num_classes"] = config["decoder"]["vocab_size"] = pieces.get_piece_size()
    torch.manual_seed(0)
    write_folder(tmp_path / "start", config, HybridModel(config).state_dict(), pieces)
    return tmp_path / "start"


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of training data: one shard of clips, the runs beside it."""
    monkeypatch.setenv("TOKENSCOPE_TRAINING", str(tmp_path))
    noise = np.random.default_rng(0)
    shard = Shard(tmp_path / "speech/hibari-training-000")
    for index in range(24):
        samples = noise.normal(size=(1 + index % 3) * SAMPLE_RATE).astype(np.float32) * 0.1
        said = [Sentence(SENTENCES[index % 4], 0.1, 0.9)] if index % 5 else []
        shard.add(Clip(samples, "nobody", said), index)
    return tmp_path


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    """`python -m ...train small ARGUMENTS`."""
    monkeypatch.setattr(sys, "argv", ["train", "small", "--batch-seconds", "8", *arguments])
    train.main()


def checkpoint(data: Path) -> dict:
    return torch.load(data / "runs/small/checkpoint.pt", weights_only=True)


def test_a_run_goes_on_with_what_it_had(small, data, monkeypatch) -> None:
    run(monkeypatch, "--start", str(small), "--processes", "1", "--minutes", "0.03")
    first = checkpoint(data)
    assert first["minutes"] >= 0.03 and first["audio_hours"] > 0
    begun = load(small).state_dict()
    assert any((first["weights"][name].float() - begun[name]).abs().max() > 1e-3 for name in begun)

    # The model beside the checkpoint is its average, with the pieces the run began with.
    written = load_file(data / "runs/small/model/model.safetensors")
    for name, array in to_mlx({name: tensor.float() for name, tensor in first["average"].items()}).items():
        torch.testing.assert_close(written[name], array.half())
    pieces = SentencePieceProcessor(model_file=str(data / "runs/small/model/tokenizer.model"))
    assert pieces.get_piece_size() == 280

    # The same command has no minutes left: nothing changes but float16's rounding. --start counts for a new run only.
    run(monkeypatch, "--start", str(DEMO), "--processes", "1", "--minutes", "0.03")
    again = checkpoint(data)
    assert again["minutes"] == pytest.approx(first["minutes"], abs=0.005)
    for kind in ("weights", "average"):
        assert all(torch.equal(again[kind][name], tensor) for name, tensor in first[kind].items())

    run(monkeypatch, "--start", str(DEMO), "--processes", "1", "--minutes", "0.12")
    last = checkpoint(data)
    assert last["minutes"] >= 0.12 and last["audio_hours"] > first["audio_hours"]
    assert any((last["weights"][name] != tensor).any() for name, tensor in first["weights"].items())
    rows = [json.loads(line) for line in (data / "runs/small/log.jsonl").read_text("utf-8").splitlines()]
    assert [row["minutes"] for row in rows] == sorted(row["minutes"] for row in rows) and rows[-1]["minutes"] > 0.03
    assert all(np.isfinite([row["tdt"], row["ctc"]]).all() for row in rows)


def test_a_checkpoint_that_cannot_be_written_leaves_the_last_one(small, data, monkeypatch) -> None:
    run(monkeypatch, "--start", str(small), "--processes", "1", "--minutes", "0.02")
    before = copy.deepcopy(checkpoint(data))
    weights = (data / "runs/small/model/model.safetensors").read_bytes()
    save = torch.save

    def full_disk(content: dict, path: Path) -> None:
        save(content, path)
        path.write_bytes(path.read_bytes()[:1000])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(torch, "save", full_disk)
    with pytest.raises(OSError, match="No space left"):
        run(monkeypatch, "--processes", "1", "--minutes", "0.04")
    assert all(torch.equal(checkpoint(data)["weights"][name], tensor) for name, tensor in before["weights"].items())
    assert (data / "runs/small/model/model.safetensors").read_bytes() == weights


class Kept(train.Trainer):
    """A trainer that leaves what it has learnt beside its run."""

    def run(self) -> None:
        super().run()
        torch.save({"step": self.step, "state": self.model.state_dict()}, self.folder / f"rank-{self.rank}.pt")


def process(rank: int, arguments: argparse.Namespace) -> None:
    """One process of the run below; it imports `train` anew."""
    train.Trainer = Kept
    train._process(rank, arguments)


def test_processes_stay_one_model(small, data, monkeypatch) -> None:
    """Gradients are averaged: from the same weights, other batches lead to the same weights on both."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        monkeypatch.setenv("MASTER_PORT", str(probe.getsockname()[1]))
    monkeypatch.setattr(train, "_process", process)
    run(monkeypatch, "--start", str(small), "--processes", "2", "--minutes", "0.05")
    first, second = (torch.load(data / f"runs/small/rank-{rank}.pt", weights_only=True) for rank in range(2))
    assert first["step"] == second["step"] > 3
    # Only the running statistics of the normalisation are each process's own, of its own clips.
    for name, tensor in first["state"].items():
        assert torch.equal(tensor, second["state"][name]) == ("running" not in name), name
