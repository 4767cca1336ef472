"""NeMo archives: a real one equals its conversion, and a hostile one is refused without running or writing anything."""

from __future__ import annotations

import io
import json
import pickle
import struct
import tarfile
import zipfile

import numpy as np
import pytest

import asr_core
from asr_core import ModelError
from asr_core.engine import engine
from tests.conftest import ORACLE

REAL = ORACLE / "extras" / "tdt.nemo"
VALUES = np.arange(6, dtype="<f4")


@pytest.fixture(scope="module")
def archive():
    """The module, imported only after a fast BLAS is bound: importing it loads MLX."""
    asr_core.runtime()
    from asr_core.models import archive

    return archive


def text(value: str) -> bytes:
    data = value.encode()
    return b"X" + struct.pack("<I", len(data)) + data


def number(value: int) -> bytes:
    return b"I%d\n" % value


def numbers(values) -> bytes:
    return b"(" + b"".join(map(number, values)) + b"t"


def tensor(shape=(6,), strides=(1,), offset=0, count=6, storage="FloatStorage") -> bytes:
    """The pickle code with which PyTorch writes one tensor."""
    place = b"(" + text("storage") + f"ctorch\n{storage}\n".encode() + text("0") + text("cpu") + number(count) + b"tQ"
    hooks = b"ccollections\nOrderedDict\n)R"
    arguments = place + number(offset) + numbers(shape) + numbers(strides) + b"\x89" + hooks
    return b"ctorch._utils\n_rebuild_tensor_v2\n(" + arguments + b"tR"


