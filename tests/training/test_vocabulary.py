"""Another vocabulary: the same network around other pieces, which begin as what they are made of."""

from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("sentencepiece")

from sentencepiece import SentencePieceProcessor  # noqa: E402

from assets.demo_model.training.export import DEMO, write_folder  # noqa: E402
from assets.demo_model.training.model import HybridModel, load  # noqa: E402
from assets.demo_model.training.text import vocabulary  # noqa: E402
from assets.demo_model.training.vocabulary import train_tokenizer, with_vocabulary  # noqa: E402

PIECES = 300


@pytest.fixture(scope="module")
def old() -> SentencePieceProcessor:
    return SentencePieceProcessor(model_file=str(DEMO / "tokenizer.model"))


@pytest.fixture(scope="module")
def new(tmp_path_factory: pytest.TempPathFactory) -> SentencePieceProcessor:
    return train_tokenizer(tmp_path_factory.mktemp("pieces") / "tokenizer.model", PIECES, clips=2000)


@pytest.fixture(scope="module")
def grown(old: SentencePieceProcessor, new: SentencePieceProcessor) -> HybridModel:
    return with_vocabulary(load(DEMO, dropout=0.0), old, new).eval()


def test_every_word_of_the_domain_can_be_written(new: SentencePieceProcessor) -> None:
    assert new.get_piece_size() == PIECES and new.id_to_piece(0) == "<unk>"
    for word in [*vocabulary(), "Jazz's", "vow-quick,", "X?"]:
        assert new.decode(pieces := new.encode(word)) == word and 0 not in pieces


def test_the_pieces_are_the_same_each_time(new: SentencePieceProcessor, tmp_path: Path) -> None:
    again = train_tokenizer(tmp_path / "tokenizer.model", PIECES, clips=2000)
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


def test_blank_and_durations_are_expected_as_before(
    grown: HybridModel, old: SentencePieceProcessor, new: SentencePieceProcessor
) -> None:
    before = load(DEMO, dropout=0.0).eval()
    sums = torch.randn(50, before.joint.enc.out_features, generator=torch.Generator().manual_seed(0))
    logits, others = before.joint(sums), grown.joint(sums)
    torch.testing.assert_close(others[:, PIECES:], logits[:, old.get_piece_size() :])
    # Pieces that begin alike have together what their first old piece had: here, all that write "▁the..." first.
    first = old.piece_to_id("▁the")
    alike = [i for i in range(PIECES) if old.encode(new.id_to_piece(i).replace("▁", " "))[:1] == [first]]
    alike = [i for i in alike if new.id_to_piece(i).startswith("▁")]
    assert alike
    torch.testing.assert_close(others[:, alike].logsumexp(-1), logits[:, first])


def test_the_folder_names_its_own_pieces(grown: HybridModel, new: SentencePieceProcessor, tmp_path: Path) -> None:
    (tmp_path / "pieces.model").write_bytes(new.serialized_model_proto())
    write_folder(tmp_path / "model", grown.config, grown.state_dict(), tmp_path / "pieces.model")
    config = load(tmp_path / "model").config
    assert config["joint"]["vocabulary"] == config["labels"] == config["aux_ctc"]["decoder"]["vocabulary"]
    assert config["labels"] == [new.id_to_piece(i) for i in range(PIECES)]
    assert (tmp_path / "model/tokenizer.model").read_bytes() == new.serialized_model_proto()
