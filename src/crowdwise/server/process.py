"""How the server's process treats memory and its threads: settings of the interpreter and of the C library.

None of them changes an answer. They are made once, by `crowdwise serve`, before the project is opened, and are left
alone where the system does not know them.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
from typing import Any

# glibc's numbers of what can be set, and what it is set to: parts of a megabyte and more are taken from the system one
# by one and go back to it when they are free; all threads share two heaps, since what each frees helps the others.
# Left to itself, the library takes larger and larger parts from heaps that never shrink.
_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
_SETTINGS = ((_MMAP_THRESHOLD, 1 << 20), (_TRIM_THRESHOLD, 1 << 20), (_ARENA_MAX, 2))
# Seconds that a thread may go on while another waits. The desk and the loop hand over after every statement of the
# database; with Python's 5 ms one may wait for the other far longer than it works.
SWITCH = 0.0005
# Files that the process may have open beside connections: databases, libraries, pictures, pipes of fits.
OTHER_FILES = 200
# New objects between two looks for cycles, which the server hardly makes.
NEW = 50_000


def prepare() -> None:
    """Before the project is opened."""
    change = _c("mallopt")
    if change is not None:
        for what, value in _SETTINGS:
            change(what, value)
    sys.setswitchinterval(SWITCH)


def reserve_files(connections: int) -> int:
    """Allow the process as many open files as this many connections need; how many connections it may have."""
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
    """When the project is open: what is there now stays, and is not looked through for garbage again and again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(NEW, 20, 50)


def give_back() -> None:
    """Hand back to the system what was taken for a moment, where the C library would keep it."""
    trim = _c("malloc_trim")
    if trim is not None:
        trim(0)


def _c(name: str) -> Any:
    """A function of the C library, where it has it."""
    return getattr(ctypes.CDLL(None), name, None) if os.name == "posix" else None
