"""Deep EM beside its aggregator: python -m benchmarks.learn.deep_em [--seeds 24] [--methods NAME ...] [--write]

A method that trains a classifier on its own posterior must not end below the same inference without a classifier.
"""

from __future__ import annotations

import argparse
import warnings
from typing import Any

import numpy as np
import torch

from crowdwise.core import method_registry as registry
from crowdwise.learn import CrowdClassifier
from crowdwise.simulate import OneCoin, PerTask, crowd

from ..markdown import figures, write_section
from .page import PAGE

# The inference of each method on the labels alone.
ALONE = {
    "deep_bp": "belief_propagation", "deep_mf": "mean_field", "bayes_dgc": "mean_field", "agg_net": "dawid_skene",
    "raykar": "dawid_skene", "mbem": "dawid_skene",
}  # fmt: skip
CLASSES = (2, 3, 10)
N, WORKERS, LABELS, D, SKILL, SLACK = 600, 15, 3, 10, 0.8, 0.02
ABOUT = f"""{N} tasks with {LABELS} labels each by {WORKERS} workers who are right in {SKILL:.0%} of their labels;
x ~ N(2 e_k, I) in {D} dimensions, `mlp`, default settings, 15 % of the tasks held out. Accuracy in per cent of the
posterior of the tasks, with features and labels, over {{seeds}} seeds: mean and lowest, beside those of the same
inference on the labels alone. *below*: runs that end more than {100 * SLACK:.0f} points below the labels alone on the
same crowd."""


def planted(k: int, seed: int) -> tuple[np.ndarray, np.ndarray, Any]:
    """Features, truth and votes."""
    rng = np.random.default_rng([seed, k])
    truth = rng.integers(k, size=N)
    x = (rng.normal(size=(N, D)) + 2 * np.eye(k, D)[truth]).astype(np.float32)
    return (
        x,
        truth,
        crowd(N, k, [OneCoin(WORKERS, low=SKILL, high=SKILL)], PerTask(LABELS), truth=truth, seed=seed).annotations,
    )


def one(name: str, k: int, seed: int, **params: Any) -> tuple[float, float]:
    """Accuracy of the method and of the labels alone."""
    x, truth, votes = planted(k, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alone = registry.method(ALONE[name]).fit(votes).posterior
        fitted = CrowdClassifier("mlp", name, params=params, seed=seed).fit(x, votes, tasks=votes.tasks)
    return accuracy(fitted.result_.posterior, truth), accuracy(alone, truth)


def accuracy(posterior: np.ndarray, truth: np.ndarray) -> float:
    """Share of the tasks whose most probable class is the truth."""
    return float(np.mean(posterior.argmax(1) == truth))


def main() -> None:
    """Train everything and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=24)
    parser.add_argument("--methods", nargs="+", choices=list(ALONE), default=list(ALONE))
    parser.add_argument("--classes", nargs="+", type=int, default=list(CLASSES))
    parser.add_argument("--write", action="store_true", help="write the section of docs/benchmarks/learn.md")
    given = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    for name in given.methods:
        for k in given.classes:
            own, alone = np.array([one(name, k, seed) for seed in range(given.seeds)]).T
            below = int((own < alone - SLACK).sum())
            shown = [f"{100 * a.mean():.1f} (lowest {100 * a.min():.1f})" for a in (own, alone)]
            rows.append([f"`{name}`", str(k), *shown, f"`{ALONE[name]}`", f"{below} of {given.seeds}"])
            print(*rows[-1], flush=True)
    body = (
        ABOUT.format(seeds=given.seeds)
        + "\n\n"
        + figures(["method", "classes", "features and labels", "labels alone", "by", "below"], rows)
    )
    print(body)
    if given.write:
        write_section(
            PAGE, "deep_em", "Deep EM beside its aggregator", "python -m benchmarks.learn.deep_em --write", body
        )


if __name__ == "__main__":
    main()
