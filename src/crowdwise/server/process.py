"""Settings of the interpreter and of the C library for memory and threads of the server.

They are made once by `crowdwise serve`, before the project is opened, and skipped on systems that do not have them.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from typing import Any

# glibc's mallopt parameters and their values: blocks of a megabyte and more are mapped one by one and unmapped when
# freed; all threads share two arenas, so that memory freed by one is reused by the others. By default, the mmap
# threshold grows, and large blocks come from heaps that never shrink.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
_SETTINGS = ((_MMAP_THRESHOLD, 1 << 20), (_TRIM_THRESHOLD, 1 << 20), (_ARENA_MAX, 2))
# Switch interval of threads in seconds. The write queue and the event loop alternate after every database statement;
# with Python's 5 ms, one of them may wait far longer than it works.
SWITCH = 0.0005
# Open files other than connections: databases, libraries, pictures, pipes of fits.
OTHER_FILES = 200
# Allocations between two runs of the garbage collector; the server creates few cycles.
GC_THRESHOLD = 50_000


def prepare() -> None:
    """Apply the settings; before the project is opened."""
    change = _c("mallopt")
    if change is not None:
        for what, value in _SETTINGS:
            change(what, value)
    sys.setswitchinterval(SWITCH)


def reserve_files(connections: int) -> int:
    """Raise the limit of open files for this many connections; return how many connections are possible."""
    try:
        import resource
    except ImportError:  # not a POSIX system
        return connections
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    unlimited = resource.RLIM_INFINITY
    needed = connections + OTHER_FILES
    if soft != unlimited and soft < needed:
        soft = needed if hard == unlimited else min(needed, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return connections if soft == unlimited else max(min(connections, soft - OTHER_FILES), 1)


def opened() -> None:
    """After the project is opened: exclude existing objects, which stay, from garbage collection."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(GC_THRESHOLD, 20, 50)


def give_back() -> None:
    """Return free memory to the system."""
    trim = _c("malloc_trim")
    if trim is not None:
        trim(0)


def _c(name: str) -> Any:
    """A function of the C library, or None."""
    return getattr(ctypes.CDLL(None), name, None) if os.name == "posix" else None
