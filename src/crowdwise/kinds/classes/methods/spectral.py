"""One-coin methods from the agreement of pairs of workers: skills become weights, and weights get a scale.

Skill s = (K p - 1) / (K - 1) of accuracy p. The expected agreement of two workers above chance is s_m s_m'.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import diags_array, eye_array

from ....core.arrays import F8, I8
from ....core.params import Count, NonNegative, Positive, Whole
from ....em.rows import row_weights
from ....stats.logspace import normalise_rows, segment_sum
from ....stats.ties import tie_shares, winners
from ..annotations import Annotations
from ..maths import moments
from ..maths.messages import VoteEdges
from .base import Aggregator, SolveOptions
from .gold import ClassOrder, GoldLabels
from .partitioned import Solution
from .voting import VoteAggregator, Weights, agreement_with, scores


def bounds(n_tasks: int, k: int) -> tuple[float, float]:
    """Return the range of skills that n tasks can distinguish from perfect and from perfectly wrong."""
    low = -1 / (k - 1)
    margin = min(1 / np.sqrt(max(n_tasks, 1)), (1 - low) / 4)
    return low + margin, 1 - margin


def log_odds(skill: F8, k: int) -> F8:
    """Return the optimal weight of a one-coin worker: log p (K - 1) / (1 - p)."""
    p = skill * (k - 1) / k + 1 / k
    return np.asarray(np.log(p * (k - 1) / (1 - p)))


def skill_of(weight: F8, k: int) -> F8:
    """Return the skill with these log odds, the inverse of `log_odds`."""
    p = 1 / (1 + (k - 1) * np.exp(-weight))
    return np.asarray((k * p - 1) / (k - 1))


def natural_scale(annotations: Annotations, weight: F8, score: F8, gold: GoldLabels | None) -> float:
    """Return the factor that brings weights of unknown scale closest to first-order log odds, K/(K-1) · (K p - 1).

    p is each worker's agreement with the winners of `score`. An eigenvector has no scale; without this factor its
    posteriors would be meaningless.
    """
    k = annotations.n_classes
    won = tie_shares(score)
    p = agreement_with(annotations, won if gold is None else gold.clamp(won)).share()
    target = k / (k - 1) * (k * p - 1)
    n = np.bincount(annotations.worker, weights=annotations.weight, minlength=annotations.n_workers)
    size = float(n @ weight**2)
    return max(float(n @ (weight * target)) / size, 1e-3) if size > 0 else 1.0


def upright(annotations: Annotations, weight: F8) -> F8:
    """Return the weights with the sign under which the weighted vote agrees with the plain vote."""
    return weight * sign_of(annotations, scores(annotations, weight))


def sign_of(annotations: Annotations, score: F8) -> float:
    """Return 1 where the scores agree with the votes overall, otherwise -1."""
    votes = annotations.votes
    return -1.0 if float(((votes - votes.mean(axis=1, keepdims=True)) * score).sum()) < 0 else 1.0


def combine_with_gold(annotations: Annotations, skill: F8, gold: GoldLabels | None) -> F8:
    """Return skills updated on gold: the accuracy on gold labels is counted, the estimate covers the other labels.

    A skill is the accuracy p on the scale (K p - 1) / (K - 1), on which random guessing is 0.
    """
    if gold is None:
        return skill
    k = annotations.n_classes
    counts = gold.counts(annotations)
    n_gold, hits = counts.sum(axis=(1, 2)), np.einsum("wkk->w", counts)
    n = np.bincount(annotations.worker, weights=annotations.weight, minlength=annotations.n_workers) - n_gold
    accuracy = (skill * (k - 1) + 1) / k
    mixed = np.divide(n * accuracy + hits, n + n_gold, out=accuracy.copy(), where=n + n_gold > 0)
    return np.asarray((k * mixed - 1) / (k - 1))


@dataclass(frozen=True, kw_only=True)
class EigenRatio(VoteAggregator):
    """EigenRatio: votes weighted by two leading eigenvectors, that of the mean agreement over that of the overlap.

        weight = eig( (O^T O) / (G^T G) ) / eig( 1[G^T G > 0] ),   O = ±1 labels, G = 1 where there is a label

    The second corrects for which workers share tasks: without it busy workers look skilled. Dalvi, Dasgupta, Kumar &
    Rastogi (2013), Aggregating crowdsourced binary ratings, WWW, doi:10.1145/2488388.2488414. Fails with class-biased
    workers (bluebird: .72) and where workers share few tasks: a mean over one task counts as much as one over a
    hundred.

    Has no parameters. The posterior's scale is fitted (first-order log odds); the ratio itself has none.

    >>> votes = Annotations.from_arrays([1, 1, 1], ["a", "b", "c"], ["x", "x", "y"])
    >>> EigenRatio().fit(votes).to_table()["label"].to_list()
    ['x']
    """

    name: ClassVar[str] = "eigen_ratio"

    def weights(self, annotations: Annotations, gold: GoldLabels | None) -> Weights:
        """Return the ratio of the two vectors; 0 for workers that the overlap does not reach."""
        pairs = moments.agreement(annotations)
        if annotations.n_classes == 1 or pairs.n.nnz == 0:
            return Weights(np.ones(annotations.n_workers), scale=1.0)
        identity = eye_array(annotations.n_workers)
        overlaps = pairs.n.copy()
        overlaps.data = np.ones_like(overlaps.data)
        skill = moments.leading((pairs.skill_products() + identity).tocsr())[1]
        overlap = np.abs(moments.leading((overlaps + identity).tocsr())[1])
        weight = np.where(overlap > 1e-9, skill / np.maximum(overlap, 1e-9), 0.0)
        weight = upright(annotations, weight)
        return Weights(weight, natural_scale(annotations, weight, scores(annotations, weight), gold))


@dataclass(frozen=True, kw_only=True)
class Ghosh(VoteAggregator):
    """Ghosh: votes weighted by the leading singular vector of the label matrix.

        O[task, worker] = ±1 or 0,   weight = leading eigenvector of O^T O

    For K classes O^T O counts K/(K-1) for agreement and -1/(K-1) for every shared task, which for two classes is ±1.
    Ghosh, Kale & McAfee (2011), Who moderates the moderators?, EC, doi:10.1145/1993574.1993599. Fails when one
    worker has labelled far more than the others: the vector is then dominated by that worker (rte: .51).

    Has no parameters. The posterior's scale is fitted (first-order log odds); the vector itself has none.

    >>> votes = Annotations.from_arrays([1, 1, 1], ["a", "b", "c"], ["x", "x", "y"])
    >>> Ghosh().fit(votes).to_table()["label"].to_list()
    ['x']
    """

    name: ClassVar[str] = "ghosh"

    def weights(self, annotations: Annotations, gold: GoldLabels | None) -> Weights:
        """Return the leading eigenvector of the agreement of workers, that of each with itself included."""
        k = annotations.n_classes
        pairs = moments.agreement(annotations)
        if k == 1 or pairs.n.nnz == 0:
            return Weights(np.ones(annotations.n_workers), scale=1.0)
        gram = (k * pairs.agree - pairs.n) / (k - 1) + diags_array(_label_weight(annotations))
        weight = upright(annotations, moments.leading(gram)[1])
        return Weights(weight, natural_scale(annotations, weight, scores(annotations, weight), gold))


def _label_weight(annotations: Annotations) -> F8:
    n = np.bincount(annotations.worker, weights=annotations.weight, minlength=annotations.n_workers)
    return n.astype(np.float64)


@dataclass(frozen=True, kw_only=True)
class KOS(Aggregator):
    """KOS: iterative message passing between tasks and workers, without a prior.

        x[i→u] = sum_{v ≠ u} s_iv y[v→i],   y[u→i] = sum_{j ≠ i} s_ju x[j→u],   score_i = sum_u s_iu y[u→i]

    s is ±1; for K classes it is a vector, 1 for the label and -1/(K-1) for the other classes, and one y serves all
    classes. Karger, Oh & Shah (2014), Budget-optimal task allocation for reliable crowdsourcing systems, Operations
    Research 62(1), doi:10.1287/opre.2013.1235. Order-optimal on sparse regular graphs. Fails on graphs of uneven
    degree: one spammer with very many labels takes over (rte: .50); belief_propagation does not have this problem.

    Runs `max_iter` rounds (10 is usual) from messages y ~ N(1, 1) drawn with `seed`; gold tasks send their truth. The
    fit has converged if the last round moved the messages by at most `tol` of their size.

    Args:
        max_iter: Number of rounds of messages; all are run, 10 is usual.
        tol: Change of the messages in the last round, relative to their size, up to which the fit counts as converged.

    >>> votes = Annotations.from_arrays([1, 1, 1], ["a", "b", "c"], ["x", "x", "y"])
    >>> KOS().fit(votes).posterior.shape
    (1, 2)
    """

    name: ClassVar[str] = "kos"
    max_iter: Count = 10
    tol: NonNegative = 1e-3

    def solve(self, annotations: Annotations, gold: GoldLabels | None, options: SolveOptions) -> Solution:  # noqa: ARG002
        """Run rounds of messages, then take one vote in which every label is weighted by its worker's message."""
        k, edges = annotations.n_classes, VoteEdges.of(annotations)
        if k == 1:
            return Solution(np.ones((annotations.n_tasks, 1)), np.ones(1))
        vote = edges.pattern[edges.kind]  # edge, class
        sign = (k * vote - vote.sum(axis=1, keepdims=True)) / (k - 1)
        y = 1 + np.random.default_rng(self.seed).standard_normal(len(edges.task))
        weight, moved, rounds = np.ones(annotations.n_workers), np.inf, 0
        for rounds in range(1, self.max_iter + 1):  # noqa: B007
            x = _others(sign * y[:, None], edges.task, edges.task_offsets)
            if gold is not None:
                is_gold = gold.label[edges.task] < k
                x[is_gold] = (k * np.eye(k)[gold.label[edges.task[is_gold]]] - 1) * float(np.sqrt((y**2).mean()))
            incoming = (sign * x).sum(axis=1)
            total = np.bincount(edges.worker, weights=incoming, minlength=annotations.n_workers)
            new = total[edges.worker] - incoming
            size = float(np.sqrt((new**2).mean())) if len(new) else 0.0
            if size == 0:  # no worker has two tasks that others labelled too: nothing to learn
                y, weight, moved = np.ones(len(y)), np.ones(annotations.n_workers), 0.0
                break
            # The sign of all messages together is arbitrary: a round that only flips it has moved nothing.
            moved = min(float(np.sqrt(((new / size - flip * y) ** 2).mean())) for flip in (1, -1))
            y, weight = new / size, total / size
        solution = self._solution(annotations, gold, edges, vote, y, weight)
        return replace(solution, n_iter=rounds, converged=moved <= self.tol)

    def _solution(
        self, annotations: Annotations, gold: GoldLabels | None, edges: VoteEdges, vote: F8, y: F8, weight: F8
    ) -> Solution:
        score = segment_sum(vote * y[:, None], edges.task_offsets)
        sign = sign_of(annotations, score)
        score, weight = sign * score, sign * weight
        scale = natural_scale(annotations, weight, score, gold)
        posterior = normalise_rows(scale * score)[0]
        if gold is not None:
            posterior = gold.clamp(posterior)
        return Solution(posterior, posterior.mean(axis=0), extra={"vote_weight": weight, "vote_scale": scale})


