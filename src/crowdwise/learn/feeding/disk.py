"""Numbers of every task that are on disk, not in memory: a tensor over a file without a name.

The file lies beside the features, or where that cannot be written to among temporary files, and is gone with the
process, however it ends. Rows of a piece of the features lie together; whoever has gone over some of them says so
(`let_go`), and the system may use their memory for something else.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from pathlib import Path
from weakref import WeakValueDictionary

import torch
from torch import Tensor

from ...core.errors import unwritable

# By the place of a tensor's first number. The tensor holds its map, and the map is gone with it.
_maps: WeakValueDictionary[int, mmap.mmap] = WeakValueDictionary()


def on_disk(values: Tensor, folder: Path) -> Tensor:
    """The same numbers in a file; what has no numbers is left as it is."""
    size = values.numel() * values.element_size()
    if not size:
        return values
    with _room(folder, size) as file:
        room = mmap.mmap(file.fileno(), size)
    found = torch.frombuffer(room, dtype=values.dtype).view(values.shape)
    found.copy_(values)
    _maps[found.data_ptr()] = room
    let_go(found)
    return found


def is_on_disk(values: Tensor) -> bool:
    """Whether these numbers, or a view of all of them, are in a file."""
    return values.data_ptr() in _maps


def let_go(values: Tensor) -> None:
    """The memory of these numbers is free again; they are read from the file when they are asked for."""
    room = _maps.get(values.data_ptr())
    if room is not None and hasattr(mmap, "MADV_DONTNEED"):
        room.madvise(mmap.MADV_DONTNEED)


def _room(folder: Path, size: int) -> tempfile._TemporaryFileWrapper[bytes]:
    """A file of so many bytes which are reserved: a full disk is found out now, not when a number is written."""
    for place in (folder, Path(tempfile.gettempdir())):
        try:
            file = tempfile.TemporaryFile(dir=place)  # noqa: SIM115
        except OSError:
            continue
        try:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size)
            else:
                file.truncate(size)
        except OSError as error:
            file.close()
            raise unwritable(place, error) from error
        return file  # type: ignore[return-value]
    raise unwritable(folder, OSError("no file can be made there"))
