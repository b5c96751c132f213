"""Codes of text columns: right whatever the hash does."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from crowdwise.core.intake.column import code_text

COLUMNS = [
    ["b", "a", "b"],
    ["a"],
    ["", "a", " ", "a"],
    [None, "a", None, "é", "z", "\U0001f600"],
    ["007", "7", "07", "7"],
    [str(i % 97) for i in range(5000)],
    ["x" * 50 + str(i % 13) for i in range(300)],
    [None, None],
]


@pytest.mark.parametrize("values", COLUMNS, ids=range(len(COLUMNS)))
@pytest.mark.parametrize("n_hashes", [None, 1, 2, 7])
def test_codes_stand_for_their_values_even_when_hashes_collide(values, n_hashes, monkeypatch):
    texts = pl.Series(values, dtype=pl.String)
    if n_hashes is not None:
        honest = pl.Series.hash

        def poor(self):
            return pl.Series((honest(self).to_numpy() % np.uint64(n_hashes)) << np.uint64(50))

        monkeypatch.setattr(pl.Series, "hash", poor)
    codes, distinct = code_text(texts)
    assert distinct.gather(codes).to_list() == values
    assert distinct.to_list() == sorted(set(values), key=lambda v: (v is not None, (v or "").encode()))
    assert codes.dtype == np.int32
