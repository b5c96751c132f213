"""Gaussian workers with a bias and a precision each, all of them drawn from one crowd.

    answer = y + b_m + noise,   b_m ~ N(0, s_b²),   noise ~ N(0, 1 / q_m),   q_m ~ Gamma(a, a s0²),   y flat

Variational EM over y, b and q (exact means of y and b given q); s_b², s0² and a >= 10 are fitted. The trace is the
evidence bound: it never falls while the cap on precisions stays, which changes only between stages. After Raykar et
al. (2010), JMLR 11, 1297-1322, whose plain model stands in plain_gaussian.py; the hierarchy and the cap keep workers
who always say the same from ruling the estimates.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ....em.loop import climb
from .passes import COMPILED_FROM, DOUBT, GAP, LOG_2PI, SQUARE, Message, Space, Stats, sweep
from .precision import MOST, Precision
from .rows import F8, Fit, Linear, Mask, Rows, answered_prior, held, known, outward, relative, standardise
from .simple import pooled_variance
from .stages import FLOOR, Seen, in_stages, settled

# ----------------------------------------------------------------
# How the hierarchical Gaussian models are climbed: EM with leaps, in stages of a cap on precisions.
# The crowd's variances and the strength of its precisions often want to go to nothing or to infinity (all workers
# alike), and EM goes there by ever smaller steps. So two steps are followed by a leap of these few numbers, on the
# scale of their logarithms (SQUAREM, Varadhan & Roland 2008, doi:10.1111/j.1467-9469.2007.00585.x); the workers' own
# follow from them. A leap that does not pay is not taken.


@dataclass(frozen=True, eq=False)
class Workers:
    """Posteriors of the workers' biases N(bias, doubt) and precisions, and the spread of biases in the crowd."""

    bias: F8
    doubt: F8
    spread: float  # s_b²
    precision: Precision

    def capped(self, cap: float) -> Workers:
        """With precisions under a cap."""
        return replace(self, precision=self.precision.capped(cap))

    def of_all(self) -> F8:
        """Logarithms of a, s0² and s_b²."""
        return np.log([self.precision.a, self.precision.variance, self.spread])

    def led_by(self, of_all: F8, stats: Stats, n: F8, strength: float) -> tuple[Workers, Stats]:
        """Under other numbers of the crowd."""
        a, variance, spread = np.exp(of_all)
        precision = self.precision.with_prior(float(np.clip(a, strength, MOST)), float(variance), n)
        return replace(self, spread=max(float(spread), FLOOR), precision=precision), stats


@dataclass(frozen=True, eq=False)
class BiasModel:
    """The model over rows, n[worker] answers of those who are heard; gold, where there is some, fixes where y lies."""

    space: Space
    n: F8
    heard: Mask
    strength: float
    taught: bool

    def sweep(self, state: Workers) -> tuple[Seen[Workers], float]:
        """A pass; the log density of the answers, tasks integrated out."""
        stats = self.space.accumulate(Message(state.precision.mean, state.bias))
        return Seen(stats, state, self.n, self.strength), rows_bound(state, stats, self.n)

    def maximise(self, seen: Seen[Workers]) -> Workers:
        """New biases, spread and precisions; without gold the biases are centred."""
        state = step(seen.under, seen.stats, self.n, self.heard, self.strength)
        return state if self.taught else centred(state, self.heard)

    def log_prior(self, state: Workers) -> float:
        """Minus the distances of biases and precisions from their priors."""
        return workers_bound(state, self.n, self.heard)


def gaussian(
    rows: Rows,
    gold: F8 | None = None,
    *,
    slope: bool = False,
    strength: float = 10.0,
    cap: float = 4.0,
    max_iter: int = 500,
    tol: float = 1e-7,
    shards: int = 1,
) -> Fit:
    """Fit biases and precisions (with `slope` also slopes).

    `strength` is the least a of the precisions' prior, `cap` the highest precision in units of the median one.
    """
    if slope:
        from .slopes import sloped

        return sloped(rows, gold, strength=strength, cap=cap, max_iter=max_iter, tol=tol, shards=shards)
    rows, gold, scale = standardise(rows.present(), gold)
    n, heard = rows.per_worker, rows.per_worker > 0
    model = BiasModel(Space.of(rows, gold, shards), n, heard, strength, bool(known(gold, rows.n_tasks).any()))
    found = in_stages(model, start(rows, gold, n, strength), n, heard, cap=cap, max_iter=max_iter, tol=tol)
    fit = describe(rows, gold, found.state, n, found.trace, found.converged)
    fit = replace(fit, n_iter=found.n_iter, extra={**fit.extra, "stage": found.stage})
    return outward(fit, scale)


