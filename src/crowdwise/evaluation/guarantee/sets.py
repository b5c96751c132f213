"""`label_sets`: for every task the classes that cannot be ruled out, with guaranteed coverage."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.arrays import F8, I8
from ...core.errors import ParameterError
from ...core.votes import Votes
from .gold import not_used_to_fit, place
from .sampling import random_sample
from .verdicts import as_verdicts

# ----------------------------------------------------------------
# Split conformal prediction: label sets that contain the truth with a guaranteed frequency.
# Vovk, Gammerman & Shafer (2005); score s = 1 - P[task, class], q = the ceil((n+1)(1-alpha))-th smallest gold score.

# Breaks ties between scores; smaller than any relevant difference.
JITTER = 1e-6


def rank(n: int, alpha: float) -> int:
    """Return the rank of the limit among n gold scores; above n there is no limit.

    >>> rank(99, 0.1), rank(8, 0.1)
    (90, 9)
    """
    return math.ceil((n + 1) * (1 - alpha) - 1e-9)


def limit(scores: F8, alpha: float) -> float:
    """Return the largest score admitted to a set; infinite (all classes) if there is too little gold."""
    place = rank(len(scores), alpha)
    return float(np.partition(scores, place - 1)[place - 1]) if place <= len(scores) else math.inf


def limits(scores: F8, group: I8, n_groups: int, alpha: float) -> F8:
    """Return the limit of each group of gold scores."""
    return np.array([limit(scores[group == g], alpha) for g in range(n_groups)])


@dataclass(frozen=True)
class LabelSets:
    """Label sets: `inside[task, class]`. An empty set means that a person should label the task."""

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
        """Mean number of classes in a set."""
        return float(self.inside.sum(axis=1).mean())

    def to_table(self) -> pl.DataFrame:
        """Return one row per task: task, labels (separated by |), size."""
        names = self.classes.cast(pl.String).to_list()
        sets, place = np.unique(self.inside, axis=0, return_inverse=True)
        texts = ["|".join(name for name, is_inside in zip(names, row, strict=True) if is_inside) for row in sets]
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
    """Return sets of classes that contain the true class in a share 1 - error of the tasks.

    Args:
        given: A result, or votes.
        gold: Known labels of tasks drawn at random.
        error: Share of tasks whose set may miss the true class.
        per: "class", or a column (or table) of groups: the guarantee then holds for each of them.
        sampling: How the gold was drawn, or a `Draw`.
        votes: The votes behind a result.
        seed: Seed for breaking ties.

    Returns:
        The label sets.

    >>> import crowdwise as cw
    >>> crowd = cw.simulate.scenario("one_coin", tasks=300, workers=6, seed=2)
    >>> result = cw.DawidSkene().fit(crowd.annotations)
    >>> cw.label_sets(result, gold=crowd.truth_table().head(99), error=0.1).mean_size < 2
    True
    """
    if not 0 < error < 1:
        raise ParameterError(f"error must be between 0 and 1, got {error}")
    sample, verdicts = place(gold, as_verdicts(given, votes))
    if verdicts.posterior is None:
        raise ParameterError("label sets need probabilities of classes; aggregate the votes of classes first")
    not_used_to_fit(verdicts, sample)
    sample = random_sample(sampling, sample, verdicts, "a set with a guarantee").gold
    k = len(verdicts.classes)
    jitter = JITTER * np.random.default_rng([seed, 0x5E7]).random((len(verdicts), k))
    score = 1 - verdicts.posterior + jitter
    gold_scores = score[sample.task, sample.label]
    if per is None:
        limit = limits(gold_scores, np.zeros(len(sample), dtype=np.int64), 1, error)
        inside, names = score <= limit[0], ["all"]
    elif isinstance(per, str) and per == "class":
        limit = limits(gold_scores, sample.label, k, error)
        inside, names = score <= limit[None], [str(name) for name in verdicts.classes.to_list()]
    else:
        group, groups = verdicts.groups(per)
        # Tasks without a group have no guarantee: their set holds all classes.
        limit = limits(gold_scores, group[sample.task], len(groups), error)
        inside, names = score <= np.append(limit, np.inf)[group][:, None], [str(name) for name in groups]
    title = None if per is None else per if isinstance(per, str) else "group"
    scope = "" if title is None else f" of every {title}"
    text = (
        f"A set holds the true class of at least {100 * (1 - error):g} % of the tasks{scope}, "
        "over drawings of the gold."
    )
    group_limits = dict(zip(names, limit.tolist(), strict=True))
    return LabelSets(verdicts.tasks, verdicts.classes, inside, group_limits, error, title, len(sample), text)
