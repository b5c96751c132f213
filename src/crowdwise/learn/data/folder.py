"""Features that need not fit into memory: a folder of .npy or .parquet files, read in pieces.

Rows are numbered through the files in the order of their names. Training takes pieces in an order that depends on the
seed and the epoch, and shuffles the rows of several pieces together, so that each piece is read once per epoch. Batches
depend on the files only, not on the number of processes.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt
import polars as pl
import torch
from torch import Tensor
from torch.utils.data import Dataset

from ...core.arrays import I8
from ...core.errors import DataError, unwritable
from ...core.faults import FAULTS, first_line
from ...core.vocabulary import as_series, quote
from ...io.npz import FAULTS as ARRAY_FAULTS
from ...io.npz import Header, read_npy, read_npz
from ...io.parquet import open_parquet
from ...io.sources import open_source

# ----------------------------------------------------------------
# Numbers of every task on disk: a tensor over a memory-mapped temporary file.
# The file lies beside the features, or among temporary files if that folder is read-only, and is deleted when the
# process ends. `release_memory` lets the system reuse the memory of pages that are not needed for now.

# Maps by the address of the tensor's first number. The tensor keeps its map alive.
_maps: WeakValueDictionary[int, mmap.mmap] = WeakValueDictionary()


def on_disk(values: Tensor, folder: Path) -> Tensor:
    """The same numbers in a file; an empty tensor is returned as it is."""
    size = values.numel() * values.element_size()
    if not size:
        return values
    with _reserved_file(folder, size) as file:
        buffer = mmap.mmap(file.fileno(), size)
    mapped = torch.frombuffer(buffer, dtype=values.dtype).view(values.shape)
    mapped.copy_(values)
    _maps[mapped.data_ptr()] = buffer
    release_memory(mapped)
    return mapped


def is_on_disk(values: Tensor) -> bool:
    """Whether these numbers, or a view of all of them, are in a file."""
    return values.data_ptr() in _maps


def release_memory(values: Tensor) -> None:
    """Free the memory of these numbers; they are read from the file again when needed."""
    buffer = _maps.get(values.data_ptr())
    if buffer is not None and hasattr(mmap, "MADV_DONTNEED"):
        buffer.madvise(mmap.MADV_DONTNEED)


def _reserved_file(folder: Path, size: int) -> tempfile._TemporaryFileWrapper[bytes]:
    """A temporary file with `size` bytes reserved, so that a full disk is reported now and not when writing."""
    for directory in (folder, Path(tempfile.gettempdir())):
        try:
            file = tempfile.TemporaryFile(dir=directory)  # noqa: SIM115
        except OSError:
            continue
        try:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size)
            else:
                file.truncate(size)
        except OSError as error:
            file.close()
            raise unwritable(directory, error) from error
        return file  # type: ignore[return-value]
    raise unwritable(folder, OSError("no file can be created there"))


# ----------------------------------------------------------------
# Features from files: .npz with `task` (or `item`) and `x`, .npy in task order, or .parquet with such a column.

_NAMES = (("task", "x"), ("item", "x"), ("train_task", "train_x"))
Features = tuple[pl.Series | None, npt.NDArray[Any], dict[str, npt.NDArray[Any]]]


def read_features(path: str | Path) -> tuple[pl.Series | None, Any]:
    """The names of the tasks or items (None for .npy: rows are in the order of the sorted tasks) and x[task, ...].

    For a folder, x is a FeatureFolder.
    """
    if Path(path).is_dir():
        features = FeatureFolder(path)
        return features.tasks, features
    return read_with(path)[:2]


def read_with(path: str | Path, more: tuple[str, ...] = ()) -> Features:
    """The same for a file, and those of the arrays or columns `more` that it has."""
    path = Path(path)
    readers = {".npz": _npz, ".npy": _npy, ".parquet": _parquet}
    if path.suffix not in readers and path.exists():
        raise DataError(
            f"{path.name}: features come as .npz, .npy or .parquet, not {path.suffix or 'without a suffix'}"
        )
    source, name_of_file = open_source(path)
    if isinstance(source, bytes):
        raise DataError(f"{name_of_file} is a pipe; features are read from files only")
    try:
        tasks, x, extra = readers[path.suffix](path, more)
    except (*FAULTS, *ARRAY_FAULTS) as error:
        raise DataError(f"{name_of_file} cannot be read as features ({first_line(error)})") from None
    if tasks is not None and len(tasks) != len(x):
        raise DataError(f"{name_of_file} names {len(tasks):,} tasks but has {len(x):,} rows of features")
    for name, values in extra.items():
        if values.shape != (len(x),) or values.dtype.kind not in "iu":
            raise DataError(f"{name_of_file}: {name} must hold one whole number per row of features")
    return tasks, x, extra


def _npz(path: Path, more: tuple[str, ...]) -> Features:
    def choose(headers: Mapping[str, Header]) -> tuple[str, ...]:
        for task, features in _NAMES:
            if task in headers and features in headers:
                if len(headers[task].shape) != 1:
                    raise ValueError(f"{task} has shape {headers[task].shape}; one name per row is needed")
                _check(headers[features])
                return task, features, *(name for name in more if name in headers)
        raise DataError(f"{path.name} holds {quote(headers, 8)}; arrays `task` (or `item`) and `x` are needed")

    task, x, *extra_arrays = (arrays := read_npz(path, choose)).values()
    return pl.Series("task", task.tolist()), x, dict(zip(list(arrays)[2:], extra_arrays, strict=True))


def _npy(path: Path, more: tuple[str, ...]) -> Features:  # noqa: ARG001
    def check_header(headers: Mapping[str, Header]) -> Mapping[str, Header]:
        _check(headers[""])
        return headers

    return None, read_npy(path, check_header), {}


def _check(header: Header) -> None:
    """Refuse features that are not numbers with one row per task, or that are empty."""
    if header.dtype.kind not in "biuf":
        raise ValueError(f"features must be numbers, not {header.dtype} values")
    if len(header.shape) < 2 or 0 in header.shape:
        raise ValueError(f"shape {header.shape}; a row of at least one number per task is needed")


def _parquet(path: Path, more: tuple[str, ...]) -> Features:
    table = open_parquet(path, path.name)
    frame = table.read(table.header)
    key = next((name for name in ("task", "item") if name in frame.columns), None)
    if key is None:
        raise DataError(f"{path.name} has no column `task` (or `item`); it has {', '.join(frame.columns[:8])}")
    extra = {name: frame[name].to_numpy() for name in more if name in frame.columns}
    features = frame.drop(key, *extra)
    if features.width == 1 and isinstance(features.to_series().dtype, pl.List | pl.Array):
        x = np.array(features.to_series().to_list(), dtype=np.float32)
        if x.ndim < 2 or not x.size:
            raise DataError(f"{path.name}: every task needs a list of numbers, all of one length")
        return frame[key], x, extra
    not_numeric = [name for name, kind in features.schema.items() if not (kind.is_numeric() or kind == pl.Boolean)]
    if not_numeric or not features.width:
        raise DataError(
            f"{path.name}: features must be numbers; {', '.join(not_numeric[:5]) or 'there are no columns'}"
        )
    return frame[key], features.cast(pl.Float32).to_numpy(), extra


# Bytes of features in memory at a time, and the number of pieces they are divided into: two groups of pieces that are
# shuffled together, because a batch may begin in one group and end in the next.
MEMORY, PIECES = 1 << 28, 8
NAMES = "tasks.parquet"


@dataclass(frozen=True)
class FilePiece:
    """Rows lo .. hi - 1 of a file."""

    path: Path
    lo: int
    hi: int


class FeatureFolder(Dataset[Tensor]):
    """Features in a folder: .npy files (rows in the order of the column `task` of tasks.parquet, or else of the sorted
    tasks), or .parquet files with a column `task`.

    At most about `memory` bytes are read at a time.
    """

    def __init__(self, folder: str | Path, *, memory: int = MEMORY) -> None:
        self.folder, self.memory = Path(folder), memory
        files = sorted(path for path in self.folder.glob("*.npy"))
        tables = sorted(path for path in self.folder.glob("*.parquet") if path.name != NAMES)
        if bool(files) == bool(tables):
            present = "both" if files else "neither"
            raise DataError(f"{self.folder} must hold features as .npy or as .parquet files; it holds {present}")
        read_header = _array if files else _table
        headers = [_read_or_refuse(path, read_header) for path in files or tables]
        self.shape, self.dtype = headers[0][1:]
        for path, (_, shape, dtype) in zip(files or tables, headers, strict=True):
            if (shape, dtype) != (self.shape, self.dtype):
                raise DataError(
                    f"{path.name} has rows of shape {shape} and type {dtype}, {(files or tables)[0].name} of "
                    f"{self.shape} and {self.dtype}; all files need the same"
                )
        row = max(1, int(np.prod(self.shape)) * self.dtype.itemsize)
        piece_rows = max(1, memory // PIECES // row)
        self.pieces = [
            FilePiece(path, lo, min(lo + piece_rows, n))
            for path, (n, *_) in zip(files or tables, headers, strict=True)
            for lo in range(0, n, piece_rows)
        ]
        self.first = np.cumsum([0, *(piece.hi - piece.lo for piece in self.pieces)])
        self.tasks = self._tasks(tables)
        self._open: OrderedDict[int, Tensor] = OrderedDict()
        self._checked: set[int] = set()

    def __reduce__(self) -> tuple[Any, ...]:
        return _open_folder, (self.folder, self.memory)  # another process reads the files itself

    def __len__(self) -> int:
        return int(self.first[-1])

    def __getitem__(self, row: int) -> Tensor:
        return self.take(torch.tensor([row]))[0]

    def take(self, rows: Tensor) -> Tensor:
        """These rows, in the type of the files."""
        at = np.searchsorted(self.first, rows.numpy(), side="right") - 1
        out = torch.empty((len(rows), *self.shape), dtype=torch.from_numpy(np.empty(0, self.dtype)).dtype)
        for number in np.unique(at).tolist():
            in_piece = torch.from_numpy(np.flatnonzero(at == number))
            out[in_piece] = self._piece(number)[rows[in_piece] - int(self.first[number])]
        return out

    def shuffled(self, tasks: I8, rng: np.random.Generator) -> I8:
        """These rows in random order: first the pieces, then the rows of each group of pieces."""
        at = np.searchsorted(self.first, tasks, side="right") - 1
        group = rng.permutation(len(self.pieces))[at] // max(1, (PIECES - 2) // 2)
        mixed = rng.permutation(len(tasks))
        order: I8 = tasks[mixed[np.argsort(group[mixed], kind="stable")]]
        return order

    def _piece(self, number: int) -> Tensor:
        if number in self._open:
            self._open.move_to_end(number)
            return self._open[number]
        while len(self._open) >= PIECES - 2:  # a further one is about to be read
            self._open.popitem(last=False)
        piece = self.pieces[number]
        read = _read_array if piece.path.suffix == ".npy" else _read_table
        values = torch.from_numpy(_read_or_refuse(piece.path, lambda path: read(path, piece.lo, piece.hi)))
        if number not in self._checked:
            self._check(piece, values)
            self._checked.add(number)
        self._open[number] = values
        return values

    def _check(self, piece: FilePiece, values: Tensor) -> None:
        if values.is_floating_point():
            bad = ~torch.isfinite(values.float().flatten(1)).all(1)
            if bad.any():
                row = piece.lo + int(bad.nonzero()[0])
                raise DataError(f"{piece.path.name} holds NaN or infinity, first in row {row}; fix it")

    def _tasks(self, tables: list[Path]) -> pl.Series | None:
        if tables:
            return as_series(pl.concat([_read_or_refuse(path, _names) for path in tables]), "task")
        if not (self.folder / NAMES).exists():
            return None
        names = as_series(_read_or_refuse(self.folder / NAMES, _names), "task")
        if len(names) != len(self):
            raise DataError(f"{NAMES} names {len(names):,} tasks, but there are {len(self):,} rows of features")
        return names


def _open_folder(folder: Path, memory: int) -> FeatureFolder:
    return FeatureFolder(folder, memory=memory)


def _read_or_refuse(path: Path, read: Any) -> Any:
    try:
        return read(path)
    except (*FAULTS, *ARRAY_FAULTS) as error:
        raise DataError(f"{path.name} cannot be read as features ({first_line(error)})") from None


def _array(path: Path) -> tuple[int, tuple[int, ...], np.dtype[Any]]:
    array = np.load(path, mmap_mode="r", allow_pickle=False)
    if array.dtype.kind not in "biuf" or array.ndim < 2 or 0 in array.shape[1:]:
        raise ValueError(f"{array.dtype} values of shape {array.shape}; numbers are needed, one row per task")
    return len(array), array.shape[1:], array.dtype


def _read_array(path: Path, lo: int, hi: int) -> npt.NDArray[Any]:
    # Mapped only while copying, because pages of a mapped file count as memory of this process.
    return np.array(np.load(path, mmap_mode="r", allow_pickle=False)[lo:hi])


def _table(path: Path) -> tuple[int, tuple[int, ...], np.dtype[Any]]:
    scan = pl.scan_parquet(path)
    schema = scan.collect_schema()
    if "task" not in schema:
        raise ValueError(f"there is no column task; it has {', '.join(schema.names()[:8])}")
    width = _features(scan.head(1).collect()).shape[1]
    return int(scan.select(pl.len()).collect().item()), (width,), np.dtype(np.float32)


def _read_table(path: Path, lo: int, hi: int) -> npt.NDArray[Any]:
    return _features(pl.scan_parquet(path).slice(lo, hi - lo).collect())


def _features(frame: pl.DataFrame) -> npt.NDArray[np.float32]:
    """Features from a column of lists of equal length, or from columns of numbers."""
    features = frame.drop("task")
    if features.width == 1 and isinstance(features.to_series().dtype, pl.List | pl.Array):
        lists = features.to_series()
        flat = lists.explode()
        if flat.null_count() or (len(lists) and len(flat) % len(lists)):
            raise ValueError("every task needs a list of numbers, all of one length")
        return flat.cast(pl.Float32).to_numpy().reshape(len(lists), -1).copy()
    not_numeric = [name for name, kind in features.schema.items() if not (kind.is_numeric() or kind == pl.Boolean)]
    if not_numeric or not features.width:
        raise ValueError(f"features must be numbers; {', '.join(not_numeric[:5]) or 'there are no columns'}")
    return np.ascontiguousarray(features.cast(pl.Float32).to_numpy())


def _names(path: Path) -> pl.Series:
    return pl.read_parquet(path, columns=["task"]).to_series()
