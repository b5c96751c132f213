"""label_sets: for every task the classes that cannot be ruled out; they hold the truth as often as promised."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.errors import ParameterError
from ...core.votes import Votes
from .gold import not_used_to_fit, place
from .sampling import check_random, settle
from .verdicts import verdicts

# ----------------------------------------------------------------
# Label sets that hold the truth with a promised frequency: split conformal prediction.
# Vovk, Gammerman & Shafer (2005); score s = 1 - P[task, class], q = the ceil((n+1)(1-alpha))-th smallest gold score.

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
# Breaks ties between scores, smaller than any difference that matters.
JITTER = 1e-6


def rank(n: int, alpha: float) -> int:
    """Which of n gold scores is the limit; more than n: none is.

    >>> rank(99, 0.1), rank(8, 0.1)
    (90, 9)
    """
    return math.ceil((n + 1) * (1 - alpha) - 1e-9)


def limit(scores: F8, alpha: float) -> float:
    """The largest score that is let into a set; infinite (everything) where there is too little gold."""
    place = rank(len(scores), alpha)
    return float(np.partition(scores, place - 1)[place - 1]) if place <= len(scores) else math.inf


def limits(scores: F8, group: I8, n_groups: int, alpha: float) -> F8:
    """A limit for each group of gold scores."""
    return np.array([limit(scores[group == g], alpha) for g in range(n_groups)])


@dataclass(frozen=True)
class LabelSets:
    """`inside[task, class]`; an empty set means: ask a person."""

    tasks: pl.Series
    classes: pl.Series
    inside: npt.NDArray[np.bool_]
    limits: dict[str, float]
    error: float
    per: str | None
    n_gold: int
    promise: str

    @property
    def mean_size(self) -> float:
        """Classes in a set, on average."""
        return float(self.inside.sum(axis=1).mean())

    def to_table(self) -> pl.DataFrame:
        """One row a task: task, labels (with | between them), size."""
        names = self.classes.cast(pl.String).to_list()
        sets, place = np.unique(self.inside, axis=0, return_inverse=True)
        texts = ["|".join(name for name, there in zip(names, row, strict=True) if there) for row in sets]
        labels = pl.Series("labels", texts).gather(np.ravel(place))
        return pl.DataFrame({"task": self.tasks, "labels": labels, "size": self.inside.sum(axis=1)})


def label_sets(
    given: Any,
    *,
    gold: Any,
    error: float = 0.1,
    per: Any = None,
    sampling: Any = "random",
    votes: Votes[Any] | None = None,
    seed: int = 0,
) -> LabelSets:
    """Sets of classes that hold the true one in a share 1 - error of the tasks; with per="class" of every class's
    tasks, with a column (or table) of groups of every group's.

    >>> import crowdwise as cw
    >>> crowd = cw.simulate.scenario("one_coin", tasks=300, workers=6, seed=2)
    >>> result = cw.DawidSkene().fit(crowd.annotations)
    >>> cw.label_sets(result, gold=crowd.truth_table().head(99), error=0.1).mean_size < 2
    True
    """
    if not 0 < error < 1:
        raise ParameterError(f"error must be between 0 and 1, got {error}")
    sample, found = place(gold, verdicts(given, votes))
    if found.posterior is None:
        raise ParameterError("label sets need probabilities of classes; aggregate the votes of classes first")
    not_used_to_fit(found, sample)
    how, sample, _ = settle(sampling, sample, found, what="a set with a promise")
    if how == "random":
        check_random(sample, found, only=True)
    k = len(found.classes)
    jitter = JITTER * np.random.default_rng([seed, 0x5E7]).random((len(found), k))
    score = 1 - found.posterior + jitter
    mine = score[sample.task, sample.label]
    if per is None:
        limit = limits(mine, np.zeros(len(sample), dtype=np.int64), 1, error)
        inside, names = score <= limit[0], ["all"]
    elif isinstance(per, str) and per == "class":
        limit = limits(mine, sample.label, k, error)
        inside, names = score <= limit[None], [str(name) for name in found.classes.to_list()]
    else:
        group, groups = found.groups(per)
        # Tasks of no group have no promise of their own: everything is possible there.
        limit = limits(mine, group[sample.task], len(groups), error)
        inside, names = score <= np.append(limit, np.inf)[group][:, None], [str(name) for name in groups]
    title = None if per is None else per if isinstance(per, str) else "group"
    each = "" if title is None else f" of every {title}"
    text = (
        f"A set holds the true class of at least {100 * (1 - error):g} % of the tasks{each}, over drawings of the gold."
    )
    return LabelSets(
        found.tasks,
        found.classes,
        inside,
        dict(zip(names, limit.tolist(), strict=True)),
        error,
        title,
        len(sample),
        text,
    )
