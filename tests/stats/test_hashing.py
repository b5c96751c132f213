"""The hash that says which part a task is in: golden values, and an independent reading of its definition."""

from __future__ import annotations

import numpy as np
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from crowdwise.stats.hashing import name_hash

MASK = 2**64 - 1
# Written down once; a change of any of them would put tasks into other parts than plans on disk have them in.
GOLDEN = {
    "": 0xF52A15E9A9B5E89B,
    "7": 0x7AEDDDB772826587,
    "task-1": 0x49A25E5F3DDE807D,
    "Übung": 0xCF54B3FA48CF5C86,
}


def by_hand(text: str) -> int:
    x = 0xCBF29CE484222325
    for byte in text.encode():
        x = (x ^ byte) * 0x100000001B3 & MASK
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def test_golden():
    assert {name: int(h) for name, h in zip(GOLDEN, name_hash(pl.Series(list(GOLDEN))), strict=True)} == GOLDEN


@settings(max_examples=50, deadline=None)
@given(st.lists(st.text(), min_size=1))
def test_as_defined(names):
    names = [name for name in names if name.isprintable() or name.isascii()]
    assert name_hash(pl.Series(names, dtype=pl.String)).tolist() == [by_hand(name) for name in names]


def test_numbers_are_hashed_as_they_are_written():
    assert np.array_equal(name_hash(pl.Series([7, -3, None])), name_hash(pl.Series(["7", "-3", ""])))


def test_buckets_are_even():
    """4,096 buckets of names that differ in their last digits only: no bucket has twice its share or half of it."""
    at = name_hash("task-" + pl.Series(np.arange(2_000_000)).cast(pl.String)) >> np.uint64(52)
    n = np.bincount(at.astype(np.int64), minlength=4096)
    assert 0.75 * 2_000_000 / 4096 < n.min() <= n.max() < 1.25 * 2_000_000 / 4096
