"""EBCC: every class has subtypes, so that workers may err together on the hard kind of a class.

    (z_i, g_i) ~ Cat(d[k] · pi[k, g]),   y_iw | z_i = k, g_i = g ~ Cat(v[w, k, g]),
    pi[k] ~ Dir(prior_group / n_groups),   v[w, k, g] ~ Dir(prior_off + (prior_diagonal - prior_off) e_k)

Li, Rubinstein & Cohn (2019), Exploiting worker correlation for label aggregation in crowdsourcing, ICML,
proceedings.mlr.press/v97/li19i.html; variational Bayes from seeded starts, the highest ELBO wins.
Fails as `ibcc` does where its prior is wrong for many (web), and where subtypes have too few tasks to be seen. With
one group it is `ibcc`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from ...core.errors import DataError
from ...core.params import Count, Positive
from ...core.result import Result
from ...engine.em import Fit, Passes, best_of, run
from ...kinds.classes.annotations import Annotations
from ...maths.dirichlet import divergence, log_mean
from ...maths.kernels import Stats, Workspace
from ...maths.kernels.subtypes import subtype_pass, subtype_posterior, subtype_stats
from ..base import Learnt, Run, Spread
from ..confusion.starts import by_votes, drawn
from ..cost import MAX_CELLS
from ..learnt import Judge, Judged, Under
from ..models import ClassModel
from .base import BayesAggregator, Believed, diagonal_prior, prior_where_silent

F8 = npt.NDArray[np.float64]

# Labels × states × starts: beyond this a fit takes many minutes (about half a microsecond each and iteration).
MAX_WORK = 60_000_000


@dataclass(frozen=True)
class SubtypeBeliefs:
    """log_theta[worker, observed, state] and log_weight[state] of the E-step, means, and the divergence."""

    log_theta: F8
    log_weight: F8
    confusion_mean: F8  # worker, observed, true
    class_mean: F8
    divergence: float


@dataclass(frozen=True, kw_only=True)
class EBCC(BayesAggregator):
    """Enhanced Bayesian classifier combination with `n_groups` (10) subtypes per class.

    `prior_group` (0.1, above 0) is small so that needless subtypes empty; `n_init` (3) seeded starts; the rest as in
    `ibcc`. Memory grows with (tasks + workers × classes) × classes × n_groups; time with labels × classes × n_groups ×
    n_init, and beyond 60 million of those it refuses.

    >>> import crowdwise as cw
    >>> votes = cw.Annotations.from_arrays([1, 1, 2, 2], ["a", "b", "a", "b"], ["x", "x", "y", "y"])
    >>> EBCC(n_groups=2).fit(votes).to_table()["label"].to_list()
    ['x', 'y']
    """

    name: ClassVar[str] = "ebcc"
    worker_extra: ClassVar[tuple[str, ...] | None] = ("log_theta",)
    n_groups: Count = 10
    prior_group: Positive = 0.1
    n_init: Count = 3

    def learn(self, votes: Spread, run_: Run) -> Learnt:
        """The highest ELBO over the starts."""
        k = votes.n_classes
        cells = (votes.n_tasks + votes.n_workers * k) * k * self.n_groups
        if cells > MAX_CELLS:
            raise DataError(f"ebcc needs {cells:,} cells, over the limit of {MAX_CELLS:,}; lower n_groups or take ibcc")
        work = len(votes) * k * self.n_groups * self.n_init
        if work > MAX_WORK:
            raise DataError(
                f"ebcc would go through {work:,} labels × states × starts in every step, over the limit of "
                f"{MAX_WORK:,}; lower n_groups and n_init, or take ibcc or cbcc"
            )
        model = SubtypeModel(self, k, run_.prior)
        data: Passes[Workspace, SubtypeBeliefs, Stats] = Passes(model, votes)
        fits = [
            run(
                data,
                data.start(partial(model.start, stream=stream)),
                max_iter=self.max_iter,
                tol=self.tol,
                accelerate=self.accelerate,
                callback=run_.callback,
            )
            for stream in np.random.SeedSequence(self.seed).spawn(self.n_init)
        ]
        fit = best_of(fits)
        return _learnt(fit, Under(model, fit.params), k)

    @staticmethod
    def fitted(result: Result) -> SubtypeTable | None:
        """Beliefs over subtypes."""
        if "log_theta" not in result.extra:
            return None
        return SubtypeTable(result, result.extra["log_theta"], result.extra["log_weight"])


class SubtypeModel:
    """Beliefs over matrices of every subtype, over subtypes within classes, and over classes."""

    def __init__(self, own: EBCC, n_classes: int, history: F8 | None) -> None:
        prior = diagonal_prior(n_classes, own.prior_diagonal, own.prior_off)
        # What earlier projects know of a worker holds in every subtype.
        prior = prior if history is None else prior + history
        self.prior = np.repeat(prior, own.n_groups, axis=-1)  # (worker,) observed, state
        self.group_prior = np.full((n_classes, own.n_groups), own.prior_group / own.n_groups)
        self.class_prior = np.full(n_classes, own.prior_class)

    def start(self, shard: Workspace, stream: np.random.SeedSequence | None = None) -> Stats:
        """Vote shares times a random share of the groups, a task's own: classes may be renamed without effect."""
        shares = by_votes(shard)
        groups = drawn(np.random.SeedSequence(0) if stream is None else stream, shard, self.group_prior.shape[1])
        states = shares.shape[1] * groups.shape[1]
        return subtype_stats(shard, (shares[:, :, None] * groups[:, None, :]).reshape(len(shares), states))

    def accumulate(self, params: SubtypeBeliefs, shard: Workspace) -> tuple[Stats, float]:
        """E-step fused with its statistics."""
        return subtype_pass(shard, params.log_theta, params.log_weight)

    def posterior(self, params: SubtypeBeliefs, shard: Workspace) -> F8:
        """posterior[task, state]."""
        return subtype_posterior(shard, params.log_theta, params.log_weight)

    def log_prior(self, params: SubtypeBeliefs) -> float:
        """Minus the divergence: with the log-likelihood, the ELBO."""
        return -params.divergence

    def maximise(self, stats: Stats) -> SubtypeBeliefs:
        """Priors plus counts, for all three kinds of belief."""
        rows = stats.counts + self.prior
        groups = stats.mass.reshape(self.group_prior.shape) + self.group_prior  # true, group
        classes = stats.mass.reshape(self.group_prior.shape).sum(axis=1) + self.class_prior
        mean = rows / rows.sum(axis=1, keepdims=True)
        share = groups / groups.sum(axis=1, keepdims=True)
        apart = divergence(rows, np.broadcast_to(self.prior, rows.shape), axis=1)
        apart += divergence(groups, self.group_prior, axis=1) + divergence(classes, self.class_prior, axis=0)
        return SubtypeBeliefs(
            log_theta=log_mean(rows, axis=1),
            log_weight=(log_mean(groups, axis=1) + log_mean(classes, axis=0)[:, None]).ravel(),
            confusion_mean=(mean.reshape(*mean.shape[:2], *share.shape) * share).sum(axis=3),
            class_mean=classes / classes.sum(),
            divergence=apart,
        )


