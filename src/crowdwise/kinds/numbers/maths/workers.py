"""Two workers whose answers are the same far more often than their tasks and habits allow.

What an independent worker would say of a task is predicted from the *others'* estimate of it, the worker's own spread,
and how often they use each value (people round to fives and tens, and love 0, 50 and 100); where a third worker said
that very value, the value is the task's own and counts as likely. The number of equal answers of a pair is then at most
binomial at the mean chance (Hoeffding 1956, doi:10.1214/aoms/1177728178).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.special import logsumexp

from ....stats.abilities import FEWEST, Chances, chances_of, nobody
from ....stats.bootstrap import MAX_BLOCKS, bootstrap_interval, central, random_blocks
from .apply import without_own
from .rows import F8, I4, I8, Fit, Mask, Rows, standardise

LEAST_COMMON = 5
PAIRS = 4_000_000  # pairs of answers looked at; tasks with the fewest answers come first
HABIT = 10.0  # answers that the crowd's use of values counts for in a worker's own


@dataclass(frozen=True, eq=False)
class Copying:
    """Pairs of workers: common tasks, equal answers, how many an independent pair would have, and a p-value, corrected
    for the number of pairs."""

    first: I8
    second: I8
    common: I8
    equal: I8
    expected: F8
    p: F8


def copying(rows: Rows, fit: Fit, alpha: float = 0.01) -> Copying:
    """Pairs that hold with false discoveries below alpha, over all pairs with common tasks enough."""
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
    # Chance that the second says what the first said, and the other way round; the likelier of the two counts.
    chance = np.maximum(_chances(rows, fit, e, f), _chances(rows, fit, f, e))
    expected = np.bincount(at, weights=chance).astype(np.float64, copy=False)
    tested = common >= LEAST_COMMON
    pair, common, equal, expected = pair[tested], common[tested], equal[tested], expected[tested]
    if not len(pair):
        return Copying(none, none, none, none, np.empty(0), np.empty(0))
    p = np.atleast_1d(binom.sf(equal - 1, common, np.minimum(expected / common, 1.0)))
    # Half of the answers at least: less is a shared habit or source that no p-value tells from copying.
    p = np.asarray(false_discovery_control(np.clip(p, 0.0, 1.0), method="by"))
    held = (p <= alpha) & (equal >= 0.5 * common)
    first, second = pair[held] // rows.n_workers, pair[held] % rows.n_workers
    return Copying(first, second, common[held], equal[held], expected[held], p[held])


def _pairs(rows: Rows) -> tuple[I8, I8]:
    """Rows of different workers about the same task, each pair once (lower worker first)."""
    count = np.diff(rows.offsets)
    order = np.argsort(count, kind="stable")
    cost = np.cumsum(count[order].astype(np.int64) ** 2)
    chosen = np.zeros(rows.n_tasks, dtype=bool)
    chosen[order[: int(np.searchsorted(cost, 2 * PAIRS, side="right"))]] = True
    mine = np.flatnonzero(chosen[rows.task])
    size = count[rows.task[mine]]
    e = np.repeat(mine, size)
    begin = np.repeat(rows.offsets[rows.task[mine]], size)
    f = begin + np.arange(len(e)) - np.repeat(np.cumsum(size) - size, size)
    keep = rows.worker[e] < rows.worker[f]
    return e[keep], f[keep]


def _chances(rows: Rows, fit: Fit, said: I8, by: I8) -> F8:
    """Chance that the worker of row `by` says the value of row `said`, told by everybody but these two."""
    value, worker = rows.value[said], rows.worker[by]
    at, spread = _without_both(rows, fit, said, by)
    noise = np.maximum(fit.spread[worker], 0.02 * max(float(rows.value.std()), 1e-300))
    centre = float(fit.extra["centre"])
    mean = centre + fit.slope[worker] * (at - centre) + fit.bias[worker]
    # A value's chance here: how often the worker uses it, times how much likelier it is here than elsewhere.
    usual, wide = _overall(rows)
    wide = np.maximum(wide, 1e-300)
    elsewhere = np.maximum(_normal(value, usual[worker], wide[worker]), 1e-12 / wide[worker])
    lift = np.maximum(_normal(value, mean, np.sqrt(noise**2 + spread)) / elsewhere, 1.0)
    codes = np.unique(rows.value, return_inverse=True)[1].ravel().astype(np.int64)
    crowd = np.bincount(codes) / len(codes)
    n_values = len(crowd)
    own = _counts(rows.worker.astype(np.int64) * n_values + codes, worker.astype(np.int64) * n_values + codes[said])
    habit = (own + HABIT * crowd[codes[said]]) / (rows.per_worker[worker] + HABIT)
    # Third workers of this task who said the same.
    task = rows.task.astype(np.int64) * n_values + codes
    third = _counts(task, task[said]) - 1.0 - (rows.value[by] == value)
    others = np.diff(rows.offsets)[rows.task[said]] - 2
    return np.asarray(np.minimum(np.maximum(habit * lift, third / (others + 1)), 1.0))


def _counts(keys: I8, wanted: I8) -> F8:
    """How often each wanted key occurs."""
    known, count = np.unique(keys, return_counts=True)
    at = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return np.where(known[at] == wanted, count[at], 0).astype(np.float64)


def _without_both(rows: Rows, fit: Fit, said: I8, by: I8) -> tuple[F8, F8]:
    """Mean and variance of a task without two of its rows: weighted mean of the rest, freed of biases."""
    w = fit.weight[rows.worker] if rows.weight is None else fit.weight[rows.worker] * rows.weight
    w = np.maximum(w, 0.0)
    pull = w * (rows.value - fit.bias[rows.worker])
    task = rows.task[said]
    total = np.bincount(rows.task, weights=w, minlength=rows.n_tasks)[task]
    left = total - w[said] - w[by]
    some = left > 1e-9 * total
    rest = np.bincount(rows.task, weights=pull, minlength=rows.n_tasks)[task] - pull[said] - pull[by]
    mean = np.where(some, rest / np.where(some, left, 1.0), float(fit.extra["centre"]))
    noise = float((fit.spread[rows.worker] ** 2).mean())
    others = np.diff(rows.offsets)[task] - 2
    return mean, np.where(some, noise / np.maximum(others, 1), float(rows.value.var()))


def _normal(x: F8, mean: F8, sd: F8) -> F8:
    sd = np.maximum(sd, 1e-300)
    return np.asarray(np.exp(-0.5 * ((x - mean) / sd) ** 2) / sd)


def _overall(rows: Rows) -> tuple[F8, F8]:
    """Mean and standard deviation of each worker's answers, a little of the crowd's mixed in."""
    n = rows.per_worker
    middle, wide = float(rows.value.mean()), float(rows.value.var())
    mean = (rows.worker_sum(rows.value) + middle) / (n + 1)
    square = rows.worker_sum((rows.value - mean[rows.worker]) ** 2)
    return mean, np.sqrt((square + wide) / (n + 1))


# ----------------------------------------------------------------
# Who gives numbers without looking, or upside down? Each worker's answers are weighed under two laws:
#     honest   answer ~ N(level + slope · (what the others make of the task), spread²)
#     idle     answer ~ N(level, spread²), whatever the task
#
# An upside-down worker is honest with a slope below 0. Nothing is held against a level. Slopes and spreads of honest
# workers are log-normal; their middles and how far they lie apart are learnt from the crowd, so that somebody whose
# answers scatter no more than the crowd's, and yet do not follow, is found sooner than by a correlation alone.

# Slopes, in units of the usual worker's; spreads, as the logarithm of their ratio to that of the answers themselves.
SLOPES = np.linspace(-2.0, 2.0, 41)
SPREADS = np.linspace(-2.5, 1.0, 15)
# Middles of the honest workers' slopes, how far they lie apart and how likely that is; the same of spreads.
MIDDLES, APART, APART_PRIOR = (0.65, 0.8, 1.0, 1.2), (0.1, 0.2, 0.35, 0.6), (0.3, 0.3, 0.25, 0.15)
SPREAD_MIDDLES, SPREADS_APART = (-1.6, -1.2, -0.9, -0.6, -0.3, 0.0), (0.25, 0.5)
# Some honest workers have slopes far from the others': this share, so far apart.
STRAY, STRAY_APART = 0.02, 0.6
# How far the spreads of idle workers lie from that of all answers: most of them, and the rest.
IDLE_APART = ((0.8, 0.35), (0.2, 0.8))
# Where the usual worker stands among all, by slope.
USUAL = 0.7
# Answers further from a worker's median than so many of their spreads are taken for so far: one slip is no law.
FAR = 3.0


def following(rows: Rows, others: F8, doubt: F8, tested: Mask) -> Chances:
    """From the others' estimate of each row's task and its variance; those who are not `tested` have no chances."""
    out = nobody(rows.n_workers)
    if tested.sum() < FEWEST or _usual_slope(*_sums(rows, others, tested)[1:]) <= 0:
        return out  # too few, or a crowd that goes with nobody
    honest, idle = _evidence(rows, others, doubt, tested)
    top = np.maximum(honest.max(axis=(1, 2)), idle)
    each, m = np.exp(honest - top[:, None, None]), len(idle)
    law, prior = _population()
    good, turned = each.reshape(m, -1) @ law, each[:, ::-1].reshape(m, -1) @ law
    out.random[tested], out.reversed[tested] = chances_of(np.exp(idle - top), turned, good, prior)
    return out


def _evidence(rows: Rows, others: F8, doubt: F8, tested: Mask) -> tuple[F8, F8]:
    """Log-likelihoods [worker, slope, spread] of the honest law, and [worker] of the idle one, of those tested."""
    n = np.maximum(rows.per_worker, 1.0)
    xx, xy, yy = _sums(rows, others, tested)
    unit = _usual_slope(xy, yy)
    xy, yy = unit * xy, unit**2 * yy
    unknown = unit**2 * (rows.worker_sum(np.nan_to_num(doubt)) / n)[tested]
    free = (n - 1)[tested]
    usual = np.log(max(float(np.median(xx / free)), 1e-12)) / 2
    spread = np.exp(2 * (SPREADS + usual))
    # The others' doubt about a task is seen in the answers as far as these follow it.
    whole = spread + (SLOPES**2 * unknown[:, None])[:, :, None]
    left = xx[:, None] - 2 * SLOPES * xy[:, None] + SLOPES**2 * yy[:, None]
    honest = -0.5 * free[:, None, None] * np.log(whole) - left[:, :, None] / (2 * whole)
    idle = -0.5 * free[:, None] * np.log(spread) - xx[:, None] / (2 * spread)
    law = sum(share * _following_normal(0.0, apart) for share, apart in IDLE_APART)
    return np.asarray(honest), np.asarray(logsumexp(idle + np.log(law), axis=1))


def _sums(rows: Rows, others: F8, tested: Mask) -> tuple[F8, F8, F8]:
    """Squares and products of answers and the others' estimates around each worker's means: xx, xy, yy."""
    n = np.maximum(rows.per_worker, 1.0)
    x, y = (each - (rows.worker_sum(each) / n)[rows.worker] for each in (_tame(rows), others))
    xx, xy, yy = (rows.worker_sum(each)[tested] for each in (x * x, x * y, y * y))
    return xx, xy, yy


def _usual_slope(xy: F8, yy: F8) -> float:
    """A little above the middle, as some of the crowd may not look. Where nobody follows it is small, and then every
    slope is as likely as another."""
    slope = xy[yy > 0] / yy[yy > 0]
    return max(float(np.quantile(slope, USUAL)), 0.0) if len(slope) else 0.0


def _tame(rows: Rows) -> F8:
    """The answers, those that are far from their worker's median brought nearer."""
    middle = _median(rows, rows.value)
    gap = rows.value - middle[rows.worker]
    wide = 1.4826 * _median(rows, np.abs(gap))
    wide = np.maximum(wide, 0.3 * float(np.median(wide[rows.per_worker > 0])))
    limit = np.where(wide > 0, FAR * wide, np.inf)[rows.worker]
    return np.asarray(rows.value + np.clip(gap, -limit, limit) - gap)