def _others(rows: F8, task: I8, task_offsets: I8) -> F8:
    return segment_sum(rows, task_offsets)[task] - rows


@dataclass(frozen=True, kw_only=True)
class MMSR(VoteAggregator):
    """MMSR: one-coin skills from pairwise agreement, robust to adversaries (matrix mean-subsequence-reduced).

        |C[m, m']| ≈ |s_m| |s_m'|,   v_j = mean of C[i, j] / u_i without the F largest and the F smallest

    C as in `pgd`. Each worker's skill is a robust mean over their partners: ratios beyond the current value are
    dropped, up to F on either side; the signs are those of the leading eigenvector of C. Ma & Olshevsky (2020),
    Adversarial crowdsourcing through robust rank-one matrix completion, NeurIPS 33. Fails with class-biased workers,
    and where a worker has more than F adversaries among their partners.

    `n_adversaries` (F ≥ 0) is the number of partners of a worker that may be adversaries; by default as many as the
    least connected worker can outvote, half of their partners less one. Runs at most `max_iter` rounds, until the
    product of two skills moves by less than `tol` on average.

    Args:
        n_adversaries: Number of adversaries among a worker's partners that are tolerated: up to as many ratios are
            dropped on either side, with 0 none. None is half of the partners of the least connected worker, less one.
        max_iter: Maximum number of rounds of robust means.
        tol: Root mean square change of the products of two skills at which the rounds end.

    >>> votes = Annotations.from_arrays([1, 1, 1], ["a", "b", "c"], ["x", "x", "y"])
    >>> MMSR().fit(votes).posterior.shape
    (1, 2)
    """

    name: ClassVar[str] = "mmsr"
    n_adversaries: Whole | None = None
    max_iter: Count = 10_000
    tol: NonNegative = 1e-8

    def weights(self, annotations: Annotations, gold: GoldLabels | None) -> Weights:
        """Return the log odds of the robust skills."""
        k = annotations.n_classes
        pairs = moments.agreement(annotations) if k > 1 else None
        if pairs is None or pairs.n.nnz == 0:
            return Weights(np.ones(annotations.n_workers), scale=1.0)
        product = pairs.skill_products()
        size, n_iter, converged = self._sizes(product, 1 / np.sqrt(annotations.n_tasks))
        sign = np.where(moments.leading(product)[1] < 0, -1.0, 1.0)
        skill = combine_with_gold(annotations, upright(annotations, sign * size), gold)
        skill = np.clip(skill, *bounds(annotations.n_tasks, k))
        return Weights(log_odds(skill, k), 1.0, n_iter, converged)

    def _sizes(self, product: Any, tiny: float) -> tuple[F8, int, bool]:
        """Return |s| by alternating robust means; workers without shared tasks get the mean of the others."""
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
    """Return the mean of each worker's ratios, without up to `drop` of those beyond `now` on either side."""
    m = len(now)
    ratio = ratio[np.argsort(row + ratio / (1 + ratio))]  # one key, worker before ratio: half the time of a lexsort
    below = np.minimum(np.bincount(row[ratio < now[row]], minlength=m), drop)
    above = np.minimum(np.bincount(row[ratio > now[row]], minlength=m), drop)
    rank = np.arange(len(row)) - (np.cumsum(degree) - degree)[row]
    use = (rank >= below[row]) & (rank < (degree - above)[row])
    count = np.bincount(row[use], minlength=m)
    mean = np.bincount(row[use], weights=ratio[use], minlength=m) / np.maximum(count, 1)
    return np.where(count > 0, np.maximum(mean, tiny), now)


