"""Do the skill intervals of the default hold the workers' accuracy against the truth, on real and planted crowds?

    python -m benchmarks.workers.skills

Real: every worker with at least 20 labels on tasks with a truth, in the sets of `datasets.INDEPENDENT`, without gold
and with random gold tasks, which do not count. Planted: one-coin workers, every method that needs no gold. Writes
docs/benchmarks/skills.md.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv

import crowdwise as cw
from crowdwise.core import method_registry as registry
from crowdwise.core.errors import CrowdwiseWarning
from crowdwise.kinds.classes.maths.skill import Skill, skill_of, widest

from .. import DOCS
from ..markdown import figures, table
from ..quality import sets
from ..speed import machine

PAGE = DOCS / "skills.md"
FEWEST, MANY = 20, 20
SEEDS = 6
CROWDS = [(k, labels) for k in (2, 4, 10, 20) for labels in (3, 5)]


GOLD = (50, 100)
DRAWS = 2
# A set is measured with gold where it has so many times as many checked tasks, and no more labels than this.
REST, MOST = 2.5, 60_000


WORDS = """The lower end gives way for what everybody gets wrong together (kinds/classes/maths/skill.py): by one in log
odds, and by no more than the share of labels that the default expects to be wrong; with gold, by no more than .8 of the
share that is measured. So on planted crowds, where nobody errs together, only the upper end misses: by design 5 %,
fewer where two sides judge. These amounts were settled with these sets in view. They cover a crowd as wrong as most:
where the truth answers another question than the workers did (hitspam_cf), nothing covers."""

FLOOR = """## How narrow they can be
The last column of the table of sets is the width of the interval (Jeffreys) for somebody who knows the truth of every
task: the sampling error of the worker's own labels. Its mean is {floor:.2f}; ours is {width:.2f}, with 50 gold tasks
{fifty:.2f}. The fixed amount alone, without the bound by the expected share of wrong labels, has a mean width of
{fixed:.2f} at a coverage of {before:.3f}: half of that leaves nothing for errors that workers share, and without any
allowance {bare:.0%} of the intervals hold the truth.

