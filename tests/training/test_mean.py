"""The mean of models: of each weight, and only of models that fit together."""

import json
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("sentencepiece")

from sentencepiece import SentencePieceProcessor  # noqa: E402

from assets.demo_model.training.export import DEMO, write_folder  # noqa: E402
from assets.demo_model.training.mean import main, mean_of  # noqa: E402
from assets.demo_model.training.model import load  # noqa: E402
from assets.demo_model.training.vocabulary import train_tokenizer  # noqa: E402


@pytest.fixture
def pieces() -> SentencePieceProcessor:
    return SentencePieceProcessor(model_file=str(DEMO / "tokenizer.model"))


@pytest.fixture
def models(tmp_path: Path, pieces: SentencePieceProcessor) -> list[Path]:
    """The built-in model, and two others of its shapes."""
    torch.manual_seed(0)
    folders = [DEMO, tmp_path / "second", tmp_path / "third"]
    for folder in folders[1:]:
        state = load(DEMO).state_dict()
        moved = {n: t + 0.1 * torch.randn_like(t) if t.is_floating_point() else t for n, t in state.items()}
        write_folder(folder, load(DEMO).config, moved, pieces)
    return folders


def test_each_weight_is_the_mean(models: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["mean", *map(str, models), str(tmp_path / "mean")])
    main()
    mean, states = load(tmp_path / "mean").state_dict(), [load(folder).state_dict() for folder in models]
    for name, tensor in mean.items():
        if tensor.is_floating_point():
            expected = sum(state[name] for state in states) / 3
            torch.testing.assert_close(tensor, expected, rtol=1e-3, atol=1e-4)  # stored as float16
    assert (tmp_path / "mean/tokenizer.model").read_bytes() == (DEMO / "tokenizer.model").read_bytes()
    config = json.loads((tmp_path / "mean/config.json").read_text("utf-8"))
    assert config == json.loads((DEMO / "config.json").read_text("utf-8"))


def test_the_mean_of_a_model_with_itself_is_that_model() -> None:
    alone, mean = load(DEMO).state_dict(), mean_of([DEMO, DEMO]).state_dict()
    assert all(torch.equal(tensor, mean[name]) for name, tensor in alone.items())


def test_models_of_other_pieces_are_refused(models: list[Path], tmp_path: Path) -> None:
    write_folder(models[1], load(DEMO).config, load(DEMO).state_dict(), train_tokenizer(300, clips=200))
    with pytest.raises(SystemExit, match="has other pieces"):
        mean_of(models)
