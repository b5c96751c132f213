"""The workers of a fit of same or different in a few rows."""

from __future__ import annotations

from ...core.result import Result
from ..ranking import best_and_worst
from ..wording import between, number


def worker_rows(result: Result, limit: int = 5) -> tuple[list[str], list[list[str]]]:
    """The best and the worst by the share of their answers that go with the clusters."""
    best, worst = best_and_worst(result.worker_table(), limit)
    rows = [
        [str(r["worker"]), f"{r['n_labels']:,}", number(r["skill"]), between(r["skill_low"], r["skill_high"]),
         number(r["hit"]), number(r["rejection"])]
        for r in best.vstack(worst.reverse()).to_dicts()
    ]  # fmt: skip
    if len(worst):
        rows.insert(limit, ["…"] + [""] * 5)
    return ["worker", "answers", "skill", "95 % interval", "same of same", "different of different"], rows
