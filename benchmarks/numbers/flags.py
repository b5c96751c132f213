"""Who is flagged, in planted crowds: recall of those who should be, and honest workers accused."""

from __future__ import annotations

from collections import Counter

import numpy as np

from crowdwise.kinds.numbers import maths as numbers
from crowdwise.kinds.numbers.maths.rows import NumberRows
from crowdwise.kinds.numbers.maths.workers import quality
from crowdwise.kinds.numbers.simulate import SimulatedNumbers, number_crowd

STEPS = {"not rounded": (), "rounded to 1": (1.0,), "to 5 or 10": (5.0, 10.0), "to 10": (10.0,)}
MIXED = {"constant": 0.1, "random": 0.1, "reversed": 0.1, "copier": 0.1}
FLAGS = ("constant", "random", "reversed", "copying")


def planted(steps: tuple[float, ...], seed: int, **shares: float) -> tuple[NumberRows, SimulatedNumbers]:
    """Thirty workers on a scale from 0 to 100, eight answers a task."""
    crowd = number_crowd(
        300, 30, per_task=8, centre=50, scale=20, slope=0.15, noise=(0.2, 1.0), steps=steps,
        limits=(0, 100) if steps else None, seed=seed, **shares,
    )  # fmt: skip
    return NumberRows(crowd.task, crowd.worker, crowd.value, None, 300, 30), crowd


def counts(steps: tuple[float, ...], seed: int, **shares: float) -> Counter[tuple[str, str]]:
    """Of each flag: hits, and workers who should (`due`) and should not (`free`) have it, and `false` hits."""
    rows, crowd = planted(steps, seed, **shares)
    found = quality(rows, numbers.gaussian(rows, slope=True))
    kind, out = np.array(crowd.kind), Counter()
    hits = dict(zip(FLAGS[:3], (found.constant, *found.chances.sure()), strict=True))
    for flag, hit in hits.items():
        due, free = kind == flag, kind == "honest"
        out.update({(flag, "hits"): int((hit & due).sum()), (flag, "due"): int(due.sum())})
        out.update({(flag, "false"): int((hit & free).sum()), (flag, "free"): int(free.sum())})
    group = np.where(crowd.copies >= 0, crowd.copies, np.arange(30))
    pairs = {(int(a), int(b)) for a, b in zip(found.copying.first, found.copying.second, strict=True)}
    due_pairs = {(min(i, int(s)), max(i, int(s))) for i, s in enumerate(crowd.copies) if s >= 0}
    accused = {w for a, b in pairs if group[a] != group[b] for w in (a, b)}
    out.update({("copying", "hits"): len(pairs & due_pairs), ("copying", "due"): len(due_pairs)})
    out.update({("copying", "false"): len(accused), ("copying", "free"): 30})
    return out


def flag_rows(seeds: int = 10) -> list[list[str]]:
    """A row for each way of rounding, with and without bad workers."""
    out = []
    for crowd, shares in (("honest only", {}), ("10 % of each kind", MIXED)):
        for name, steps in STEPS.items():
            total: Counter[tuple[str, str]] = Counter()
            for seed in range(seeds):
                total.update(counts(steps, seed, **shares))
            cells = []
            for flag in FLAGS:
                due, free = total[flag, "due"], total[flag, "free"]
                recall = f"{total[flag, 'hits']}/{due}" if due else "–"
                cells += [recall, f"{total[flag, 'false']}/{free}"]
            out.append([f"{crowd}, {name}", *cells])
            print(*out[-1], flush=True)
    return out