@dataclass(frozen=True, eq=False)
class ByClass:
    """A judge of states, whose subtypes are summed up."""

    judge: Judge

    def __call__(self, space: Workspace) -> Judged:
        """What is said of a part's classes."""
        return Judged(_by_class(self.judge(space).posterior, space.shard.n_classes))


def _learnt(fit: Fit[SubtypeBeliefs, Stats], judge: Judge, k: int) -> Learnt:
    """Subtypes summed up; the E-step's own tables are kept for `Result.infer`."""
    beliefs = fit.params
    counts = fit.stats.counts.reshape(*fit.stats.counts.shape[:2], k, -1).sum(axis=3)
    return Learnt(
        judge=Believed(ByClass(judge), beliefs.class_mean),
        class_prior=beliefs.class_mean,
        confusion=np.ascontiguousarray(beliefs.confusion_mean.transpose(0, 2, 1)),
        counts=np.ascontiguousarray(counts.transpose(0, 2, 1)),
        trace=fit.trace,
        n_iter=fit.n_iter,
        converged=fit.converged,
        extra={
            "log_theta": np.ascontiguousarray(beliefs.log_theta),
            "log_weight": beliefs.log_weight,
            "groups": fit.stats.mass.reshape(k, -1),
        },
    )


def _by_class(states: F8, k: int) -> F8:
    """posterior[task, state] summed over subtypes."""
    return np.asarray(states.reshape(len(states), k, states.shape[1] // k).sum(axis=2))


@dataclass(frozen=True, eq=False)
class SubtypeTable(ClassModel):
    """log_theta[worker, observed, state] and log_weight[state]."""

    log_theta: F8
    log_weight: F8

    def posterior(self, votes: Annotations) -> F8:
        """The E-step over subtypes; a new worker has the crowd's average of beliefs."""
        log_theta = self.spread(self.log_theta, votes.workers)
        states = subtype_posterior(Workspace.of(votes), log_theta, self.log_weight)
        return prior_where_silent(_by_class(states, votes.n_classes), votes, self.result.class_prior)
