"""crowd-kit's MACE: a worker knows the answer or spams from a fixed distribution; EM or variational Bayes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ....core.arrays import F8
from ....em.kernels import Workspace
from ....kinds.classes.methods.confusion.mace import MACEModel, MACEParams, VariationalMACE
from .base import InputError, ProbabilisticAggregator
from .table import CodedFrame, read


@dataclass(eq=False)
class MACE(ProbabilisticAggregator):
    """`n_restarts` runs of `n_iter` rounds by `method` "vb" (Beta(`alpha`, `beta`) on knowing, Dir(10) on habits) or
    "em"; the run with the highest likelihood stays. `spamming_[worker, (spams, knows)]` and `thetas_[worker, label]`
    have workers and labels in order of appearance.

    With n_restarts=1 and names that first appear in sorted order the numbers are crowd-kit's. Corrections: crowd-kit's
    restarts all draw the same start, here each draws a new one; crowd-kit assigns the spam distributions of sorted
    workers and labels to workers and labels in order of appearance; its products of many probabilities underflow. As
    in crowd-kit, "em" smooths by 0.01 / K (`smoothing_`) and `smoothing` is not used. `verbose` has no effect.
    """

    n_restarts: int = 10
    n_iter: int = 50
    method: str = "vb"
    smoothing: float = 0.1
    default_noise: float = 0.5
    alpha: float = 0.5
    beta: float = 0.5
    random_state: int = 0
    verbose: int = 0
    spamming_: Any = field(init=False, repr=False)
    thetas_: Any = field(init=False, repr=False)
    theta_priors_: Any = field(init=False, repr=False)
    strategy_priors_: Any = field(init=False, repr=False)
    smoothing_: float = field(init=False, repr=False)

    def fit(self, data: Any) -> MACE:
        """Fit to `data` with task, worker, label."""
        table = read(data)
        if not len(table.votes):
            raise InputError("there are no labels to learn from: the frame is empty")
        m, k = table.votes.n_workers, table.votes.n_classes
        self.smoothing_ = 0.01 / k
        model: MACEModel = MACEModel(self.smoothing_, self.smoothing_)
        if self.method == "vb":
            self.theta_priors_ = np.tile([float(self.alpha), float(self.beta)], (m, 1))
            self.strategy_priors_ = np.full((m, k), 10.0)
            model = _TwoPriorMACE(self.beta, self.alpha, 10.0)
        space, rng = Workspace.of(table.votes), np.random.RandomState(self.random_state)
        best: tuple[MACEParams, float] | None = None
        for start in range(self.n_restarts):
            candidate = self._climb(model, space, self._start(table, rng, start))
            if best is None or candidate[1] > best[1]:
                best = candidate
        if best is None:
            raise InputError(f"n_restarts must be at least 1, got {self.n_restarts}")
        return self._keep(table, best[0], model.posterior(best[0], space))

    def _start(self, table: CodedFrame, rng: np.random.RandomState, start: int) -> MACEParams:
        """Draw a start: the first as crowd-kit, which draws both tables from one seed, later ones from the stream."""
        workers, labels = table.first["worker"], table.first["label"]

        def draw(columns: int) -> F8:
            source = np.random.RandomState(self.random_state) if start == 0 else rng
            drawn = source.uniform(1, 2 + self.default_noise, size=(len(workers), columns))
            return np.asarray(drawn / drawn.sum(axis=1, keepdims=True))

        coins, habits = np.empty((len(workers), 2)), np.empty((len(workers), len(labels)))
        coins[workers] = draw(2)
        habits[np.ix_(workers, labels)] = draw(len(labels))
        return MACEParams(coins[:, 1], coins[:, 0], habits, np.empty(0))

    def _climb(self, model: MACEModel, space: Workspace, worker: MACEParams) -> tuple[MACEParams, float]:
        stats, log_likelihood = model.accumulate(worker, space)
        for _ in range(self.n_iter):
            worker = model.maximise(stats)
            stats, log_likelihood = model.accumulate(worker, space)
        return worker, log_likelihood

    def _keep(self, table: CodedFrame, worker: MACEParams, posterior: F8) -> MACE:
        workers, labels, tasks = table.first["worker"], table.first["label"], table.first["task"]
        self.spamming_ = np.stack([worker.spam, worker.know], axis=1)[workers]
        self.thetas_ = worker.habit[np.ix_(workers, labels)]
        self.probas_ = table.by_task(posterior, tasks, labels, None)
        self.labels_ = table.labels(labels[posterior[:, labels].argmax(axis=1)], tasks)
        return self


class _TwoPriorMACE(VariationalMACE):
    """Variational MACE with different priors on knowing and on spamming."""

    def __init__(self, know: float, spam: float, habit: float) -> None:
        super().__init__(know, habit)
        self.spam = spam

    def _beliefs(self, counts: F8) -> tuple[F8, F8, F8]:
        know, spam, habit = super()._beliefs(counts)
        return know, spam - self.a + self.spam, habit
