"""crowdkit.metrics.data: consistency and uncertainty of a table of labels, and Krippendorff's alpha."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import entr

from ....core.arrays import F8
from ....stats.logspace import normalise_rows
from ..aggregation.base import InputError, MissingError
from ..aggregation.majority_vote import MajorityVote
from ..aggregation.table import read

__all__ = ["alpha_krippendorff", "consistency", "uncertainty"]
_MAJORITY = MajorityVote()


def consistency(answers: Any, workers_skills: Any = None, aggregator: Any = _MAJORITY, by_task: bool = False) -> Any:
    """Return the posterior probability of the aggregated labels under one-coin workers: the mean or, with `by_task`,
    a Series.

    `workers_skills` is a Series by worker (default: the aggregator's `skills_`); labels of workers without a skill do
    not count. Products are computed in log space and do not underflow for many votes, as they do in crowd-kit.
    """
    table = read(answers)
    aggregated = aggregator.fit_predict(answers)
    if workers_skills is None:
        workers_skills = _skills_of(aggregator)
    votes, k = table.votes, len(table.classes)
    skill = pd.Series(workers_skills).reindex(table.workers).to_numpy(dtype=np.float64)[votes.worker]
    has_skill = ~np.isnan(skill)
    with np.errstate(divide="ignore"):
        right, wrong = np.log(skill[has_skill]), np.log((1 - skill[has_skill]) / max(k - 1, 1))
    # Computed class by class, since infinite logarithms cannot be subtracted again.
    score = np.stack(
        [
            np.bincount(
                votes.task[has_skill],
                weights=np.where(votes.label[has_skill] == c, right, wrong),
                minlength=votes.n_tasks,
            )
            for c in range(k)
        ],
        axis=1,
    ).astype(np.float64)
    possible = np.isfinite(score).any(axis=1)
    posterior = np.zeros_like(score)
    posterior[possible] = normalise_rows(score[possible])[0]
    winner = table.codes_of("label", pd.Series(aggregated).reindex(table.tasks))
    probability = pd.Series(posterior[np.arange(len(winner)), winner], index=table.tasks)
    return probability if by_task else float(probability.mean())


def uncertainty(
    answers: Any,
    workers_skills: Any = None,
    aggregator: Any = None,
    compute_by: str = "task",
    aggregate: bool = True,
) -> Any:
    """Return the entropy (nats) of the labels' skill-weighted shares per task or worker (`compute_by`).

    The result is the mean or, with aggregate=False, a Series. Skills are those given, else those of `aggregator`, else
    1.

    >>> votes = pd.DataFrame({"task": [1, 1], "worker": [*"ab"], "label": ["x", "y"]})
    >>> round(uncertainty(votes), 4)
    0.6931
    """
    table = read(answers)
    votes, k = table.votes, len(table.classes)
    if workers_skills is None and aggregator is not None:
        workers_skills = _skills_of(aggregator.fit(answers))
    skill = np.ones(votes.n_workers)
    if workers_skills is not None:
        skill = pd.Series(workers_skills).reindex(table.workers).to_numpy(dtype=np.float64)
        if np.isnan(skill).any():
            raise MissingError(f"Did not provide skills for workers: {list(table.workers[np.isnan(skill)][:5])}")
    if compute_by not in ("task", "worker"):
        raise MissingError(f"compute_by must be 'task' or 'worker', got {compute_by!r}")
    codes, index = (votes.task, table.tasks) if compute_by == "task" else (votes.worker, table.workers)
    right, wrong = skill[votes.worker], ((1 - skill) / max(k - 1, 1))[votes.worker]
    cell = codes.astype(np.int64) * k + votes.label
    excess = np.bincount(cell, weights=right - wrong, minlength=len(index) * k).reshape(-1, k)
    share = excess + np.bincount(codes, weights=wrong, minlength=len(index))[:, None]
    total = share.sum(axis=1, keepdims=True)
    entropy = entr(share / np.where(total > 0, total, np.nan)).sum(axis=1)
    return float(np.nanmean(entropy)) if aggregate else pd.Series(entropy, index=index)


def alpha_krippendorff(answers: Any, distance: Callable[[Any, Any], float] | None = None) -> float:
    """Return Krippendorff's alpha; `distance(label, label)` in 0..1 replaces equality of labels.

    A single class is full agreement, 1.0, as in crowd-kit.

    >>> votes = pd.DataFrame({"task": [1, 1, 2, 2, 3, 3], "worker": [*"ababab"], "label": [*"xxyyxy"]})
    >>> round(alpha_krippendorff(votes), 4)
    0.4444
    """
    table = read(answers)
    counts = table.votes.votes[table.votes.labels_per_task > 1]
    if not len(counts):
        raise InputError("alpha needs a task with two labels or more; here no labels can be compared")
    n, total = counts.sum(axis=1), counts.sum(axis=0)
    if distance is None:
        apart, expected = n * n - (counts * counts).sum(axis=1), total.sum() ** 2 - total @ total
    else:
        d: F8 = np.array([[float(distance(a, b)) for b in table.classes] for a in table.classes])
        apart, expected = np.einsum("ik,kl,il->i", counts, d, counts), total @ d @ total
    observed = (apart / (n - 1)).sum() / total.sum()
    expected = expected / (total.sum() * (total.sum() - 1))
    return float(1 - observed / expected) if expected > 0 else 1.0


def _skills_of(aggregator: Any) -> Any:
    if not hasattr(aggregator, "skills_"):
        raise MissingError("This aggregator is not supported. Please, provide workers skills.")
    return aggregator.skills_
