"""The run folder of a fit in parts: tables of the tasks in Parquet, a part each; everything else as in other runs.

    labels/part-00000.parquet ...   task, label, confidence, entropy, n_labels, p_<class>..., gold where some is known
    labels/_SUCCESS                 written last: the labels are whole
    workers.csv confusion.parquet ledger.json    for people
    result.json arrays.npz workers.parquet classes.parquet tasks.parquet (empty)    what `load` reads
    votes_sample.parquet            the votes of a sample of tasks, for reports

The folder is written beside its place and renamed, as every run's.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ..aggregate.parts import PartEstimate, PartsFit
from ..core.errors import unwritable
from ..core.faults import FAULTS
from ..core.result import Result, versions
from ..io.beside import refuse_to_overwrite, written_beside
from ..io.csv.cells import to_csv
from ..io.result_files import write_result
from ..io.run_folder import LEDGER, OWN, SAMPLE
from ..kinds.classes.estimate import ClassPosterior
from .hashing import name_hash
from .plan import Plan

LABELS, SUCCESS = "labels", "_SUCCESS"
FORMAT = 3
NAMES = (*OWN, LABELS, SAMPLE, "confusion.parquet")
# Tasks whose votes are kept beside the labels, for reports.
SAMPLE_TASKS = 20_000


@dataclass(frozen=True)
class Told:
    """What is said of a part that was written."""

    tasks: int
    silent: int
    confidence: float


@dataclass(frozen=True)
class Writing:
    """Writes the labels of a part, wherever the part is."""

    folder: str

    def __call__(self, part: PartEstimate) -> Told:
        """One Parquet file."""
        table = part.to_table()
        if part.gold is not None:
            table = table.with_columns(gold=pl.Series(part.gold))
        more = {name: pl.Series(values) for name, values in part.extra.items() if values.ndim == 1}
        path = Path(self.folder) / f"part-{part.number:05d}.parquet"
        try:
            table.with_columns(**more).write_parquet(path)
        except FAULTS as error:
            raise unwritable(path, error if isinstance(error, OSError) else OSError(str(error))) from error
        silent = int((part.labels_per_task == 0).sum())
        return Told(table.height, silent, float(part.estimate.confidence.sum()))


def save(
    fit: PartsFit,
    plan: Plan,
    folder: str | Path,
    *,
    force: bool = False,
    progress: Callable[[int, int, str], None] | None = None,
) -> dict[str, Any]:
    """Write a fit of a plan's votes; returns what is said of all tasks: n_tasks, silent, mean_confidence."""
    folder = Path(folder)
    refuse_to_overwrite(folder, NAMES, force)
    with written_beside(folder, NAMES) as new:
        labels = new / LABELS
        labels.mkdir()
        told: list[Told] = []
        for each in fit.map(Writing(str(labels))):
            told.append(each)
            if progress is not None:
                progress(len(told), len(plan.parts), "parts written")
        n = sum(each.tasks for each in told)
        facts = {
            "parts": len(told),
            "n_tasks": n,
            "n_rows": plan.n_rows,
            "silent": sum(each.silent for each in told),
            "mean_confidence": sum(each.confidence for each in told) / max(n, 1),
        }
        _write_rest(fit, plan, new, facts)
        (labels / SUCCESS).touch()
    return facts


def without_tasks(fit: PartsFit, plan: Plan) -> Result:
    """The result of a fit as far as workers go: its tasks are none."""
    k = len(fit.classes)
    order = None if plan.order is None else np.array(plan.order, dtype=np.int64)
    seed = int(fit.params.get("seed", 0))
    return Result(
        method=fit.method,
        params=fit.params,
        tasks=plan.source.whole(0).tasks[:0],
        workers=fit.workers,
        estimate=ClassPosterior(np.empty((0, k)), fit.class_prior, fit.classes, None, seed, order),
        picture=fit.picture,
        labels_per_task=np.empty(0, dtype=np.int64),
        labels_per_worker=fit.labels_per_worker,
        versions=versions(),
        **fit.course(),
    )


def _write_rest(fit: PartsFit, plan: Plan, folder: Path, facts: dict[str, Any]) -> None:
    result = without_tasks(fit, plan)
    write_result(result, folder)
    about = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    text = json.dumps(about | {"format": FORMAT, "in_parts": facts}, indent=2, ensure_ascii=False) + "\n"
    (folder / "result.json").write_text(text, encoding="utf-8")
    to_csv(result.worker_table(), folder / "workers.csv")
    if result.confusion is not None:
        result.confusion_table().write_parquet(folder / "confusion.parquet")
    ledger = json.dumps(plan.ledger.to_dict(), indent=2, ensure_ascii=False) + "\n"
    (folder / LEDGER).write_text(ledger, encoding="utf-8")
    sample(plan).write_parquet(folder / SAMPLE)


def sample(plan: Plan, n: int = SAMPLE_TASKS) -> pl.DataFrame:
    """The votes of about n tasks, drawn by the hash of their names: task, worker, label, ..."""
    numbers = list(range(len(plan.parts)))
    if not plan.wish["grouped"]:  # a part is a sample by itself
        sums = np.cumsum([part.tasks for part in plan.parts])
        numbers = numbers[: int(np.searchsorted(sums, n)) + 1]
    share = n / max(sum(plan.parts[number].tasks for number in numbers), 1)
    frames = []
    for number in numbers:
        part = plan.source.whole(number)
        low = (name_hash(part.tasks) & np.uint64(0xFFFFFFFF)).astype(np.float64) / 2**32
        frames.append(part.plain().take((low < share)[part.task]).to_frame())
    return pl.concat(frames)
