"""What the one-coin rank-one methods share: skills become weights, and weights without a scale get one.

Skill s = (K p - 1) / (K - 1) of accuracy p. Expected agreement of two workers, above chance, is s_m s_m'.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from scipy.sparse import diags_array, eye_array

from ....core.params import Count, NonNegative, Positive, Whole
from ....stats.logspace import normalise_rows, segment_sum
from ....stats.ties import tie_shares, winners
from ..annotations import Annotations
from ..maths import moments
from ..maths.messages import Edges
from .base import Aggregator, Run
from .gold import ClassOrder, Gold
from .spread import Solution
from .voting import VoteAggregator, Weights, agreeing, scores

F8 = npt.NDArray[np.float64]


def bounds(n_tasks: int, k: int) -> tuple[float, float]:
    """The range of skills that n tasks can tell from perfect and from perfectly wrong."""
    low = -1 / (k - 1)
    margin = min(1 / np.sqrt(max(n_tasks, 1)), (1 - low) / 4)
    return low + margin, 1 - margin


def log_odds(skill: F8, k: int) -> F8:
    """The optimal weight of a one-coin worker: log p (K - 1) / (1 - p)."""
    p = skill * (k - 1) / k + 1 / k
    return np.asarray(np.log(p * (k - 1) / (1 - p)))


def skill_of(weight: F8, k: int) -> F8:
    """The skill whose log odds these are: `log_odds` the other way round."""
    p = 1 / (1 + (k - 1) * np.exp(-weight))
    return np.asarray((k * p - 1) / (k - 1))


def natural_scale(annotations: Annotations, weight: F8, score: F8, gold: Gold | None) -> float:
    """The factor that brings weights of unknown scale closest to first-order log odds, K/(K-1) · (K p - 1).

    p is each worker's agreement with the winners of `score`. An eigenvector knows directions only; without this its
    posteriors would mean nothing.
    """
    k = annotations.n_classes
    won = tie_shares(score)
    p = agreeing(annotations, won if gold is None else gold.clamp(won)).share()
    target = k / (k - 1) * (k * p - 1)
    n = np.bincount(annotations.worker, weights=annotations.weight, minlength=annotations.n_workers)
    size = float(n @ weight**2)
    return max(float(n @ (weight * target)) / size, 1e-3) if size > 0 else 1.0


def upright(annotations: Annotations, weight: F8) -> F8:
    """The weights with the sign under which the weighted vote agrees with the plain vote."""
    return weight * sign_of(annotations, scores(annotations, weight))


def sign_of(annotations: Annotations, score: F8) -> float:
    """1 where the scores go with the votes on the whole, -1 where they go against them."""
    votes = annotations.votes
    return -1.0 if float(((votes - votes.mean(axis=1, keepdims=True)) * score).sum()) < 0 else 1.0


def taught(annotations: Annotations, skill: F8, gold: Gold | None) -> F8:
    """Skills with what gold says: hits on gold are counted as they are, the estimate stands for the other labels.

    A skill is the accuracy p on the scale (K p - 1) / (K - 1), on which a guess is 0.
    """
    if gold is None:
        return skill
    k = annotations.n_classes
    counts = gold.counts(annotations)
    told, hits = counts.sum(axis=(1, 2)), np.einsum("wkk->w", counts)
    n = np.bincount(annotations.worker, weights=annotations.weight, minlength=annotations.n_workers) - told
    accuracy = (skill * (k - 1) + 1) / k
    mixed = np.divide(n * accuracy + hits, n + told, out=accuracy.copy(), where=n + told > 0)
    return np.asarray((k * mixed - 1) / (k - 1))


@dataclass(frozen=True, kw_only=True)
class EigenRatio(VoteAggregator):
    """EigenRatio: votes weighted by two leading eigenvectors, that of the mean agreement over that of the overlap.

        weight = eig( (O^T O) / (G^T G) ) / eig( 1[G^T G > 0] ),   O = ±1 labels, G = 1 where there is a label

    The second corrects for who met whom: without it busy workers look skilled. Dalvi, Dasgupta, Kumar & Rastogi
    (2013), Aggregating crowdsourced binary ratings, WWW, doi:10.1145/2488388.2488414. Fails with class-biased
    workers (bluebird: .72) and where workers share few tasks: a mean over one task counts as much as one over a
    hundred.

    Nothing to set. The posterior's scale is fitted (first-order log odds); the ratio itself has none.

    >>> votes = Annotations.from_arrays([1, 1, 1], ["a", "b", "c"], ["x", "x", "y"])
    >>> EigenRatio().fit(votes).to_table()["label"].to_list()
    ['x']
    """

    name: ClassVar[str] = "eigen_ratio"

    def weights(self, annotations: Annotations, gold: Gold | None) -> Weights:
        """The ratio of the two vectors; 0 for whom the overlap does not reach."""
        seen = moments.agreement(annotations)
        if annotations.n_classes == 1 or seen.n.nnz == 0:
            return Weights(np.ones(annotations.n_workers), scale=1.0)
        own = eye_array(annotations.n_workers)
        met = seen.n.copy()
        met.data = np.ones_like(met.data)
        skill = moments.leading((seen.skill_products() + own).tocsr())[1]
        busy = np.abs(moments.leading((met + own).tocsr())[1])
        weight = np.where(busy > 1e-9, skill / np.maximum(busy, 1e-9), 0.0)
        weight = upright(annotations, weight)
        return Weights(weight, natural_scale(annotations, weight, scores(annotations, weight), gold))


@dataclass(frozen=True, kw_only=True)
class Ghosh(VoteAggregator):
    """Ghosh: votes weighted by the leading singular vector of the label matrix.

        O[task, worker] = ±1 or 0,   weight = leading eigenvector of O^T O

    For K classes O^T O counts K/(K-1) for agreement and -1/(K-1) for every shared task, which for two classes is ±1.
    Ghosh, Kale & McAfee (2011), Who moderates the moderators?, EC, doi:10.1145/1993574.1993599. Fails when one
    worker has labelled far more than the others: the vector then points at that worker alone (rte: .51).

    Nothing to set. The posterior's scale is fitted (first-order log odds); the vector itself has none.

    >>> votes = Annotations.from_arrays([1, 1, 1], ["a", "b", "c"], ["x", "x", "y"])
    >>> Ghosh().fit(votes).to_table()["label"].to_list()
    ['x']
    """

    name: ClassVar[str] = "ghosh"

    def weights(self, annotations: Annotations, gold: Gold | None) -> Weights:
        """The leading eigenvector of the workers' agreement, each with themselves included."""
        k = annotations.n_classes
        seen = moments.agreement(annotations)
        if k == 1 or seen.n.nnz == 0:
            return Weights(np.ones(annotations.n_workers), scale=1.0)
        gram = (k * seen.agree - seen.n) / (k - 1) + diags_array(_own(annotations))
        weight = upright(annotations, moments.leading(gram)[1])
        return Weights(weight, natural_scale(annotations, weight, scores(annotations, weight), gold))


