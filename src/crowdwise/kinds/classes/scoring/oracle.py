"""Oracle: the posterior given known confusion matrices, the best that any method can do.

    posterior[i, k] ∝ class_prior[k] · prod_w confusion[w, k, y_iw]

Use it where the confusion matrices are known: in simulations, or to apply the workers of one fit to other data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from ....core.arrays import F8
from ....core.errors import DataError
from ....core.result import Result
from ....core.vocabulary import as_series, lookup, quote
from ....em.kernels import Workspace, accumulate, transposed
from ..annotations import Annotations
from ..methods.base import Aggregator, SolveOptions
from ..methods.gold import GoldLabels, as_gold
from ..methods.partitioned import Solution


def oracle(
    annotations: Annotations, confusion: Any, class_prior: Any = None, gold: Any = None, *, seed: int = 0
) -> Result:
    """Compute the posterior of each task given known confusion matrices and class prior.

    Args:
        annotations: The votes.
        confusion: An array [worker, true, observed] in the order of `annotations.workers` and `annotations.classes`, a
            table with columns worker, true, observed and p (as returned by `confusion_table`), or a Result.
        class_prior: class_prior[class]; by default uniform, or that of the Result.
        gold: Known labels, which are held fixed.
        seed: Seed for breaking ties.

    >>> votes = Annotations.from_arrays([1, 1], ["a", "b"], ["x", "y"])
    >>> oracle(votes, [[[0.9, 0.1], [0.1, 0.9]], [[0.6, 0.4], [0.4, 0.6]]]).posterior.round(2)
    array([[0.86, 0.14]])
    """
    k = annotations.n_classes
    if class_prior is None:
        class_prior = confusion.class_prior if isinstance(confusion, Result) else np.full(k, 1 / k)
    table = _confusion(confusion, annotations)
    prior = _checked(np.asarray(class_prior, dtype=np.float64), (k,), "class_prior")
    gold_labels = as_gold(gold, annotations)
    space = Workspace.of(annotations, None if gold_labels is None else gold_labels.label)
    stats, _ = accumulate(space, transposed(table), prior)
    solution = Solution(space.memory.take(), prior, table, transposed(stats.counts))
    method = _Oracle(seed=seed)
    return method.result(annotations, method.output(annotations, gold_labels, solution, SolveOptions()))


@dataclass(frozen=True, kw_only=True)
class _Oracle(Aggregator):
    name: ClassVar[str] = "oracle"

    def solve(self, annotations: Annotations, gold: GoldLabels | None, run: SolveOptions) -> Solution:
        raise NotImplementedError("the oracle needs confusion matrices; call crowdwise.classes.oracle")


def _confusion(confusion: Any, annotations: Annotations) -> F8:
    m, k = annotations.n_workers, annotations.n_classes
    if isinstance(confusion, Result):
        if confusion.confusion is None:
            raise DataError(f"{confusion.method} has no confusion matrices")
        confusion = confusion.confusion_table()
    if not isinstance(confusion, np.ndarray | list | tuple):
        confusion = _from_table(confusion, annotations)
    return _checked(np.asarray(confusion, dtype=np.float64), (m, k, k), "confusion")


def _from_table(table_like: Any, annotations: Annotations) -> F8:
    from ....core.intake.frames import to_polars

    frame = to_polars(table_like)
    missing = [name for name in ("worker", "true", "observed", "p") if name not in frame.columns]
    if missing:
        raise DataError(f"the confusion table has no column {missing[0]!r}; it has {', '.join(frame.columns)}")
    codes_by_column, is_known = [], np.ones(len(frame), dtype=bool)
    for column, vocabulary in (("worker", annotations.workers), ("true", annotations.classes),
                               ("observed", annotations.classes)):  # fmt: skip
        codes, has_code = lookup(vocabulary, as_series(frame[column], column))
        codes_by_column.append(codes)
        is_known &= has_code
    m, k = annotations.n_workers, annotations.n_classes
    table = np.full((m, k, k), np.nan)
    table[tuple(codes[is_known] for codes in codes_by_column)] = frame["p"].to_numpy()[is_known]
    unknown = np.isnan(table).any(axis=(1, 2))
    if unknown.any():
        uncovered = annotations.workers.filter(pl.Series(unknown))
        raise DataError(f"the confusion table does not cover {len(uncovered)} workers: {quote(uncovered)}")
    return table


def _checked(values: F8, shape: tuple[int, ...], name: str) -> F8:
    if values.shape != shape:
        raise DataError(f"{name} must have the shape {shape}, got {values.shape}")
    if not (np.isfinite(values).all() and (values >= 0).all() and np.allclose(values.sum(axis=-1), 1, atol=1e-6)):
        raise DataError(f"the rows of {name} must be probabilities that sum to one")
    return values
