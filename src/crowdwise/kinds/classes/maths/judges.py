"""Answers with predictions of others' answers: a label given more often than predicted is likely to be true.

    surprisingly popular (two classes): k wins where share_k > mean predicted share of k
    several classes: prediction-normalised votes  V_k = x_k sum_i y_k[i] / y_i[k],
                     y_i[k]: mean prediction of k by raters who answered i
    truth serum: information score  log x_k - mean log y[k]

Prelec, Seung & McCoy (2017), doi:10.1038/nature21054; Prelec (2004), doi:10.1126/science.1102081.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ....core.arrays import F8, I8, Mask
from ....stats.logspace import normalise_rows, segment_sum, shares

# Floor of predictions, which need a logarithm.
LEAST = 0.01


def surprise(observed: F8, expected: F8, n: F8) -> tuple[F8, F8]:
    """Excess of observed[task, class] over expected[task, class] shares, and its standard error."""
    more = observed - expected
    p = (observed * n[:, None] + 0.5) / (n[:, None] + 1)
    return more, np.sqrt(p * (1 - p) / np.maximum(n[:, None], 1.0))


def normalised_votes(task: I8, label: I8, prediction: F8, weight: F8, n_tasks: int) -> F8:
    """Return Prelec's prediction-normalised votes[task, class], rows summing to one, from prediction[row, class]."""
    k = prediction.shape[1]
    cell = task * k + label
    count = np.bincount(cell, weights=weight, minlength=n_tasks * k).astype(np.float64)
    columns = (prediction * weight[:, None]).T
    summed = np.stack([np.bincount(cell, weights=column, minlength=n_tasks * k) for column in columns], axis=1)
    overall = np.stack([np.bincount(task, weights=column, minlength=n_tasks) for column in columns], axis=1)
    size = count.reshape(n_tasks, k).sum(axis=1)
    n = np.where(size > 0, size, 1.0)[:, None]
    task_mean = overall / n
    # Mean prediction of k by raters who answered i, smoothed by one answer with the task's mean prediction.
    mean = (summed.reshape(n_tasks, k, k) + task_mean[:, None, :]) / (count.reshape(n_tasks, k, 1) + 1)
    mean = np.maximum(mean, LEAST)
    label_share = count.reshape(n_tasks, k) / n
    return shares(label_share * (mean / mean.transpose(0, 2, 1)).sum(axis=2))


def log_scores(observed: F8, log_expected: F8, n: F8) -> F8:
    """Information score[task, class] of the truth serum: log share, smoothed by half an answer, minus the mean log
    prediction."""
    k = observed.shape[1]
    share = (observed * n[:, None] + 0.5) / (n[:, None] + 0.5 * k)
    return np.asarray(np.log(share) - log_expected)


def mean_by_task(values: F8, weight: F8, offsets: I8) -> F8:
    """Weighted mean of values[row, class] over the rows of each task, NaN for tasks without rows."""
    n = segment_sum(weight[:, None], offsets)
    return np.where(n > 0, segment_sum(values * weight[:, None], offsets) / np.where(n > 0, n, 1.0), np.nan)


# ----------------------------------------------------------------
# Stacked judges: one weight per judge, learned on gold, for any number of classes.
#     Z[n, k] = b_k + sum_m w_m v[n, m, k],   P = softmax(Z)
#     minimise  sum_gold -log P[n, y_n] + (l2 / 2) sum w^2 + (1/4) sum b^2
#
# v[n, m, k] is the share of judge m's verdicts on task n that are k, minus 1/K; 0 where the judge gave none. There are
# only M + K parameters, so 60 gold labels are enough; weights may be negative. The loss is convex and minimised by
# Newton's method. Wolpert (1992), Stacked generalization, doi:10.1016/S0893-6080(05)80023-1.

Make = Callable[[Mask], F8]

GRID = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
FOLDS = 5
BIAS = 0.5  # curvature of the penalty on b
_STEPS, _TOLERANCE = 60, 1e-9
_FLOOR = 1e-300


@dataclass(frozen=True)
class Stack:
    """A fitted stack: weight[judge], bias[class], the penalty, and the mean held-out log-loss of each penalty tried."""

    weight: F8
    bias: F8
    l2: float
    losses: tuple[float, ...] = ()

    def posterior(self, features: F8) -> F8:
        """Return P[task, class] given features[task, judge, class]."""
        return normalise_rows(self.bias + np.einsum("nmk,m->nk", features, self.weight))[0]