def checkpoint(entry: bytes, data: bytes = VALUES.tobytes(), compression=zipfile.ZIP_STORED) -> bytes:
    """PyTorch's zip with one entry named "w"."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as out:
        out.writestr("archive/data.pkl", b"\x80\x02}(" + text("w") + entry + b"u.")
        out.writestr("archive/data/0", data)
    return file.getvalue()


def repacked(path, replace=None, mode="w", links=()):
    """A copy of the real archive with members replaced, or added as links."""
    with tarfile.open(REAL) as old, tarfile.open(path, mode) as new:
        for member in old:
            data = old.extractfile(member).read() if member.isfile() else b""
            data = (replace or {}).get(member.name.removeprefix("./"), data)
            if data is not None:
                member.size = len(data)
                new.addfile(member, io.BytesIO(data))
        for name, target in links:
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, target
            new.addfile(link)
    return path


def test_the_real_archive_equals_its_conversion(archive):
    def compare():
        import mlx.core as mx

        made, expected = archive.load_nemo(REAL), mx.load(str(ORACLE / "tdt" / "model.safetensors"))
        assert set(made.weights) == set(expected)
        for name, weight in expected.items():
            np.testing.assert_array_equal(np.array(made.weights[name]), np.array(weight), err_msg=name)
        return made.config, made.vocabulary, made.tokenizer

    config, vocabulary, tokenizer = engine().run(compare)
    stored = json.loads((ORACLE / "tdt" / "config.json").read_text())
    assert config["encoder"] == stored["encoder"]
    assert vocabulary == tuple(stored["joint"]["vocabulary"])
    assert tokenizer == (ORACLE / "tdt" / "tokenizer.model").read_bytes()


@pytest.mark.parametrize("mode", ["w:gz", "w:xz"])
def test_a_compressed_archive_loads(archive, tmp_path, mode):
    path = repacked(tmp_path / "model.nemo", mode=mode)
    assert len(engine().run(lambda: archive.load_nemo(path).vocabulary)) == 96


def test_a_transposed_tensor_with_an_offset_is_read_as_a_view(archive):
    read = archive.read_tensors(checkpoint(tensor((2, 2), (1, 2), 1)))
    assert read["w"].values.tolist() == [[1, 3], [2, 4]]


@pytest.mark.parametrize(
    "name",
    ["posix system", "os system", "builtins eval", "builtins getattr", "torch load", "torch.storage _load_from_bytes"],
)
def test_no_other_name_is_known(archive, tmp_path, name):
    witness = tmp_path / "witness"
    module, attribute = name.split()
    call = f"c{module}\n{attribute}\n(".encode() + text(f"touch {witness}") + b"tR"
    with pytest.raises(ModelError, match=f"{module}.{attribute}"):
        archive.read_tensors(checkpoint(call))
    assert not witness.exists()


@pytest.mark.parametrize(
    "entry",
    [
        tensor(shape=(7,)),
        tensor(offset=1),
        tensor(shape=(2, 3), strides=(4, 1)),
        tensor(strides=(-1,)),
        tensor(offset=-1),
        tensor(shape=(-6,)),
        tensor(shape=(2, 3), strides=(1,)),
        tensor(shape=(1 << 40,), strides=(0,)),
        tensor(count=1 << 40),
        tensor(storage="EvilStorage"),
        text("no tensor"),
        tensor() + b"}(" + text("values") + number(1) + b"ub",
    ],
    ids=[
        *("too long", "offset too large", "stride too large", "negative stride", "negative offset", "negative size"),
        *("strides missing", "stride 0 bomb", "storage too short", "unknown storage", "a string", "values replaced"),
    ],
)
def test_a_tensor_stays_inside_its_storage(archive, entry):
    with pytest.raises(ModelError):
        archive.read_tensors(checkpoint(entry))


def test_pytorchs_old_format_is_refused_by_name(archive):
    with pytest.raises(ModelError, match="zip format"):
        archive.read_tensors(pickle.dumps({"w": 1}))


def test_weights_that_unpack_to_too_much_are_refused(archive, monkeypatch):
    monkeypatch.setattr(archive, "MAX_BYTES", 1 << 20)
    bomb = checkpoint(tensor(), bytes(8 << 20), zipfile.ZIP_DEFLATED)
    assert len(bomb) < 1 << 16
    with pytest.raises(ModelError, match="more than"):
        archive.read_tensors(bomb)


def test_a_declared_size_above_the_limit_is_refused(archive, tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "MAX_BYTES", 1 << 20)
    with pytest.raises(ModelError, match="at most 1 MB"):
        engine().run(archive.load_nemo, REAL)
    huge = tarfile.TarInfo("model_weights.ckpt")
    huge.size = 1 << 50
    path = tmp_path / "huge.nemo"
    path.write_bytes(huge.tobuf() + bytes(1024))
    with pytest.raises(ModelError):
        engine().run(archive.load_nemo, path)


def test_too_many_members_are_refused(archive, tmp_path):
    path = repacked(tmp_path / "model.nemo", links=[(f"link{i}", "x") for i in range(300)])
    with pytest.raises(ModelError, match="more than 200"):
        engine().run(archive.load_nemo, path)


def test_links_are_not_followed(archive, tmp_path):
    secret = tmp_path / "secret.ckpt"
    secret.write_bytes(checkpoint(tensor()))
    links = [("model_weights.ckpt", str(secret))]
    path = repacked(tmp_path / "model.nemo", {"model_weights.ckpt": None}, links=links)
    with pytest.raises(ModelError, match=r"holds no model_weights\.ckpt"):
        engine().run(archive.load_nemo, path)


def test_nothing_is_written_whatever_members_are_called(archive, tmp_path):
    inside = tmp_path / "inside"
    inside.mkdir()
    path = repacked(inside / "model.nemo")
    with tarfile.open(path, "a") as file:
        for name in ("../outside", str(tmp_path / "absolute")):
            member = tarfile.TarInfo(name)
            member.size = 4
            file.addfile(member, io.BytesIO(b"evil"))
    engine().run(archive.load_nemo, path)
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["inside", "model.nemo"]


@pytest.mark.parametrize("share", [0.0, 0.001, 0.1, 0.5, 0.9, 0.98])
@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_a_truncated_archive_is_named(archive, tmp_path, share, mode):
    data = repacked(tmp_path / "whole.nemo", mode=mode).read_bytes()
    path = tmp_path / "part.nemo"
    path.write_bytes(data[: int(len(data) * share)])
    with pytest.raises(ModelError, match=r"part\.nemo|archive"):
        engine().run(archive.load_nemo, path)


@pytest.mark.parametrize("config", [b"a: [", b"- 1\n- 2", b"!!python/object/apply:os.system ['true']", b"[" * 5000])
def test_a_configuration_that_is_no_mapping(archive, tmp_path, config):
    path = repacked(tmp_path / "model.nemo", {"model_config.yaml": config})
    with pytest.raises(ModelError, match=r"model_config\.yaml"):
        engine().run(archive.load_nemo, path)


def test_not_an_archive(archive, tmp_path):
    path = tmp_path / "text.nemo"
    path.write_text("hello")
    with pytest.raises(ModelError, match=r"text\.nemo is not a whole \.nemo archive"):
        engine().run(archive.load_nemo, path)