def _own(annotations: Annotations) -> moments.F8:
    n = np.bincount(annotations.worker, weights=annotations.weight, minlength=annotations.n_workers)
    return n.astype(np.float64)


@dataclass(frozen=True, kw_only=True)
class KOS(Aggregator):
    """KOS: iterative message passing between tasks and workers, without a prior.

        x[i→u] = sum_{v ≠ u} s_iv y[v→i],   y[u→i] = sum_{j ≠ i} s_ju x[j→u],   score_i = sum_u s_iu y[u→i]

    s is ±1; for K classes it is a vector, 1 for the label and -1/(K-1) for the rest, and one y serves all classes.
    Karger, Oh & Shah (2014), Budget-optimal task allocation for reliable crowdsourcing systems, Operations Research
    62(1), doi:10.1287/opre.2013.1235. Order-optimal on sparse regular graphs. Fails on graphs of uneven degree: one
    spammer with very many labels takes over (rte: .50); belief_propagation does not.

    `max_iter` rounds (10 is usual) from messages y ~ N(1, 1) drawn with `seed`; gold tasks send their truth.

    All rounds are run; they have settled where the last one moved the messages by at most `tol` of their size.

    >>> votes = Annotations.from_arrays([1, 1, 1], ["a", "b", "c"], ["x", "x", "y"])
    >>> KOS().fit(votes).posterior.shape
    (1, 2)
    """

    name: ClassVar[str] = "kos"
    max_iter: Count = 10
    tol: NonNegative = 1e-3

    def solve(self, annotations: Annotations, gold: Gold | None, run: Run) -> Solution:  # noqa: ARG002
        """Rounds of messages, then one vote in which every label weighs what its worker told its task."""
        k, edges = annotations.n_classes, Edges.of(annotations)
        if k == 1:
            return Solution(np.ones((annotations.n_tasks, 1)), np.ones(1))
        vote = edges.pattern[edges.kind]  # edge, class
        sign = (k * vote - vote.sum(axis=1, keepdims=True)) / (k - 1)
        y = 1 + np.random.default_rng(self.seed).standard_normal(len(edges.task))
        weight, moved, rounds = np.ones(annotations.n_workers), np.inf, 0
        for rounds in range(1, self.max_iter + 1):  # noqa: B007
            x = _others(sign * y[:, None], edges.task, edges.task_offsets)
            if gold is not None:
                sure = gold.label[edges.task] < k
                x[sure] = (k * np.eye(k)[gold.label[edges.task[sure]]] - 1) * float(np.sqrt((y**2).mean()))
            heard = (sign * x).sum(axis=1)
            total = np.bincount(edges.worker, weights=heard, minlength=annotations.n_workers)
            new = total[edges.worker] - heard
            size = float(np.sqrt((new**2).mean())) if len(new) else 0.0
            if size == 0:  # no worker has two tasks that others labelled too: nothing to learn
                y, weight, moved = np.ones(len(y)), np.ones(annotations.n_workers), 0.0
                break
            # Messages have a direction and no sign: a round that only turns them round has moved nothing.
            moved = min(float(np.sqrt(((new / size - turn * y) ** 2).mean())) for turn in (1, -1))
            y, weight = new / size, total / size
        found = self._solution(annotations, gold, edges, vote, y, weight)
        return replace(found, n_iter=rounds, converged=moved <= self.tol)

    def _solution(
        self, annotations: Annotations, gold: Gold | None, edges: Edges, vote: F8, y: F8, weight: F8
    ) -> Solution:
        score = segment_sum(vote * y[:, None], edges.task_offsets)
        sign = sign_of(annotations, score)
        score, weight = sign * score, sign * weight
        scale = natural_scale(annotations, weight, score, gold)
        posterior = normalise_rows(scale * score)[0]
        if gold is not None:
            posterior = gold.clamp(posterior)
        return Solution(posterior, posterior.mean(axis=0), extra={"vote_weight": weight, "vote_scale": scale})


