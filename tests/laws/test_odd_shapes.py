"""Small odd files of every kind give a result or one line; `python -m tests.laws.odd` tries hundreds of each."""

from __future__ import annotations

import pytest

from .odd import ANSWERS, MOODS, faults, rows

# One file of each mood; the first of them goes through the command as well.
SEEDS = range(len(MOODS) - 1)


@pytest.mark.parametrize("kind", ANSWERS)
def test_odd_files_give_a_result_or_one_line(kind, tmp_path):
    for seed in SEEDS:
        assert faults(kind, seed, tmp_path) == [], rows(kind, seed)
