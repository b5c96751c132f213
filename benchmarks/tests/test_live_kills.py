"""Servers that are killed lose nothing: the short form of `python -m benchmarks.live.kills`."""

from __future__ import annotations

import subprocess
import sys

import pytest

from benchmarks import ROOT


@pytest.mark.parametrize("name", ["sqlite", "postgresql"])
def test_killed_servers_lose_nothing(name, request):
    """In a process of its own: it forks."""
    if name == "postgresql":
        request.getfixturevalue("postgres")
    code = (
        "from benchmarks.live.kills import measure;"
        f"got = measure(3, 1, ({name!r},))[{name!r}];"
        "assert got['told'] > 0 and not got['lost'] and not got['doubled'] and got['sound'] and not got['refused'], got"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
