"""Who is flagged, in planted crowds: recall of those who should be, and honest workers accused."""

from __future__ import annotations

from collections import Counter

from tests.crowds.numbers import FLAGS, MIXED, counts

STEPS = {"not rounded": (), "rounded to 1": (1.0,), "to 5 or 10": (5.0, 10.0), "to 10": (10.0,)}


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
