"""crowd-kit's Wawa, ZeroBasedSkill and GoldMajorityVote: votes weighted by estimated skills.

Those of crowd-kit 1.4.2 fail in `predict` under scikit-learn 1.8 and later; these do not need scikit-learn.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from ....core.arrays import F8
from .base import BaseClassificationAggregator, NotFittedError
from .majority_vote import Ballot, MajorityVote, proportions, right_shares
from .table import read


@dataclass(eq=False)
class SkillVote(BaseClassificationAggregator):
    """`fit` estimates `skills_`; `predict` votes with them on any data of these workers.

    `SHARES` is the attribute that holds the shares of the classes in a vote.
    """

    SHARES: ClassVar[str] = "probas_"
    skills_: Any = field(init=False, repr=False)

    def predict(self, data: Any) -> Any:
        """labels_ of the data; every worker in it needs a skill."""
        return self._apply(data).labels_

    def _apply(self, data: Any) -> Self:
        if not hasattr(self, "skills_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit first")
        vote = MajorityVote().fit(data, self.skills_)
        self.labels_ = vote.labels_
        setattr(self, self.SHARES, vote.probas_)
        return self


@dataclass(eq=False)
class ProbabilisticSkillVote(SkillVote):
    """A `SkillVote` with `probas_`."""

    probas_: Any = field(init=False, repr=False)

    def predict_proba(self, data: Any) -> Any:
        """probas_ of the data: one row a task, one column a class."""
        return self._apply(data).probas_


@dataclass(eq=False)
class _Unsupervised(ProbabilisticSkillVote):
    def fit_predict(self, data: Any) -> Any:
        """fit, then predict on the same data."""
        return self.fit(data).predict(data)

    def fit_predict_proba(self, data: Any) -> Any:
        """fit, then predict_proba on the same data."""
        return self.fit(data).predict_proba(data)


@dataclass(eq=False)
class Wawa(_Unsupervised):
    """Worker agreement with aggregate: a vote weighted by how often each worker agreed with a plain vote.

    >>> votes = pd.DataFrame({"task": [1, 1, 1], "worker": [*"abc"], "label": ["x", "x", "y"]})
    >>> Wawa().fit(votes).skills_.to_dict()
    {'a': 1.0, 'b': 1.0, 'c': 0.0}
    """

    def fit(self, data: Any) -> Wawa:
        """Fit the skills as agreement with the plain majority, whose ties go to the first class."""
        self.skills_ = MajorityVote().fit(data).skills_
        return self


@dataclass(eq=False)
class ZeroBasedSkill(_Unsupervised):
    """Skills start at 1 / K + `eps` and move towards agreement with the weighted vote, at a rate that starts at
    `lr_init` and is multiplied by `lr_reduce_factor` every `lr_steps_to_reduce` of `n_iter` rounds.

    >>> votes = pd.DataFrame({"task": [1, 1, 1], "worker": [*"abc"], "label": ["x", "x", "y"]})
    >>> ZeroBasedSkill().fit_predict(votes).to_dict()
    {1: 'x'}
    """

    n_iter: int = 100
    lr_init: float = 1.0
    lr_steps_to_reduce: int = 20
    lr_reduce_factor: float = 0.5
    eps: float = 1e-5

    def fit(self, data: Any) -> ZeroBasedSkill:
        """Alternate votes and skills; stop early only if no further round can change the skills."""
        table = read(data)
        votes, ballot = table.votes, Ballot(table.votes)
        skill = np.full(votes.n_workers, 1 / max(votes.n_classes, 1) + self.eps)
        rate = self.lr_init
        for iteration in range(1, self.n_iter + 1):
            if iteration % self.lr_steps_to_reduce == 0:
                rate *= self.lr_reduce_factor
            winners = proportions(ballot.scores(skill), votes.votes).argmax(axis=1)
            new: F8 = skill + rate * (right_shares(votes, winners) - skill)
            converged = bool((new == skill).all())
            skill = new
            if converged:
                break
        self.skills_ = table.by_worker(skill, None, "skill")
        return self


@dataclass(eq=False)
class GoldMajorityVote(ProbabilisticSkillVote):
    """Votes weighted by accuracy on tasks with known truth.

    A worker without such tasks has no skill, and `predict` refuses data with such a worker, as in crowd-kit
    (`crowdwise.classes.GoldMajorityVote` assigns the mean of the crowd).

    >>> votes = pd.DataFrame({"task": [1, 1, 2, 2], "worker": [*"abab"], "label": [*"xyxy"]})
    >>> GoldMajorityVote().fit_predict(votes, pd.Series({1: "y"})).to_dict()
    {1: 'y', 2: 'y'}
    """

    def fit(self, data: Any, true_labels: Any) -> GoldMajorityVote:  # type: ignore[override]
        """Fit the skills on `true_labels`, a Series by task; of several labels of one task each counts as right."""
        table = read(data)
        votes = table.votes
        truth = pd.Series(true_labels).dropna()
        at, label = table.codes_of("task", truth.index), table.codes_of("label", truth.to_numpy())
        is_gold = np.zeros(votes.n_tasks, dtype=bool)
        is_gold[at[at >= 0]] = True
        gold, k = is_gold[votes.task], max(votes.n_classes, 1)
        answers = (at * k + label)[(at >= 0) & (label >= 0)]
        right = np.isin(votes.task.astype(np.int64) * k + votes.label, answers)
        n = np.bincount(votes.worker[gold], minlength=votes.n_workers)
        hits = np.bincount(votes.worker[gold], weights=right[gold], minlength=len(n))
        has_gold = np.flatnonzero(n)
        self.skills_ = pd.Series(hits[has_gold] / n[has_gold], index=table.workers.take(has_gold), name="skill")
        return self

    def fit_predict(self, data: Any, true_labels: Any) -> Any:  # type: ignore[override]
        """fit, then predict on the same data."""
        return self.fit(data, true_labels).predict(data)

    def fit_predict_proba(self, data: Any, true_labels: Any) -> Any:
        """fit, then predict_proba on the same data."""
        return self.fit(data, true_labels).predict_proba(data)
