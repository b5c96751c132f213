"""The plain Gaussian model: free biases, one weak prior for all variances, maximum a posteriori by EM.

    y ~ N(mu, t²),   answer = y + b_m + noise of variance v_m,   v_m ~ InverseGamma(1, 0.1 var(answers))

Raykar et al. (2010), JMLR 11, 1297-1322. The objective is the log-likelihood with the tasks integrated out plus the
log prior of the variances; it never falls. Workers who always say the same pull it to themselves: see gaussian.py.
"""

from __future__ import annotations

import numpy as np

from ..fit import Fit, held, known, outward, relative
from ..linear import Linear
from ..rows import F8, Rows
from ..scaling import standardise
from ..simple import pooled_variance
from .passes import DOUBT, GAP, LOG_2PI, SQUARE, Message, Space

FLOOR = 1e-6


def gaussian_plain(
    rows: Rows,
    gold: F8 | None = None,
    *,
    strength: float = 1.0,
    share: float = 0.1,
    max_iter: int = 500,
    tol: float = 1e-7,
    shards: int = 1,
) -> Fit:
    """Fit; the variances' prior is InverseGamma(strength, share * variance of the answers)."""
    rows, gold, scale = standardise(rows.present(), gold)
    n, heard = rows.per_worker, rows.per_worker > 0
    space = Space.of(rows, gold, shards)
    start = held(rows.task_sum(rows.value) / np.maximum(rows.per_task, 1e-300), gold)
    some = start[rows.per_task > 0]
    mu, tau = (float(some.mean()), max(float(some.var()), FLOOR)) if len(some) else (0.0, 1.0)
    bias, noise = np.zeros(rows.n_workers), np.full(rows.n_workers, pooled_variance(rows, start))
    trace: list[float] = []
    converged = False
    while len(trace) < max_iter:
        _, _, stats = space.sweep(Message(1 / noise, bias, mu, 1 / tau))
        prior = -(strength + 1) * np.log(noise) - share / noise
        likelihood = stats.tasks[3] - 0.5 * (n @ (np.log(noise) + LOG_2PI) + stats.workers[:, SQUARE] @ (1 / noise))
        trace.append(float(likelihood + prior[heard].sum()))
        if len(trace) > 1 and trace[-1] - trace[-2] < tol * max(float(n.sum()), 1.0):
            converged = True
            break
        gap, square, doubt = (stats.workers[:, k] for k in (GAP, SQUARE, DOUBT))
        moved = np.where(heard, gap / np.maximum(n, 1e-300), 0.0)
        bias = bias + moved
        error = np.maximum(square - 2 * moved * gap + n * moved**2, 0.0) + doubt
        noise = np.where(heard, (error + 2 * share) / (n + 2 * strength + 2), share / (strength + 1))
        count, first, second = stats.tasks[:3]
        if count:
            mu, tau = float(first / count), max(float(second / count - (first / count) ** 2), FLOOR)
        if not known(gold, rows.n_tasks).any() and heard.any():
            middle = float(bias[heard].mean())  # only y + b is seen: moving a constant changes nothing
            bias, mu = np.where(heard, bias - middle, 0.0), mu + middle
    q = 1 / np.where(heard, noise, float(noise[heard].mean()) if heard.any() else 1.0)
    judge = Linear(q, q, q * bias, mu, 1 / tau, np.zeros(rows.n_workers), (mu, tau))
    mean, variance = judge.judge(rows)
    mean, variance = held(mean, gold), np.where(known(gold, rows.n_tasks), 0.0, variance)
    extra = {"linear": judge, "prior_mean": mu, "prior_variance": tau, "bias_doubt": np.zeros(rows.n_workers)}
    ones = np.ones(rows.n_workers)
    fit = Fit("gaussian_plain", mean, variance, bias, 1 / np.sqrt(q), ones, relative(q, rows), np.array(trace),
              len(trace), converged, extra)  # fmt: skip
    return outward(fit, scale)
