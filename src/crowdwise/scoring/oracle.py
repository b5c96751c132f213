"""Oracle: the posterior under known confusion matrices, the best that any method can do. A yardstick, not a method.

    posterior[i, k] ∝ class_prior[k] · prod_w confusion[w, k, y_iw]

Use it where the truth about the workers is known: in simulations, or to carry one fit's workers to other data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ..aggregate.base import Aggregator, Run, Solution
from ..aggregate.gold import Gold, as_gold
from ..core.errors import DataError
from ..core.result import Result
from ..core.vocabulary import as_series, lookup, quote
from ..kinds.classes.annotations import Annotations
from ..maths.kernels import Workspace, accumulate

F8 = npt.NDArray[np.float64]


def oracle(
    annotations: Annotations, confusion: Any, class_prior: Any = None, gold: Any = None, *, seed: int = 0
) -> Result:
    """Posteriors under given confusion matrices and class prior (default: even, or the Result's).

    `confusion` is an array [worker, true, observed] in the order of annotations.workers and classes, a table
    worker, true, observed, p (as of confusion_table), or a Result.

    >>> votes = Annotations.from_arrays([1, 1], ["a", "b"], ["x", "y"])
    >>> oracle(votes, [[[0.9, 0.1], [0.1, 0.9]], [[0.6, 0.4], [0.4, 0.6]]]).posterior.round(2)
    array([[0.86, 0.14]])
    """
    k = annotations.n_classes
    if class_prior is None:
        class_prior = confusion.class_prior if isinstance(confusion, Result) else np.full(k, 1 / k)
    table = _confusion(confusion, annotations)
    prior = _checked(np.asarray(class_prior, dtype=np.float64), (k,), "class_prior")
    known = as_gold(gold, annotations)
    space = Workspace.of(annotations, None if known is None else known.label)
    stats, _ = accumulate(space, np.ascontiguousarray(table.transpose(0, 2, 1)), prior)
    found = Solution(space.memory.take(), prior, table, np.ascontiguousarray(stats.counts.transpose(0, 2, 1)))
    return _Oracle(seed=seed)._result(annotations, known, found)


@dataclass(frozen=True, kw_only=True)
class _Oracle(Aggregator):
    name: ClassVar[str] = "oracle"

    def solve(self, annotations: Annotations, gold: Gold | None, run: Run) -> Solution:
        raise NotImplementedError("the oracle is told what it knows; call crowdwise.oracle")


def _confusion(given: Any, annotations: Annotations) -> F8:
    m, k = annotations.n_workers, annotations.n_classes
    if isinstance(given, Result):
        if given.confusion is None:
            raise DataError(f"{given.method} gives no confusion matrices")
        given = given.confusion_table()
    if not isinstance(given, np.ndarray | list | tuple):
        given = _from_table(given, annotations)
    return _checked(np.asarray(given, dtype=np.float64), (m, k, k), "confusion")


def _from_table(given: Any, annotations: Annotations) -> F8:
    from ..core.intake.frames import to_polars

    frame = to_polars(given)
    missing = [name for name in ("worker", "true", "observed", "p") if name not in frame.columns]
    if missing:
        raise DataError(f"the confusion table has no column {missing[0]!r}; it has {', '.join(frame.columns)}")
    places, known = [], np.ones(len(frame), dtype=bool)
    for column, vocabulary in (("worker", annotations.workers), ("true", annotations.classes),
                               ("observed", annotations.classes)):  # fmt: skip
        codes, there = lookup(vocabulary, as_series(frame[column], column))
        places.append(codes)
        known &= there
    m, k = annotations.n_workers, annotations.n_classes
    table = np.full((m, k, k), np.nan)
    table[tuple(codes[known] for codes in places)] = frame["p"].to_numpy()[known]
    unknown = np.isnan(table).any(axis=(1, 2))
    if unknown.any():
        strangers = annotations.workers.filter(pl.Series(unknown))
        raise DataError(f"the confusion table does not cover {len(strangers)} workers: {quote(strangers)}")
    return table


def _checked(values: F8, shape: tuple[int, ...], name: str) -> F8:
    if values.shape != shape:
        raise DataError(f"{name} must have the shape {shape}, got {values.shape}")
    if not (np.isfinite(values).all() and (values >= 0).all() and np.allclose(values.sum(axis=-1), 1, atol=1e-6)):
        raise DataError(f"the rows of {name} must be probabilities that sum to one")
    return values
