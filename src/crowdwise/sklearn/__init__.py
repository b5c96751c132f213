"""The scikit-learn face: any registered method as an estimator over a wide matrix or a table of labels.

The only room that imports scikit-learn. Rows are tasks and columns are workers, so a fitted estimator judges new tasks
of the same workers. Aggregation needs no y; gold belongs to `crowdwise.method(...).fit(votes, gold=...)`.
"""

from __future__ import annotations

from .estimator import CrowdAggregator

__all__ = ["CrowdAggregator"]
