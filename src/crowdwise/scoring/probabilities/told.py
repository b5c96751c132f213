"""Probabilities in words and small tables: what is in a file, what a fit found."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.result import Result
from ...core.votes import Votes
from ...kinds.describe import common
from ...kinds.probabilities.votes import Probabilities
from ..scored import Table


def describe(votes: Votes[Probabilities]) -> dict[str, Any]:
    """What votes of every kind have, and where the probabilities lie."""
    p = votes.answers.probability
    certain = (p == 0) | (p == 1)
    facts: dict[str, float | None] = {"mean": None, "sure": None, "halves": None}
    if len(p):
        facts = {"mean": float(p.mean()), "sure": float(certain.mean()), "halves": float((p == 0.5).mean())}
    return {**common(votes), "probability": facts}


def inspect(facts: dict[str, Any], limit: int) -> tuple[list[list[str]], list[Table], list[str]]:  # noqa: ARG001
    """Rows, tables and advice for `crowdwise inspect`."""
    rows = [["tasks with several answers", f"{facts['tasks_with_several_labels']:,}"]]
    told = facts["probability"]
    if told["mean"] is None:
        return rows, [], []
    rows += [
        ["mean probability", f"{told['mean']:.3f}"],
        ["answers that are 0 or 1", f"{told['sure']:.1%}"],
        ["answers that are 1/2", f"{told['halves']:.1%}"],
    ]
    advice = ["every answer is 0 or 1: read them as classes with --kind classes"] * (told["sure"] == 1)
    return rows, [], advice


def sentences(votes: Votes[Probabilities], result: Result) -> list[str]:
    """What a fit found."""
    out = [result.estimate.summary()]
    mean = float(votes.answers.probability.mean()) if len(votes) else 0.5
    if abs(mean - 0.5) > 0.1:
        way = "yes" if mean > 0.5 else "no"
        out.append(f"the answers lean to {way} (mean {mean:.2f}); a mean of answers leans with them")
    if result.gold is None:
        out.append("whether such probabilities come true only outcomes can show (evaluate --truth)")
    return out


def show(result: Result) -> tuple[str, list[Table]]:
    """The summary, and the tasks nearest to 1/2."""
    order = np.argsort(np.abs(result.probability - 0.5), kind="stable")[:5]
    table = result.to_table()[order.tolist()]
    rows = [[f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in row] for row in table.iter_rows()]
    return result.estimate.summary(), [Table("Least certain tasks", table.columns, rows)]
