"""Belief propagation over tasks and workers: one message kernel for every prior that can be written as nodes.

    lw[e, k] = log sum_s weight_s theta_s[k, y_e] exp(T[u, s] - G[e, s]),   G[e, s] = log sum_k theta_s[k, y_e] m_e[k]

m_e is the message from task to worker, lw_e that from worker to task, T the sum of G over the worker's edges.
A prior over confusion matrices is a handful of nodes theta_s [s, true, observed] with log weights: quadrature nodes
(exact for Beta priors), samples, or the points of a discrete prior.
Liu, Peng & Ihler (2012), NeurIPS 25; the form with nodes is eq. 42 of Kim, Cho, Kim & Ok (2022), AISTATS.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ....core.arrays import F8, I8
from ....core.order import offsets
from ....em.rows import row_weights
from ....stats.coins import coins, even
from ....stats.logspace import normalise_rows, segment_sum

if TYPE_CHECKING:
    from ....em.rows import LabelRows


# Edges × nodes × classes processed at a time: 32 MB.
CHUNK = 4_000_000
# Floor of probabilities, so that no node rules a label out entirely.
FLOOR = 1e-12


@dataclass(frozen=True)
class Nodes:
    """A prior over confusion matrices: theta[node, true, observed] and log weights of the nodes."""

    theta: F8
    log_weight: F8


@dataclass(frozen=True)
class VoteEdges:
    """One edge per (task, worker) with any number of votes: pattern[kind[e]] counts them by label.

    Edges are sorted by task; `order` sorts them by worker.
    """

    task: I8
    worker: I8
    kind: I8
    pattern: F8
    task_offsets: I8
    order: I8
    worker_offsets: I8

    @classmethod
    def of(cls, annotations: LabelRows) -> VoteEdges:
        """Collect the votes of each worker on each task, adding up repeated and weighted votes."""
        task, worker = annotations.task.astype(np.int64), annotations.worker.astype(np.int64)
        new = np.ones(len(task), dtype=bool)
        new[1:] = (np.diff(task) != 0) | (np.diff(worker) != 0)
        edge = np.cumsum(new) - 1
        rows = np.flatnonzero(new)
        if len(rows) == len(task) and annotations.weight is None:
            pattern, kind = np.eye(annotations.n_classes), annotations.label.astype(np.int64)
        else:
            weight = row_weights(annotations)
            votes = np.zeros((len(rows), annotations.n_classes))
            np.add.at(votes, (edge, annotations.label), weight)
            pattern, kind = np.unique(votes, axis=0, return_inverse=True)
            kind = kind.ravel()
        task, worker = task[rows], worker[rows]
        order = np.argsort(worker, kind="stable")
        by_task = offsets(task.astype(np.int32), annotations.n_tasks)
        by_worker = offsets(worker.astype(np.int32), annotations.n_workers)
        return cls(task, worker, kind, pattern, by_task, order, by_worker)

    def chunks(self, width: int) -> list[tuple[int, int]]:
        """Split the workers into runs whose edges × width stay within CHUNK (a single worker may exceed it)."""
        chunks, first = [], 0
        for last in range(1, len(self.worker_offsets)):
            size = self.worker_offsets[min(last + 1, len(self.worker_offsets) - 1)] - self.worker_offsets[first]
            if last == len(self.worker_offsets) - 1 or size * width > CHUNK:
                chunks.append((first, last))
                first = last
        return chunks

    def likelihood(self, nodes: Nodes, kind: I8) -> F8:
        """Likelihood [edge, node, true] of the edge's votes, up to a factor per edge."""
        table = np.log(np.maximum(nodes.theta, FLOOR))
        used, inverse = (
            (np.arange(len(self.pattern)), kind) if len(self.pattern) <= 64 else np.unique(kind, return_inverse=True)
        )
        score = np.einsum("po,sto->pst", self.pattern[used], table)
        score -= score.max(axis=(1, 2), keepdims=True, initial=-np.inf)
        return np.asarray(np.exp(np.maximum(score, -600.0))[inverse])


@dataclass(frozen=True)
class MessageBeliefs:
    """Result of message passing: posterior[task, class], belief[worker, node], and the messages."""

    posterior: F8
    belief: F8
    message: F8
    n_iter: int
    converged: bool


