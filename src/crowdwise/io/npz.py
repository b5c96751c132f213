"""Read .npz and .npy files safely: headers are validated before any array is allocated.

A header of a hundred bytes can request an exabyte, and a compressed array of zeros is a thousand times smaller than its
content. So the headers are read first and compared with the size of the file, and the caller checks names, shapes and
types before any value is read.
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

# The best ratio that deflate can reach; a file that claims a better one is damaged.
_DEFLATE = 1100
_LONGEST_HEADER = 10_000
# Errors that zipfile and numpy raise on malformed files.
FAULTS = (OSError, ValueError, TypeError, KeyError, EOFError, NotImplementedError, RuntimeError, OverflowError,
          SyntaxError, MemoryError, zipfile.BadZipFile, zlib.error, struct.error, tokenize.TokenError)  # fmt: skip


@dataclass(frozen=True)
class Header:
    """The header of an array; `packed` is the number of bytes that it takes in the file."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    packed: int

    @property
    def size(self) -> int:
        """Bytes in memory."""
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def is_bomb(self) -> bool:
        """Whether the compression ratio is implausible for real data."""
        return self.size > FREE and self.size > MOST_TIMES * self.packed


# Gets the headers, raises ValueError if one is invalid, and returns the names of the arrays to read.
SelectArrays = Callable[[Mapping[str, Header]], Iterable[str]]


def read_npz(path: Path, look: SelectArrays) -> dict[str, npt.NDArray[Any]]:
    """Return the arrays of an archive that `look` selects from the headers; raises one of FAULTS."""
    with zipfile.ZipFile(path) as archive:
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        if len(members) < len(archive.infolist()):
            raise ValueError("two arrays with the same name")
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


def read_npy(source: Source, look: SelectArrays) -> npt.NDArray[Any]:
    """Return the array of a .npy file, whose header `look` validates under the name ""; raises one of FAULTS."""
    size = len(source) if isinstance(source, bytes) else source.stat().st_size
    with io.BytesIO(source) if isinstance(source, bytes) else source.open("rb") as file:
        look({"": _header(file, size, size, "it")})
        file.seek(0)
        array: npt.NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
        return array


def _header(file: IO[bytes], size: int, packed: int, name: str) -> Header:
    """Read the header of an array and check it against the size of the file."""
    start = file.read(8)
    if len(start) < 8 or not start.startswith(b"\x93NUMPY"):
        raise ValueError(f"{name} is not an array")
    width = 2 if start[6] == 1 else 4
    length = file.read(width)
    n = int.from_bytes(length, "little")
    if n > _LONGEST_HEADER:
        raise ValueError(f"{name} has a header of {n:,} bytes")
    text = io.BytesIO(length + file.read(n))
    read = np.lib.format.read_array_header_1_0 if width == 2 else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(text)
    if dtype.hasobject or dtype.kind not in "biufU" or any(side < 0 for side in shape):
        raise ValueError(f"{name} holds {dtype} values of shape {shape}, which are not numbers")
    header = Header(tuple(map(int, shape)), dtype, packed)
    if header.size != size - 8 - width - n:
        raise ValueError(f"{name} has {size:,} bytes, which shape {_short(header.shape)} does not fit")
    return header


def _short(shape: tuple[int, ...]) -> str:
    return " × ".join(f"{side:,}" for side in shape[:6]) or "()"
