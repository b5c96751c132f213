"""The yardstick: a test that knows the truth of every task and how the crowd was planted.

Where the simulator's law of answers can be written down, the oracle is the likelihood ratio of "random" to "honest",
with a worker's own parameters averaged over the law they were drawn from: by Neyman and Pearson no test of that level
finds more. For spans, boxes, outlines and texts it is the mean distance from the truth in place of the others' answers,
which knows less than the best test could.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import logit, logsumexp
from scipy.stats import norm, t

F8 = npt.NDArray[np.float64]
DRAWS = 300


def oracle(kind: str, planted: Any, told: dict[str, Any]) -> F8:
    """How much likelier each worker is to answer at random than to be honest, in logarithms."""
    known = {"similarities": _coins, "comparisons": _scores, "triplets": _places, "rankings": _orders, "sets": _sets,
             "probabilities": _probabilities, "numbers": _numbers}  # fmt: skip
    return known[kind](planted, told) if kind in known else _distance(planted)


def _ratio(random: F8, honest: list[F8], weight: F8 | None = None) -> F8:
    table = np.array(honest)
    w = np.full(len(table), 1 / len(table)) if weight is None else weight
    return np.asarray(random - logsumexp(table + np.log(w)[:, None], axis=0))


def _coins(planted: Any, told: dict[str, Any]) -> F8:
    p = planted.planted
    m, same = len(p.kind), p.cluster[p.left] == p.cluster[p.right]
    ends = np.linspace(*told["coins"], 12)
    honest = []
    for hit in ends:
        for rejection in ends:
            yes = np.where(same, hit, 1 - rejection)
            honest.append(np.bincount(p.worker, np.log(np.where(p.same > 0, yes, 1 - yes)), m))
    return _ratio(np.bincount(p.worker, minlength=m) * np.log(0.5), honest)


def _slopes(worker: Any, gap: F8, first: Any, spread: float, m: int) -> F8:
    node = np.linspace(-3, 3, 25)
    side = np.where(first, 1.0, -1.0) * gap
    honest = [np.bincount(worker, -np.logaddexp(0.0, -np.exp(spread * z) * side), m) for z in node]
    return _ratio(np.bincount(worker, minlength=m) * np.log(0.5), honest, norm.pdf(node) / norm.pdf(node).sum())


def _scores(planted: Any, told: dict[str, Any]) -> F8:
    p = planted.planted
    use = p.outcome != 2
    gap = (p.score[p.left] - p.score[p.right])[use]
    return _slopes(p.worker[use], gap, p.outcome[use] == 0, told["slope"], len(p.kind))


def _places(planted: Any, told: dict[str, Any]) -> F8:
    p = planted.planted
    a, b = (((p.place[p.head] - p.place[other]) ** 2).sum(axis=1) for other in (p.left, p.right))
    return _slopes(p.worker, b - a, p.side == 0, told["slope"], len(p.kind))


def _orders(planted: Any, told: dict[str, Any]) -> F8:
    p = planted.planted
    m, order = len(p.kind), np.array(p.order)
    every = p.score[p.task]
    put = np.take_along_axis(every, order, axis=1)

    def loglik(heat: float) -> F8:
        rest = np.exp(heat * every).sum(axis=1, keepdims=True) - np.cumsum(np.exp(heat * put), axis=1)
        left = np.column_stack([np.exp(heat * every).sum(axis=1), rest[:, :-1]])
        return np.asarray(np.bincount(p.worker, (heat * put - np.log(np.maximum(left, 1e-12))).sum(axis=1), m))

    node = np.linspace(-3, 3, 25)
    honest = [loglik(2 * np.exp(told["heat"] * z)) for z in node]
    return _ratio(loglik(0.0), honest, norm.pdf(node) / norm.pdf(node).sum())


def _sets(planted: Any, told: dict[str, Any]) -> F8:
    p = planted.planted
    m, good = len(p.kind), np.array(p.kind) == "honest"
    of_class = [logit(each[good]).mean(axis=0) for each in (p.hits, p.alarms)]
    node = np.linspace(-2.5, 2.5, 9) * told["of_worker"]
    weight = norm.pdf(np.linspace(-2.5, 2.5, 9))
    true = p.truth[p.task]

    def loglik(chance: F8) -> F8:
        each = np.where(p.said, np.log(chance), np.log1p(-chance)).sum(axis=1)
        return np.asarray(np.bincount(p.worker, each, m))

    honest, w = [], []
    for i, more in enumerate(node):
        for j, loose in enumerate(node):
            hit, alarm = (1 / (1 + np.exp(-(c + s))) for c, s in zip(of_class, (more, loose), strict=True))
            honest.append(loglik(np.clip(np.where(true, hit, alarm), 1e-6, 1 - 1e-6)))
            w.append(weight[i] * weight[j])
    named = np.broadcast_to(np.clip(p.rate, 0.02, 1 - 1e-6), p.said.shape)
    return _ratio(loglik(named), honest, np.array(w) / np.sum(w))


def _probabilities(planted: Any, told: dict[str, Any]) -> F8:
    rng, m = np.random.default_rng(0), len(planted.kind)
    odds = logit(np.clip(planted.said, 0.005, 0.995))
    sign = np.where(planted.truth, 1.0, -1.0)[planted.task]
    shift, gap, spread = (
        rng.normal(told["leaning"], 0.5, DRAWS), rng.gamma(6, 1 / 6, DRAWS), rng.gamma(8, 1 / 8, DRAWS)
    )  # fmt: skip

    def loglik(s: float, g: float, e: float) -> F8:
        return np.asarray(np.bincount(planted.worker, norm.logpdf(odds, s + g * sign, e), m))

    honest = [loglik(s, g, np.hypot(e, told["common"])) for s, g, e in zip(shift, gap, spread, strict=True)]
    random = [loglik(s, 0.0, e) for s, e in zip(shift, spread, strict=True)]
    return _ratio(logsumexp(random, axis=0) - np.log(DRAWS), honest)


def _numbers(planted: Any, told: dict[str, Any]) -> F8:
    p = planted.planted
    rng, m = np.random.default_rng(0), len(p.kind)
    bias, slope = rng.normal(0, 0.3, DRAWS), rng.normal(1, told["slope"], DRAWS)
    spread = np.exp(rng.uniform(np.log(0.3), np.log(1.2), DRAWS))
    law = norm.logpdf if told["heavy"] is None else partial(t.logpdf, df=told["heavy"])

    def loglik(b: float, s: float, e: float) -> F8:
        each = law((p.value - p.centre - s * (p.truth[p.task] - p.centre) - b) / e) - np.log(e)
        return np.asarray(np.bincount(p.worker, each, m))

    honest = [loglik(b, s, e) for b, s, e in zip(bias, slope, spread, strict=True)]
    random = [loglik(b, 0.0, 1.0) for b in bias]
    return _ratio(logsumexp(random, axis=0) - np.log(DRAWS), honest)


def _distance(planted: Any) -> F8:
    """Minus the t-value of how much nearer a worker's answers are to the truth of their task than to that of others."""
    votes = planted.annotations
    tasks, answers = votes.kind.hooks.gold_answers(votes, planted.truth_table())
    distance = partial(votes.kind.hooks.distance, votes.answers.join(answers))
    at = np.full(votes.n_tasks, -1)
    at[tasks] = len(votes) + np.arange(len(tasks))
    own = np.flatnonzero(at[votes.task] >= 0)
    near, code = distance(own, at[votes.task[own]]), votes.worker[own].astype(np.int64)
    rng = np.random.default_rng(0)
    far = np.mean([distance(own, len(votes) + rng.integers(0, len(tasks), len(own))) for _ in range(8)], axis=0)
    m = votes.n_workers
    n, gap = np.bincount(code, minlength=m), far - near
    mean = np.bincount(code, gap, m) / np.maximum(n, 1)
    square = np.bincount(code, (gap - mean[code]) ** 2, m)
    pool = square.sum() / max(n.sum() - m, 1)
    return np.asarray(-mean / np.sqrt((square + 8 * pool) / (n + 7) / np.maximum(n, 1)))