def propagate(
    edges: VoteEdges,
    nodes: Nodes,
    unary: F8,
    *,
    max_iter: int = 100,
    tol: float = 1e-3,
    damping: float = 0.0,
    start: F8 | None = None,
    callback: Callable[[int, float], None] | None = None,
) -> MessageBeliefs:
    """Run belief propagation with a flooding schedule. On a graph without loops the posterior is exact.

    Args:
        edges: The votes.
        nodes: Prior over confusion matrices.
        unary: unary[task, class], the log prior of each task.
        max_iter: Largest number of iterations.
        tol: Stop when no message to a task changes by more than this.
        damping: Share of the old message that is kept, in log space.
        start: Initial messages; uniform by default.
        callback: Called with the iteration and the largest change.
    """
    k = unary.shape[1]
    message = np.full((len(edges.task), k), -np.log(k)) if start is None else start
    belief = np.zeros((len(edges.worker_offsets) - 1, len(nodes.log_weight)))
    chunks = edges.chunks(len(nodes.log_weight) * k)
    converged = False
    for iteration in range(1, max_iter + 1):
        new, belief = _sweep(edges, nodes, _to_workers(edges, unary, message), chunks)
        if damping:
            new = _log_normalise((1 - damping) * new + damping * message)
        change = float(np.abs(np.exp(new) - np.exp(message)).max(initial=0.0))
        message = new
        if callback is not None:
            callback(iteration, change)
        converged = change < tol
        if converged:
            break
    posterior = normalise_rows(unary + segment_sum(message, edges.task_offsets))[0]
    return MessageBeliefs(posterior, belief, message, iteration, converged)


def _to_workers(edges: VoteEdges, unary: F8, message: F8) -> F8:
    """Messages from each task to each of its workers, without the incoming message of that worker."""
    total = unary + segment_sum(message, edges.task_offsets)
    return normalise_rows(total[edges.task] - message)[0]


def _sweep(edges: VoteEdges, nodes: Nodes, incoming: F8, chunks: list[tuple[int, int]]) -> tuple[F8, F8]:
    """All messages to the tasks, and belief[worker, node], computed in chunks of workers."""
    message = np.empty_like(incoming)
    belief = np.tile(nodes.log_weight, (len(edges.worker_offsets) - 1, 1))
    for first, last in chunks:
        place = edges.worker_offsets[first : last + 1]
        rows = edges.order[place[0] : place[-1]]
        theta = edges.likelihood(nodes, edges.kind[rows])  # edge, node, true
        # Single factors cannot underflow (theta has a floor), so only their products are kept as logarithms.
        log_g = np.log(np.matmul(theta, incoming[rows][:, :, None])[:, :, 0])
        belief[first:last] += segment_sum(log_g, place - place[0])
        cavity = belief[edges.worker[rows]] - log_g
        cavity = np.exp(cavity - cavity.max(axis=1, keepdims=True, initial=-np.inf))
        message[rows] = np.log(np.maximum(np.matmul(cavity[:, None, :], theta)[:, 0, :], 1e-300))
    return _log_normalise(message), normalise_rows(belief)[0]


def _log_normalise(rows: F8) -> F8:
    top = rows.max(axis=1, keepdims=True, initial=-np.inf)
    return np.asarray(rows - top - np.log(np.exp(rows - top).sum(axis=1, keepdims=True)))


# ----------------------------------------------------------------
# Priors over confusion matrices as nodes and weights, for the message kernel.


def beta_nodes(right: float, wrong: float, n: int) -> tuple[F8, F8]:
    """Return Gauss-Jacobi nodes and weights of Beta(right, wrong), exact for polynomials up to degree 2 n - 1.

    >>> p, weight = beta_nodes(2, 1, 3)
    >>> round(float(weight @ p), 12)
    0.666666666667
    """
    from scipy.special import roots_jacobi

    t, weight = roots_jacobi(n, wrong - 1, right - 1)
    return (1 + np.asarray(t)) / 2, np.asarray(weight / weight.sum())


def one_coin(right: float, wrong: float, k: int, n: int) -> Nodes:
    """Prior of one-coin workers: accuracy ~ Beta(right, wrong)."""
    p, weight = beta_nodes(right, wrong, n)
    return Nodes(coins(p, k), np.log(np.maximum(weight, 1e-300)))


def two_coin(right: float, wrong: float, n: int) -> Nodes:
    """Prior of two-coin workers: an accuracy ~ Beta(right, wrong) for each of two classes, n² nodes."""
    p, weight = beta_nodes(right, wrong, n)
    a, b = np.repeat(p, n), np.tile(p, n)
    theta = np.stack([np.stack([a, 1 - a], axis=1), np.stack([1 - b, b], axis=1)], axis=1)
    return Nodes(theta, np.log(np.maximum(np.repeat(weight, n) * np.tile(weight, n), 1e-300)))


def dirichlet(right: float, wrong: float, k: int, n: int, rng: np.random.Generator) -> Nodes:
    """Draw n equally weighted matrices with rows ~ Dir(right on the diagonal, wrong elsewhere)."""
    theta = np.stack([rng.dirichlet(row, size=n) for row in even(right, wrong, k)], axis=1)
    return Nodes(theta, np.full(n, -np.log(n)))


def hammer_spammer(share: float, accuracy: float, k: int) -> Nodes:
    """Prior of hammers, a given share that is right with probability `accuracy`, and spammers, who guess."""
    theta = coins(np.array([accuracy, 1 / k]), k)
    return Nodes(theta, np.log(np.array([share, 1 - share])))