def fit_stack(features: F8, truth: I8, l2: float, start: Stack | None = None) -> Stack:
    """Minimise the penalised log-loss by Newton's method with step halving."""
    n, m, k = features.shape
    rows = np.ascontiguousarray(features.transpose(0, 2, 1)).reshape(n * k, m)
    design = np.hstack([rows, np.tile(np.eye(k), (n, 1))])  # coefficients of (w, b) in each Z
    penalty = np.r_[np.full(m, l2), np.full(k, BIAS)]
    x = np.zeros(m + k) if start is None else np.r_[start.weight, start.bias]
    hit = np.arange(n) * k + truth

    def value(x: F8) -> tuple[float, F8]:
        p, norm = normalise_rows((design @ x).reshape(n, k))
        return float(norm.sum() - (design[hit] @ x).sum() + 0.5 * penalty @ (x * x)), p

    now, p = value(x)
    for _ in range(_STEPS):
        flat = p.reshape(-1)
        gradient = design.T @ flat - design[hit].sum(axis=0) + penalty * x
        mean = np.einsum("nk,nkj->nj", p, design.reshape(n, k, m + k))
        hessian = (design * flat[:, None]).T @ design - mean.T @ mean + np.diag(penalty)
        step = np.linalg.solve(hessian, gradient)
        fall = float(gradient @ step)
        if fall < _TOLERANCE:
            break
        size = 1.0
        while size > 1e-8:
            new, q = value(x - size * step)
            if new <= now - 1e-4 * size * fall:
                break
            size /= 2
        x, now, p = x - size * step, new, q
    return Stack(x[:m], x[m:], l2)


def folds(n: int, rng: np.random.Generator, parts: int = FOLDS) -> I8:
    """Return a random fold[task], in folds of about equal size."""
    return rng.permutation(n) % min(parts, n)


def out_of_fold(make: Make, truth: I8, l2: float, fold: I8) -> F8:
    """Return P[task, class] of each gold task by a stack fitted without its fold."""
    out: list[F8] = [np.empty(0)] * len(truth)
    for f in np.unique(fold):
        is_held_out = fold == f
        features = make(~is_held_out)
        predicted = fit_stack(features[~is_held_out], truth[~is_held_out], l2).posterior(features[is_held_out])
        for row, p in zip(np.flatnonzero(is_held_out), predicted, strict=True):
            out[row] = p
    return np.array(out)


def log_loss(posterior: F8, truth: I8) -> F8:
    """-log P of the truth of each task."""
    return np.asarray(-np.log(np.maximum(posterior[np.arange(len(truth)), truth], _FLOOR)))


def learn_stack(
    features: F8 | Make, truth: I8, rng: np.random.Generator, grid: tuple[float, ...] = GRID
) -> tuple[Stack, F8]:
    """Return the stack with the penalty that predicts held-out gold best, and the gold tasks' out-of-fold P.

    `features` may depend on the gold tasks that are used for fitting: make(mask) -> features[gold task, judge, class].
    """
    make: Make = features if callable(features) else lambda _: features
    fold = folds(len(truth), rng)
    tried = [out_of_fold(make, truth, l2, fold) for l2 in grid]
    losses = tuple(float(log_loss(p, truth).mean()) for p in tried)
    best = int(np.argmin(losses))
    stack = fit_stack(make(np.ones(len(truth), dtype=bool)), truth, grid[best])
    return Stack(stack.weight, stack.bias, grid[best], losses), tried[best]


# ----------------------------------------------------------------
# Tasks without a single truth: distributions of raters, how well they predict other raters, groups of raters.
# Each held-out rater is predicted by the others, so the log-loss is unbiased. A plug-in divergence between two halves
# of the same raters is far above zero, so divergences are corrected by the mean over permuted raters. Groups of raters
# are compared by permuting raters, never rows, because the rows of a rater are dependent.

SUBJECTIVE_GRID = (0.5, 1.0, 2.0, 4.0, 8.0)
DRAWS = 1_000


def soft_labels(counts: F8, strength: float) -> tuple[F8, F8]:
    """Return π[task, class] given counts[task, class], and the pooled distribution that it is shrunk to."""
    pooled = shares(counts.sum(axis=0)[None, :])[0]
    n = counts.sum(axis=1, keepdims=True)
    return np.asarray((counts + strength * pooled) / (n + strength)), pooled


