"""The default's confidence after gold: 20 to 300 tasks drawn at random, on the open sets and on planted crowds.

    python -m benchmarks.quality.gold

Writes docs/benchmarks/gold.md. Each crowd is fitted once without gold; gold is drawn again and again, and the
calibration, the interval and the labels to ship are those of `crowdwise aggregate --gold` (maths/trust and
evaluation/statement.py). They are judged on the tasks that were not drawn.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

import crowdwise as cw
from crowdwise import simulate
from crowdwise.evaluation.calibration import expected_calibration_error
from crowdwise.evaluation.guarantee import sequential
from crowdwise.evaluation.statement import ERROR, MIN_CHECKED, RISK
from crowdwise.stats.gold_calibration import GoldCalibration, share_right, shippable

from .. import DOCS
from ..markdown import table
from ..speed import machine
from . import sets
from .confidence import tables_without
from .default import SIZES, confidence_of
from .pools import pools
from .rows import OFF

PAGE = DOCS / "gold.md"
COMMAND = "python -m benchmarks.quality.gold"
GOLD, DRAWS = (20, 50, 100, 300), 10
SEEDS = range(500, 502)
WORDS = f"""{DRAWS} draws of gold a crowd, judged on the tasks that were not drawn. Off: mean distance of claimed and
true share of right labels. Ships: share of the labels shipped at {100 * ERROR:g} % error; broken: share of the draws in
which more of them were wrong. `accept` promises to break at most one draw in ten, the estimate one in five. The
constants of the calibration (prior covariance, pseudo-observations) were fitted on the open sets, families left out,
for the committee's confidence; they were not changed for this default. On an open set the committee's confidence is
that which was learnt without the set's family, as in [the default without gold](default.md). Planted: all class
scenarios, seeds 500 and 501.
"""


def real() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """(name, confidence, right) of the labels with known truth; confidence was learnt without the set's family."""
    tables = tables_without(pools(cw.datasets.INDEPENDENT))
    for name in cw.datasets.INDEPENDENT:
        data = sets.load(name)
        with confidence_of(tables[cw.datasets.family(name)]):
            result = cw.Adaptive().fit(data.annotations)
        at = np.flatnonzero(data.truth >= 0)
        yield name, result.confidence[at], (result.labels[at] == data.truth[at]).astype(float)


def planted() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """The same of every scenario of classes."""
    for name in simulate.SCENARIOS:
        for tasks, workers, classes, labels in SIZES:
            for seed in SEEDS:
                crowd = simulate.scenario(name, tasks=tasks, workers=workers, classes=classes, labels=labels, seed=seed)
                result = cw.Adaptive().fit(crowd.annotations)
                yield f"{name} {tasks} {seed}", result.confidence, (result.labels == crowd.truth).astype(float)


def one_draw(confidence: np.ndarray, right: np.ndarray, g: int, seed: int) -> dict[str, float]:
    """What g checked tasks make of one crowd, judged on the others."""
    order = np.random.default_rng([seed, g]).permutation(len(right))
    gold, rest = order[:g], order[g:]
    learnt = GoldCalibration.fit(confidence, confidence[gold], right[gold])
    claimed = learnt.of(confidence[rest])
    share = share_right(confidence[rest], confidence[gold], right[gold], claimed)
    true = float(right[rest].mean())
    out = {
        "before": abs(float(confidence[rest].mean()) - true),
        "after": abs(share.mean - true),
        "ece": expected_calibration_error(claimed, right[rest]),
        "covers": float(share.low <= true <= share.high),
        "width": share.high - share.low,
    }
    n = shippable(confidence[rest], confidence[gold], right[gold], learnt, ERROR)
    best = rest[np.argsort(-confidence[rest], kind="stable")[:n]]
    out["estimate"] = n / len(rest)
    out["estimate broken"] = float(n > 0 and right[best].mean() < 1 - ERROR)
    if g >= MIN_CHECKED:
        threshold, size = sequential.ladder(confidence)
        m, e = sequential.counts_per_step(threshold, confidence[gold], right[gold] < 0.5)
        last = sequential.fixed_sequence(size, m, e, ERROR, RISK).last
        taken = (
            np.round(confidence[rest], sequential.DIGITS) >= threshold[last] if last >= 0 else np.zeros(len(rest), bool)
        )
        out["accept"] = float(taken.mean())
        out["accept broken"] = float(taken.any() and right[rest][taken].mean() < 1 - ERROR)
    return out


def rows_of(crowds: list[tuple[str, np.ndarray, np.ndarray]]) -> list[list[str]]:
    """A row of the page for every number of gold tasks."""
    out = []
    for g in GOLD:
        sets: list[dict[str, Any]] = []
        for _, confidence, right in crowds:
            if len(right) < 2 * g:
                continue
            draws = [one_draw(confidence, right, g, seed) for seed in range(DRAWS)]
            sets.append({k: float(np.mean([d[k] for d in draws])) for k in draws[0]})
            sets[-1]["off"] = float(np.mean([d["after"] > OFF for d in draws]))
        mean = {k: float(np.mean([s[k] for s in sets])) for k in sets[0]}
        accept = f"{mean['accept']:.3f} / {mean['accept broken']:.3f}" if "accept" in mean else "-"
        out.append([
            str(g), str(len(sets)), f"{mean['before']:.3f}", f"{mean['after']:.3f}",
            f"{sum(s['off'] for s in sets):.1f}", f"{mean['ece']:.3f}", f"{mean['covers']:.3f}", f"{mean['width']:.3f}",
            f"{mean['estimate']:.3f} / {mean['estimate broken']:.3f}", accept,
        ])  # fmt: skip
    return out


def main() -> None:
    warnings.simplefilter("ignore")
    head = [
        "gold", "sets", "off before", "off after", f"sets off by > {OFF}", "ECE", "interval covers", "width",
        "estimate: ships / broken", "accept: ships / broken",
    ]  # fmt: skip
    facts = table(["", "measured on"], [list(fact) for fact in machine.own_facts()])
    text = ["# The default after gold", "", f"Written by `{COMMAND}`; do not edit by hand.", "", facts, "", WORDS, ""]
    for title, crowds in (("Open sets, families left out", list(real())), ("Planted crowds", list(planted()))):
        text += [f"## {title}", "", table(head, rows_of(crowds)), ""]
    page = "\n".join(text)
    print(page)
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
