"""Training with a rare class: python -m benchmarks.learn.imbalance [--seeds 4] [--methods NAME ...] [--write]

Two classes, of which one is rare; the epoch is chosen by held-out labels and everything else is the method's default.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np

from crowdwise.learn import CrowdClassifier
from crowdwise.simulate import OneCoin, PerTask, crowd

from ..markdown import figures, write_section
from .page import PAGE

RARE = (0.5, 0.15, 0.05)
# Every method under its name, and the default with other priors.
DEFAULT = "max_mig"
METHODS: dict[str, dict[str, Any]] = {
    DEFAULT: {},
    "max_mig, uniform": {"prior": "uniform"},
    "max_mig, votes": {"prior": "votes"},
    "max_mig, dawid_skene": {"prior": "dawid_skene"},
    "max_mig, learnt": {"prior": "learnt"},
    **{name: {} for name in ("vanilla", "agg_net", "crowd_layer", "geo_crowd_net_f", "coin_net", "two_stage", "ccem")},
}
N, WORKERS, LABELS, D, SHIFT = 1500, 20, 3, 10, 1.25
ABOUT = """Two classes with x ~ N(±{shift} e1, I) in {d} dimensions; {n:,} tasks to train and as many to test;
{labels} labels a task by {workers} workers who are right in 60 to 90 % of their labels, in either class. `mlp`; 15 % of
the tasks are held out, by whose labels the epoch is chosen; all other settings are the methods' defaults. Mean and
standard deviation over {seeds} seeds of the classifier's accuracy and log-loss on the test tasks. *perfect* is the
classifier that knows the distribution."""


def planted(rare: float, seed: int) -> tuple[np.ndarray, np.ndarray, Any]:
    """Features and truth of all tasks, of which the first N have votes."""
    rng = np.random.default_rng([seed, 7])
    truth = (rng.random(2 * N) < rare).astype(np.int64)
    x = rng.normal(size=(2 * N, D)).astype(np.float32)
    x[:, 0] += np.where(truth == 1, SHIFT, -SHIFT)
    workers = [OneCoin(WORKERS, low=0.6, high=0.9)]
    return x, truth, crowd(N, 2, workers, PerTask(LABELS), truth=truth[:N], seed=seed).annotations


def one(name: str, rare: float, seed: int) -> tuple[float, float]:
    """Accuracy and log-loss on the test tasks."""
    x, truth, votes = planted(rare, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that a prior does not fit is what the table shows
        fitted = CrowdClassifier("mlp", name.partition(",")[0], params=METHODS[name], seed=seed).fit(x[:N], votes)
    return scores(fitted.predict_proba(x[N:])[:, 1], truth[N:])


def perfect(rare: float, seed: int) -> tuple[float, float]:
    """The same of Bayes' rule with the true distribution."""
    x, truth, _ = planted(rare, seed)
    odds = 2 * SHIFT * x[N:, 0] + np.log(rare / (1 - rare))
    return scores(1 / (1 + np.exp(-odds)), truth[N:])


def scores(proba: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    """Accuracy and log-loss of the probabilities of class 1."""
    right = np.where(truth == 1, proba, 1 - proba)
    return float(np.mean(right > 0.5)), float(-np.log(np.maximum(right, 1e-12)).mean())


def body_of(found: dict[str, dict[float, list[tuple[float, float]]]], seeds: int) -> str:
    """The table and how far the default is from the best."""
    header = ["method", *(f"{100 * rare:g} %: {what}" for rare in RARE for what in ("accuracy", "log-loss"))]
    rows = [[name, *(_cell(by_rare[rare], i) for rare in RARE for i in (0, 1))] for name, by_rare in found.items()]
    lines = [ABOUT.format(seeds=seeds, n=N, workers=WORKERS, labels=LABELS, d=D, shift=SHIFT), figures(header, rows)]
    if DEFAULT in found:
        gaps = []
        for rare in RARE:
            means = {name: np.mean(by[rare], axis=0) for name, by in found.items() if name != "perfect"}
            accuracy, loss = max(m[0] for m in means.values()), min(m[1] for m in means.values())
            own = means[DEFAULT]
            gaps.append(f"{100 * rare:g} %: {100 * (accuracy - own[0]):.1f} points and {own[1] - loss:.3f}")
        lines.append(f"The default behind the best accuracy and the best log-loss of any method: {'; '.join(gaps)}.")
    return "\n\n".join(lines)


def _cell(values: list[tuple[float, float]], part: int) -> str:
    column = np.array(values)[:, part] * (100 if part == 0 else 1)
    digits = 1 if part == 0 else 3
    return f"{column.mean():.{digits}f} ± {column.std(ddof=1) if len(column) > 1 else 0:.{digits}f}"


def main() -> None:
    """Train everything and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--write", action="store_true", help="write the section of docs/benchmarks/learn.md")
    given = parser.parse_args()
    found: dict[str, dict[float, list[tuple[float, float]]]] = {"perfect": {}}
    for rare in RARE:
        found["perfect"][rare] = [perfect(rare, seed) for seed in range(given.seeds)]
    for name in given.methods:
        found[name] = {rare: [one(name, rare, seed) for seed in range(given.seeds)] for rare in RARE}
        print(f"{name:24}", *(_cell(found[name][rare], part) for rare in RARE for part in (0, 1)), flush=True)
    body = body_of(found, given.seeds)
    print(body)
    if given.write:
        write_section(PAGE, "imbalance", "Rare classes", "python -m benchmarks.learn.imbalance --write", body)


if __name__ == "__main__":
    main()