def start(rows: Rows, gold: F8 | None, n: F8, strength: float) -> Workers:
    """No biases, one variance."""
    mean = held(rows.task_sum(rows.value) / np.maximum(rows.per_task, 1e-300), gold)
    noise = pooled_variance(rows, mean)
    precision = Precision.start(n, noise, strength)
    spread = max(noise / 4, FLOOR)
    doubt = 1 / (1 / spread + n * precision.mean)
    return Workers(np.zeros(rows.n_workers), doubt, spread, precision)


def step(state: Workers, stats: Stats, n: F8, heard: Mask, strength: float) -> Workers:
    """New biases with their spread, then precisions, from the sums of a pass."""
    gap, square, v = (stats.workers[:, k] for k in (GAP, SQUARE, DOUBT))

    def mean_square(spread: float) -> float:
        bias, doubt = biases(state, stats, n, heard, spread)
        return float((bias**2 + doubt)[heard].mean())

    spread = settled(mean_square, state.spread) if heard.any() else state.spread
    bias, doubt = biases(state, stats, n, heard, spread)
    moved = bias - state.bias
    error = np.maximum(square - 2 * moved * gap + n * moved**2, 0.0) + v + n * doubt
    return Workers(bias, doubt, spread, state.precision.update(n, error, heard, strength))


def biases(state: Workers, stats: Stats, n: F8, heard: Mask, spread: float) -> tuple[F8, F8]:
    """Means and variances of the biases under a spread."""
    q = state.precision.mean
    doubt = 1 / (1 / spread + n * q)
    # The gap is what is left after the old bias.
    return np.where(heard, doubt * q * (stats.workers[:, GAP] + n * state.bias), 0.0), doubt


def centred(state: Workers, heard: Mask) -> Workers:
    """Biases with mean 0. Only y + b is seen and y is flat: moving a constant from one to the other costs nothing,
    brings the biases nearer to their prior, and would else take EM thousands of rounds."""
    if not heard.any():
        return state
    bias = np.where(heard, state.bias - state.bias[heard].mean(), 0.0)
    return replace(state, bias=bias, spread=max(float((bias**2 + state.doubt)[heard].mean()), FLOOR))


def rows_bound(state: Workers, stats: Stats, n: F8) -> float:
    """The part of the evidence bound that speaks of the answers, tasks integrated out; E[log q] is the precisions'."""
    square = stats.workers[:, SQUARE] + n * state.doubt
    return float(stats.tasks[3]) - 0.5 * float((state.precision.mean * square).sum() + LOG_2PI * n.sum())


def workers_bound(state: Workers, n: F8, heard: Mask) -> float:
    """The part of the evidence bound that speaks of the workers."""
    b2 = (state.bias**2 + state.doubt)[heard]
    biases = 0.5 * float((np.log(state.doubt[heard] / state.spread) + 1 - b2 / state.spread).sum())
    return biases + state.precision.bound(n, heard)


def describe(rows: Rows, gold: F8 | None, state: Workers, n: F8, trace: F8, converged: bool) -> Fit:
    """Estimates under what was learnt; a task's variance counts the doubt about the biases it was freed of."""
    heard = rows.per_worker > 0
    q = state.precision.mean
    crowd = float(q[heard].mean()) if heard.any() else 1.0
    q = np.where(heard, q, crowd)
    doubt = np.where(heard, state.doubt, state.spread)
    zero = (0.0, 1.0)
    mean, _ = Linear(q, q, q * state.bias, 0.0, 0.0, doubt, zero).judge(rows)
    prior = answered_prior(held(mean, gold), rows.per_task > 0)
    judge = Linear(q, q, q * state.bias, 0.0, 0.0, doubt, prior)
    mean, variance = judge.judge(rows)
    mean, variance = held(mean, gold), np.where(known(gold, rows.n_tasks), 0.0, variance)
    noise, free = state.precision.described(n, heard)
    extra = {
        "linear": judge, "bias_variance": state.spread, "bias_doubt": doubt, "strength": state.precision.a,
        "noise": state.precision.variance, "cap": state.precision.cap, "precision": q, "strength_of_spread": free,
    }  # fmt: skip
    ones = np.ones(rows.n_workers)
    return Fit("gaussian", mean, variance, state.bias, np.sqrt(noise), ones, relative(q, rows), trace, len(trace),
               converged, extra)  # fmt: skip