@dataclass(frozen=True)
class RaterRows:
    """Task, rater, label and weight of each row, and counts[task, class] over all rows."""

    task: I8
    rater: I8
    label: I8
    weight: F8
    counts: F8

    @cached_property
    def of_rater(self) -> tuple[F8, F8]:
        """Total weight of the rows with the same task and rater: of those with the row's label, and of all."""
        pair = np.unique(self.task * (int(self.rater.max(initial=0)) + 1) + self.rater, return_inverse=True)[1]
        k = self.counts.shape[1]
        by_label = np.bincount(pair * k + self.label, weights=self.weight).astype(np.float64)
        in_all = np.bincount(pair, weights=self.weight).astype(np.float64)
        return by_label[pair * k + self.label], in_all[pair]

    def mean(self, values: F8) -> float:
        """Weighted mean over the rows."""
        return float(values @ self.weight / max(float(self.weight.sum()), 1e-300))


def held_out(rows: RaterRows, strength: float) -> float:
    """Mean log-loss of each rater's labels, predicted by the task's other raters and the pool without the rater.

    An infinite strength uses the pool alone.
    """
    rater_votes, rater_total = rows.of_rater
    total = rows.counts.sum(axis=0)
    # Half a row for each label, so that labels given only by the held-out rater are possible.
    pool = np.maximum(total[rows.label] - rater_votes, 0.0) + 0.5
    pool = pool / (total.sum() - rater_total + 0.5 * len(total))
    others = np.maximum(rows.counts[rows.task, rows.label] - rater_votes, 0.0)
    n = rows.counts.sum(axis=1)[rows.task] - rater_total
    share = pool if np.isinf(strength) else (others + strength * pool) / np.maximum(n + strength, 1e-300)
    return rows.mean(np.asarray(-np.log(np.maximum(share, 1e-300))))


def choose_strength(rows: RaterRows, grid: tuple[float, ...] = SUBJECTIVE_GRID) -> tuple[float, dict[str, float]]:
    """Return the strength that predicts held-out raters best, and the mean log-loss of each strength."""
    losses = {f"{a:g}": held_out(rows, a) for a in grid}
    return min(grid, key=lambda a: losses[f"{a:g}"]), losses


def divergence(p: F8, q: F8) -> F8:
    """Jensen-Shannon divergence of each row, in nats."""
    m = (p + q) / 2

    def half(a: F8) -> F8:
        ratio = np.where(a > 0, a / np.where(m > 0, m, 1.0), 1.0)
        return np.asarray((a * np.log(ratio)).sum(axis=1))

    return np.asarray((half(p) + half(q)) / 2)


def group_difference(
    rows: RaterRows, group: I8, contrast: F8, rng: np.random.Generator, draws: int = DRAWS
) -> tuple[F8, F8, F8, F8]:
    """Compare the labels of rater groups 1 and 0 (others: -1) on the same tasks by permuting raters.

    Args:
        rows: The labels.
        group: group[rater], 0, 1 or -1.
        contrast: contrast[class, quantity], the quantities compared: shares of classes, or a mean of scores.
        rng: Source of the permutations.
        draws: Number of permutations.

    Returns:
        difference[quantity] (mean over common tasks of group 1 minus group 0), its two-sided p-value[quantity], and
        the bias-corrected divergence and p-value of each task.
    """
    observed, per_task = _gap(rows, group, contrast)
    members = np.flatnonzero(group >= 0)
    more, n_tasks = np.zeros(contrast.shape[1]), len(rows.counts)
    sums, above = np.zeros(n_tasks), np.zeros(n_tasks)
    for _ in range(draws):
        shuffled = group.copy()
        shuffled[members] = group[members][rng.permutation(len(members))]
        gap, jsd = _gap(rows, shuffled, contrast)
        more += np.abs(gap) >= np.abs(observed) - 1e-12
        sums += np.nan_to_num(jsd)
        above += np.nan_to_num(jsd) >= np.nan_to_num(per_task) - 1e-12
    p = (more + 1) / (draws + 1)
    return observed, p, per_task - sums / draws, np.where(np.isfinite(per_task), (above + 1) / (draws + 1), np.nan)


def _gap(rows: RaterRows, group: I8, contrast: F8) -> tuple[F8, F8]:
    n_tasks, k = rows.counts.shape
    counts = []
    for g in (0, 1):
        of = np.flatnonzero(group[rows.rater] == g)
        cell, weight = rows.task[of] * k + rows.label[of], rows.weight[of]
        counts.append(np.bincount(cell, weights=weight, minlength=n_tasks * k).astype(np.float64).reshape(n_tasks, k))
    n = [c.sum(axis=1) for c in counts]
    is_common = (n[0] > 0) & (n[1] > 0)
    p, q = (shares(c) for c in counts)
    # Tasks are weighted by their information: proportional to the harmonic mean of the two groups' raters.
    w = np.where(is_common, n[0] * n[1] / np.maximum(n[0] + n[1], 1.0), 0.0)
    gap = (w[:, None] * (q - p)).sum(axis=0) / max(float(w.sum()), 1e-300) @ contrast
    jsd = np.full(n_tasks, np.nan)
    jsd[is_common] = divergence(p[is_common], q[is_common])
    return gap, jsd


