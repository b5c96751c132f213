"""The two models of a chain: HMM-Crowd by EM with pseudo-counts, BSC-seq by variational Bayes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..dirichlet import divergence, log_mean
from .chain import ChainData, ChainFit, allowed, fit
from .rows import F8

Mask = npt.NDArray[np.bool_]


def hmm_crowd(
    data: ChainData, *, smoothing: float, learn_moves: bool, max_iter: int, tol: float, start: F8 | None = None
) -> ChainFit:
    """EM for a confusion matrix of each worker over a chain; with fixed uniform moves it is Dawid-Skene."""
    k = data.n_states
    first, then = allowed(data.n_tags)
    if not learn_moves:
        first, then = np.ones_like(first), np.ones_like(then)

    def step(counts: F8, begins: F8, steps: F8) -> tuple[F8, F8, F8, float]:
        a = counts + smoothing
        a /= a.sum(axis=2, keepdims=True)
        begin, move = np.full(k, 1.0 / k), np.full((k, k), 1.0 / k)
        if learn_moves:
            begin, move = (_normal(np.where(ok, c + smoothing, 0.0)) for ok, c in ((first, begins), (then, steps)))
        log_a = np.log(a)
        prior = smoothing * float(log_a.sum())
        if learn_moves:
            prior += smoothing * float(np.log(begin[first]).sum() + np.log(move[then]).sum())
        return log_a, begin, move, prior

    found = fit(data, step, previous=False, max_iter=max_iter, tol=tol, start=start)
    q, counts, begins, steps, trace, settled = found
    log_a, begin, move, _ = step(counts, begins, steps)
    return ChainFit(np.exp(log_a), begin, move, q, trace, settled)


def bsc(data: ChainData, *, prior: float, prior_right: float, max_iter: int, tol: float) -> ChainFit:
    """Variational Bayes for workers whose label depends on the true one and on their own label before it.

    `prior` pseudo-counts stand in every allowed cell, `prior_right` more where label and truth agree. A worker's own
    label cannot be forbidden, as people do what they do; what the hidden chain may not do has no mass.
    """
    k = data.n_states
    first, then = allowed(data.n_tags)
    base = np.full((1, k, k, k), prior) + prior_right * np.eye(k)[None, None]  # worker, previous, label, state

    def step(counts: F8, begins: F8, steps: F8) -> tuple[F8, F8, F8, float]:
        alpha = base + counts
        log_a = log_mean(alpha, 2)
        kl = divergence(alpha, np.broadcast_to(base, alpha.shape), 2)
        start, kl_start = _moves(begins, first, prior)
        move, kl_move = _moves(steps, then, prior)
        return log_a, start, move, -(kl + kl_start + kl_move)

    q, counts, begins, steps, trace, settled = fit(data, step, previous=True, max_iter=max_iter, tol=tol)
    alpha = base + counts
    start, move = (_normal(np.where(ok, c + prior, 0.0)) for ok, c in ((first, begins), (then, steps)))
    return ChainFit(alpha / alpha.sum(axis=2, keepdims=True), start, move, q, trace, settled)


def _normal(table: F8) -> F8:
    return np.asarray(table / table.sum(axis=-1, keepdims=True))


def _moves(counts: F8, ok: Mask, prior: float) -> tuple[F8, float]:
    """exp E log of moves under their Dirichlet over what is allowed, and its divergence from the prior."""
    out, kl = np.zeros(ok.shape), 0.0
    for row in np.ndindex(ok.shape[:-1]):
        may = ok[row]
        belief = counts[row][may] + prior
        out[row][may] = np.exp(log_mean(belief, 0))
        kl += divergence(belief, np.full(len(belief), prior), 0)
    return out, kl