# ----------------------------------------------------------------
# The plain Gaussian model: free biases, one weak prior for all variances, maximum a posteriori by EM.
#     y ~ N(mu, t²),   answer = y + b_m + noise of variance v_m,   v_m ~ InverseGamma(1, 0.1 var(answers))
#
# Raykar et al. (2010), JMLR 11, 1297-1322. The objective is the log-likelihood with the tasks integrated out plus the
# log prior of the variances; it never falls. Workers who always say the same pull it to themselves: see gaussian.py.

PLAIN_GAUSSIAN_FLOOR = 1e-6


@dataclass(frozen=True, eq=False)
class Habits:
    """bias[worker], noise[worker] (variances), and the prior N(mu, tau) of the tasks."""

    bias: F8
    noise: F8
    mu: float
    tau: float


@dataclass(frozen=True, eq=False)
class PlainGaussianSeen:
    """The statistics of a pass, and the habits that they are relative to."""

    stats: Stats
    under: Habits

    def extrapolate(self, one: PlainGaussianSeen, two: PlainGaussianSeen) -> PlainGaussianSeen:  # noqa: ARG002
        """No leaps: the last pass."""
        return two


@dataclass(frozen=True, eq=False)
class PlainModel:
    """The model over rows, n[worker] answers of those who are heard."""

    space: Space
    n: F8
    heard: Mask
    strength: float
    share: float
    taught: bool

    def sweep(self, own: Habits) -> tuple[PlainGaussianSeen, float]:
        """A pass, and the log-likelihood with the tasks integrated out."""
        stats = self.space.accumulate(Message(1 / own.noise, own.bias, own.mu, 1 / own.tau))
        square = stats.workers[:, SQUARE] @ (1 / own.noise)
        likelihood = stats.tasks[3] - 0.5 * (self.n @ (np.log(own.noise) + LOG_2PI) + square)
        return PlainGaussianSeen(stats, own), float(likelihood)

    def log_prior(self, own: Habits) -> float:
        """Inverse gamma densities of the variances."""
        return float((-(self.strength + 1) * np.log(own.noise) - self.share / own.noise)[self.heard].sum())

    def maximise(self, seen: PlainGaussianSeen) -> Habits:
        """New biases, variances and prior of the tasks, from the sums of a pass."""
        stats, own, n, heard = seen.stats, seen.under, self.n, self.heard
        gap, square, doubt = (stats.workers[:, k] for k in (GAP, SQUARE, DOUBT))
        moved = np.where(heard, gap / np.maximum(n, 1e-300), 0.0)
        bias, mu, tau = own.bias + moved, own.mu, own.tau
        error = np.maximum(square - 2 * moved * gap + n * moved**2, 0.0) + doubt
        noise = (error + 2 * self.share) / (n + 2 * self.strength + 2)
        count, first, second = stats.tasks[:3]
        if count:
            mu, tau = float(first / count), max(float(second / count - (first / count) ** 2), PLAIN_GAUSSIAN_FLOOR)
        if not self.taught and heard.any():
            middle = float(bias[heard].mean())  # only y + b is seen: moving a constant changes nothing
            bias, mu = np.where(heard, bias - middle, 0.0), mu + middle
        return Habits(bias, np.where(heard, noise, self.share / (self.strength + 1)), mu, tau)


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
    taught = bool(known(gold, rows.n_tasks).any())
    model = PlainModel(Space.of(rows, gold, shards), n, heard, strength, share, taught)
    per = max(float(n.sum()), 1.0)
    found = climb(model, model.sweep, plain_gaussian_start(rows, gold), max_iter=max_iter, tol=tol, per=per)
    return outward(plain_gaussian_describe(rows, gold, found.params, found.trace, found.converged), scale)


def plain_gaussian_start(rows: Rows, gold: F8 | None) -> Habits:
    """No biases, one variance, tasks as the means have them."""
    mean = held(rows.task_sum(rows.value) / np.maximum(rows.per_task, 1e-300), gold)
    some = mean[rows.per_task > 0]
    mu, tau = (float(some.mean()), max(float(some.var()), PLAIN_GAUSSIAN_FLOOR)) if len(some) else (0.0, 1.0)
    return Habits(np.zeros(rows.n_workers), np.full(rows.n_workers, pooled_variance(rows, mean)), mu, tau)


