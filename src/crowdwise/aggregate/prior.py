"""What earlier projects say of the workers: counts of (worker, true, observed) that stand beside the new ones.

A worker who is not in the prior starts as the method's own prior says. The classes' frequencies are not carried over:
how common a class was there says nothing about here.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..core.errors import DataError, LedgerWarning
from ..core.result import Result
from ..core.vocabulary import as_series, lookup, quote
from ..kinds.classes.annotations import Annotations

F8 = npt.NDArray[np.float64]

COLUMNS = ("worker", "true", "observed", "n")


def as_prior(prior: Any, annotations: Annotations) -> F8 | None:
    """counts[worker, observed, true] of the workers here, from a Result or a table worker, true, observed, n.

    Rows of the same cell add up, so tables of several projects can be put one below the other.
    """
    if prior is None:
        return None
    table = _table(prior)
    n = table["n"].cast(pl.Float64).to_numpy()
    if not (np.isfinite(n) & (n >= 0)).all():
        raise DataError("the prior's column 'n' must hold numbers from 0 up")
    worker, here = lookup(annotations.workers, as_series(table["worker"], "worker"))
    if len(table) and not here.any():
        raise DataError(
            f"none of the prior's workers is among those of the annotations ({quote(table['worker'].unique().head(4))})"
        )
    cells = [lookup(annotations.classes, as_series(table[name], name)) for name in ("true", "observed")]
    (true, true_here), (observed, observed_here) = cells
    known = true_here & observed_here
    lost = float(n[here & ~known].sum())
    if lost > 0:
        warnings.warn(
            f"{lost:g} labels of the prior concern classes that these annotations do not have and are left out",
            LedgerWarning,
            stacklevel=3,
        )
    k = annotations.n_classes
    use = here & known
    place = (worker[use].astype(np.int64) * k + observed[use]) * k + true[use]
    counts = np.bincount(place, weights=n[use], minlength=annotations.n_workers * k * k)
    return counts.astype(np.float64).reshape(annotations.n_workers, k, k)


def _table(prior: Any) -> pl.DataFrame:
    if isinstance(prior, Result):
        if prior.confusion is None or prior.counts is None:
            raise DataError(f"the result of {prior.method} holds no counts of right and wrong labels to start from")
        return prior.confusion_table().select(COLUMNS)
    from ..core.intake.frames import to_polars

    frame = to_polars(prior)
    for name in COLUMNS:
        if name not in frame.columns:
            raise DataError(f"the prior has no column {name!r}; it has {', '.join(frame.columns)}")
    return frame.select(COLUMNS).drop_nulls()
