"""On what this was measured: cores, processor, Python and package versions. No paths, no host names."""

from __future__ import annotations

import datetime
import os
import platform
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from . import peers
from .jobs.bare import compiler

PACKAGES = ("crowdwise", "numpy", "scipy", "numba", "llvmlite", "polars", "pandas", "pyarrow")


def facts() -> list[tuple[str, str]]:
    """Name and value, in the order in which they are to be shown; crowd-kit's environment is made if need be."""
    peer = peers.crowd_kit_versions()
    if peer is None:
        return [*own_facts(), ("crowd-kit", "not here")]
    rest = ", ".join(f"{name} {peer[name]}" for name in ("pandas", "numpy"))
    return [
        *own_facts(),
        ("crowd-kit", f"{peer['crowd-kit']} in its own environment ({rest}, Python {peer['python']})"),
    ]


def own_facts() -> list[tuple[str, str]]:
    """The same without peers."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return [
        ("date", datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d")),
        ("processor", f"{_processor()}, {cores} cores, {_memory()}"),
        ("system", f"{platform.system()} {platform.machine()}, Python {platform.python_version()}"),
        ("packages", ", ".join(f"{name} {_version(name)}" for name in PACKAGES)),
        ("C compiler", _compiler()),
        ("other load", _load()),
    ]


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _memory() -> str:
    try:
        return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 1e9:.0f} GB of memory"
    except (ValueError, OSError, AttributeError):
        return "unknown memory"


def _load() -> str:
    """Wall times are worth little where others compute: say so beside them."""
    try:
        busy = os.getloadavg()[0]
    except OSError:
        return "unknown"
    return f"load average {busy:.1f} at the start" + (" (others were computing too)" if busy > 0.5 else "")


def _compiler() -> str:
    command = compiler()
    if command is None:
        return "none"
    done = subprocess.run([command, "--version"], capture_output=True, text=True, check=False)
    return done.stdout.splitlines()[0] if done.stdout else "unknown"
