"""Workers as signals: log odds that stand around a shift, above it where the task is true and below it where not.

s = shift_m + gap_m u + noise, u = 1 for a true task and -1 for an untrue one, noise ~ N(0, spread_m²). Shifts, gaps and
spreads come from one crowd: (shift, gap) ~ N((shift_0, gap_0), spread² / held), spread² ~ scaled inverse chi-square;
the crowd's own numbers are learnt in rounds. EM on the tasks' truth; the objective never falls within a round.

Workers err together, so the evidence of a task is counted too often. `design` is how much: the spread of the tasks'
summed evidence around what their class predicts, over the spread that independent workers would leave.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..numbers.rows import F8, Rows
from .fit import Fit, chance, in_log_odds, pooled

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
