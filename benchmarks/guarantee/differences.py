"""Two systems on the same tasks: do intervals of their difference cover, and what do verdicts save?"""

from __future__ import annotations

import numpy as np

import crowdwise as cw
from crowdwise.evaluation.guarantee.estimand import Figure

RUNS, TASKS, GOLD = 300, 2000, 200
NAMES = np.array(["a", "b", "c"])


def _votes(name: str, code: np.ndarray) -> cw.Annotations:
    return cw.Annotations.from_arrays(np.arange(len(code)), [name] * len(code), NAMES[code])


def accuracies(rng: np.random.Generator, shared: float, for_: str) -> tuple[Figure, float]:
    """Two systems, right in .85 and .80, that share an answer on some tasks; the true difference of accuracies."""
    truth, together = rng.integers(3, size=TASKS), rng.random(TASKS) < shared
    wrong = (truth + rng.integers(1, 3, TASKS)) % 3
    same = np.where(rng.random(TASKS) < 0.85, truth, wrong)
    codes = []
    for right in (0.85, 0.80):
        own = np.where(rng.random(TASKS) < right, truth, (truth + rng.integers(1, 3, TASKS)) % 3)
        codes.append(np.where(together, same, own))
    seed, votes = int(rng.integers(2**31)), [_votes(name, code) for name, code in zip("xy", codes, strict=True)]
    drawn = cw.draw(votes[0], GOLD, seed=seed)
    gold = {t: NAMES[truth[t]] for t in drawn.tasks}
    found = cw.difference(*votes, gold=gold, sampling=drawn, population=for_, seed=seed)
    here = float((codes[0] == truth).mean() - (codes[1] == truth).mean())
    return found, here if for_ == "these" else (1 - shared) * 0.05


def shares(rng: np.random.Generator, for_: str) -> tuple[Figure, float]:
    """What two systems made, good in .6 and .5, seen by a judge who is right in .88; people judged some of both."""
    hard = rng.normal(size=TASKS)
    good = [(0.7 * hard + rng.normal(size=TASKS) * np.sqrt(0.51) < c).astype(int) for c in (0.2533, 0.0)]
    votes = [_votes("judge", np.where(rng.random(TASKS) < 0.88, g, 1 - g)) for g in good]
    seed = int(rng.integers(2**31))
    drawn = cw.draw(votes[0], GOLD, seed=seed)
    golds = [{t: NAMES[g[t]] for t in drawn.tasks} for g in good]
    told = {"metric": "share:b", "sampling": drawn, "population": for_, "seed": seed}
    found = cw.difference(*votes, gold=golds[0], second_gold=golds[1], **told)
    return found, float(good[0].mean() - good[1].mean()) if for_ == "these" else 0.1


def difference_rows(runs: int = RUNS) -> list[list[str]]:
    out = []
    kinds = {
        "accuracies, systems apart": lambda rng, for_: accuracies(rng, 0.0, for_),
        "accuracies, systems alike on 70 %": lambda rng, for_: accuracies(rng, 0.7, for_),
        "shares, two golds": shares,
    }
    for i, (name, make) in enumerate(kinds.items()):
        for for_ in ("these", "new"):
            rng, rows = np.random.default_rng([91, i]), []
            for _ in range(runs):
                found, true = make(rng, for_)
                wide = found.gold_only[2] - found.gold_only[1]
                rows.append([found.low <= true <= found.high, found.high - found.low, wide, found.labels_saved])
            mean = np.mean(rows, axis=0)
            out.append([f"{name}; {for_} tasks", *(f"{x:.3f}" for x in mean[:3]), f"{mean[3]:.2f}"])
            print(*out[-1], flush=True)
    return out
