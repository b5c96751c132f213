"""Coverage of intervals for tasks in clusters: `python -m benchmarks.clusters` writes docs/benchmarks/clusters.md.

Planted: the share of good answers is .4 on average and Beta-distributed over clusters, which fixes the intraclass
correlation. One judge errs in 12 % of the tasks. Every design is measured with the clusters and without them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl

import crowdwise as cw
from crowdwise.evaluation.guarantee.estimand import Estimand, Figure
from crowdwise.evaluation.guarantee.estimate import _EstimateQuery, _figure
from crowdwise.evaluation.guarantee.gold import GoldSample
from crowdwise.evaluation.guarantee.verdicts import Verdicts

from . import DOCS
from .markdown import figures, write_section

PAGE = DOCS / "clusters.md"
HEAD = (
    "# Tasks in clusters: coverage of the intervals\n\nEvery figure here was printed by the command above its table. "
    "How it works: [guarantees](../guarantee.md#tasks-in-clusters).\n"
)
RUNS, TASKS, GOLD, GOLD_OF_CLUSTERS, SHARE, ERROR = 2000, 4000, 400, 1000, 0.4, 0.12
CORRELATIONS = (0.0, 0.1, 0.3, 0.5)
SIZES: tuple[int | str, ...] = (1, 5, 20, 50, "1 to 50")
LEVELS = (0.9, 0.95)
NAMES = np.array(["bad", "good"])


class Planted(NamedTuple):
    """Tasks with their clusters, the truth, and the mean of every cluster."""

    cluster: np.ndarray
    truth: np.ndarray


def sizes_of(size: int | str, rng: np.random.Generator) -> np.ndarray:
    """Sizes of clusters with about TASKS tasks; uneven ones have a skewed distribution from 1 to 50."""
    if isinstance(size, int):
        return np.full(TASKS // size, size)
    sizes = np.clip(np.exp(rng.normal(2.0, 1.0, TASKS)), 1, 50).astype(int)
    return sizes[: int(np.searchsorted(np.cumsum(sizes), TASKS)) + 1]


def planted(size: int | str, correlation: float, rng: np.random.Generator) -> Planted:
    """Draw clusters and the truth of their tasks."""
    sizes = sizes_of(size, rng)
    share = np.full(len(sizes), SHARE)
    if correlation > 0:
        strength = 1 / correlation - 1
        share = rng.beta(SHARE * strength, (1 - SHARE) * strength, len(sizes))
    cluster = np.repeat(np.arange(len(sizes)), sizes)
    return Planted(cluster, (rng.random(len(cluster)) < share[cluster]).astype(int))


def _votes(name: str, code: np.ndarray) -> cw.Annotations:
    return cw.Annotations.from_arrays(np.arange(len(code)), [name] * len(code), NAMES[code])


def _judged(truth: np.ndarray, error: float, rng: np.random.Generator) -> np.ndarray:
    return np.where(rng.random(len(truth)) < error, 1 - truth, truth)


Ends = Callable[[float, bool], tuple[Figure, float]]


def share_of_new(world: Planted, rng: np.random.Generator) -> Ends:
    """The share of good answers in new clusters; gold drawn task by task."""
    chosen = rng.permutation(len(world.truth))[:GOLD]
    return _estimated(world, chosen, "random, drawn", SHARE, rng)


def share_of_these(world: Planted, rng: np.random.Generator) -> Ends:
    """The share of good answers among these tasks; gold of whole clusters."""
    order = rng.permutation(int(world.cluster.max()) + 1)
    sizes = np.bincount(world.cluster)[order]
    drawn = order[: int(np.searchsorted(np.cumsum(sizes), GOLD_OF_CLUSTERS)) + 1]
    chosen = np.flatnonzero(np.isin(world.cluster, drawn))
    return _estimated(world, chosen, "clusters", float(world.truth.mean()), rng)


def _estimated(world: Planted, chosen: np.ndarray, design: str, true: float, rng: np.random.Generator) -> Ends:
    """The step of `cw.estimate` after reading and checking, which would take most of the time."""
    n, label = len(world.truth), _judged(world.truth, ERROR, rng)
    tasks, classes = pl.Series("task", np.arange(n)), pl.Series("label", NAMES.tolist())
    verdicts = Verdicts(tasks, "judge", label, classes, np.ones(n), np.ones(n, dtype=np.int64))
    target, gold = Estimand("share:good", "share", np.array([0.0, 1.0])), GoldSample(chosen, world.truth[chosen])
    seed = int(rng.integers(2**31))

    def ends(level: float, clustered: bool) -> tuple[Figure, float]:
        query = _EstimateQuery(level, design != "clusters", design, "auto", seed)
        return _figure(target, gold, replace(verdicts, cluster=world.cluster if clustered else None), query), true

    return ends


def accuracies(world: Planted, rng: np.random.Generator) -> Ends:
    """Accuracy of one system less that of another in new clusters: one suits the first system, another the second."""
    truth, suits = rng.integers(2, size=len(world.truth)), world.truth == 1
    chances = (np.where(suits, 0.95, 0.6), np.where(suits, 0.65, 0.8))
    codes = [np.where(rng.random(len(truth)) < p, truth, 1 - truth) for p in chances]
    votes = [_votes(name, code) for name, code in zip("xy", codes, strict=True)]
    drawn = cw.draw(votes[0], GOLD, seed=int(rng.integers(2**31)))
    gold = {task: NAMES[truth[task]] for task in drawn.tasks}
    table = pl.DataFrame({"task": np.arange(len(truth)), "cluster": world.cluster})
    true = SHARE * (0.95 - 0.65) + (1 - SHARE) * (0.6 - 0.8)

    def ends(level: float, clustered: bool) -> tuple[Figure, float]:
        return cw.difference(
            *votes, gold=gold, sampling=drawn, population="new", level=level, cluster=table if clustered else None
        ), true

    return ends


DESIGNS: dict[str, tuple[str, Callable[[Planted, np.random.Generator], Ends]]] = {
    "new": ("share in new clusters, gold drawn task by task", share_of_new),
    "these": ("share of these tasks, gold of whole clusters", share_of_these),
    "difference": ("difference of two accuracies, new clusters", accuracies),
}


def coverage(design: str, size: int | str, correlation: float, runs: int) -> dict[tuple[float, bool], float]:
    """Share of the runs in which the interval covers, by level and whether the clusters were given."""
    make = DESIGNS[design][1]
    seed = [31, *(ord(c) for c in f"{design} {size}"), int(correlation * 100)]
    rng = np.random.default_rng(seed)
    hits = dict.fromkeys([(level, given) for level in LEVELS for given in (True, False)], 0)
    for _ in range(runs):
        ends = make(planted(size, correlation, rng), rng)
        for level, given in hits:
            figure, true = ends(level, given)
            assert figure.low is not None
            assert figure.high is not None
            hits[level, given] += figure.low <= true <= figure.high
    return {key: hit / runs for key, hit in hits.items()}


def rows(design: str, runs: int, jobs: int) -> list[list[str]]:
    """One row for each size of clusters and intraclass correlation."""
    cells = [(size, correlation) for size in SIZES for correlation in CORRELATIONS if size != 1 or correlation == 0]
    if design == "difference":
        cells = [(20, 0.0), (20, 0.3), (50, 0.5), ("1 to 50", 0.3), ("1 to 50", 0.5)]
    out = []
    with ProcessPoolExecutor(jobs) as pool:
        jobs_ = [pool.submit(coverage, design, size, correlation, runs) for size, correlation in cells]
        for (size, correlation), job in zip(cells, jobs_, strict=True):
            shares = job.result()
            line = [f"{shares[level, given]:.3f}" for level in LEVELS for given in (True, False)]
            out.append([str(size), f"{correlation:g}", *line])
            print(design, *out[-1], flush=True)
    return out


def main() -> None:
    """Write the sections."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("designs", nargs="*", default=list(DESIGNS), metavar="DESIGN", help=", ".join(DESIGNS))
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    if not PAGE.is_file():
        PAGE.write_text(HEAD, encoding="utf-8")
    header = ["tasks in a cluster", "ICC", "90 %", "90 %, without --cluster", "95 %", "95 %, without --cluster"]
    for design in given.designs:
        body = figures(header, rows(design, given.runs, given.jobs))
        text = (
            f"Coverage of intervals: {DESIGNS[design][0]}. About {TASKS:,} tasks, "
            f"{GOLD_OF_CLUSTERS if design == 'these' else GOLD:,} gold labels, {given.runs:,} runs "
            f"for each row (standard error {100 * np.sqrt(0.09 / given.runs):.1f} and "
            f"{100 * np.sqrt(0.0475 / given.runs):.1f} points).\n\n{body}"
        )
        title = f"Coverage: {DESIGNS[design][0]}"
        write_section(PAGE, design, title, f"python -m benchmarks.clusters {design}", text)


if __name__ == "__main__":
    main()