The test of independence says little about these errors. Among the {n_strong} sets whose evidence power is above .9 the
skills are too high by {strong} in log odds, and without any allowance {bare_strong:.0%} of the intervals hold the
truth; among the other {n_weak} sets by {weak}, and {bare_weak:.0%}. Medians, because one set (hitspam_cf) alone moves
the mean."""


@dataclass(frozen=True)
class Covered:
    """Of the workers of one set: how many, coverage and mean width, mean of skill - accuracy; mean width of intervals
    that know the truth; offset in log odds; coverage without allowance; coverage and width by COMMON_ERRORS alone."""

    workers: int
    coverage: float
    width: float
    gap: float
    floor: float
    offset: float
    bare: float
    fixed_coverage: float
    fixed_width: float
    power: float | None


def fit(method: str, votes: cw.Annotations, gold: dict[object, object] | None = None) -> cw.Result:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CrowdwiseWarning)
        return registry.method(method).fit(votes, gold=gold)


def logit(p: np.ndarray) -> np.ndarray:
    return np.log(p / (1 - p))


def real(name: str, n_gold: int = 0, draw: int = 0) -> Covered | None:
    """One set, with so many random gold tasks; None where nobody has labels enough."""
    data = sets.load(name)
    votes = data.annotations
    known = np.flatnonzero((data.truth >= 0) & (data.truth < votes.n_classes))
    if n_gold and (len(known) < REST * n_gold or len(votes) > MOST):
        return None
    drawn = np.random.default_rng([n_gold, draw]).choice(known, n_gold, replace=False)
    gold = {votes.tasks[int(i)]: votes.classes[int(data.truth[i])] for i in drawn}
    true = data.truth[votes.task]
    seen = (true >= 0) & ~np.isin(votes.task, drawn)
    n = np.bincount(votes.worker[seen], minlength=votes.n_workers)
    hits = np.bincount(votes.worker[seen], votes.label[seen] == true[seen], votes.n_workers)
    who = n >= FEWEST
    if not who.any():
        return None
    r = fit(registry.DEFAULT, votes, gold or None)
    sums = r.worker_summary._skill._compute.args[0]  # what the skills are computed from
    n, hits, accuracy = n[who], hits[who], (hits / np.maximum(n, 1))[who]

    def measured(skill: Skill) -> tuple[float, float]:
        low, high = skill.low[who], skill.high[who]
        return float(((low <= accuracy) & (accuracy <= high)).mean()), float((high - low).mean())

    own = measured(Skill(r.skill, r.skill_low, r.skill_high))
    floor = betaincinv(hits + 0.5, n - hits + 0.5, 0.975) - betaincinv(hits + 0.5, n - hits + 0.5, 0.025)
    mean = float(np.average(r.skill[who], weights=n))
    offset = logit(np.array(mean)) - logit(np.array((hits.sum() + 0.5) / (n.sum() + 1)))
    return Covered(
        int(who.sum()), *own, float((r.skill[who] - accuracy).mean()), float(floor.mean()), float(offset),
        measured(widest([skill_of(view, wrong=0.0) for view in sums]))[0],
        *measured(widest([skill_of(view) for view in sums])),
        r.extra["independence"]["power"],
    )  # fmt: skip


def with_gold(names: list[str], n_gold: int) -> list[Covered]:
    """All sets that are large enough, several draws each."""
    found = [real(name, n_gold, draw) for name in names for draw in range(DRAWS)]
    return [one for one in found if one is not None]


def planted(method: str, k: int, labels: int) -> float:
    """Share of the true accuracies inside their intervals; 20 workers, 400 tasks, several seeds."""
    inside: list[bool] = []
    for seed in range(SEEDS):
        rng = np.random.default_rng([seed, k, labels])
        truth, skill = rng.integers(k, size=400), rng.uniform(0.55, 0.95, 20)
        task = np.repeat(np.arange(400), labels)
        worker = np.concatenate([rng.choice(20, labels, replace=False) for _ in range(400)])
        right = rng.random(len(task)) < skill[worker]
        label = np.where(right, truth[task], (truth[task] + rng.integers(1, k, len(task))) % k)
        votes = cw.Annotations.from_arrays(task, worker, label, workers=range(20), classes=range(k))
        r = fit(method, votes)
        inside += ((r.skill_low <= skill) & (skill <= r.skill_high)).tolist()
    return float(np.mean(inside))


def mean(rows: Iterable[Covered], what: str) -> float:
    return float(np.mean([getattr(row, what) for row in rows]))


def reason(rows: dict[str, Covered], gold: dict[int, list[Covered]]) -> str:
    """Why the intervals are not narrower."""
    every = list(rows.values())
    strong = [r for r in every if r.power is not None and r.power > 0.9]
    weak = [r for r in every if r not in strong]
    return FLOOR.format(
        floor=mean(every, "floor"), width=mean(every, "width"), fifty=mean(gold[GOLD[0]], "width"),
        fixed=mean(every, "fixed_width"), before=mean(every, "fixed_coverage"), bare=mean(every, "bare"),
        n_strong=len(strong), strong=offset(strong), bare_strong=mean(strong, "bare"),
        n_weak=len(weak), weak=offset(weak), bare_weak=mean(weak, "bare"),
    )  # fmt: skip


def offset(rows: list[Covered]) -> str:
    return f"{np.median([r.offset for r in rows]):.2f} (mean {mean(rows, 'offset'):.2f})"


def gold_table(rows: dict[str, Covered], gold: dict[int, list[Covered]]) -> str:
    """Coverage and width by the number of gold tasks, beside those of the fixed amount alone."""
    cells = [
        [name, str(len(some)), *(f"{mean(some, what):.3f}" for what in
         ("coverage", "width", "fixed_coverage", "fixed_width", "floor"))]
        for name, some in {"none": list(rows.values()), **{f"{g} tasks": some for g, some in gold.items()}}.items()
    ]  # fmt: skip
    header = ["gold", "sets × draws", "coverage", "width", "coverage, fixed amount", "width, fixed amount"]
    return figures([*header, "width with the truth"], cells)


def main() -> None:
    """The page."""
    found = {name: real(name) for name in cw.datasets.INDEPENDENT}
    rows = {name: row for name, row in found.items() if row is not None}
    gold = {g: with_gold(list(rows), g) for g in GOLD}
    cover = mean(rows.values(), "coverage")
    change = cover - mean(rows.values(), "fixed_coverage")
    low = [name for name, row in rows.items() if row.workers >= MANY and row.coverage < 0.85]
    cells: dict[str, list[float | None]] = {}
    for method in registry.METHODS:
        if "gold" in registry.card(method).needs:
            continue
        cells[method] = []
        for k, labels in CROWDS:
            try:
                cells[method].append(planted(method, k, labels))
            except cw.CrowdwiseError:
                cells[method].append(None)
        print(method, cells[method], flush=True)
    means = {m: float(np.mean([c for c in row if c is not None])) for m, row in cells.items() if any(row)}
    off = [m for m, mean in means.items() if not 0.92 <= mean <= 0.98]
    bars = [
        ["real sets, mean coverage", ".90 to .98", f"{cover:.3f} over {len(rows)} sets", 0.9 <= cover <= 0.98],
        ["real sets, mean coverage beside that of the fixed amount", "at most .010 lower",
         f"{change:+.3f}", change >= -0.01],
        [f"real sets with {MANY} such workers below .85", "none", f"{len(low)}: {', '.join(low)}", not low],
        ["planted, mean over K and labels, every method", ".92 to .98", f"{len(off)} of {len(means)} outside: "
         + ", ".join(f"{m} {means[m]:.3f}" for m in off), not off],
    ]  # fmt: skip
    text = "\n\n".join(
        [
            "# Skill intervals against the truth",
            "Written by `python -m benchmarks.workers.skills`; do not edit by hand.",
            table(["", "measured on"], [list(fact) for fact in machine.own_facts()]),
            table(["what", "bar", "measured", "verdict"], [[*b[:3], "PASS" if b[3] else "MISSED"] for b in bars]),
            WORDS,
            reason(rows, gold),
            "## Real sets",
            gold_table(rows, gold),
            figures(
                ["set", "workers", "coverage", "mean width", "skill - accuracy", "width with the truth"],
                [
                    [name, str(r.workers), f"{r.coverage:.2f}", f"{r.width:.2f}", f"{r.gap:+.2f}", f"{r.floor:.2f}"]
                    for name, r in rows.items()
                ],
            ),
            "## Planted crowds",
            f"20 workers of accuracy .55 to .95, 400 tasks, {SEEDS} seeds: {20 * SEEDS} intervals a cell.",
            figures(
                ["method", *(f"K={k}, {labels}" for k, labels in CROWDS), "mean"],
                [
                    [m, *("" if c is None else f"{c:.2f}" for c in row), f"{means[m]:.3f}" if m in means else ""]
                    for m, row in cells.items()
                ],
            ),
        ]
    )
    PAGE.write_text(text + "\n", encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
