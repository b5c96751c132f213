"""pytest -p tests.check: the tests of `make check`, and none of them may take more than a second.

Left out are the tests marked slow, torch, server, browser or data. What a test costs is the CPU time of its call and of
the processes that it waited for, so a busy machine changes little. A test is excused where it was the first to import
modules or to compile kernels. A second is longer where the machine is slow at that moment, and five times as long with
CI=true. CROWDWISE_TIMES=FILE appends the costs to a file instead.
"""

from __future__ import annotations

import os
import sys
import time

import pytest
from numba.core.event import Listener, register

LEFT_OUT = ("slow", "torch", "server", "browser", "data")
# Folders and files that hold nothing else are not even imported.
FOLDERS = ("benchmarks", "tests/client", "tests/laws", "tests/learn", "tests/planted", "tests/server")
FILES = ("test_browser.py", "test_learn.py", "test_loss.py", "test_pages.py")
MOST_SECONDS = 5.0 if os.environ.get("CI") == "true" else 1.0
# Two runs of one test differ by up to half: only what is clearly above the limit fails.
NOISE = 1.5
# CPU seconds of a loop of a million steps on an ordinary machine.
ORDINARY_LOOP = 0.015
# A test that imports at least so many modules pays for those that come after it.
FIRST_IMPORTS = 20


class Compilations(Listener):
    """How many kernels numba has compiled; those from its cache do not count."""

    count = 0

    def on_start(self, event):
        """Nothing is done before the compilation."""

    def on_end(self, event):
        """One more."""
        self.count += 1


_compilations = Compilations()


def pytest_configure(config):
    """Select what is left, and listen to the compiler."""
    if not config.option.markexpr:
        config.option.markexpr = f"not ({' or '.join(LEFT_OUT)})"
    register("numba:compile", _compilations)


def pytest_ignore_collect(collection_path, config):
    """Skip folders and files whose tests are all left out."""
    path = collection_path.relative_to(config.rootpath).as_posix() if collection_path != config.rootpath else ""
    return True if path in FOLDERS or collection_path.name in FILES else None


def _spent() -> float:
    times = os.times()
    return time.process_time() + times.children_user + times.children_system


def _slower() -> float:
    """How many times slower than an ordinary machine this one is now, at least 1."""
    began = time.process_time()
    for _ in range(1_000_000):
        pass
    return max(1.0, (time.process_time() - began) / ORDINARY_LOOP)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Fail a test that takes too long."""
    began, modules, compiled = _spent(), len(sys.modules), _compilations.count
    result = yield
    spent = _spent() - began
    excused = len(sys.modules) - modules >= FIRST_IMPORTS or _compilations.count > compiled
    if file := os.environ.get("CROWDWISE_TIMES"):
        with open(file, "a", encoding="utf-8") as out:
            out.write(f"{spent:.3f}\t{int(excused)}\t{item.nodeid}\n")
    elif spent > MOST_SECONDS * NOISE and not excused and spent > MOST_SECONDS * NOISE * _slower():
        pytest.fail(f"{spent:.1f} s of CPU time: make it cheaper or mark it slow", pytrace=False)
    return result
