"""A scikit-learn estimator for every registered aggregation method, over a wide matrix or a table of labels.

This is the only package that imports scikit-learn. Rows are tasks and columns are workers, so a fitted estimator
predicts new tasks of the same workers. Aggregation needs no y; to use gold labels, call
`crowdwise.method(...).fit(votes, gold=...)`.
"""

from __future__ import annotations

from .estimator import CrowdAggregator

__all__ = ["CrowdAggregator"]
