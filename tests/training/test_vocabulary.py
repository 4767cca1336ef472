"""Another vocabulary: the same network around other pieces, which begin as what they are made of."""

import shutil
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("sentencepiece")

from sentencepiece import SentencePieceProcessor  # noqa: E402

from assets.demo_model.training.export import DEMO, write_folder  # noqa: E402
from assets.demo_model.training.model import HybridModel, load  # noqa: E402
from assets.demo_model.training.text import vocabulary  # noqa: E402
from assets.demo_model.training.vocabulary import _old_pieces, main, train_tokenizer, with_vocabulary  # noqa: E402

PIECES = 300


@pytest.fixture(scope="module")
def old() -> SentencePieceProcessor:
    return SentencePieceProcessor(model_file=str(DEMO / "tokenizer.model"))


@pytest.fixture(scope="module")
def new() -> SentencePieceProcessor:
    return train_tokenizer(PIECES, clips=2000)


@pytest.fixture(scope="module")
def grown(old: SentencePieceProcessor, new: SentencePieceProcessor) -> HybridModel:
    return with_vocabulary(load(DEMO, dropout=0.0), old, new).eval()


def test_every_word_of_the_domain_can_be_old_pieces(new: SentencePieceProcessor) -> None:
    assert new.get_piece_size() == PIECES and new.id_to_piece(0) == "<unk>"
    for word in [*vocabulary(), "Jazz's", "vow-quick,", "X?"]:
        assert new.decode(pieces := new.encode(word)) == word and 0 not in pieces


def test_the_pieces_are_the_same_each_time(new: SentencePieceProcessor) -> None:
    again = train_tokenizer(PIECES, clips=2000)
    assert again.serialized_model_proto() == new.serialized_model_proto()


def test_what_does_not_depend_on_the_pieces_stays(grown: HybridModel) -> None:
    before, after = load(DEMO).state_dict(), grown.state_dict()
    other = {name for name in before if before[name].shape != after[name].shape or (before[name] != after[name]).any()}
    assert other == {
        "joint.joint_net.2.weight",
        "joint.joint_net.2.bias",
        "ctc_decoder.decoder_layers.0.weight",
        "ctc_decoder.decoder_layers.0.bias",
        "decoder.prediction.embed.weight",
    }


def test_pieces_begin_as_what_they_are_made_of(
    grown: HybridModel, old: SentencePieceProcessor, new: SentencePieceProcessor
) -> None:
    before = load(DEMO, dropout=0.0).eval()
    encoded = torch.randn(50, before.joint.enc.in_features, generator=torch.Generator().manual_seed(0))
    for head, wider in (
        (before.joint.joint_net[2], grown.joint.joint_net[2]),
        (before.ctc_decoder["decoder_layers"][0], grown.ctc_decoder["decoder_layers"][0]),
    ):
        logits, others = head(encoded), wider(encoded)
        # Blank, and durations, are expected as before; a piece with all that begin alike as its old first one.
        torch.testing.assert_close(others[:, PIECES:], logits[:, old.get_piece_size() :])
        for piece in ("▁the", "in", "t", "."):
            alike = [i for i in range(PIECES) if _old_pieces(old, new.id_to_piece(i))[0] == old.piece_to_id(piece)]
            torch.testing.assert_close(others[:, alike].logsumexp(-1), logits[:, old.piece_to_id(piece)])


def test_pieces_are_remembered_as_the_last_they_are_made_of(
    grown: HybridModel, old: SentencePieceProcessor, new: SentencePieceProcessor
) -> None:
    before, after = (model.decoder["prediction"].embed.weight for model in (load(DEMO, dropout=0.0), grown))
    assert torch.equal(after[PIECES], before[old.get_piece_size()])
    for i in range(PIECES):
        assert torch.equal(after[i], before[_old_pieces(old, new.id_to_piece(i))[-1]]), new.id_to_piece(i)


@pytest.mark.parametrize("piece", ["▁the", "in", "t", ".", "<unk>", "▁"])
def test_a_piece_of_both_vocabularies_keeps_its_own(old: SentencePieceProcessor, piece: str) -> None:
    assert _old_pieces(old, piece) == [old.piece_to_id(piece)]


def test_what_is_inside_a_word_is_written_without_its_begin(old: SentencePieceProcessor) -> None:
    for piece in ("thingly", "stairway", "Qx", "ing'"):
        assert "".join(map(old.id_to_piece, _old_pieces(old, piece))) == piece
        assert len(_old_pieces(old, piece)) <= len(piece)


def test_a_folder_may_get_its_own_model_back_with_other_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(DEMO, tmp_path / "model", ignore=shutil.ignore_patterns("training"))
    folder = str(tmp_path / "model")
    monkeypatch.setattr(sys, "argv", ["vocabulary", folder, "--start", folder, "--pieces", "400"])
    main()
    assert load(tmp_path / "model").blank == 400
    assert SentencePieceProcessor(f"{folder}/tokenizer.model").get_piece_size() == 400


def test_the_folder_names_its_own_pieces(grown: HybridModel, new: SentencePieceProcessor, tmp_path: Path) -> None:
    write_folder(tmp_path, grown.config, grown.state_dict(), new)
    config = load(tmp_path).config
    assert config["joint"]["vocabulary"] == config["labels"] == config["aux_ctc"]["decoder"]["vocabulary"]
    assert config["labels"] == [new.id_to_piece(i) for i in range(PIECES)]
    assert (tmp_path / "tokenizer.model").read_bytes() == new.serialized_model_proto()
