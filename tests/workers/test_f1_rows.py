"""Workers by F1: luck with one answer leads neither end."""

from __future__ import annotations

import numpy as np
import pytest

from crowdwise import simulate
from crowdwise.core import method_registry as registry
from crowdwise.workers.tables import f1_ends


@pytest.mark.parametrize(("name", "method"), [("sets_plain", "set_coin"), ("spans_plain", "span_majority")])
def test_one_answer_is_neither_best_nor_worst(name, method):
    votes = simulate.scenario(name, tasks=60, workers=14, labels=4, seed=2).annotations
    # Ten of the workers give one answer each, at different tasks.
    some = [np.flatnonzero(votes.worker == w)[w : w + 1] if w < 10 else np.flatnonzero(votes.worker == w)
            for w in range(votes.n_workers)]  # fmt: skip
    fewer = votes.take(np.sort(np.concatenate(some)))
    result = registry.method(method).fit(fewer)
    header, rows = fewer.kind.hooks.worker_rows(result, limit=2)
    said = dict(zip(fewer.workers.cast(str).to_list(), fewer.labels_per_worker.tolist(), strict=True))
    assert "about 95 %" in header
    assert rows[2][0] == "…"
    assert all(said[row[0]] > 1 for row in rows[:2])
    table = f1_ends(result.worker_table())
    low, high, f1 = (table[column].to_numpy() for column in ("f1_low", "f1_high", "f1"))
    known = np.isfinite(f1)
    assert ((low <= f1 + 1e-9) & (f1 <= high + 1e-9))[known].all()
    one = (table["n_labels"] == 1).to_numpy() & known
    assert (high - low)[one].min() > (high - low)[~one & known].max()
