"""The .nemo archive: a tar with a YAML configuration, PyTorch weights and tokenizer files.

PyTorch's weights are a pickle. It is read by an unpickler that knows how tensors are put together and nothing else, so
nothing in the archive is run; and the archive is read in memory, so nothing in it is written anywhere.
"""

from __future__ import annotations

import io
import lzma
import math
import pickle
import tarfile
import zipfile
import zlib
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import yaml

from asr_core.errors import DamagedError, ModelError
from asr_core.models.weights import Checkpoint, to_mlx, vocabulary_of

#: Limits of what an archive may hold; the largest Parakeet's weights are about 4.5 GB.
MAX_MEMBERS = 200
MAX_BYTES = 12 << 30
MAX_SMALL_BYTES = 64 << 20
WEIGHTS = "model_weights.ckpt"
CONFIG = "model_config.yaml"

_DTYPES = {
    "FloatStorage": np.dtype("<f4"),
    "DoubleStorage": np.dtype("<f8"),
    "HalfStorage": np.dtype("<f2"),
    "BFloat16Storage": np.dtype("<u2"),
    "LongStorage": np.dtype("<i8"),
    "IntStorage": np.dtype("<i4"),
    "ShortStorage": np.dtype("<i2"),
    "CharStorage": np.dtype("i1"),
    "ByteStorage": np.dtype("u1"),
    "BoolStorage": np.dtype("?"),
}


