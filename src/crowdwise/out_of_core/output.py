"""Write the run folder of a fit in parts: the tables of a fit in memory, with labels.parquet as a folder of parts.

labels.parquet/part-00000.parquet ...   task, label, confidence, entropy, n_labels, (difficulty), p_<class>...,
                                        gold if there is some
labels.parquet/_SUCCESS                 written last: the labels are complete
blind.parquet/part-00000.parquet ...    if gold calibrated the confidence: columns of the fit without gold, in the
                                        same order (blind_confidence, blind_label, ...)
labels.csv                              the labels without gold, sorted by task, of at most a million tasks
workers.csv confusion.parquet confusion.csv ledger.json    as in memory
result.json arrays.npz workers.parquet classes.parquet tasks.parquet (empty)    what `load` reads
votes_sample.parquet            the votes of a sample of tasks, for reports
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ..core.errors import unwritable
from ..core.faults import FAULTS
from ..core.result import Result, versions
from ..evaluation.calibration import KEY
from ..io.atomic import atomic_folder, refuse_to_overwrite
from ..io.csv.cells import to_csv
from ..io.result_files import load_files, write_result
from ..io.run_folder import BLIND, LABELS, MOST_CSV_ROWS, OWN, SAMPLE, with_gold, write_confusion, write_ledger
from ..kinds.classes.estimate import ClassPosterior
from ..kinds.classes.methods.parts import PartEstimate, PartsFit
from ..stats.hashing import name_hash
from .partitioned_result import OLD_LABELS, SUCCESS, PartitionedResult
from .plan import PartitionPlan

FORMAT = 3
NAMES = (*OWN, OLD_LABELS)
# Rows of CSV in memory at once, which grow with the table so that the parts are scanned at most MOST_SCANS times.
CSV_BLOCK, MOST_SCANS = 100_000, 100
# Number of tasks whose votes are written, for reports.
SAMPLE_TASKS = 20_000
Finish = Callable[[PartitionedResult], Any]


@dataclass(frozen=True)
class PartTotals:
    """Counts of a written part, and the sum of its confidence."""

    tasks: int
    unlabelled: int
    confidence: float


@dataclass(frozen=True)
class PartWriter:
    """Writes the labels of a part, on the machine that estimates it."""

    folder: str

    def __call__(self, part: PartEstimate) -> PartTotals:
        """Write a Parquet file of the labels, and one of the columns of the fit without gold."""
        table = with_gold(part.to_table(), part.gold)
        self._write(LABELS, part.number, table)
        blind = {name: values for name, values in part.extra.items() if name.startswith("blind_")}
        if blind:
            self._write(BLIND, part.number, pl.DataFrame(blind))
        unlabelled = int((part.labels_per_task == 0).sum())
        return PartTotals(table.height, unlabelled, float(part.estimate.confidence.sum()))

    def _write(self, name: str, number: int, table: pl.DataFrame) -> None:
        path = Path(self.folder) / name / f"part-{number:05d}.parquet"
        try:
            table.write_parquet(path)
        except FAULTS as error:
            raise unwritable(path, error if isinstance(error, OSError) else OSError(str(error))) from error


def save(
    fit: PartsFit,
    plan: PartitionPlan,
    folder: str | Path,
    *,
    force: bool = False,
    progress: Callable[[int, int, str], None] | None = None,
    finish: Finish | None = None,
) -> dict[str, Any]:
    """Write a fit of a plan's votes and return facts about all tasks.

    The facts are n_tasks, silent (tasks without labels), mean_confidence and the like. `finish` may change the result,
    which is complete except for labels.csv, before the folder takes its place.
    """
    folder = Path(folder)
    refuse_to_overwrite(folder, NAMES, force)
    with atomic_folder(folder, NAMES) as new:
        labels = new / LABELS
        labels.mkdir()
        if "slope" in fit.extra.get(KEY, {}):
            (new / BLIND).mkdir()
        summaries: list[PartTotals] = []
        for summary in fit.map(PartWriter(str(new))):
            summaries.append(summary)
            if progress is not None:
                progress(len(summaries), len(plan.parts), "parts written")
        n = sum(summary.tasks for summary in summaries)
        facts = {
            "parts": len(summaries),
            "n_tasks": n,
            "n_rows": plan.n_rows,
            "silent": sum(summary.unlabelled for summary in summaries),
            "mean_confidence": sum(summary.confidence for summary in summaries) / max(n, 1),
        }
        _write_tables(fit, plan, new, facts)
        if finish is not None:
            finish(PartitionedResult.of(load_files(new), new, facts))
        if n <= MOST_CSV_ROWS:
            write_csv(labels, new / "labels.csv")
        (labels / SUCCESS).touch()
    return facts


def write_csv(labels: Path, path: Path, block: int = CSV_BLOCK) -> None:
    """Write the tables of all parts as one CSV file."""
    with path.open("w", encoding="utf-8", newline="") as file:
        file.writelines(csv_blocks(labels, block))


def csv_blocks(labels: Path, block: int = CSV_BLOCK) -> Iterator[str]:
    """Yield the tables of all parts as CSV, sorted by task; only a block of rows is in memory at a time."""
    parts = pl.scan_parquet(labels / "part-*.parquet").select(pl.exclude("gold"))
    tasks = parts.select("task").collect()["task"].sort()
    block = max(block, len(tasks) // MOST_SCANS)
    for first in range(0, max(len(tasks), 1), block):
        names = tasks[first : first + block]
        rows = parts.filter(pl.col("task").is_between(pl.lit(names[0]), pl.lit(names[-1]))) if len(names) else parts
        yield to_csv(rows.collect().sort("task"), header=first == 0)


def without_tasks(fit: PartsFit, plan: PartitionPlan) -> Result:
    """Return the result of a fit with its workers and no tasks."""
    k = len(fit.classes)
    order = None if plan.order is None else np.array(plan.order, dtype=np.int64)
    seed = int(fit.params.get("seed", 0))
    return Result(
        method=fit.method,
        params=fit.params,
        tasks=plan.source.mapped_part(0).tasks[:0],
        workers=fit.workers,
        estimate=ClassPosterior(np.empty((0, k)), fit.class_prior, fit.classes, None, seed, order),
        worker_summary=fit.worker_summary,
        labels_per_task=np.empty(0, dtype=np.int64),
        labels_per_worker=fit.labels_per_worker,
        versions=versions(),
        **fit.trace_fields(),
    )


def _write_tables(fit: PartsFit, plan: PartitionPlan, folder: Path, facts: dict[str, Any]) -> None:
    result = without_tasks(fit, plan)
    write_result(result, folder)
    about = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    text = json.dumps(about | {"format": FORMAT, "in_parts": facts}, indent=2, ensure_ascii=False) + "\n"
    (folder / "result.json").write_text(text, encoding="utf-8")
    to_csv(result.worker_table(), folder / "workers.csv")
    if result.confusion is not None:
        write_confusion(result, folder)
    write_ledger(plan.ledger, folder)
    sample(plan).write_parquet(folder / SAMPLE)


def sample(plan: PartitionPlan, n: int = SAMPLE_TASKS) -> pl.DataFrame:
    """Return the votes of about n tasks, drawn by the hash of their names: task, worker, label, ..."""
    numbers = list(range(len(plan.parts)))
    if not plan.options["grouped"]:  # a part is a sample by itself
        sums = np.cumsum([part.tasks for part in plan.parts])
        numbers = numbers[: int(np.searchsorted(sums, n)) + 1]
    share = n / max(sum(plan.parts[number].tasks for number in numbers), 1)
    frames = []
    for number in numbers:
        part = plan.source.mapped_part(number)
        low = (name_hash(part.tasks) & np.uint64(0xFFFFFFFF)).astype(np.float64) / 2**32
        frames.append(part.plain().take((low < share)[part.task]).to_frame())
    return pl.concat(frames)
