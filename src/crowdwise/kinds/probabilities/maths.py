"""What a method has learnt from probabilities, and log odds."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ..numbers.maths.rows import F8, Rows

# Answers nearer to 0 or 1 than this are taken for this: nobody is that sure.
CLIP = 0.02


@dataclass(frozen=True, eq=False)
class Fit:
    """probability[task]. Of each worker, in log odds: `shift` (where they stand when they know nothing), `gap` (how far
    a true task moves them up, and an untrue one down), `spread` (sd of what is left); `weight`, their say. `design` is
    how many times the evidence of a task is counted too often, because workers err together; `share` is that of true
    tasks."""

    probability: F8
    shift: F8
    gap: F8
    spread: F8
    weight: F8
    design: float = 1.0
    share: float = 0.5
    trace: F8 = field(default_factory=lambda: np.empty(0))
    stage: F8 = field(default_factory=lambda: np.empty(0))
    n_iter: int = 1
    converged: bool = True


def log_odds(p: F8, clip: float = CLIP) -> F8:
    """log p / (1 - p), the ends clipped."""
    p = np.clip(p, clip, 1 - clip)
    return np.asarray(np.log(p) - np.log1p(-p))


def chance(odds: F8) -> F8:
    """Back from log odds."""
    return np.asarray(0.5 * (1 + np.tanh(0.5 * odds)))


def in_log_odds(rows: Rows, clip: float) -> Rows:
    """The same rows with log odds for probabilities."""
    return rows.with_value(log_odds(rows.value, clip))


def pooled(rows: Rows, values: F8, weight: F8 | None = None) -> F8:
    """Mean of values[row] of each task, rows weighted by their workers; the mean of all where nobody answered."""
    w = np.ones(len(values)) if weight is None else weight[rows.worker]
    total, mass = rows.task_sum(w * values), rows.task_sum(w)
    usual = total.sum() / mass.sum() if mass.sum() > 0 else 0.0
    return np.asarray(np.where(mass > 0, total / np.where(mass > 0, mass, 1.0), usual))


# ----------------------------------------------------------------
# Pools of probabilities without a model: mean, median, mean of log odds, and the same with weights.
# The mean of log odds is pushed away from 1/2 ("extremised"), because nobody counts what the others know:
# Satopää et al. (2014), doi:10.1016/j.ijforecast.2013.09.009; Baron et al. (2014), doi:10.1287/deca.2014.0293.

# Log odds are never multiplied by less or more than this when gold says by how much; gold tasks that it takes.
PUSHES, ENOUGH = (0.25, 4.0), 20
# Weights by following: answers that the crowd's usual correlation counts for in a worker's own, the least correlation
# that counts, and its power.
USUAL, LEAST, POWER = 10.0, 0.05, 2.0


def mean_pool(rows: Rows) -> F8:
    """The mean of each task's probabilities."""
    return pooled(rows, rows.value)


def median_pool(rows: Rows) -> F8:
    """The weighted median of each task's probabilities."""
    order = np.lexsort((rows.value, rows.task))
    weight = np.ones(len(rows)) if rows.weight is None else rows.weight
    value, weight, task = rows.value[order], weight[order], rows.task[order]
    before = np.cumsum(weight) - weight
    first = np.searchsorted(task, np.arange(rows.n_tasks))
    start = np.append(before, 0.0)[np.minimum(first, len(task))]
    mass = rows.task_sum()
    inside = before - start[task]
    half = mass[task] / 2
    # The first value whose share passes a half; where it is reached exactly, the mean with the next one.
    past = inside + weight > half * (1 + 1e-12)
    level = np.abs(inside + weight - half) <= 1e-12 * np.maximum(half, 1)
    out = np.full(rows.n_tasks, float(np.median(rows.value)) if len(rows) else 0.5)
    firsts = np.flatnonzero(past)[::-1]
    out[task[firsts]] = value[firsts]
    even = np.flatnonzero(level & ~past)
    nexts = np.minimum(even + 1, len(task) - 1)
    ok = task[nexts] == task[even]
    out[task[even[ok]]] = (value[even[ok]] + value[nexts[ok]]) / 2
    return out


def odds_pool(rows: Rows, clip: float, weight: F8 | None = None) -> F8:
    """The mean of each task's log odds."""
    return pooled(rows, in_log_odds(rows, clip).value, weight)


def best_push(odds: F8, truth: F8) -> float:
    """The factor on log odds under which known outcomes are likeliest."""
    from scipy.optimize import minimize_scalar

    sign = np.where(truth > 0.5, 1.0, -1.0)
    found = minimize_scalar(
        lambda log: float(np.logaddexp(0, -sign * np.exp(log) * odds).sum()),
        bounds=(float(np.log(PUSHES[0])), float(np.log(PUSHES[1]))),
        method="bounded",
    )
    return float(np.exp(found.x))