@dataclass(frozen=True, kw_only=True)
class PGD(VoteAggregator):
    """PGD: one-coin skills from pairwise agreement, a rank-one matrix completed by projected gradient descent.

        C[m, m'] = K/(K-1) · (agreement - 1/K) ≈ s_m s_m',   minimise sum n[m, m'] (C - s s^T)²

    Ma, Olshevsky, Saligrama & Szepesvari (2018), Gradient descent for sparse rank-one matrix completion for
    crowd-sourced aggregation of sparsely interacting workers, ICML (pmlr v80).
    Fails, like every one-coin model, with class-biased workers (bluebird), and where few workers share tasks.

    Runs at most `max_iter` gradient steps, until no skill moves by more than `tol`. Votes weigh log p(K-1)/(1-p). A
    worker who shares no task with others keeps the initial skill of one half.

    Args:
        max_iter: Maximum number of gradient steps.
        tol: Largest change of any skill at which the descent ends.

    >>> votes = Annotations.from_arrays([1, 1, 1], ["a", "b", "c"], ["x", "x", "y"])
    >>> PGD().fit(votes).to_table()["label"].to_list()
    ['x']
    """

    name: ClassVar[str] = "pgd"
    max_iter: Count = 10_000
    tol: NonNegative = 1e-9

    def weights(self, annotations: Annotations, gold: GoldLabels | None) -> Weights:
        """Return the log odds of the completed skills."""
        k = annotations.n_classes
        if k == 1:
            return Weights(np.ones(annotations.n_workers), scale=1.0)
        pairs = moments.agreement(annotations)
        low, high = bounds(annotations.n_tasks, k)
        product = pairs.skill_products().tocoo()
        upper = product.row < product.col
        skill, n_iter, converged = moments.complete_rank_one(
            product.row[upper],
            product.col[upper],
            pairs.n.data[upper],
            product.data[upper],
            np.full(annotations.n_workers, 0.5),
            low,
            high,
            self.max_iter,
            self.tol,
        )
        skill = np.clip(combine_with_gold(annotations, skill, gold), low, high)
        return Weights(log_odds(skill, k), 1.0, n_iter, converged)