def plain_gaussian_describe(rows: Rows, gold: F8 | None, own: Habits, trace: F8, converged: bool) -> Fit:
    """Estimates under what was learnt."""
    heard, zero = rows.per_worker > 0, np.zeros(rows.n_workers)
    q = 1 / np.where(heard, own.noise, float(own.noise[heard].mean()) if heard.any() else 1.0)
    judge = Linear(q, q, q * own.bias, own.mu, 1 / own.tau, zero, (own.mu, own.tau))
    mean, variance = judge.judge(rows)
    mean, variance = held(mean, gold), np.where(known(gold, rows.n_tasks), 0.0, variance)
    extra = {"linear": judge, "prior_mean": own.mu, "prior_variance": own.tau, "bias_doubt": zero}
    return Fit("gaussian_plain", mean, variance, own.bias, 1 / np.sqrt(q), zero + 1, relative(q, rows), trace,
               len(trace), converged, extra)  # fmt: skip


# ----------------------------------------------------------------
# Gaussian workers with heavy tails: Student-t noise as a scale mixture, one scale per answer.
#     answer = y + b_m + noise, noise | u ~ N(0, 1 / (u q_m)), u ~ Gamma(df / 2, df / 2), the rest as in gaussian.py
#
# Variational EM; u is integrated out in the trace, which never falls. Lange, Little & Taylor (1989),
# doi:10.1080/01621459.1989.10478852.

DF = 5.0


def student(
    rows: Rows,
    gold: F8 | None = None,
    *,
    df: float = DF,
    strength: float = 10.0,
    max_iter: int = 500,
    tol: float = 1e-7,
) -> Fit:
    """Fit biases and precisions under noise with `df` degrees of freedom."""
    rows, gold, scale = standardise(rows.present(), gold)
    n, heard = rows.per_worker, rows.per_worker > 0
    state = start(rows, gold, n, strength)
    taught = bool(known(gold, rows.n_tasks).any())
    u = np.ones(len(rows))
    trace: list[float] = []
    converged = False
    while len(trace) < max_iter:
        weighed, message = scaled(rows, u), Message(state.precision.mean, state.bias)
        mean, variance, stats = sweep(weighed, gold, message, len(rows) >= COMPILED_FROM)
        size = weighed.per_worker
        state = _step(state, stats, n, size, heard, strength)
        if not taught:
            middle = float(state.bias[heard].mean()) if heard.any() else 0.0
            state, mean = centred(state, heard), mean + middle
        u, logs = scales(rows, state, mean, variance, df)
        entropy = stats.tasks[3] + 0.5 * float((~np.isnan(mean) & (variance > 0)).sum())
        trace.append(entropy + workers_bound(state, n, heard) + logs - 0.5 * LOG_2PI * float(n.sum()))
        if len(trace) > 1 and trace[-1] - trace[-2] < tol * max(float(n.sum()), 1.0):
            converged = True
            break
    fit = describe(scaled(rows, u), gold, state, n, np.array(trace), converged)
    fit.extra.update(df=df)
    return outward(replace(fit, method="student"), scale)


def scaled(rows: Rows, u: F8) -> Rows:
    """Rows that count u as much."""
    return replace(rows, weight=u if rows.weight is None else u * rows.weight)


def scales(rows: Rows, state: Workers, mean: F8, variance: F8, df: float) -> tuple[F8, float]:
    """E[u] of each row, and the log normalisers of all rows."""
    from scipy.special import gammaln

    m, t = rows.worker, rows.task
    far = state.precision.mean[m] * ((rows.value - mean[t] - state.bias[m]) ** 2 + variance[t] + state.doubt[m])
    constant = gammaln((df + 1) / 2) - gammaln(df / 2) + df / 2 * np.log(df / 2)
    logs = constant - (df + 1) / 2 * np.log((df + far) / 2)
    total = logs.sum() if rows.weight is None else logs @ rows.weight
    return np.asarray((df + 1) / (df + far)), float(total)


def _step(state: Workers, stats: Stats, n: F8, size: F8, heard: np.ndarray, strength: float) -> Workers:
    """As in gaussian.py, where a worker's answers count `size` for bias and error, but n for the precision."""
    rough = step(state, stats, size, heard, strength)
    gap, square, v = (stats.workers[:, k] for k in (GAP, SQUARE, DOUBT))
    moved = rough.bias - state.bias
    error = np.maximum(square - 2 * moved * gap + size * moved**2, 0.0) + v + size * rough.doubt
    return replace(rough, precision=state.precision.update(n, error, heard, strength))
