"""Gibbs: the posterior of Bayesian Dawid-Skene by sampling, matrices and class prior integrated out.

    p(z_i = k | the rest) ∝ (prior_class + n_k) Π_w (prior[k, y_iw] + C[w, k, y_iw]) / (Σ_l prior[k, l] + C[w, k, l])

with n and C counted without task i. Kim & Ghahramani (2012), AISTATS, proceedings.mlr.press/v22/kim12.html (their
sampler, collapsed). Each task's posterior is the mean of its conditionals, which varies less than its visits do.
Unlike `ibcc` it does not treat tasks as independent given the beliefs, so its confidence is honest on little data.
Fails by being slow, and by staying in one mode where the data allow several: prior_diagonal > prior_off keeps it at
the one where workers are right.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ...core.errors import DataError, ParameterError
from ...core.params import Count, Whole
from ...kinds.classes.annotations import Annotations
from ...maths.kernels import Workspace, stats_of
from ..base import Aggregator, Run, Solution
from ..class_order import ClassOrder
from ..gold import Gold
from ..voting.ballots import Ballots
from .base import PriorCount, diagonal_prior

F8 = npt.NDArray[np.float64]

# Votes × classes × sweeps that one fit may spend (about 40 s of one core): larger data get fewer sweeps.
WORK = 3_600_000_000
# Fewer sweeps than this are no sample.
LEAST_SWEEPS = 50


@dataclass(frozen=True, kw_only=True)
class Gibbs(Aggregator):
    """`burn_in` sweeps (200) are thrown away, `n_sweeps` (1000) averaged; large data get fewer of both.

    `prior_diagonal` (4, above `prior_off`), `prior_off` (1) and `prior_class` (1), at least 0.05, as in `ibcc`.

    >>> import crowdwise as cw
    >>> votes = cw.Annotations.from_arrays([1, 1, 2, 2], ["a", "b", "a", "b"], ["x", "x", "y", "y"])
    >>> Gibbs(n_sweeps=300).fit(votes).to_table()["label"].to_list()
    ['x', 'y']
    """

    name: ClassVar[str] = "gibbs"
    n_sweeps: Count = 1000
    burn_in: Whole = 200
    prior_diagonal: PriorCount = 4.0
    prior_off: PriorCount = 1.0
    prior_class: PriorCount = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.prior_diagonal <= self.prior_off:
            raise ParameterError(
                f"prior_diagonal must be above {self.prior_off:g}, prior_off, got {self.prior_diagonal!r}"
            )

    def solve(self, annotations: Annotations, gold: Gold | None, run: Run) -> Solution:
        """Sweeps from the majority vote; `trace` is Σ log p(a task's votes | all the rest), which wanders."""
        order = ClassOrder.of(annotations, gold)
        chain = Chain(annotations, Ballots.of(annotations, order), order.gold(gold, annotations.n_tasks), self)
        burn_in, n_sweeps = self.plan(len(annotations) * annotations.n_classes)
        rng = np.random.default_rng(self.seed)
        trace = []
        for sweep in range(burn_in + n_sweeps):
            if sweep == burn_in:
                chain.forget()
            trace.append(chain.sweep(rng))
            if run.callback is not None:
                run.callback(sweep + 1, trace[-1])
        posterior = order.back(chain.posterior())
        counts = stats_of(Workspace.of(annotations), posterior).counts
        return Solution(
            posterior=posterior,
            class_prior=order.back(chain.class_sum / chain.seen),
            confusion=order.back_square(chain.confusion()),
            counts=np.ascontiguousarray(counts.transpose(0, 2, 1)),
            trace=np.array(trace),
            n_iter=burn_in + n_sweeps,
            extra={"n_sweeps": n_sweeps, "burn_in": burn_in},
        )

    def plan(self, work: int) -> tuple[int, int]:
        """(burn_in, n_sweeps) as wished, or the same shares of what WORK allows."""
        wish = self.burn_in + self.n_sweeps
        total = min(wish, WORK // max(work, 1))
        if total < min(wish, LEAST_SWEEPS):
            raise DataError(
                f"{work:,} votes × classes leave gibbs {total} sweeps, too few for a sample; "
                "ibcc fits the same model to data of any size"
            )
        burn_in = self.burn_in * total // wish
        return burn_in, total - burn_in


class Chain:
    """The sampler's state, classes by rank: z, its counts, and the sums that become means."""

    def __init__(self, votes: Annotations, ballots: Ballots, gold: npt.NDArray[np.int32], own: Gibbs) -> None:
        k, m = votes.n_classes, votes.n_workers
        self.ballots, self.gold, self.prior_class = ballots, gold, own.prior_class
        self.prior = diagonal_prior(k, own.prior_diagonal, own.prior_off)  # observed, true
        weight = ballots.weight if len(ballots.weight) else np.ones(len(ballots.task))
        said = np.bincount(ballots.task * np.int64(k) + ballots.label, weights=weight, minlength=len(gold) * k)
        known, voted = gold < k, np.diff(ballots.offset) > 0
        self.z = np.where(known, gold, said.reshape(-1, k).argmax(axis=1)).astype(np.int64)
        # Tasks that nobody labelled are integrated out: they follow the class prior and teach nothing.
        self.free = np.flatnonzero(~known & voted)
        self.mass = np.bincount(self.z[known | voted], minlength=k).astype(np.float64)
        self.cell = ballots.worker * np.int64(k) + ballots.label
        self.counts = _tally(self.cell, self.z[ballots.task], weight, m * k, k)
        self.total = _tally(ballots.worker, self.z[ballots.task], weight, m, k)
        self.q = np.zeros((len(gold), k))
        self.forget()

    def forget(self) -> None:
        """Start averaging again from nothing."""
        self.seen = 0
        self.q[:] = 0.0
        self.class_sum = np.zeros(len(self.mass))
        self.row_sum = np.zeros((len(self.counts) // len(self.mass) ** 2, *self.prior.shape))

    def sweep(self, rng: np.random.Generator) -> float:
        """Every free task once; one number from the generator for each."""
        from ...maths.kernels.sampling import Prior, State, Votes, gibbs_sweep

        b = self.ballots
        votes = Votes(b.offset, self.cell, b.worker, b.label, b.weight, b.before)
        prior = Prior(self.prior.ravel(), self.prior.sum(axis=0), float(self.prior_class))
        state = State(self.z, self.counts, self.total, self.mass, self.q)
        score = gibbs_sweep(self.free, rng.random(len(self.free)), votes, prior, state)
        self.seen += 1
        belief = self.mass + self.prior_class
        self.class_sum += belief / belief.sum()
        rows = self.counts.reshape(self.row_sum.shape) + self.prior
        self.row_sum += rows / (self.total.reshape(len(rows), 1, -1) + self.prior.sum(axis=0))
        return float(score)

    def posterior(self) -> F8:
        """Mean conditionals; certainty on gold; the class prior where nobody spoke."""
        k = len(self.mass)
        out = np.tile(self.class_sum / self.seen, (len(self.gold), 1))
        out[self.free] = self.q[self.free] / self.seen
        known = np.flatnonzero(self.gold < k)
        out[known] = np.eye(k)[self.gold[known]]
        return np.asarray(out)

    def confusion(self) -> F8:
        """Mean matrices, [worker, true, observed]."""
        rows = self.row_sum.transpose(0, 2, 1) / self.seen
        return np.ascontiguousarray(rows / rows.sum(axis=2, keepdims=True))


def _tally(place: npt.NDArray[np.integer], z: npt.NDArray[np.int64], weight: F8, n: int, k: int) -> F8:
    """How heavily each (place, true class) occurs, flat."""
    return np.bincount(place * np.int64(k) + z, weights=weight, minlength=n * k).astype(np.float64)
