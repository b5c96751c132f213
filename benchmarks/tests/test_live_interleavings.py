"""Whatever order requests come in: the short form of `python -m benchmarks.live.interleavings`."""

from __future__ import annotations

from benchmarks.live.interleavings import run


def test_rules_hold_in_any_order(database):
    n, _ = run(database, 8 if database is None else 5, 15, shrink=False)
    assert n >= 5
