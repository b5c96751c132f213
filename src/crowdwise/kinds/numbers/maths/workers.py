"""Quality of workers who give numbers: copying, random and reversed answers, bias and correlation, agreement, scores.

Copying: the answer of an independent worker to a task is predicted from the estimate by the others, the worker's
spread, and how often the worker uses each value (people round to fives and tens, and prefer 0, 50 and 100). A value
that a third worker also gave is taken as likely for the task. The number of equal answers of a pair is then at most
binomial at the mean probability (Hoeffding 1956, doi:10.1214/aoms/1177728178).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.special import logsumexp

from ....core.arrays import F8, I4, I8, Mask
from ....stats.abilities import FEWEST, BehaviourPosterior, lognormal, posterior_of, zero_posterior
from ....stats.bootstrap import MAX_BLOCKS, bootstrap_interval, central, random_blocks
from ....stats.ragged import ranges
from .apply import without_own
from .rows import NumberFit, NumberRows, standardise

LEAST_COMMON = 5
PAIRS = 4_000_000  # maximum number of pairs of answers compared; tasks with the fewest answers come first
HABIT = 10.0  # weight of the crowd's value frequencies in a worker's, in answers


@dataclass(frozen=True, eq=False)
class Copying:
    """Pairs of workers with many equal answers.

    Args:
        first: First worker of each pair.
        second: Second worker of each pair.
        common: Number of common tasks.
        equal: Number of equal answers.
        expected: Expected number of equal answers of an independent pair.
        p: p-value, corrected for the number of pairs.
    """

    first: I8
    second: I8
    common: I8
    equal: I8
    expected: F8
    p: F8


def copying(rows: NumberRows, fit: NumberFit, alpha: float = 0.01) -> Copying:
    """Find the pairs with a false discovery rate below alpha, among all pairs with enough common tasks."""
    from scipy.stats import binom, false_discovery_control

    e, f = _pairs(rows)
    none = np.empty(0, dtype=np.int64)
    if not len(e):
        return Copying(none, none, none, none, np.empty(0), np.empty(0))
    key = rows.worker[e].astype(np.int64) * rows.n_workers + rows.worker[f]
    pair, at = np.unique(key, return_inverse=True)
    common = np.bincount(at)
    same = rows.value[e] == rows.value[f]
    equal = np.bincount(at, weights=same).astype(np.int64)
    # Probability that the second gives the answer of the first, and vice versa; the larger counts.
    chance = np.maximum(_chances(rows, fit, e, f), _chances(rows, fit, f, e))
    expected = np.bincount(at, weights=chance).astype(np.float64, copy=False)
    tested = common >= LEAST_COMMON
    pair, common, equal, expected = pair[tested], common[tested], equal[tested], expected[tested]
    if not len(pair):
        return Copying(none, none, none, none, np.empty(0), np.empty(0))
    p = np.atleast_1d(binom.sf(equal - 1, common, np.minimum(expected / common, 1.0)))
    # At least half of the answers must be equal: fewer can be a shared habit or source.
    p = np.asarray(false_discovery_control(np.clip(p, 0.0, 1.0), method="by"))
    significant = (p <= alpha) & (equal >= 0.5 * common)
    first, second = pair[significant] // rows.n_workers, pair[significant] % rows.n_workers
    return Copying(first, second, common[significant], equal[significant], expected[significant], p[significant])


def _pairs(rows: NumberRows) -> tuple[I8, I8]:
    """Pairs of rows of different workers on the same task, each once (lower worker first)."""
    count = np.diff(rows.offsets)
    order = np.argsort(count, kind="stable")
    cost = np.cumsum(count[order].astype(np.int64) ** 2)
    chosen = np.zeros(rows.n_tasks, dtype=bool)
    chosen[order[: int(np.searchsorted(cost, 2 * PAIRS, side="right"))]] = True
    chosen_rows = np.flatnonzero(chosen[rows.task])
    size = count[rows.task[chosen_rows]]
    e = np.repeat(chosen_rows, size)
    f = ranges(rows.offsets[rows.task[chosen_rows]], size)
    keep = rows.worker[e] < rows.worker[f]
    return e[keep], f[keep]


def _chances(rows: NumberRows, fit: NumberFit, source: I8, candidate: I8) -> F8:
    """Probability that the worker of row `candidate` gives the value of row `source`, given the other workers."""
    value, worker = rows.value[source], rows.worker[candidate]
    at, spread = _without_both(rows, fit, source, candidate)
    noise = np.maximum(fit.spread[worker], 0.02 * max(float(rows.value.std()), 1e-300))
    centre = float(fit.extra["centre"])
    mean = centre + fit.slope[worker] * (at - centre) + fit.bias[worker]
    # How often the worker uses the value, times how much more likely it is on this task than elsewhere.
    mean_answer, answer_spread = _answer_moments(rows)
    answer_spread = np.maximum(answer_spread, 1e-300)
    elsewhere = np.maximum(_normal(value, mean_answer[worker], answer_spread[worker]), 1e-12 / answer_spread[worker])
    lift = np.maximum(_normal(value, mean, np.sqrt(noise**2 + spread)) / elsewhere, 1.0)
    codes = np.unique(rows.value, return_inverse=True)[1].ravel().astype(np.int64)
    crowd = np.bincount(codes) / len(codes)
    n_values = len(crowd)
    own_count = _counts(
        rows.worker.astype(np.int64) * n_values + codes, worker.astype(np.int64) * n_values + codes[source]
    )
    habit = (own_count + HABIT * crowd[codes[source]]) / (rows.per_worker[worker] + HABIT)
    # Other workers who gave the same value on this task.
    task = rows.task.astype(np.int64) * n_values + codes
    third = _counts(task, task[source]) - 1.0 - (rows.value[candidate] == value)
    others = np.diff(rows.offsets)[rows.task[source]] - 2
    return np.asarray(np.minimum(np.maximum(habit * lift, third / (others + 1)), 1.0))


def _counts(keys: I8, queries: I8) -> F8:
    """Count the occurrences of each query among the keys."""
    distinct, count = np.unique(keys, return_counts=True)
    at = np.minimum(np.searchsorted(distinct, queries), len(distinct) - 1)
    return np.where(distinct[at] == queries, count[at], 0).astype(np.float64)


def _without_both(rows: NumberRows, fit: NumberFit, source: I8, candidate: I8) -> tuple[F8, F8]:
    """Mean and variance of a task without two of its rows: weighted, bias-corrected mean of the others."""
    w = fit.weight[rows.worker] if rows.weight is None else fit.weight[rows.worker] * rows.weight
    w = np.maximum(w, 0.0)
    pull = w * (rows.value - fit.bias[rows.worker])
    task = rows.task[source]
    total = np.bincount(rows.task, weights=w, minlength=rows.n_tasks)[task]
    others_weight = total - w[source] - w[candidate]
    has_others = others_weight > 1e-9 * total
    rest_pull = np.bincount(rows.task, weights=pull, minlength=rows.n_tasks)[task] - pull[source] - pull[candidate]
    mean = np.where(has_others, rest_pull / np.where(has_others, others_weight, 1.0), float(fit.extra["centre"]))
    noise = float((fit.spread[rows.worker] ** 2).mean())
    others = np.diff(rows.offsets)[task] - 2
    return mean, np.where(has_others, noise / np.maximum(others, 1), float(rows.value.var()))


def _normal(x: F8, mean: F8, sd: F8) -> F8:
    sd = np.maximum(sd, 1e-300)
    return np.asarray(np.exp(-0.5 * ((x - mean) / sd) ** 2) / sd)


def _answer_moments(rows: NumberRows) -> tuple[F8, F8]:
    """Mean and standard deviation of each worker's answers, shrunk to the crowd's by one pseudo-answer."""
    n = rows.per_worker
    middle, wide = float(rows.value.mean()), float(rows.value.var())
    mean = (rows.worker_sum(rows.value) + middle) / (n + 1)
    square = rows.worker_sum((rows.value - mean[rows.worker]) ** 2)
    return mean, np.sqrt((square + wide) / (n + 1))


# ----------------------------------------------------------------
# Detection of random and reversed answers. Each worker's answers are compared under two models:
#     honest   answer ~ N(level + slope · (estimate by the others), spread²)
#     idle     answer ~ N(level, spread²), whatever the task
#
# A reversed worker is honest with a negative slope. Levels do not matter. Slopes and spreads of honest workers are
# log-normal with medians and scales fitted to the crowd. This finds workers whose answers scatter no more than the
# crowd's but do not follow the tasks earlier than a correlation does.

# Grid of slopes, relative to the typical worker, and of spreads, as log ratio to the spread of the answers.
SLOPES = np.linspace(-2.0, 2.0, 41)
SPREADS = np.linspace(-2.5, 1.0, 15)
# Medians of the honest workers' slopes, their log scales with prior probabilities, and the same for spreads.
MIDDLES, APART, APART_PRIOR = (0.65, 0.8, 1.0, 1.2), (0.1, 0.2, 0.35, 0.6), (0.3, 0.3, 0.25, 0.15)
SPREAD_MIDDLES, SPREADS_APART = (-1.6, -1.2, -0.9, -0.6, -0.3, 0.0), (0.25, 0.5)
# Share of honest workers with atypical slopes, and their log scale.
STRAY, STRAY_APART = 0.02, 0.6
# Spreads of idle workers around that of all answers: mixture of (weight, log scale).
IDLE_APART = ((0.8, 0.35), (0.2, 0.8))
# Quantile of the slopes that is taken as the typical slope.
USUAL = 0.7
# Answers are clamped to this many spreads from the worker's median, so that a single slip has no large effect.
FAR = 3.0


def following(rows: NumberRows, others: F8, doubt: F8, tested: Mask) -> BehaviourPosterior:
    """Probabilities that workers answer at random or reversed.

    Args:
        rows: The answers.
        others: Estimate of each row's task by the other workers.
        doubt: Variance of that estimate.
        tested: Workers to test; the others get no probabilities.
    """
    out = zero_posterior(rows.n_workers)
    if tested.sum() < FEWEST or _usual_slope(*_sums(rows, others, tested)[1:]) <= 0:
        return out  # too few workers, or a crowd whose answers do not follow each other
    honest_loglik, idle_loglik = _evidence(rows, others, doubt, tested)
    top = np.maximum(honest_loglik.max(axis=(1, 2)), idle_loglik)
    likelihood, m = np.exp(honest_loglik - top[:, None, None]), len(idle_loglik)
    law, prior = _population()
    good, reversed_ = likelihood.reshape(m, -1) @ law, likelihood[:, ::-1].reshape(m, -1) @ law
    out.random[tested], out.reversed[tested] = posterior_of(np.exp(idle_loglik - top), reversed_, good, prior)
    return out


def _evidence(rows: NumberRows, others: F8, doubt: F8, tested: Mask) -> tuple[F8, F8]:
    """Log-likelihoods of the tested workers: [worker, slope, spread] if honest, [worker] if idle."""
    n = np.maximum(rows.per_worker, 1.0)
    xx, xy, yy = _sums(rows, others, tested)
    unit = _usual_slope(xy, yy)
    xy, yy = unit * xy, unit**2 * yy
    unknown = unit**2 * (rows.worker_sum(np.nan_to_num(doubt)) / n)[tested]
    free = (n - 1)[tested]
    log_spread = np.log(max(float(np.median(xx / free)), 1e-12)) / 2
    spread = np.exp(2 * (SPREADS + log_spread))
    # The uncertainty of the others' estimate adds to the variance in proportion to the squared slope.
    variance = spread + (SLOPES**2 * unknown[:, None])[:, :, None]
    square = xx[:, None] - 2 * SLOPES * xy[:, None] + SLOPES**2 * yy[:, None]
    honest = -0.5 * free[:, None, None] * np.log(variance) - square[:, :, None] / (2 * variance)
    idle = -0.5 * free[:, None] * np.log(spread) - xx[:, None] / (2 * spread)
    law = sum(share * _following_normal(0.0, log_scale) for share, log_scale in IDLE_APART)
    return np.asarray(honest), np.asarray(logsumexp(idle + np.log(law), axis=1))


def _sums(rows: NumberRows, others: F8, tested: Mask) -> tuple[F8, F8, F8]:
    """Centred second moments of the answers x and the others' estimates y by worker: xx, xy, yy."""
    n = np.maximum(rows.per_worker, 1.0)
    x, y = (column - (rows.worker_sum(column) / n)[rows.worker] for column in (_clipped_answers(rows), others))
    xx, xy, yy = (rows.worker_sum(products)[tested] for products in (x * x, x * y, y * y))
    return xx, xy, yy


