"""Arrays in .npz and .npy files, headers first: nothing is allocated before it is known what the file would ask for.

A header of a hundred bytes can ask for an exabyte, and a packed array of zeros is a thousand times smaller than what
comes out of it. So the headers are read alone and compared with the bytes that are there, and the caller looks at
names, shapes and types before a single value is read.
"""

from __future__ import annotations

import io
import math
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from .sources import FREE, MOST_TIMES, Source

# The most that deflate can do; what claims to have been packed better is damaged.
_DEFLATE = 1100
_LONGEST_HEADER = 10_000
# What zipfile and numpy raise on files that are not what they should be.
FAULTS = (OSError, ValueError, TypeError, KeyError, EOFError, NotImplementedError, RuntimeError, OverflowError,
          SyntaxError, MemoryError, zipfile.BadZipFile, zlib.error, struct.error, tokenize.TokenError)  # fmt: skip


@dataclass(frozen=True)
class Header:
    """What an array is said to be; `packed` is the number of bytes that it takes in the file."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    packed: int

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def is_bomb(self) -> bool:
        """Whether it is packed as no numbers of any use are."""
        return self.size > FREE and self.size > MOST_TIMES * self.packed


# Sees what there is, raises ValueError where it is wrong, and says what to read.
Look = Callable[[Mapping[str, Header]], Iterable[str]]


def read_npz(path: Path, look: Look) -> dict[str, npt.NDArray[Any]]:
    """The arrays of an archive that `look` chose from the headers; raises one of FAULTS."""
    with zipfile.ZipFile(path) as archive:
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        if len(members) < len(archive.infolist()):
            raise ValueError("two arrays of one name")
        headers = {}
        for name, info in members.items():
            with archive.open(info) as file:
                headers[name] = _header(file, info.file_size, info.compress_size, name)
            if info.file_size > _DEFLATE * info.compress_size + _LONGEST_HEADER:
                raise ValueError(f"{name} cannot have {info.file_size:,} bytes")
        if sum(info.compress_size for info in members.values()) > path.stat().st_size:
            raise ValueError("its arrays overlap")
        arrays = {}
        for name in look(headers):
            with archive.open(members[name]) as file:
                arrays[name] = np.lib.format.read_array(file, allow_pickle=False)
        return arrays


def read_npy(source: Source, look: Look) -> npt.NDArray[Any]:
    """The array of a .npy file, after `look` has seen its header under the name ""; raises one of FAULTS."""
    size = len(source) if isinstance(source, bytes) else source.stat().st_size
    with io.BytesIO(source) if isinstance(source, bytes) else source.open("rb") as file:
        look({"": _header(file, size, size, "it")})
        file.seek(0)
        array: npt.NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
        return array


def _header(file: IO[bytes], size: int, packed: int, name: str) -> Header:
    """The header of an array whose file has so many bytes, which must be just what it asks for."""
    start = file.read(8)
    if len(start) < 8 or not start.startswith(b"\x93NUMPY"):
        raise ValueError(f"{name} is no array")
    width = 2 if start[6] == 1 else 4
    length = file.read(width)
    n = int.from_bytes(length, "little")
    if n > _LONGEST_HEADER:
        raise ValueError(f"{name} has a header of {n:,} bytes")
    text = io.BytesIO(length + file.read(n))
    read = np.lib.format.read_array_header_1_0 if width == 2 else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(text)
    if dtype.hasobject or dtype.kind not in "biufU" or any(side < 0 for side in shape):
        raise ValueError(f"{name} holds {dtype} values of shape {shape}: no array of numbers")
    found = Header(tuple(map(int, shape)), dtype, packed)
    if found.size != size - 8 - width - n:
        raise ValueError(f"{name} has {size:,} bytes, which shape {_short(found.shape)} does not fit")
    return found


def _short(shape: tuple[int, ...]) -> str:
    return " × ".join(f"{side:,}" for side in shape[:6]) or "()"
