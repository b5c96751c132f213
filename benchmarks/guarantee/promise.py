"""Is the promise of accept kept: the share of runs in which too many accepted, unchecked tasks are wrong."""

from __future__ import annotations

import warnings
from functools import cache

import numpy as np

import crowdwise as cw
from crowdwise.evaluation.guarantee.order import ordered
from crowdwise.evaluation.guarantee.sequential import (
    counts_per_step,
    fixed_sequence,
    fixed_sequence_all,
    ladder,
    risk_control,
)
from crowdwise.evaluation.guarantee.verdicts import as_verdicts

RISK = 0.1
RUNS, REAL_RUNS = 1000, 300
# set, error asked for; n = 400 gold labels
REAL = {
    "cifar10n": 0.05, "web": 0.1, "rte": 0.05, "md_agreement": 0.05, "relevance4": 0.2, "sp": 0.05, "convabuse": 0.01,
    "trec": 0.2, "dog": 0.1, "zencrowd_in": 0.1,
}  # fmt: skip


def planted(kind: str, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """(confidence, wrong) of n tasks."""
    c = rng.random(n)
    if kind == "72 % acceptable":  # 13 % wrong in all, 5 % in the better 72 %
        error = 0.005 + 0.45 * np.clip(c - 0.45, 0, None) ** 1.3 * 1.9
    elif kind == "flat, just above":
        error = np.full(n, 0.055)
    elif kind == "top 7 % wrong":
        error = np.where(c < 0.07, 0.4, 0.005 + 0.45 * np.clip(c - 0.45, 0, None) ** 1.3 * 1.9)
    elif kind == "five confidences":
        c = np.floor(5 * c) / 5
        error = np.array([0.01, 0.03, 0.06, 0.15, 0.4])[np.rint(5 * c).astype(int)]
    else:  # "confidence says nothing"
        error = np.full(n, 0.03)
    return 1 - c, rng.random(n) < error


PLANTED = ("72 % acceptable", "flat, just above", "top 7 % wrong", "five confidences", "confidence says nothing")


def one(confidence: np.ndarray, wrong: np.ndarray, n: int, alpha: float, rng: np.random.Generator) -> np.ndarray:
    """(broken, accepted) of the walk and of the naive threshold, judged on the tasks that nobody checked."""
    gold = rng.permutation(len(wrong))[:n]
    threshold, size = ladder(confidence)
    m, e = counts_per_step(threshold, confidence[gold], wrong[gold])
    last = fixed_sequence(size, m, e, alpha, RISK).last
    fine = np.flatnonzero((m > 0) & (e <= alpha * m))
    return np.array([_judged(confidence, wrong, gold, threshold, rung, alpha)
                     for rung in (last, fine[-1] if len(fine) else -1)])  # fmt: skip


def _judged(
    confidence: np.ndarray, wrong: np.ndarray, gold: np.ndarray, threshold: np.ndarray, rung: int, alpha: float
) -> tuple[float, float]:
    if rung < 0:
        return 0.0, 0.0
    inside = np.round(confidence, 9) >= threshold[rung]
    share = inside.mean()
    inside[gold] = False
    return float(inside.any() and wrong[inside].mean() > alpha + 1e-12), float(share)


def planted_rows(runs: int = RUNS) -> list[list[str]]:
    out = []
    for kind in PLANTED:
        for tasks, gold in ((5000, (100, 200, 400, 800)), (500, (100, 200))):
            for n in gold:
                rng = np.random.default_rng([3, PLANTED.index(kind), tasks, n])
                found = np.mean([one(*planted(kind, tasks, rng), n, 0.05, rng) for _ in range(runs)], axis=0)
                out.append([f"{kind}; {n} of {tasks:,}", *(f"{x:.3f}" for x in found.ravel())])
                print(*out[-1], flush=True)
    return out


# What is labelled by what, and by what the surest tasks are found.
METHODS = {
    "Dawid-Skene": (lambda: cw.DawidSkene(smoothing=1.0), "confidence"),
    "default": (lambda: cw.method("committee"), "auto"),
    "default, by confidence": (lambda: cw.method("committee"), "confidence"),
}


@cache
def real(name: str, method: str) -> tuple[np.ndarray, np.ndarray]:
    """(confidence, wrong) of a method's labels on the tasks with a known truth."""
    data = cw.datasets.load(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        make, surest = METHODS[method]
        result = make().fit(data.annotations)
        found, _, _ = ordered(as_verdicts(result, data.annotations), result, data.annotations, surest)
    table = result.to_table().select("task", "label").with_columns(confidence=found.order)
    truth = data.truth.rename({"label": "truth"})
    both = table.with_columns(table["task"].cast(str), table["label"].cast(str)).join(
        truth.with_columns(truth["task"].cast(str), truth["truth"].cast(str)), on="task")  # fmt: skip
    return both["confidence"].to_numpy(), (both["label"] != both["truth"]).to_numpy()


def real_rows(runs: int = REAL_RUNS) -> list[list[str]]:
    out = []
    for name, alpha in REAL.items():
        for method in METHODS:
            confidence, wrong = real(name, method)
            n, rng = min(400, len(wrong) // 2), np.random.default_rng([5, len(wrong)])
            found = np.mean([one(confidence, wrong, n, alpha, rng) for _ in range(runs)], axis=0)
            out.append([f"{name} ({len(wrong):,} tasks), {100 * alpha:g} %, {n} gold, {method}", f"{wrong.mean():.3f}",
                        *(f"{x:.3f}" for x in found.ravel())])  # fmt: skip
            print(*out[-1], flush=True)
    return out


def other_rows(runs: int = RUNS) -> list[list[str]]:
    """Errors among all tasks, with high probability and in the mean."""
    out = []
    for n in (100, 400):
        rng = np.random.default_rng([9, n])
        found = []
        for _ in range(runs):
            confidence, wrong = planted("72 % acceptable", 5000, rng)
            gold = rng.permutation(5000)[:n]
            threshold, _ = ladder(confidence)
            _, e = counts_per_step(threshold, confidence[gold], wrong[gold])
            row = []
            for last in (fixed_sequence_all(5000, n, e, 0.05, RISK).last, risk_control(n, e, 0.05).last):
                inside = confidence >= threshold[last] if last >= 0 else np.zeros(5000, dtype=bool)
                share = inside.mean()
                inside[gold] = False
                row.append([(wrong & inside).mean(), (wrong & inside).mean() > 0.05, share])
            found.append(row)
        for name, figures in zip(("of all tasks", "of all tasks, in the mean"), np.mean(found, axis=0), strict=True):
            out.append([f"{name}; {n} gold", *(f"{x:.3f}" for x in figures)])
            print(*out[-1], flush=True)
    return out


def looks_rows(runs: int = RUNS) -> list[list[str]]:
    """Looking eight times while the gold grows to 800, keeping the first acceptance: with the whole risk each time,
    and with an eighth of it."""
    out = []
    for name, risk in (("the whole risk at each look", RISK), ("an eighth of it at each", RISK / 8)):
        rng, broken = np.random.default_rng(15), 0
        for _ in range(runs):
            confidence, wrong = planted("flat, just above", 5000, rng)
            order, threshold_size = rng.permutation(5000), ladder(confidence)
            hit = 0
            for n in range(100, 801, 100):
                gold = order[:n]
                m, e = counts_per_step(threshold_size[0], confidence[gold], wrong[gold])
                last = fixed_sequence(threshold_size[1], m, e, 0.05, risk).last
                if last >= 0:
                    hit = _judged(confidence, wrong, gold, threshold_size[0], last, 0.05)[0]
                    break
            broken += hit
        out.append([name, f"{broken / runs:.3f}"])
        print(*out[-1], flush=True)
    return out