def load_nemo(path: Path) -> Checkpoint:
    """Read a .nemo archive.

    Raises ModelError where it is no tar, lacks its configuration or weights, is larger than allowed, or its weights
    hold anything but tensors.
    """
    try:
        with tarfile.open(path, "r:*") as archive:
            members = _members(archive, path)
            config = yaml.safe_load(_read(archive, members, CONFIG, MAX_SMALL_BYTES))
            weights = _read(archive, members, WEIGHTS, MAX_BYTES)
            tokenizer = _optional(archive, members, "tokenizer.model")
            listing = _optional(archive, members, "vocab.txt")
    except (tarfile.TarError, EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DamagedError(f"{path.name} is not a whole .nemo archive ({reason}); fetch it again.") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ModelError(f"{CONFIG} in {path.name} is not valid YAML.") from error
    if not isinstance(config, dict):
        raise ModelError(f"{CONFIG} in {path.name} is not a mapping of settings.")
    tensors = {name: _as_mlx(tensor) for name, tensor in read_tensors(weights, path.name).items()}
    text = listing.decode("utf-8", "replace") if listing else None
    return Checkpoint(config, to_mlx(tensors), vocabulary_of(config, text), tokenizer, None, path.stat().st_size, None)


def read_tensors(data: bytes, name: str = WEIGHTS) -> dict[str, Tensor]:
    """The tensors of PyTorch's zip format by name. Raises ModelError for anything that is not plain tensors."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as file:
            sizes = {info.filename: info.file_size for info in file.infolist()}
            if sum(sizes.values()) > MAX_BYTES:
                raise ModelError(f"The weights in {name} unpack to more than {MAX_BYTES >> 30} GB, which is refused.")
            entry = next((n for n in sizes if n.endswith("/data.pkl")), None)
            if entry is None:
                raise ModelError(f"The weights in {name} hold no data.pkl; a file of torch.save is expected.")
            folder = entry.removesuffix("data.pkl")
            reader = _TensorUnpickler(file.open(entry), lambda key: file.read(f"{folder}data/{key}"), name)
            state = reader.load()
    except zipfile.BadZipFile as error:
        raise ModelError(
            f"The weights in {name} are not in PyTorch's zip format (PyTorch 1.6 or later writes it), or incomplete."
        ) from error
    except ModelError:
        raise
    except Exception as error:  # a hostile pickle fails in as many ways as there are types
        raise ModelError(f"The weights in {name} cannot be read: {error}.") from error
    if isinstance(state, dict) and isinstance(state.get("state_dict"), dict):
        state = state["state_dict"]
    if not isinstance(state, dict) or not all(map(_is_entry, state.items())):
        raise ModelError(f"The weights in {name} are not a dictionary of tensors.")
    return dict(state)


def _is_entry(entry: tuple[Any, Any]) -> bool:
    # A pickle may also set attributes of what it made, so what a tensor holds is looked at too.
    name, tensor = entry
    return isinstance(name, str) and isinstance(tensor, Tensor) and isinstance(tensor.values, np.ndarray)


@dataclass(frozen=True)
class Tensor:
    """A tensor of a checkpoint: `values` as stored; bfloat16 as its 16 bits."""

    values: np.ndarray
    is_bfloat16: bool


@dataclass(frozen=True)
class _Storage:
    values: np.ndarray
    is_bfloat16: bool


class _TensorUnpickler(pickle.Unpickler):
    """Knows dictionaries, storages and how a tensor is a view of a storage. Any other name is refused."""

    def __init__(self, file: Any, read: Callable[[str], bytes], name: str) -> None:
        super().__init__(file)
        self._read, self._name = read, name
        self._storages: dict[str, _Storage] = {}

    def find_class(self, module: str, name: str) -> Any:
        known = {
            ("collections", "OrderedDict"): OrderedDict,
            ("torch._utils", "_rebuild_tensor_v2"): _rebuild_tensor,
            ("torch._utils", "_rebuild_parameter"): lambda tensor, *_: tensor,
        }
        if (module, name) in known:
            return known[module, name]
        if module == "torch" and name in _DTYPES:
            return name
        raise ModelError(
            f"The weights in {self._name} ask for {module}.{name}. Only tensors are read; nothing in a file is run."
        )

    def persistent_load(self, pid: Any) -> _Storage:
        kind, storage, key, _, count = pid
        if kind != "storage" or storage not in _DTYPES:
            raise ModelError(f"The weights in {self._name} hold a storage of an unknown kind.")
        if key not in self._storages:
            values = np.frombuffer(self._read(str(key)), _DTYPES[storage])
            if len(values) != count:
                raise ModelError(f"A tensor in {self._name} has {len(values)} values where {count} are declared.")
            self._storages[key] = _Storage(values, storage == "BFloat16Storage")
        return self._storages[key]


def _rebuild_tensor(storage: Any, offset: Any, shape: Any, strides: Any, *_: Any) -> Tensor:
    numbers = (offset, *shape, *strides)
    if not isinstance(storage, _Storage) or len(shape) != len(strides):
        raise ModelError("A tensor is not a view of a storage.")
    if not all(isinstance(n, int) and n >= 0 for n in numbers):
        raise ModelError("A tensor has a negative size, stride or offset.")
    last = offset + sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True))
    if math.prod(shape) and last >= len(storage.values):
        raise ModelError("A tensor reaches beyond its storage.")
    if math.prod(shape) > len(storage.values):
        raise ModelError("A tensor has more values than its storage.")
    item = storage.values.itemsize
    view = np.lib.stride_tricks.as_strided(
        storage.values[offset:], shape, tuple(stride * item for stride in strides), writeable=False
    )
    return Tensor(np.array(view), storage.is_bfloat16)


def _as_mlx(tensor: Tensor) -> mx.array:
    values = mx.array(tensor.values)
    return values.view(mx.bfloat16) if tensor.is_bfloat16 else values


def _members(archive: tarfile.TarFile, path: Path) -> dict[str, tarfile.TarInfo]:
    """The plain files of an archive by name, folders left off; links and devices are passed over."""
    members: dict[str, tarfile.TarInfo] = {}
    for count, member in enumerate(archive, 1):
        if count > MAX_MEMBERS:
            raise ModelError(f"{path.name} holds more than {MAX_MEMBERS} files; a .nemo archive holds a few.")
        if member.isfile():
            members[member.name.rsplit("/", 1)[-1]] = member
    return members


def _read(archive: tarfile.TarFile, members: dict[str, tarfile.TarInfo], name: str, limit: int) -> bytes:
    if name not in members:
        raise ModelError(f"The archive holds no {name}; a .nemo archive has {CONFIG} and {WEIGHTS}.")
    member = members[name]
    if member.size > limit:
        raise ModelError(f"{name} in the archive is {member.size >> 20} MB; at most {limit >> 20} MB are read.")
    file = archive.extractfile(member)
    data = file.read(member.size + 1) if file else b""
    if len(data) != member.size:
        raise DamagedError(f"{name} in the archive is incomplete; fetch the archive again.")
    return data


def _optional(archive: tarfile.TarFile, members: dict[str, tarfile.TarInfo], ending: str) -> bytes | None:
    """A tokenizer file; NeMo puts a hash before its name."""
    name = next((n for n in members if n == ending or n.endswith("_" + ending)), None)
    return _read(archive, members, name, MAX_SMALL_BYTES) if name else None