def _usual_slope(xy: F8, yy: F8) -> float:
    """Typical slope: above the median, because some workers may be idle. It is small where no worker follows the
    others; the slopes then carry no information."""
    slope = xy[yy > 0] / yy[yy > 0]
    return max(float(np.quantile(slope, USUAL)), 0.0) if len(slope) else 0.0


def _clipped_answers(rows: NumberRows) -> F8:
    """The answers, clamped to FAR spreads from their worker's median."""
    middle = _median(rows, rows.value)
    gap = rows.value - middle[rows.worker]
    wide = 1.4826 * _median(rows, np.abs(gap))
    wide = np.maximum(wide, 0.3 * float(np.median(wide[rows.per_worker > 0])))
    limit = np.where(wide > 0, FAR * wide, np.inf)[rows.worker]
    return np.asarray(rows.value + np.clip(gap, -limit, limit) - gap)


def _median(rows: NumberRows, value: F8) -> F8:
    """Median of each worker's rows."""
    order = np.lexsort((value, rows.worker))
    n = np.bincount(rows.worker, minlength=rows.n_workers)
    start = np.cumsum(n) - n
    low, high = (np.minimum(start + at, len(value) - 1) for at in (np.maximum(n - 1, 0) // 2, n // 2))
    return np.asarray(np.where(n > 0, (value[order[low]] + value[order[high]]) / 2, 0.0))


def _population() -> tuple[F8, F8]:
    """Density [slope and spread, hypothesis] of the honest workers, and the log prior of the hypotheses."""
    laws, prior = [], []
    slopes = zip(APART, APART_PRIOR, strict=True)
    for (slope_scale, chance), slope_median, spread_median, spread_scale in product(
        slopes, MIDDLES, SPREAD_MIDDLES, SPREADS_APART
    ):
        typical = (1 - STRAY) * np.outer(
            lognormal(SLOPES, slope_median, slope_scale), _following_normal(spread_median, spread_scale)
        )
        stray = STRAY * np.outer(
            lognormal(SLOPES, slope_median, STRAY_APART), _following_normal(spread_median, 2 * spread_scale)
        )
        laws.append((typical + stray).ravel())
        prior.append(np.log(chance))
    return np.array(laws).T, np.array(prior)


def _following_normal(median: float, log_scale: float) -> F8:
    density = np.exp(-0.5 * ((SPREADS - median) / log_scale) ** 2)
    return np.asarray(density / density.sum())


# ----------------------------------------------------------------
# Quality of each worker: bias, spread, slope, correlation, and flags with p-values. Each worker is compared with
# estimates of the tasks that leave out the worker's own answers.

LEAST = 8  # minimum number of answers for a flag
ALPHA = 0.01


@dataclass(frozen=True, eq=False)
class Quality:
    """Quality of the workers. Intervals are 95 %, [worker, 2]; NaN where there are too few answers.

    Args:
        n: Number of answers.
        bias: Mean of answer minus the others' estimate.
        bias_interval: Its interval.
        spread: Noise standard deviation.
        spread_interval: Its interval.
        slope: Slope.
        slope_interval: Its interval.
        correlation: Correlation of the answers with the others' estimates.
        correlation_interval: Its interval.
        distinct: Number of distinct values per answer.
        p_constant: p-value of constant answers, corrected for the number of workers; NaN where not tested.
        constant: Workers with constant answers.
        chances: Probabilities of random and of reversed answers.
        copying: Pairs of workers with many equal answers.
    """

    n: F8
    bias: F8
    bias_interval: F8
    spread: F8
    spread_interval: F8
    slope: F8
    slope_interval: F8
    correlation: F8
    correlation_interval: F8
    distinct: F8
    p_constant: F8
    constant: Mask
    chances: BehaviourPosterior
    copying: Copying


def quality(rows: NumberRows, fit: NumberFit, *, alpha: float = ALPHA) -> Quality:
    """Quality of each worker, from rows and a fit of these rows."""
    rows = rows.present()
    others, doubt = without_own(fit, rows)
    single = _answered_by_one(rows)
    shared = rows.take(~single)
    others, doubt = others[~single], doubt[~single]
    n = rows.per_worker
    bias, bias_interval = _bias(shared, others)
    r, r_interval, size = _correlation(shared, others)
    tested = size >= LEAST
    p_constant = _corrected(_constant(shared), tested)
    constant = p_constant <= alpha
    return Quality(
        n, bias, bias_interval, fit.spread, _spread_interval(rows, fit), fit.slope,
        _slope_interval(shared, fit, others, doubt), r, r_interval, _distinct(rows),
        p_constant, constant, following(shared, others, doubt, tested & ~constant & np.isfinite(r)),
        copying(shared, fit, alpha),
    )  # fmt: skip


def _answered_by_one(rows: NumberRows) -> Mask:
    """Mask of rows whose task was answered by one worker only."""
    low, high = np.full(rows.n_tasks, rows.n_workers), np.full(rows.n_tasks, -1)
    np.minimum.at(low, rows.task, rows.worker)
    np.maximum.at(high, rows.task, rows.worker)
    return np.asarray((low == high)[rows.task])


def _bias(rows: NumberRows, others: F8) -> tuple[F8, F8]:
    from scipy.special import stdtrit

    n, gap = rows.per_worker, rows.value - others
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = rows.worker_sum(gap) / n
        square = rows.worker_sum((gap - mean[rows.worker]) ** 2)
        half = stdtrit(np.where(n > 1, n - 1, np.nan), 0.975) * np.sqrt(square / (n - 1) / n)
    return mean, np.stack([mean - half, mean + half], axis=1)


def _spread_interval(rows: NumberRows, fit: NumberFit) -> F8:
    """Interval from a Gamma posterior of the precision, with degrees of freedom corrected for the estimated tasks."""
    from scipy.special import gammaincinv

    base = fit.extra["members"]["gaussian_slope"] if fit.method == "combined" else fit
    prior = float(base.extra.get("strength_of_spread", 0.0))
    weight = base.weight[rows.worker]
    total = rows.task_sum(weight)[rows.task]
    free = rows.worker_sum(1 - np.clip(weight / np.maximum(total, 1e-300), 0.0, 1.0))
    shape = prior + np.maximum(free - 1, 0.0) / 2
    shape = np.where(shape > 0, shape, np.nan)
    ends = [fit.spread * np.sqrt(shape / gammaincinv(shape, p)) for p in (0.975, 0.025)]
    return np.stack(ends, axis=1)


def _slope_interval(rows: NumberRows, fit: NumberFit, others: F8, doubt: F8) -> F8:
    """Interval around the fitted slope, from a regression on the others' estimates with the crowd's slopes as prior.

    The residual variance is the worker's plus that of the others' estimate. NaN where the method fixes slopes to one.
    """
    from scipy.special import ndtri

    base = fit.extra["members"]["gaussian_slope"] if fit.method == "combined" else fit
    active = rows.per_worker > 0
    if bool((fit.slope[active] == 1).all()):
        return np.full((rows.n_workers, 2), np.nan)
    n = np.maximum(rows.per_worker, 1e-300)
    y = others - (rows.worker_sum(others) / n)[rows.worker]
    unknown = rows.worker_sum(np.nan_to_num(doubt)) / n
    information = rows.worker_sum(y**2) / np.maximum(fit.spread**2 + fit.slope**2 * unknown, 1e-300)
    informed = active & (information > 0)
    if informed.any():
        # The variance of the slopes is itself uncertain: use at least two standard errors of it.
        least = 2 * np.sqrt(2 / informed.sum()) * float(np.median(1 / information[informed]))
        information = information + 1 / max(float(base.extra.get("slope_variance", np.inf)), least)
    half = float(ndtri(0.975)) / np.sqrt(np.where(active & (information > 0), information, np.nan))
    return np.stack([fit.slope - half, fit.slope + half], axis=1)


def _correlation(rows: NumberRows, others: F8) -> tuple[F8, F8, F8]:
    """Pearson's r between answers and the others' estimates, its Fisher interval, and the number of answers."""
    n, m = rows.per_worker, rows.worker
    with np.errstate(divide="ignore", invalid="ignore"):
        x = rows.value - (rows.worker_sum(rows.value) / n)[m]
        y = others - (rows.worker_sum(others) / n)[m]
        xx, yy, xy = (rows.worker_sum(column) for column in (x**2, y**2, x * y))
        tiny = 1e-20 * max(float(rows.value.var()) if len(rows) else 0.0, 1e-300) * np.maximum(n, 1.0)
        r = np.where((xx > tiny) & (yy > tiny), np.clip(xy / np.sqrt(xx * yy), -1.0, 1.0), np.nan)
        half = 1.96 / np.sqrt(np.where(n > 3, n - 3, np.nan))
        z = np.arctanh(np.clip(r, -1 + 1e-12, 1 - 1e-12))
    return r, np.stack([np.tanh(z - half), np.tanh(z + half)], axis=1), n


def _constant(rows: NumberRows) -> F8:
    """p-value of giving one value so often if the worker gave it as often as the others do on the same tasks.

    Values within a tenth of the standard deviation of the answers count as equal. Tested only where nine of ten
    answers have the value.
    """
    from scipy.stats import binom

    out = np.full(rows.n_workers, np.nan)
    if not len(rows):
        return out
    order = np.lexsort((rows.value, rows.worker))
    ends = np.searchsorted(rows.worker[order], np.arange(rows.n_workers + 1))
    reach = 0.1 * float(rows.value.std())
    count = np.diff(rows.offsets)
    overall = np.sort(rows.value)
    for m in range(rows.n_workers):
        worker_rows = order[ends[m] : ends[m + 1]]
        if len(worker_rows) < 2:
            continue
        value = rows.value[worker_rows]
        middle = float(value[len(value) // 2])
        same = int((np.abs(value - middle) <= reach).sum())
        out[m] = 1.0
        if same < 0.9 * len(value):
            continue
        tasks = rows.task[worker_rows]
        matching = _matching_answers(rows, tasks, middle, reach) - (np.abs(rows.value[worker_rows] - middle) <= reach)
        total = count[tasks] - 1
        edges = np.searchsorted(overall, [middle - reach, middle + reach], side="left")
        base = float(edges[1] - edges[0] + 1) / (len(overall) + 1)
        share = float(((matching + base) / (total + 1)).mean())
        out[m] = float(binom.sf(same - 1, len(value), min(share, 1.0)))
    return out


def _matching_answers(rows: NumberRows, tasks: I4, middle: float, reach: float) -> F8:
    """Number of answers near a value in each of some tasks."""
    out = [int((np.abs(rows.value[rows.offsets[t] : rows.offsets[t + 1]] - middle) <= reach).sum()) for t in tasks]
    return np.array(out, dtype=np.float64)


def _distinct(rows: NumberRows) -> F8:
    """Distinct values per answer."""
    pairs = np.unique(np.stack([rows.worker.astype(np.float64), rows.value], axis=1), axis=0)
    different = np.bincount(pairs[:, 0].astype(np.int64), minlength=rows.n_workers)
    answers = np.bincount(rows.worker, minlength=rows.n_workers)
    return np.where(answers > 0, different / np.maximum(answers, 1), np.nan)


def _corrected(p: F8, tested: Mask) -> F8:
    """Benjamini-Hochberg adjusted p-values; NaN where not tested."""
    from scipy.stats import false_discovery_control

    out = np.full(len(p), np.nan)
    use = tested & np.isfinite(p)
    if use.any():
        out[use] = false_discovery_control(np.clip(p[use], 0.0, 1.0), method="bh")
    return out


# ----------------------------------------------------------------
# Agreement: intraclass correlations and Krippendorff's alpha for numbers, on incomplete tables.

DRAWS = 200


@dataclass(frozen=True)
class AgreementCoefficients:
    """Coefficients of agreement (value, low, high) with 95 % intervals by resampling tasks; NaN where undefined.

    Args:
        icc1: Share of the variance between tasks, with workers as noise (Shrout & Fleiss 1979,
            doi:10.1037/0033-2909.86.2.420).
        icc2: The same with the variance between workers as a separate component.
        alpha: Krippendorff's alpha with squared differences.
        components: Variance components of task, worker and residual.
    """

    icc1: tuple[float, float, float]
    icc2: tuple[float, float, float]
    alpha: tuple[float, float, float]
    components: tuple[float, float, float]


def reliability(rows: NumberRows, *, draws: int = DRAWS, seed: int = 0) -> AgreementCoefficients:
    """Agreement over all rows. Tasks are resampled with replacement for the intervals."""
    rows, _, scale = standardise(rows.present(), None)
    rng = np.random.default_rng(seed)
    answered = np.flatnonzero(rows.per_task > 0)
    values = _statistics(rows, np.ones(rows.n_tasks))
    drawn = []
    for _ in range(draws if len(answered) >= 3 else 0):
        picked = rng.choice(answered, len(answered))
        drawn.append(_statistics(rows, np.bincount(picked, minlength=rows.n_tasks).astype(np.float64))[:3])
    ends = _ends(np.array(drawn), len(answered))
    icc1, icc2, alpha = ((float(values[k]), *ends[k]) for k in range(3))
    parts = np.maximum(values[3:], 0.0) * scale.unit**2
    return AgreementCoefficients(icc1, icc2, alpha, (float(parts[0]), float(parts[1]), float(parts[2])))


def _ends(drawn: F8, n: int) -> list[tuple[float, float]]:
    out = []
    for k in range(3):
        good = drawn[np.isfinite(drawn[:, k]), k] if len(drawn) else drawn
        if len(good) < 0.9 * max(len(drawn), 1) or not len(good):
            out.append((np.nan, np.nan))
        else:
            out.append(central(good, n, 0.95))
    return out


def _statistics(rows: NumberRows, times: F8) -> F8:
    """icc1, icc2, alpha and the three components, with each task counted `times` times."""
    n, s, q = rows.per_task, rows.task_sum(rows.value), rows.task_sum(rows.value**2)
    safe = np.maximum(n, 1e-300)
    within = np.where(n > 0, q - s**2 / safe, 0.0)
    total, count, tasks = float(times @ n), float(times @ q), float(times[n > 0].sum())
    level = float(times @ s)
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = float(times @ within) / np.float64(total - tasks)
        between = (float(times @ np.where(n > 0, s**2 / safe, 0.0)) - level**2 / total) / np.float64(tasks - 1)
        size = (total - float(times @ n**2) / total) / np.float64(tasks - 1)
        icc1 = (between - inside) / (between + (size - 1) * inside)
        task, worker, residual = _components(rows, times, n, s, q, inside)
        total_variance = max(task, 0.0) + max(worker, 0.0) + max(residual, 0.0)
        icc2 = max(task, 0.0) / np.float64(total_variance)
        many = n > 1
        pairs = float(times[many] @ (n * within / np.where(many, n - 1, 1.0))[many])
        answers, level, count = (float(times[many] @ column[many]) for column in (n, s, q))
        alpha = 1 - (answers - 1) * pairs / np.float64(answers * count - level**2)
    return np.array([icc1, icc2, alpha, task, worker, residual], dtype=np.float64)


def _components(rows: NumberRows, times: F8, n: F8, s: F8, q: F8, inside: float) -> tuple[float, float, float]:
    """Variances of task, worker and residual, from half the mean squared difference of pairs of answers.

    Pairs on one task differ by worker + residual, pairs of one worker by task + residual, other pairs by all three.
    """
    w = times[rows.task]
    by_worker = [rows.worker_sum(column) for column in (w, w * rows.value, w * rows.value**2)]
    same_row = float(rows.worker_sum(w * w if rows.weight is None else w * w * rows.weight).sum())
    square = float((by_worker[0] * by_worker[2] - by_worker[1] ** 2).sum())
    same_worker = square / np.float64((by_worker[0] ** 2).sum() - same_row)
    one_task = float(times**2 @ (n * q - s**2)), float(times**2 @ n**2)
    total, level, count = float(times @ n), float(times @ s), float(times @ q)
    size = total**2 - one_task[1] - float((by_worker[0] ** 2).sum()) + same_row
    squared_gap = (total * count - level**2 - one_task[0] - square) / np.float64(size)
    return float(squared_gap - inside), float(squared_gap - same_worker), float(inside + same_worker - squared_gap)


# ----------------------------------------------------------------
# Scores of estimates against the truth: error, correlation and coverage, with intervals by resampling tasks.


@dataclass(frozen=True)
class Score:
    """A score with its interval; NaN ends where there are too few tasks."""

    value: float
    low: float
    high: float


def scores(
    estimate: F8, truth: F8, low: F8 | None = None, high: F8 | None = None, *, level: float = 0.95, seed: int = 0
) -> dict[str, Score]:
    """rmse, mae, bias, pearson, spearman, r2 and, given intervals, coverage and width, over tasks with a known truth.

    `spearman` is Pearson's coefficient of the ranks; its interval treats the ranks as fixed.
    """
    use = np.flatnonzero(~np.isnan(truth) & ~np.isnan(estimate))
    if not len(use):
        raise ValueError("no task has both an estimate and a truth: nothing to score")
    x, y = estimate[use], truth[use]
    unit = float(np.abs(y - y.mean()).max()) or 1.0
    columns = _columns((x - y.mean()) / unit, (y - y.mean()) / unit)
    names = ["rmse", "mae", "bias", "pearson", "spearman", "r2"]
    if low is not None and high is not None:
        columns += [((low[use] <= y) & (y <= high[use])).astype(np.float64), (high[use] - low[use]) / unit]
        names += ["coverage", "width"]
    terms = np.stack(columns, axis=1)
    rng = np.random.default_rng(seed)
    n_blocks = min(len(use), MAX_BLOCKS)
    block = random_blocks(len(use), n_blocks, rng)
    sums = np.zeros((n_blocks, terms.shape[1]))
    np.add.at(sums, block, terms)
    out = {}
    for k, name in enumerate(names):
        value = float(_figures(terms.sum(axis=0)[None])[k][0])
        interval = bootstrap_interval(sums, lambda s, k=k: _figures(s)[k], level, rng)  # type: ignore[misc]
        bounds = (np.nan, np.nan) if interval is None else interval
        size = unit if name in ("rmse", "mae", "bias", "width") else 1.0
        out[name] = Score(size * value, size * bounds[0], size * bounds[1])
    return out


def _columns(x: F8, y: F8) -> list[F8]:
    from scipy.stats import rankdata

    a, b = rankdata(x) / len(x) - 0.5, rankdata(y) / len(y) - 0.5
    gap = x - y
    return [np.ones(len(x)), gap, np.abs(gap), gap**2, x, y, x**2, y**2, x * y, a, b, a**2, b**2, a * b]


def _figures(sums: F8) -> list[F8]:
    """rmse, mae, bias, pearson, spearman, r2 and the means of any further terms, from sums[draw, term]."""
    s = sums.T
    n = s[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = s[7] / n - (s[5] / n) ** 2
        r2 = np.where(spread > 1e-15, 1 - (s[3] / n) / spread, np.nan)
        extra = [column / n for column in s[14:]]
        figures = [
            np.sqrt(s[3] / n),
            s[2] / n,
            s[1] / n,
            _scores_correlation(n, *s[4:9]),
            _scores_correlation(n, *s[9:14]),
            r2,
        ]
        return [*figures, *extra]


def _scores_correlation(n: F8, x: F8, y: F8, xx: F8, yy: F8, xy: F8) -> F8:
    a, b = xx / n - (x / n) ** 2, yy / n - (y / n) ** 2
    return np.where((a > 1e-15) & (b > 1e-15), (xy / n - x * y / n**2) / np.sqrt(a * b), np.nan)