def _median(rows: Rows, value: F8) -> F8:
    """Of each worker's rows."""
    order = np.lexsort((value, rows.worker))
    n = np.bincount(rows.worker, minlength=rows.n_workers)
    start = np.cumsum(n) - n
    low, high = (np.minimum(start + at, len(value) - 1) for at in (np.maximum(n - 1, 0) // 2, n // 2))
    return np.asarray(np.where(n > 0, (value[order[low]] + value[order[high]]) / 2, 0.0))


def _population() -> tuple[F8, F8]:
    """law[slope and spread, hypothesis] and the log prior of the hypotheses."""
    found, prior = [], []
    slopes = zip(APART, APART_PRIOR, strict=True)
    for (apart, chance), middle, at, wide in product(slopes, MIDDLES, SPREAD_MIDDLES, SPREADS_APART):
        usual = (1 - STRAY) * np.outer(_lognormal(middle, apart), _following_normal(at, wide))
        far = STRAY * np.outer(_lognormal(middle, STRAY_APART), _following_normal(at, 2 * wide))
        found.append((usual + far).ravel())
        prior.append(np.log(chance))
    return np.array(found).T, np.array(prior)


def _following_normal(middle: float, apart: float) -> F8:
    density = np.exp(-0.5 * ((SPREADS - middle) / apart) ** 2)
    return np.asarray(density / density.sum())


def _lognormal(middle: float, apart: float) -> F8:
    positive = np.maximum(SLOPES, 1e-9)
    density = np.exp(-0.5 * ((np.log(positive) - np.log(middle)) / apart) ** 2) / positive
    density = np.where(SLOPES > 1e-9, density, 0.0)
    return np.asarray(density / density.sum())


# ----------------------------------------------------------------
# A picture of each worker beside the others: bias, spread, slope, correlation, and flags with p-values.
# A worker is held against the estimates of their tasks without their own answers, so that nobody confirms themselves.

LEAST = 8  # answers below which no flag is raised
ALPHA = 0.01


@dataclass(frozen=True, eq=False)
class Quality:
    """Arrays by worker; intervals are 95 %, [worker, 2]; NaN where there is too little to say.

    `bias` is the mean of answer minus the others' estimate, `correlation` that of the two. `p_constant` is corrected
    for the number of workers, NaN where nothing was tested; `chances` are those of not looking and of turning the
    scale round. `copying` lists pairs.
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
    chances: Chances
    copying: Copying


def quality(rows: Rows, fit: Fit, *, alpha: float = ALPHA) -> Quality:
    """Of every worker, from rows and a fit of them."""
    rows = rows.present()
    others, doubt = without_own(fit, rows)
    alone = _alone(rows)
    several = rows.take(~alone)
    others, doubt = others[~alone], doubt[~alone]
    n = rows.per_worker
    bias, bias_interval = _bias(several, others)
    r, r_interval, size = _correlation(several, others)
    tested = size >= LEAST
    p_constant = _corrected(_constant(several), tested)
    constant = p_constant <= alpha
    return Quality(
        n, bias, bias_interval, fit.spread, _spread_interval(rows, fit), fit.slope,
        _slope_interval(several, fit, others, doubt), r, r_interval, _distinct(rows),
        p_constant, constant, following(several, others, doubt, tested & ~constant & np.isfinite(r)),
        copying(several, fit, alpha),
    )  # fmt: skip


def _alone(rows: Rows) -> Mask:
    """Rows of tasks that only one worker answered."""
    low, high = np.full(rows.n_tasks, rows.n_workers), np.full(rows.n_tasks, -1)
    np.minimum.at(low, rows.task, rows.worker)
    np.maximum.at(high, rows.task, rows.worker)
    return np.asarray((low == high)[rows.task])


def _bias(rows: Rows, others: F8) -> tuple[F8, F8]:
    from scipy.special import stdtrit

    n, gap = rows.per_worker, rows.value - others
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = rows.worker_sum(gap) / n
        square = rows.worker_sum((gap - mean[rows.worker]) ** 2)
        half = stdtrit(np.where(n > 1, n - 1, np.nan), 0.975) * np.sqrt(square / (n - 1) / n)
    return mean, np.stack([mean - half, mean + half], axis=1)


def _spread_interval(rows: Rows, fit: Fit) -> F8:
    """From a Gamma posterior of the precision; an answer tells as much as the others know of its task."""
    from scipy.special import gammaincinv

    base = fit.extra["members"]["gaussian_slope"] if fit.method == "combined" else fit
    prior = float(base.extra.get("strength_of_spread", 0.0))
    own = base.weight[rows.worker]
    total = rows.task_sum(own)[rows.task]
    free = rows.worker_sum(1 - np.clip(own / np.maximum(total, 1e-300), 0.0, 1.0))
    shape = prior + np.maximum(free - 1, 0.0) / 2
    shape = np.where(shape > 0, shape, np.nan)
    ends = [fit.spread * np.sqrt(shape / gammaincinv(shape, p)) for p in (0.975, 0.025)]
    return np.stack(ends, axis=1)


def _slope_interval(rows: Rows, fit: Fit, others: F8, doubt: F8) -> F8:
    """Around the fit's slope, as wide as a regression on the others' estimates is unsure, the crowd's slopes counted.

    An answer is off by the worker's own spread and by what the others do not know of its task. NaN where the method
    takes everybody's slope for one.
    """
    from scipy.special import ndtri

    base = fit.extra["members"]["gaussian_slope"] if fit.method == "combined" else fit
    heard = rows.per_worker > 0
    if bool((fit.slope[heard] == 1).all()):
        return np.full((rows.n_workers, 2), np.nan)
    n = np.maximum(rows.per_worker, 1e-300)
    y = others - (rows.worker_sum(others) / n)[rows.worker]
    unknown = rows.worker_sum(np.nan_to_num(doubt)) / n
    told = rows.worker_sum(y**2) / np.maximum(fit.spread**2 + fit.slope**2 * unknown, 1e-300)
    some = heard & (told > 0)
    if some.any():
        # How far slopes lie apart is itself unsure: two standard errors of a variance over so many workers.
        least = 2 * np.sqrt(2 / some.sum()) * float(np.median(1 / told[some]))
        told = told + 1 / max(float(base.extra.get("slope_variance", np.inf)), least)
    half = float(ndtri(0.975)) / np.sqrt(np.where(heard & (told > 0), told, np.nan))
    return np.stack([fit.slope - half, fit.slope + half], axis=1)


def _correlation(rows: Rows, others: F8) -> tuple[F8, F8, F8]:
    """Pearson's r of answers and the others' estimates, its Fisher interval, and the number of answers."""
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


def _constant(rows: Rows) -> F8:
    """p-value of saying one value so often, had the worker said it as often as the others do of the same tasks.

    Values within a tenth of the answers' standard deviation are one. Only where nine of ten answers are that value.
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
        mine = order[ends[m] : ends[m + 1]]
        if len(mine) < 2:
            continue
        value = rows.value[mine]
        middle = float(value[len(value) // 2])
        same = int((np.abs(value - middle) <= reach).sum())
        out[m] = 1.0
        if same < 0.9 * len(value):
            continue
        tasks = rows.task[mine]
        near = _near(rows, tasks, middle, reach) - (np.abs(rows.value[mine] - middle) <= reach)
        total = count[tasks] - 1
        edges = np.searchsorted(overall, [middle - reach, middle + reach], side="left")
        base = float(edges[1] - edges[0] + 1) / (len(overall) + 1)
        share = float(((near + base) / (total + 1)).mean())
        out[m] = float(binom.sf(same - 1, len(value), min(share, 1.0)))
    return out


def _near(rows: Rows, tasks: I4, middle: float, reach: float) -> F8:
    """Answers near a value, in each of some tasks."""
    out = [int((np.abs(rows.value[rows.offsets[t] : rows.offsets[t + 1]] - middle) <= reach).sum()) for t in tasks]
    return np.array(out, dtype=np.float64)


def _distinct(rows: Rows) -> F8:
    """Distinct values per answer."""
    pairs = np.unique(np.stack([rows.worker.astype(np.float64), rows.value], axis=1), axis=0)
    different = np.bincount(pairs[:, 0].astype(np.int64), minlength=rows.n_workers)
    answers = np.bincount(rows.worker, minlength=rows.n_workers)
    return np.where(answers > 0, different / np.maximum(answers, 1), np.nan)


def _corrected(p: F8, tested: Mask) -> F8:
    """The least false discovery rate at which each p-value holds (Benjamini-Hochberg), NaN where it was not tested."""
    from scipy.stats import false_discovery_control

    out = np.full(len(p), np.nan)
    use = tested & np.isfinite(p)
    if use.any():
        out[use] = false_discovery_control(np.clip(p[use], 0.0, 1.0), method="bh")
    return out


# ----------------------------------------------------------------
# How far the answers agree: intraclass correlations and Krippendorff's alpha for numbers, on incomplete tables.

DRAWS = 200


@dataclass(frozen=True)
class Reliability:
    """Values with 95 % intervals by resampling tasks (NaN where undefined).

    `icc1`: share of the answers' variance that lies between tasks, workers as noise (Shrout & Fleiss 1979,
    doi:10.1037/0033-2909.86.2.420). `icc2`: the same with the variance between workers taken apart, from the variance
    components task, worker, rest. `alpha`: Krippendorff's with squared differences. `components`: the three variances.
    """

    icc1: tuple[float, float, float]
    icc2: tuple[float, float, float]
    alpha: tuple[float, float, float]
    components: tuple[float, float, float]


def reliability(rows: Rows, *, draws: int = DRAWS, seed: int = 0) -> Reliability:
    """Of all rows; tasks are drawn with replacement for the intervals."""
    rows, _, scale = standardise(rows.present(), None)
    rng = np.random.default_rng(seed)
    answered = np.flatnonzero(rows.per_task > 0)
    found = _statistics(rows, np.ones(rows.n_tasks))
    drawn = []
    for _ in range(draws if len(answered) >= 3 else 0):
        picked = rng.choice(answered, len(answered))
        drawn.append(_statistics(rows, np.bincount(picked, minlength=rows.n_tasks).astype(np.float64))[:3])
    ends = _ends(np.array(drawn), len(answered))
    icc1, icc2, alpha = ((float(found[k]), *ends[k]) for k in range(3))
    parts = np.maximum(found[3:], 0.0) * scale.unit**2
    return Reliability(icc1, icc2, alpha, (float(parts[0]), float(parts[1]), float(parts[2])))


def _ends(drawn: F8, n: int) -> list[tuple[float, float]]:
    out = []
    for k in range(3):
        good = drawn[np.isfinite(drawn[:, k]), k] if len(drawn) else drawn
        if len(good) < 0.9 * max(len(drawn), 1) or not len(good):
            out.append((np.nan, np.nan))
        else:
            out.append(central(good, n, 0.95))
    return out


def _statistics(rows: Rows, times: F8) -> F8:
    """icc1, icc2, alpha and the three components, with each task taken so many times."""
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
        task, worker, rest = _components(rows, times, n, s, q, inside)
        whole = max(task, 0.0) + max(worker, 0.0) + max(rest, 0.0)
        icc2 = max(task, 0.0) / np.float64(whole)
        many = n > 1
        pairs = float(times[many] @ (n * within / np.where(many, n - 1, 1.0))[many])
        answers, level, count = (float(times[many] @ column[many]) for column in (n, s, q))
        alpha = 1 - (answers - 1) * pairs / np.float64(answers * count - level**2)
    return np.array([icc1, icc2, alpha, task, worker, rest], dtype=np.float64)


def _components(rows: Rows, times: F8, n: F8, s: F8, q: F8, inside: float) -> tuple[float, float, float]:
    """Variances of task, worker, rest, from half the mean squared difference of pairs of answers.

    Pairs of one task differ by worker + rest, pairs of one worker by task + rest, other pairs by all three.
    """
    w = times[rows.task]
    by_worker = [rows.worker_sum(column) for column in (w, w * rows.value, w * rows.value**2)]
    own = float(rows.worker_sum(w * w if rows.weight is None else w * w * rows.weight).sum())
    square = float((by_worker[0] * by_worker[2] - by_worker[1] ** 2).sum())
    same_worker = square / np.float64((by_worker[0] ** 2).sum() - own)
    one_task = float(times**2 @ (n * q - s**2)), float(times**2 @ n**2)
    total, level, count = float(times @ n), float(times @ s), float(times @ q)
    size = total**2 - one_task[1] - float((by_worker[0] ** 2).sum()) + own
    apart = (total * count - level**2 - one_task[0] - square) / np.float64(size)
    return float(apart - inside), float(apart - same_worker), float(inside + same_worker - apart)


# ----------------------------------------------------------------
# Estimates against the truth: error, correlation, coverage, each with an interval by resampling tasks.


@dataclass(frozen=True)
class Score:
    """A figure with its interval; (NaN, NaN) where there are too few tasks for one."""

    value: float
    low: float
    high: float


def scores(
    estimate: F8, truth: F8, low: F8 | None = None, high: F8 | None = None, *, level: float = 0.95, seed: int = 0
) -> dict[str, Score]:
    """rmse, mae, bias, pearson, spearman, r2 and, given intervals, coverage and width, over tasks with truth.

    `spearman` is Pearson's coefficient of the ranks; its interval takes the ranks as given.
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
        found = bootstrap_interval(sums, lambda s, k=k: _figures(s)[k], level, rng)  # type: ignore[misc]
        ends = (np.nan, np.nan) if found is None else found
        size = unit if name in ("rmse", "mae", "bias", "width") else 1.0
        out[name] = Score(size * value, size * ends[0], size * ends[1])
    return out


def _columns(x: F8, y: F8) -> list[F8]:
    from scipy.stats import rankdata

    a, b = rankdata(x) / len(x) - 0.5, rankdata(y) / len(y) - 0.5
    gap = x - y
    return [np.ones(len(x)), gap, np.abs(gap), gap**2, x, y, x**2, y**2, x * y, a, b, a**2, b**2, a * b]


def _figures(sums: F8) -> list[F8]:
    """rmse, mae, bias, pearson, spearman, r2, then what else was summed, from sums[draw, term]."""
    s = sums.T
    n = s[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = s[7] / n - (s[5] / n) ** 2
        r2 = np.where(spread > 1e-15, 1 - (s[3] / n) / spread, np.nan)
        rest = [column / n for column in s[14:]]
        figures = [
            np.sqrt(s[3] / n),
            s[2] / n,
            s[1] / n,
            _scores_correlation(n, *s[4:9]),
            _scores_correlation(n, *s[9:14]),
            r2,
        ]
        return [*figures, *rest]


def _scores_correlation(n: F8, x: F8, y: F8, xx: F8, yy: F8, xy: F8) -> F8:
    a, b = xx / n - (x / n) ** 2, yy / n - (y / n) ** 2
    return np.where((a > 1e-15) & (b > 1e-15), (xy / n - x * y / n**2) / np.sqrt(a * b), np.nan)