@dataclass(frozen=True, kw_only=True)
class M3V(VoteAggregator):
    """M3V: max-margin majority vote; weights under which the winning class leads by the largest margin.

        score(i, k) = sum_w η_w 1[y_iw = k],   minimise ½ ||η||² + c sum_i max(0, 1 - margin_i)²

    margin_i is the lead of the current label over the runner-up. Labels and weights are updated in turn, starting
    from the plain vote. Tian & Zhu (2015), Max-margin majority voting for learning from crowds, NeurIPS 28. The hinge
    is squared here: the problem is then smooth and L-BFGS solves it. Fails, like every vote with one weight per
    worker, with class-biased workers, and it relies on the first vote: errors shared by the majority remain.

    `strength` (c > 0, per task) is the cost of a lost margin. Runs at most `max_iter` rounds of labels and weights.

    Args:
        strength: Cost of a lost margin, per task; larger values fit the current labels more closely and tend to
            reproduce the majority.
        max_iter: Maximum number of rounds of labels and weights.

    >>> votes = Annotations.from_arrays([1, 1, 1], ["a", "b", "c"], ["x", "x", "y"])
    >>> M3V().fit(votes).to_table()["label"].to_list()
    ['x']
    """

    name: ClassVar[str] = "m3v"
    strength: Positive = 0.1
    max_iter: Count = 50

    def weights(self, annotations: Annotations, gold: GoldLabels | None) -> Weights:
        """Update labels and weights in turn until the labels stay."""
        if annotations.n_classes == 1 or len(annotations) == 0:
            return Weights(np.ones(annotations.n_workers), scale=1.0)
        votes, ranked_gold = ClassOrder.of(annotations, gold).apply(annotations, gold)
        weight, converged = np.ones(votes.n_workers), False
        label = _winners(votes, weight, ranked_gold)
        for iteration in range(1, self.max_iter + 1):  # noqa: B007
            weight = self._fit(votes, label, weight)
            new = _winners(votes, weight, ranked_gold)
            converged = bool((new == label).all())
            label = new
            if converged:
                break
        scale = natural_scale(votes, weight, scores(votes, weight), ranked_gold)
        return Weights(weight, scale, iteration, converged)

    def _fit(self, votes: Annotations, label: I8, start: F8) -> F8:
        """Return the weights of the widest margins for these labels."""
        from scipy.optimize import minimize

        tasks = np.arange(votes.n_tasks)
        row_weight = row_weights(votes)
        # A task without a clear winner does not enter the loss.
        clear = label < votes.n_classes
        label = np.where(clear, label, 0)

        def loss(eta: F8) -> tuple[float, F8]:
            score = scores(votes, eta)
            winner_score = score[tasks, label]
            score[tasks, label] = -np.inf
            rival = score.argmax(axis=1)
            hinge = np.where(clear, np.maximum(0.0, 1 - winner_score + score[tasks, rival]), 0.0)
            side = (votes.label == rival[votes.task]).astype(np.float64) - (votes.label == label[votes.task])
            gradient = np.bincount(votes.worker, 2 * hinge[votes.task] * side * row_weight, votes.n_workers)
            return float(eta @ eta / 2 + self.strength * (hinge @ hinge)), eta + self.strength * gradient

        return np.asarray(minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 50}).x)


def _winners(votes: Annotations, weight: F8, gold: GoldLabels | None) -> I8:
    """Return the winning class of each task, n_classes where there is a tie, and gold where it is known."""
    top = winners(scores(votes, weight))
    label = np.where(top.sum(axis=1) == 1, top.argmax(axis=1), votes.n_classes)
    return label if gold is None else np.where(gold.label < gold.n_classes, gold.label, label)