# ----------------------------------------------------------------
# Verdicts with a strength as symbols: (label, strength bin) is observed, and EM learns its meaning.
#     y_n ~ Cat(prior),   symbol of judge m on task n | y_n = k ~ Cat(A[m, k, :]),  K rows of L = bins x K symbols
#
# Dawid-Skene over a larger alphabet: a judge who is right when confident is more informative than one who is always
# confident. Stated strengths are not taken as probabilities, so an overconfident judge does no harm. The pseudo-counts
# favour the right label and are spread over the bins that the judge uses.

BINS = 3
# Bin of verdicts without a confidence, if others have one.
NONE = BINS
# Pseudo-count of tasks in each class, so that the logarithm of a class's share exists.
SYMBOLS_LEAST = 1e-3


@dataclass(frozen=True)
class Symbols:
    """posterior[task, class], table[judge, class, symbol], prior[class], the objective of each pass."""

    posterior: F8
    table: F8
    prior: F8
    trace: F8
    converged: bool


def terciles(judge: I8, strength: F8, n_judges: int) -> I8:
    """Return the bin 0, 1 or 2 of each strength among those of its judge, NONE if missing; ties share a bin."""
    out = np.full(len(strength), NONE, dtype=np.int64)
    for m in range(n_judges):
        rows = np.flatnonzero((judge == m) & np.isfinite(strength))
        if len(rows):
            low, high = np.quantile(strength[rows], [1 / 3, 2 / 3])
            # Round values are frequent: an edge belongs to the bin below it.
            out[rows] = (strength[rows] > low).astype(np.int64) + (strength[rows] > high)
    return out


def prior_counts(judge: I8, bin_: I8, n_judges: int, k: int, bins: int, smoothing: float, diagonal: float) -> F8:
    """Return pseudo-counts[judge, class, symbol]: `smoothing` for each label, `diagonal` more for the right one."""
    used = np.zeros((n_judges, bins), dtype=bool)
    used[judge, bin_] = True
    share = used / np.maximum(used.sum(axis=1, keepdims=True), 1)  # judge, bin
    base = smoothing + diagonal * np.eye(k)  # class, label
    spread: F8 = np.einsum("mb,kl->mklb", np.maximum(share, 1e-6), base)
    return spread.reshape(n_judges, k, k * bins)


def fit_symbols(
    task: I8, judge: I8, symbol: I8, weight: F8, start: F8, counts: F8, gold: I8 | None, max_iter: int, tol: float
) -> Symbols:
    """Run EM from start[task, class] with pseudo-counts[judge, class, symbol]; gold[task] is a class, or K if none."""
    n, k = start.shape
    m, size = len(counts), counts.shape[2]
    cell = judge * size + symbol
    posterior, trace, converged = start, [], False
    for _ in range(max_iter):
        table = _m_step(cell, weight, posterior[task], m, k, size, counts)
        prior = posterior.sum(axis=0) + SYMBOLS_LEAST
        prior /= prior.sum()
        logs = np.log(table).transpose(0, 2, 1).reshape(m * size, k)[cell] * weight[:, None]
        score = np.log(prior) + np.stack([np.bincount(task, weights=c, minlength=n) for c in logs.T], axis=1)
        posterior, total = normalise_rows(score)
        if gold is not None:
            is_gold = np.flatnonzero(gold < k)
            total[is_gold] = score[is_gold, gold[is_gold]]
            posterior[is_gold] = np.eye(k)[gold[is_gold]]
        trace.append(float(total.sum() + (counts * np.log(table)).sum() + SYMBOLS_LEAST * np.log(prior).sum()))
        if len(trace) > 1 and trace[-1] - trace[-2] < tol * max(abs(trace[-1]), 1.0):
            converged = True
            break
    return Symbols(posterior, table, prior, np.array(trace), converged)


def _m_step(cell: I8, weight: F8, belief: F8, m: int, k: int, size: int, counts: F8) -> F8:
    soft = belief * weight[:, None]
    expected = np.stack([np.bincount(cell, weights=column, minlength=m * size) for column in soft.T], axis=1)
    table = expected.reshape(m, size, k).transpose(0, 2, 1) + counts
    return np.asarray(table / table.sum(axis=2, keepdims=True))
