"""What is in a set of comparisons, as plain values."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.votes import Votes
from ...maths.comparisons.rows import LEFT, TIE
from ..describe import common
from .answers import Comparisons
from .rows import rows_of


def describe(votes: Votes[Comparisons]) -> dict[str, Any]:
    """Of comparisons also: items, pairs, ties, how often left wins, islands of the graph of items, agreement."""
    said, rows = votes.answers, rows_of(votes)
    decided = said.outcome != TIE
    seen = rows.component[rows.asked > 0]
    first = np.where(said.left <= said.right, said.outcome, np.array([1, 0, 2])[said.outcome])
    counts = np.zeros((votes.n_tasks, 3))
    np.add.at(counts, (votes.task, first), 1.0)
    n = counts.sum(axis=1)
    pairs = float((n * (n - 1)).sum())
    return {
        **common(votes),
        "items": len(said.items),
        "pairs": len(rows.pairs[0]),
        "ties": int((~decided).sum()),
        "left_wins": float((said.outcome[decided] == LEFT).mean()) if decided.any() else None,
        "item_components": len(np.unique(seen)),
        "largest_component": int((rows.component[rows.asked > 0] == 0).sum()),
        "pairwise_agreement": float((counts * (counts - 1)).sum()) / pairs if pairs else None,
    }
