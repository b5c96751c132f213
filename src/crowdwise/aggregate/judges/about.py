"""What is said of judges: people or models, families; and what is to be said of models without gold."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ...core.side_tables import column_by
from ...core.votes import Votes

I8 = npt.NDArray[np.int64]


def kinds_of(votes: Votes[Any]) -> list[str | None]:
    """human, model, or None where nobody says, of each worker: by a column `kind`, or `source`."""
    for name in ("kind", "source"):
        column = column_by(votes.about_workers, name, votes.workers)
        if column is not None and column.drop_nulls().len():
            return [None if each is None else str(each).strip().lower() or None for each in column]
    return [None] * votes.n_workers


def all_models(votes: Votes[Any]) -> bool:
    """Whether these are several judges, all said to be models."""
    return votes.n_workers >= 2 and all(kind == "model" for kind in kinds_of(votes))


def told_families(votes: Votes[Any]) -> I8 | None:
    """Families by the column `family` of the table about workers; who has none is alone. None without the column."""
    names = column_by(votes.about_workers, "family", votes.workers)
    if names is None or names.null_count() == len(names):
        return None
    own = [f"\0{i}" if name is None or not str(name).strip() else str(name) for i, name in enumerate(names)]
    return np.unique(own, return_inverse=True)[1].astype(np.int64)


def without_gold(n_judges: int) -> str:
    """What is to be said of several judges without gold."""
    return (
        f"{n_judges} judges and no gold: they may err together; confidence is the share of families and nothing is "
        "guaranteed"
    )