def following(rows: Rows) -> F8:
    """Weight of each worker: how their answers go with the mean of everybody else's over their tasks, squared.

    A worker's own level does not count, nor do they raise what they are compared with; few answers are drawn toward
    the usual worker's.
    """
    n, per_task = rows.per_worker, rows.per_task[rows.task]
    own = np.ones(len(rows)) if rows.weight is None else rows.weight
    left = per_task - own
    met = left > 1e-9
    others = np.where(met, (rows.task_sum(rows.value)[rows.task] - own * rows.value) / np.where(met, left, 1.0), np.nan)
    some = rows.take(np.flatnonzero(met))
    x, y = some.value, others[met]
    count = np.maximum(some.per_worker, 1e-300)
    dx = x - (some.worker_sum(x) / count)[some.worker]
    dy = y - (some.worker_sum(y) / count)[some.worker]
    spread = np.sqrt(some.worker_sum(dx**2) * some.worker_sum(dy**2))
    r = np.where(spread > 1e-12, some.worker_sum(dx * dy) / np.where(spread > 1e-12, spread, 1.0), 0.0)
    z = np.arctanh(np.clip(r, -0.95, 0.95))
    known = some.per_worker > 2
    usual = float(np.median(z[known])) if known.any() else 0.5
    z = (np.where(known, z * n, 0.0) + USUAL * usual) / (np.where(known, n, 0.0) + USUAL)
    return np.asarray(np.maximum(np.tanh(z), LEAST) ** POWER)


def plain_fit(probability: F8, n_workers: int, weight: F8 | None = None) -> Fit:
    """A fit that has learnt nothing of the workers but perhaps their weights."""
    none = np.zeros(n_workers)
    return Fit(probability, none, np.ones(n_workers), none, np.ones(n_workers) if weight is None else weight)


# ----------------------------------------------------------------
# Workers as signals: log odds that stand around a shift, above it where the task is true and below it where not.
# s = shift_m + gap_m u + noise, u = 1 for a true task and -1 for an untrue one, noise ~ N(0, spread_m²). Shifts, gaps
# and spreads come from one crowd: (shift, gap) ~ N((shift_0, gap_0), spread² / held), spread² ~ scaled inverse
# chi-square; the crowd's own numbers are learnt in rounds. EM on the tasks' truth; the objective never falls within a
# round.
#
# Workers err together, so the evidence of a task is counted too often. `design` is how much: the spread of the tasks'
# summed evidence around what their class predicts, over the spread that independent workers would leave.

# Pseudo-answers of the crowd in each worker's numbers; rounds; the share of true tasks is held by so many of each.
HELD, ROUNDS, EACH = 30.0, 6, 1.0
_LEAST = 1e-3


@dataclass(frozen=True, eq=False)
class Crowd:
    """What workers are drawn from."""

    shift: float
    gap: float
    variance: float


@dataclass(frozen=True, eq=False)
class Params:
    """Each worker's numbers and the share of true tasks."""

    shift: F8
    gap: F8
    variance: F8
    share: float


def signals(rows: Rows, gold: F8 | None, clip: float, held: float, max_iter: int, tol: float) -> Fit:
    """Fit by rounds of EM; `gold` is NaN where the outcome is not known."""
    s = in_log_odds(rows, clip)
    start = pooled(s, s.value)
    heard = s.per_task > 0
    true = chance(start - float(np.median(start[heard])) if heard.any() else start)
    true = _kept(true, gold)
    spread = max(float(s.value.var()) if len(s) else 1.0, _LEAST)
    crowd = Crowd(float(s.value.mean()) if len(s) else 0.0, 0.5 * np.sqrt(spread), spread)
    trace: list[float] = []
    stage: list[int] = []
    settled = False
    params = _maximise(s, true, crowd, held)
    for turn in range(ROUNDS):
        last = -np.inf
        settled = False
        for _ in range(max_iter):
            odds = evidence(s, params)
            goal = _objective(s, params, crowd, held, odds, gold)
            trace.append(goal)
            stage.append(turn)
            true = _kept(chance(odds), gold)
            settled = goal - last <= tol * max(abs(goal), 1.0)
            if settled:
                break
            last = goal
            params = _maximise(s, true, crowd, held)
        heard = s.per_worker > 0
        if heard.any():
            crowd = Crowd(*(float(np.average(v[heard])) for v in (params.shift, params.gap, params.variance)))
            params = _maximise(s, true, crowd, held)
    odds = evidence(s, params)
    design = _design(s, params, odds, gold)
    weight = params.gap / params.variance
    return Fit(
        _kept(chance(_tempered(odds, params.share, design)), gold),
        params.shift, params.gap, np.sqrt(params.variance), weight / max(float(np.abs(weight).mean()), 1e-300),
        design, params.share, np.array(trace), np.array(stage, dtype=np.float64), len(trace), settled,
    )  # fmt: skip


def judged(rows: Rows, fit: Fit, clip: float) -> F8:
    """What these rows say under a fit."""
    s = in_log_odds(rows, clip)
    params = Params(fit.shift, fit.gap, np.maximum(fit.spread**2, _LEAST), fit.share)
    return chance(_tempered(evidence(s, params), fit.share, fit.design))


def evidence(rows: Rows, params: Params) -> F8:
    """Log odds of each task under workers who err independently."""
    each = 2 * params.gap[rows.worker] * (rows.value - params.shift[rows.worker]) / params.variance[rows.worker]
    return np.asarray(rows.task_sum(each) + np.log(params.share) - np.log1p(-params.share))


