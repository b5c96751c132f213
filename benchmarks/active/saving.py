"""python -m benchmarks.active saving: labels until 95 % are right, beside fixed overlap, with planted crowds.

Four classes, 400 tasks, 60 workers: 51 whose skill is drawn from Beta(6, 3), nine who guess.
"""

from __future__ import annotations

import json
import sys

import numpy as np

from crowdwise.active import Settings, Stopping, simulate

from .. import ROOT

RUNS, TASKS, WORKERS, CLASSES, SPAMMERS, TARGET = 20, 400, 60, 4, 9, 0.95
# (name, policy, whether workers are chosen, floor below which they are asked no more, tasks of one worker at most,
# whether the default is fitted every 40 labels and, if so, on how many random tasks its confidence is calibrated)
WAYS = (
    ("uncertainty, workers come at random", "uncertainty", False, 0.0, None, None),
    ("information, workers come at random", "information", False, 0.0, None, None),
    ("information, workers come at random, floor .4", "information", False, 0.4, None, None),
    ("information, workers are chosen, at most 160 tasks each", "information", True, 0.0, 160, None),
    ("information, workers come at random, whole fits", "information", False, 0.0, None, 0),
    ("information, workers come at random, whole fits, 60 tasks checked", "information", False, 0.0, None, 60),
)
STORE = ROOT / "build" / "active-saving.json"
FIXED = Stopping(target=1.0, fewest=10**9, cap=40)


def planted(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Truth of the tasks, confusions of the workers."""
    rng = np.random.default_rng([seed, 7])
    skill = rng.beta(6, 3, WORKERS)
    skill[:SPAMMERS] = 1 / CLASSES
    table = np.repeat(((1 - skill) / (CLASSES - 1))[:, None, None], CLASSES, 1).repeat(CLASSES, 2)
    table[:, np.arange(CLASSES), np.arange(CLASSES)] = skill[:, None]
    return rng.integers(CLASSES, size=TASKS), table


def one(seed: int) -> dict[str, dict[str, float]]:
    """For each way: labels to the target, as a share of fixed overlap's; labels until all tasks have stopped; how many
    that stopped as sure are right, and the accuracy then."""
    truth, table = planted(seed)
    fixed = simulate(truth, table, "round_robin", stop=FIXED, until=TARGET, seed=seed).needed(TARGET)
    out = {"fixed overlap": {"labels": fixed, "share": 1.0}}
    for name, policy, choose, floor, load, checks in WAYS:
        settings = Settings(floor=floor, load=load)
        trial = simulate(truth, table, policy, choose=choose, stop=Stopping(target=TARGET, cap=40),
                         settings=settings, fits=checks is not None, checks=checks or 0, seed=seed)  # fmt: skip
        sure, right = trial.sure_and_right
        labels = trial.needed(TARGET)
        out[name] = {"labels": labels, "share": labels / fixed, "all": float(trial.queries[-1]), "sure": sure,
                     "right": right, "accuracy": float(trial.accuracy[-1]),
                     "expected": float(trial.expected[-1])}  # fmt: skip
    return out


def seeds(runs: int) -> list[dict[str, dict[str, float]]]:
    """One crowd a seed; finished ones are kept between calls."""
    done = json.loads(STORE.read_text()) if STORE.is_file() else []
    for seed in range(len(done), runs):
        done.append(one(seed))
        STORE.parent.mkdir(exist_ok=True)
        STORE.write_text(json.dumps(done))
    return done[:runs]


def finished() -> int:
    """Seeds that are done."""
    return len(json.loads(STORE.read_text())) if STORE.is_file() else 0


def rows(runs: int = RUNS) -> list[list[str]]:
    """Means over the seeds with 95 % intervals."""
    found = seeds(runs)
    out = []
    for name in found[0]:
        mine = [each[name] for each in found]

        def shown(key: str, digits: int, mine: list[dict[str, float]] = mine) -> str:
            values = np.array([each.get(key, np.nan) for each in mine])
            if np.isnan(values).all():
                return ""
            half = 1.96 * values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
            return f"{values.mean():,.{digits}f} ± {half:,.{digits}f}"

        sure = sum(each.get("sure", 0) for each in mine)
        kept = f"{sum(each['right'] for each in mine) / sure:.3f}" if sure else ""
        out.append([name, shown("labels", 0), shown("share", 2), shown("all", 0), shown("accuracy", 3),
                    shown("expected", 3), kept])  # fmt: skip
    return out


HEADER = ["way", "labels to 95 %", "share of fixed", "labels until all stop", "right then", "expected", "sure: right"]


if __name__ == "__main__":
    print(len(seeds(int(sys.argv[1]))))
