"""The judges' stack: one weight a judge, learnt on the labels of people.

    P(y_n = k) ∝ exp(b_k + Σ_m w_m f_nm v[n, m, k]),   v: share of judge m's verdicts on task n that say k

No unsupervised model can see errors that all judges make together; a few dozen gold labels can, and M + K numbers are
all that is learnt from them (penalised, the penalty chosen by held-out gold). f_nm is 1, or, where a judge states
confidences that vary, the calibrated log-odds of being right over their mean. Gold tasks get out-of-fold beliefs in
`extra["gold_posterior"]`. Fails where gold is not like the rest. Wolpert (1992), doi:10.1016/S0893-6080(05)80023-1.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ...core.errors import DataError, IdentifiabilityWarning
from ...core.params import Count, Positive
from ...core.result import Result
from ...core.vocabulary import quote
from ...kinds.classes.annotations import Annotations
from ...maths.judges.stack import GRID, learn_stack
from ...maths.logspace import normalise_rows
from ..base import Aggregator, Run, Solution
from ..gold import Gold
from ..models import ClassModel
from .sureness import Sureness
from .voices import Voices, voices

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]

ENOUGH = 30


@dataclass(frozen=True, kw_only=True)
class JudgeStack(Aggregator):
    """`penalty` on the squared weights (None: the one that predicts held-out gold best); judges with fewer than
    `own_weight` gold labels share one weight; fewer than `min_gold` gold labels are refused; `confidence` uses what
    judges state, calibrated on gold.

    >>> votes = Annotations.from_arrays([*range(40)] * 2, ["a"] * 40 + ["b"] * 40, [*"xy"] * 20 + [*"xxyy"] * 10)
    >>> gold = {task: "xy"[task % 2] for task in range(36)}
    >>> JudgeStack().fit(votes, gold=gold).to_table()["label"].to_list()[36:]
    ['x', 'y', 'x', 'y']
    """

    name: ClassVar[str] = "judge_stack"
    worker_extra: ClassVar[tuple[str, ...] | None] = ("weight", "platt")
    penalty: Positive | None = None
    own_weight: Count = 5
    min_gold: Count = 10
    confidence: bool = True

    def solve(self, annotations: Annotations, gold: Gold | None, run: Run) -> Solution:  # noqa: ARG002
        """Voices of the gold tasks, the stack, and what it says of all tasks."""
        assert gold is not None
        said = voices(annotations)
        known = gold.known[np.isin(gold.known, said.task)]
        self._look(annotations, gold, known)
        truth = gold.label[known].astype(np.int64)
        column = columns(said, known, self.own_weight)
        sure = Sureness(said, gold.label.astype(np.int64), self.confidence)

        def make(learnt: npt.NDArray[np.bool_]) -> F8:
            factor = sure.factor(sure.fit(known[learnt]))
            return tied(said, known, factor, column)

        grid = GRID if self.penalty is None else (float(self.penalty),)
        found, held_out = learn_stack(make, truth, np.random.default_rng(self.seed), grid)
        platt = sure.fit(known)
        posterior = normalise_rows(found.bias + said.score(found.weight[column][said.judge] * sure.factor(platt)))[0]
        beliefs = np.full((annotations.n_tasks, annotations.n_classes), np.nan)
        beliefs[known] = held_out
        return Solution(
            posterior=gold.clamp(posterior),
            class_prior=posterior.mean(axis=0),
            extra={
                "weight": found.weight[column],
                "bias": found.bias,
                "platt": platt,
                "penalty": found.l2,
                "held_out_log_loss": min(found.losses),
                "gold_posterior": beliefs,
            },
        )

    def silent(self) -> dict[str, float]:
        """A task without verdicts has no out-of-fold belief."""
        return {"gold_posterior": np.nan}

    def _look(self, annotations: Annotations, gold: Gold, known: I8) -> None:
        """Refuse too little gold, warn of little and of classes that it lacks."""
        n = len(known)
        if n == 0:
            raise DataError("no worker labelled a gold task, so nobody's weight can be learnt; use another method")
        if n < self.min_gold:
            raise DataError(
                f"judge_stack needs at least {self.min_gold} gold labels of tasks with verdicts, there are {n}; label "
                "some more tasks, or take group_aware or family_vote, which need none"
            )
        if n < ENOUGH:
            _warn(f"{n} gold labels are few for judge_stack; {ENOUGH} or more are worth their price")
        missing = np.setdiff1d(np.arange(gold.n_classes), gold.label[known])
        if len(missing) and n >= ENOUGH:
            names = annotations.classes.gather(missing)
            _warn(f"no gold task is {quote(names)}: judge_stack learns that such tasks are rare; label some if not")

    @staticmethod
    def fitted(result: Result) -> StackedJudges | None:
        """Weights and calibrations, for other tasks of these judges."""
        own = result.extra
        return StackedJudges(result, own["weight"], own["bias"], own["platt"]) if "platt" in own else None


@dataclass(frozen=True, eq=False)
class StackedJudges(ClassModel):
    """weight[judge], bias[class], platt[judge, (shift, slope, scale)]."""

    weight: F8
    bias: F8
    platt: F8

    def posterior(self, votes: Annotations) -> F8:
        """The weighted voices; a judge who was not there has the average weight, and no say by confidence."""
        said = voices(votes)
        factor = Sureness.apply(said, self.spread(self.platt, votes.workers))
        score = said.score(self.spread(self.weight, votes.workers)[said.judge] * factor)
        found = normalise_rows(self.bias + score)[0]
        silent = np.bincount(said.task, minlength=votes.n_tasks) == 0
        return np.where(silent[:, None], self.result.class_prior, found) if silent.any() else found


def columns(said: Voices, known: I8, own_weight: int) -> I8:
    """Which weight each judge has: an own one, or the one that all with few gold labels share."""
    met = np.isin(said.task, known)
    n = np.bincount(said.judge[met], minlength=said.n_judges)
    few = n < own_weight
    column = np.cumsum(~few) - 1
    column[few] = (~few).sum()
    return np.asarray(column, dtype=np.int64)


def tied(said: Voices, tasks: I8, factor: F8, column: I8) -> F8:
    """voices[task, column, class] of these tasks, judges with one weight added up."""
    place = np.full(said.n_tasks, -1)
    place[tasks] = np.arange(len(tasks))
    pick = np.flatnonzero(place[said.task] >= 0)
    out = np.zeros((len(tasks), int(column.max(initial=0)) + 1, said.share.shape[1]))
    values = (said.share[pick] - 1 / said.share.shape[1]) * factor[pick, None]
    np.add.at(out, (place[said.task[pick]], column[said.judge[pick]]), values)
    return out


def _warn(text: str) -> None:
    warnings.warn(text, IdentifiabilityWarning, stacklevel=5)