def _tempered(odds: F8, share: float, design: float) -> F8:
    prior = np.log(share) - np.log1p(-share)
    return np.asarray(prior + (odds - prior) / design)


def _kept(true: F8, gold: F8 | None) -> F8:
    return true if gold is None else np.where(np.isnan(gold), true, gold)


def _maximise(rows: Rows, true: F8, crowd: Crowd, held: float) -> Params:
    """The likeliest workers given the tasks: a ridge regression each on u with E[u²] = 1."""
    u = (2 * true - 1)[rows.task]
    n, su = rows.per_worker, rows.worker_sum(u)
    ss, sus = rows.worker_sum(rows.value), rows.worker_sum(u * rows.value)
    shift, gap = ss + held * crowd.shift, sus + held * crowd.gap
    det = (n + held) ** 2 - su**2
    a, b = ((n + held) * shift - su * gap) / det, ((n + held) * gap - su * shift) / det
    square = rows.worker_sum(rows.value**2) - 2 * a * ss - 2 * b * sus + n * (a**2 + b**2) + 2 * a * b * su
    away = held * ((a - crowd.shift) ** 2 + (b - crowd.gap) ** 2)
    # The density of the four numbers has its top here; see `_log_prior`.
    variance = (np.maximum(square, 0.0) + away + held * crowd.variance) / (n + held + 4)
    answered = rows.per_task > 0
    mass = float(answered.sum())
    share = (float(true[answered].sum()) + EACH) / (mass + 2 * EACH)
    return Params(a, b, np.maximum(variance, _LEAST), share)


def _objective(rows: Rows, params: Params, crowd: Crowd, held: float, odds: F8, gold: F8 | None) -> float:
    """Log density of the answers and of the workers: what EM climbs."""
    gap, variance = params.gap[rows.worker], params.variance[rows.worker]
    low = rows.value - params.shift[rows.worker] + gap
    untrue = rows.task_sum(-0.5 * (low**2 / variance + np.log(2 * np.pi * variance)))
    prior = np.log1p(-params.share)
    each = untrue + prior + np.logaddexp(0.0, odds)
    if gold is not None:
        known = untrue + prior + np.where(gold > 0.5, odds, 0.0)
        each = np.where(np.isnan(gold), each, known)
    heard = rows.per_worker > 0
    return float(each[rows.per_task > 0].sum()) + _log_prior(params, crowd, held, heard)


def _log_prior(params: Params, crowd: Crowd, held: float, heard: npt.NDArray[np.bool_]) -> float:
    away = held * ((params.shift - crowd.shift) ** 2 + (params.gap - crowd.gap) ** 2)
    log = -(2 + held / 2) * np.log(params.variance) - (away + held * crowd.variance) / (2 * params.variance)
    return float(log[heard].sum()) + EACH * float(np.log(params.share) + np.log1p(-params.share))


def _design(rows: Rows, params: Params, odds: F8, gold: F8 | None) -> float:
    """How many times too often a task's evidence is counted; 1 where workers err on their own."""
    prior = np.log(params.share) - np.log1p(-params.share)
    each = 4 * params.gap**2 / params.variance
    variance = rows.task_sum(each[rows.worker])
    true = _kept(chance(odds), gold)
    gap = odds - prior
    seen = true * (gap - variance / 2) ** 2 + (1 - true) * (gap + variance / 2) ** 2
    total = float(variance.sum())
    return max(1.0, float(seen[variance > 0].sum()) / total) if total > 0 else 1.0


def gaps_by_others(rows: Rows, fit: Fit, clip: float) -> tuple[F8, F8]:
    """How far each worker's log odds move with what everybody else makes of the task, and the standard error of it.

    Their own answers are taken out of what they are compared with, and no crowd holds their gap: for judging them.
    """
    s = in_log_odds(rows, clip)
    params = Params(fit.shift, fit.gap, np.maximum(fit.spread**2, _LEAST), fit.share)
    prior = np.log(fit.share) - np.log1p(-fit.share)
    own = 2 * params.gap[s.worker] * (s.value - params.shift[s.worker]) / params.variance[s.worker]
    if s.weight is not None:
        own = own * s.weight
    others = (evidence(s, params)[s.task] - own - prior) / fit.design + prior
    u = 2 * chance(others) - 1
    n = np.maximum(s.per_worker, 1e-300)
    du = u - (s.worker_sum(u) / n)[s.worker]
    ds = s.value - (s.worker_sum(s.value) / n)[s.worker]
    square = s.worker_sum(du**2)
    known = (s.per_worker > 2) & (square > 1e-9)
    gap = np.where(known, s.worker_sum(du * ds) / np.where(known, square, 1.0), np.nan)
    left = s.worker_sum((ds - np.nan_to_num(gap)[s.worker] * du) ** 2)
    error = np.sqrt(left / np.maximum(s.per_worker - 2, 1) / np.where(known, square, np.nan))
    return np.asarray(gap), np.asarray(error)