def _others(rows: F8, task: npt.NDArray[np.int64], task_offsets: npt.NDArray[np.int64]) -> F8:
    return segment_sum(rows, task_offsets)[task] - rows


I8 = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class MMSR(VoteAggregator):
    """MMSR: one-coin skills from pairwise agreement, robust to some workers who lie (matrix mean-subsequence-reduced).

        |C[m, m']| ≈ |s_m| |s_m'|,   v_j = mean of C[i, j] / u_i without the F largest and the F smallest

    C as in `pgd`. Each worker's skill is what most of their partners say it is: ratios further out than the current
    value are dropped, F on either side; the signs are those of the leading eigenvector of C. Ma & Olshevsky (2020),
    Adversarial crowdsourcing through robust rank-one matrix completion, NeurIPS 33. Fails with class-biased workers,
    and where a worker has more than F adversaries among their partners.

    `n_adversaries` (F ≥ 0) is how many partners of a worker may lie; by default as many as the least connected
    worker can outvote, half of their partners less one. At most `max_iter` rounds, until a product of two skills
    moves by less than `tol` on average.

    >>> votes = Annotations.from_arrays([1, 1, 1], ["a", "b", "c"], ["x", "x", "y"])
    >>> MMSR().fit(votes).posterior.shape
    (1, 2)
    """

    name: ClassVar[str] = "mmsr"
    n_adversaries: Whole | None = None
    max_iter: Count = 10_000
    tol: NonNegative = 1e-8

    def weights(self, annotations: Annotations, gold: Gold | None) -> Weights:
        """Log odds of the robust skills."""
        k = annotations.n_classes
        seen = moments.agreement(annotations) if k > 1 else None
        if seen is None or seen.n.nnz == 0:
            return Weights(np.ones(annotations.n_workers), scale=1.0)
        product = seen.skill_products()
        size, n_iter, converged = self._sizes(product, 1 / np.sqrt(annotations.n_tasks))
        sign = np.where(moments.leading(product)[1] < 0, -1.0, 1.0)
        found = taught(annotations, upright(annotations, sign * size), gold)
        skill = np.clip(found, *bounds(annotations.n_tasks, k))
        return Weights(log_odds(skill, k), 1.0, n_iter, converged)

    def _sizes(self, product: Any, tiny: float) -> tuple[F8, int, bool]:
        """|s| by alternating robust means; workers whom nobody met get the others' mean."""
        rng, m = np.random.default_rng(self.seed), product.shape[0]
        u, v = 1 - rng.random(m), 1 - rng.random(m)
        degree = np.diff(product.indptr)
        # At least one value is left for the least connected worker.
        drop = max(int(degree[degree > 0].min()) // 2 - 1, 0) if self.n_adversaries is None else self.n_adversaries
        row, converged = np.repeat(np.arange(m), degree), False
        x, other = np.abs(product.data), product.indices
        for iteration in range(1, self.max_iter + 1):  # noqa: B007
            old_u, old_v = u, v
            v = _robust_mean(x / np.maximum(u[other], tiny), row, degree, v, drop, tiny)
            u = _robust_mean(x / np.maximum(v[other], tiny), row, degree, u, drop, tiny)
            # ||u v^T - old_u old_v^T|| without the tables
            change = (u @ u) * (v @ v) + (old_u @ old_u) * (old_v @ old_v) - 2 * (u @ old_u) * (v @ old_v)
            converged = bool(change <= (self.tol * m) ** 2)
            if converged:
                break
        size = u / np.sqrt(np.linalg.norm(u) / np.linalg.norm(v))
        return np.where(degree > 0, size, size[degree > 0].mean()), iteration, converged


def _robust_mean(ratio: F8, row: I8, degree: I8, now: F8, drop: int, tiny: float) -> F8:
    """For each worker the mean of their ratios without up to `drop` of those beyond `now` on either side."""
    m = len(now)
    ratio = ratio[np.argsort(row + ratio / (1 + ratio))]  # one key, worker before ratio: half the time of a lexsort
    below = np.minimum(np.bincount(row[ratio < now[row]], minlength=m), drop)
    above = np.minimum(np.bincount(row[ratio > now[row]], minlength=m), drop)
    place = np.arange(len(row)) - (np.cumsum(degree) - degree)[row]
    kept = (place >= below[row]) & (place < (degree - above)[row])
    count = np.bincount(row[kept], minlength=m)
    mean = np.bincount(row[kept], weights=ratio[kept], minlength=m) / np.maximum(count, 1)
    return np.where(count > 0, np.maximum(mean, tiny), now)


@dataclass(frozen=True, kw_only=True)
class PGD(VoteAggregator):
    """PGD: one-coin skills from pairwise agreement, a rank-one matrix completed by projected gradient descent.

        C[m, m'] = K/(K-1) · (agreement - 1/K) ≈ s_m s_m',   minimise sum n[m, m'] (C - s s^T)²

    Ma, Olshevsky, Saligrama & Szepesvari (2018), Gradient descent for sparse rank-one matrix completion for
    crowd-sourced aggregation of sparsely interacting workers, ICML (pmlr v80).
    Fails, like every one-coin model, with class-biased workers (bluebird), and where few workers share tasks.

    At most `max_iter` gradient steps, until no skill moves by more than `tol`. Votes weigh log p(K-1)/(1-p).

    A worker who shares no task with anybody keeps the skill at the start, one half.

    >>> votes = Annotations.from_arrays([1, 1, 1], ["a", "b", "c"], ["x", "x", "y"])
    >>> PGD().fit(votes).to_table()["label"].to_list()
    ['x']
    """

    name: ClassVar[str] = "pgd"
    max_iter: Count = 10_000
    tol: NonNegative = 1e-9

    def weights(self, annotations: Annotations, gold: Gold | None) -> Weights:
        """Log odds of the completed skills."""
        k = annotations.n_classes
        if k == 1:
            return Weights(np.ones(annotations.n_workers), scale=1.0)
        seen = moments.agreement(annotations)
        low, high = bounds(annotations.n_tasks, k)
        product = seen.skill_products().tocoo()
        upper = product.row < product.col
        skill, n_iter, converged = moments.complete_rank_one(
            product.row[upper],
            product.col[upper],
            seen.n.data[upper],
            product.data[upper],
            np.full(annotations.n_workers, 0.5),
            low,
            high,
            self.max_iter,
            self.tol,
        )
        skill = np.clip(taught(annotations, skill, gold), low, high)
        return Weights(log_odds(skill, k), 1.0, n_iter, converged)


@dataclass(frozen=True, kw_only=True)
class M3V(VoteAggregator):
    """M3V: max-margin majority vote; weights under which the winning class leads by as much as it can.

        score(i, k) = sum_w η_w 1[y_iw = k],   minimise ½ ||η||² + c sum_i max(0, 1 - margin_i)²

    margin_i is the lead of the current label over the runner-up. Labels and weights are found in turn, from the
    plain vote. Tian & Zhu (2015), Max-margin majority voting for learning from crowds, NeurIPS 28. The hinge is
    squared here: the problem is then smooth and L-BFGS solves it. Fails, like every vote with one weight per worker,
    with class-biased workers, and it trusts the first vote: what the majority gets wrong together stays wrong.

    `strength` (c > 0, per task) is how much a lost margin costs; at most `max_iter` rounds of labels and weights.

    >>> votes = Annotations.from_arrays([1, 1, 1], ["a", "b", "c"], ["x", "x", "y"])
    >>> M3V().fit(votes).to_table()["label"].to_list()
    ['x']
    """

    name: ClassVar[str] = "m3v"
    strength: Positive = 0.1
    max_iter: Count = 50

    def weights(self, annotations: Annotations, gold: Gold | None) -> Weights:
        """Labels and weights in turn until the labels stay."""
        if annotations.n_classes == 1 or len(annotations) == 0:
            return Weights(np.ones(annotations.n_workers), scale=1.0)
        votes, known = ClassOrder.of(annotations, gold).renamed(annotations, gold)
        weight, converged = np.ones(votes.n_workers), False
        label = _winners(votes, weight, known)
        for iteration in range(1, self.max_iter + 1):  # noqa: B007
            weight = self._fit(votes, label, weight)
            new = _winners(votes, weight, known)
            converged = bool((new == label).all())
            label = new
            if converged:
                break
        scale = natural_scale(votes, weight, scores(votes, weight), known)
        return Weights(weight, scale, iteration, converged)

    def _fit(self, votes: Annotations, label: I8, start: F8) -> F8:
        """The weights of the widest margins for these labels."""
        from scipy.optimize import minimize

        each = np.arange(votes.n_tasks)
        heard = np.ones(len(votes)) if votes.weight is None else votes.weight
        # A task without a clear winner teaches nothing.
        clear = label < votes.n_classes
        label = np.where(clear, label, 0)

        def loss(eta: F8) -> tuple[float, F8]:
            score = scores(votes, eta)
            own = score[each, label]
            score[each, label] = -np.inf
            rival = score.argmax(axis=1)
            lost = np.where(clear, np.maximum(0.0, 1 - own + score[each, rival]), 0.0)
            side = (votes.label == rival[votes.task]).astype(np.float64) - (votes.label == label[votes.task])
            pull = np.bincount(votes.worker, 2 * lost[votes.task] * side * heard, votes.n_workers)
            return float(eta @ eta / 2 + self.strength * (lost @ lost)), eta + self.strength * pull

        return np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 50}).x)


def _winners(votes: Annotations, weight: F8, gold: Gold | None) -> I8:
    """The winning class of each task, n_classes where there is a tie, gold where it is known."""
    top = winners(scores(votes, weight))
    label = np.where(top.sum(axis=1) == 1, top.argmax(axis=1), votes.n_classes)
    return label if gold is None else np.where(gold.label < gold.n_classes, gold.label, label)
