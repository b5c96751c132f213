"""Rows of the tables of workers and of tasks, as the page of numbers shows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from markupsafe import Markup

from ...core.result import Result
from ...core.votes import Votes
from ...kinds.numbers.votes import Numbers
from ...workers.numbers.study import TRUST, NumberStudy
from ...workers.ranking import best_first
from ...workers.wording import amount, amounts, said
from .. import svg
from ..text import shown
from ..workers import flags_by_worker, most_telling

# Tasks shown; answers to one task that are listed.
TASKS, ANSWERS = 100, 40


@dataclass(frozen=True)
class WorkerRow:
    """A worker (and part): `of` are the numbers of the quality table, `words` those in the answers' own units."""

    worker: str
    part: str
    of: dict[str, Any]
    words: dict[str, str]
    correlation: Markup
    bias: Markup
    flags: list[str]


def worker_rows(look: NumberStudy) -> list[WorkerRow]:
    """Those who go with the others most first; of too many workers the flagged and the busiest."""
    flagged, units = flags_by_worker(look), look.units()
    table = best_first(most_telling(look, flagged), TRUST)
    reach = _reach(table)
    out = []
    for row in table.to_dicts():
        part = row.get("part", "")
        unit, far = units[part], reach[part]
        ends = (row["correlation_low"], row["correlation_high"])
        words = {name: amount(row[name], unit) for name in ("bias", "spread", "gold_rmse")}
        words |= {
            f"{name}_between": amounts(row[f"{name}_low"], row[f"{name}_high"], unit) for name in ("bias", "spread")
        }
        out.append(
            WorkerRow(
                worker=shown(row["worker"]),
                part=shown(part, 30),
                of=row,
                words=words,
                correlation=svg.interval(row["correlation"], *ends, start=-1.0),
                bias=svg.interval(row["bias"], row["bias_low"], row["bias_high"], start=-far, stop=far),
                flags=flagged.get(str(row["worker"]), []),
            )
        )
    return out


def _reach(table: pl.DataFrame) -> dict[str, float]:
    """How far the scale of the biases goes on both sides, by part: nine of ten intervals lie on it."""
    parts = table["part"].unique().to_list() if "part" in table.columns else [""]
    out = {}
    for part in parts:
        own = table.filter(pl.col("part") == part) if "part" in table.columns else table
        ends = np.abs(own.select("bias_low", "bias_high", "bias").to_numpy().astype(np.float64))
        far = np.nanquantile(np.nanmax(np.where(np.isnan(ends), 0.0, ends), axis=1), 0.9) if len(own) else 0.0
        out[part] = float(far) if far > 0 else 1.0
    return out


@dataclass(frozen=True)
class TaskRow:
    """A task: for each part its estimate, interval and a drawing of the answers around it; who said what."""

    task: str
    parts: list[tuple[str, str, str]]
    n_labels: int
    width: float | None
    why: str
    said: list[tuple[str, str]]


def task_rows(votes: Votes[Numbers], result: Result, table: pl.DataFrame, units: dict[str, float]) -> list[TaskRow]:
    """The least sure tasks, whether or not they are to be asked again."""
    some = table.head(TASKS).to_dicts()
    place = {name: i for i, name in enumerate(result.tasks.to_list())} if some else {}
    workers = votes.workers.to_list()
    out = []
    for row in some:
        parts = []
        for part, unit in units.items():
            end = f"_{part}" if part else ""
            between = amounts(row[f"low{end}"], row[f"high{end}"], unit)
            parts.append((shown(part, 30), amount(row[f"value{end}"], unit), between))
        answers = _said(votes, place[row["task"]], workers)
        out.append(TaskRow(shown(row["task"]), parts, row["n_labels"], row["width"], row["why"], answers))
    return out


def _said(votes: Votes[Numbers], task: int, workers: list[Any]) -> list[tuple[str, str]]:
    """(what, who) of each answer, from low to high."""
    here = np.arange(votes.task_offsets[task], votes.task_offsets[task + 1])
    order = here[np.argsort(votes.answers.value[here, 0], kind="stable")][:ANSWERS]
    return [
        (", ".join(said(float(v)) for v in votes.answers.value[i]), shown(workers[votes.worker[i]], 30)) for i in order
    ]
