"""A result whose tasks are in parts on disk; workers and confusion matrices are in memory.

`posterior`, `to_table` and the like read all tasks if they fit into memory; otherwise the error refers to `scan`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from ..core.errors import DataError
from ..core.faults import FAULTS, first_line
from ..core.kind import Kind
from ..core.registry import get
from ..core.result import Result
from ..core.vocabulary import lookup
from ..core.votes import Votes
from ..evaluation.calibration import KEY
from ..io.run_folder import BLIND, LABELS
from ..kinds.classes.estimate import ClassPosterior
from ..stats.hashing import fingerprint_of, sampling_order, sorted_blocks
from .memory import free_memory, gigabytes

if TYPE_CHECKING:
    from ..evaluation.statement import Trust

# Earlier versions wrote the parts to the folder OLD_LABELS.
OLD_LABELS, SUCCESS = "labels", "_SUCCESS"
# Fields of the tasks, which are read on access.
_TASK_FIELDS = ("tasks", "estimate", "labels_per_task")
_CLASS_FIELDS = ("classes", "class_prior", "order")


class PartitionedResult(Result):
    """A result in parts; `scan()` returns the table of its tasks, `n_tasks` their number."""

    in_parts: ClassVar[bool] = True

    @classmethod
    def of(cls, base: Result, folder: Path, facts: dict[str, Any]) -> PartitionedResult:
        """Create from a result without tasks and the folder of the tasks."""
        self = object.__new__(cls)
        vars(self).update({name: value for name, value in vars(base).items() if name not in (*_TASK_FIELDS, "gold")})
        vars(self).update(_bare=base, _base=base.estimate, _folder=folder, _facts=facts)
        return self

    def __getattr__(self, name: str) -> Any:
        """Read tasks on access; classes and workers without them."""
        attributes = vars(self)
        if name in _CLASS_FIELDS:
            return getattr(attributes["_base"], name)
        if name in _TASK_FIELDS:
            whole = self._in_memory
            return getattr(whole, name)
        worker_summary = attributes.get("worker_summary")
        if worker_summary is not None and not name.startswith("_") and hasattr(worker_summary, name):
            return getattr(worker_summary, name)
        if name == "mean_confidence":
            return float(attributes["_facts"]["mean_confidence"])
        return super().__getattr__(name)

    def _attribute_sources(self) -> tuple[Any, ...]:
        """Return the sources of the same names as in memory, without reading tasks."""
        attributes = vars(self)
        return attributes["_base"], attributes["worker_summary"]

    @property
    def gold(self) -> npt.NDArray[np.bool_] | None:
        """Which tasks were gold; None for a fit without gold."""
        return self._in_memory.gold if "gold" in self._columns else None

    @property
    def kind(self) -> Kind:
        """The kind of the answers: classes."""
        return get("classes")

    @property
    def n_tasks(self) -> int:
        """Number of tasks."""
        return int(vars(self)["_facts"]["n_tasks"])

    def facts(self) -> dict[str, Any]:
        """Return the classes, their prior, and the mean confidence."""
        prior = {"classes": self.classes.to_list(), "class_prior": self.class_prior.tolist()}
        return {**prior, "mean_confidence": self.mean_confidence}

    def __repr__(self) -> str:
        return (
            f"Result({self.method}: {self.n_tasks:,} tasks in {vars(self)['_facts']['parts']} parts, "
            f"{len(self.workers):,} workers, {len(self.classes):,} classes, mean confidence {self.mean_confidence:.3f})"
        )

    def scan(self) -> pl.LazyFrame:
        """Return the table of the tasks: task, label, confidence, entropy, n_labels, p_<class>..."""
        return pl.scan_parquet(self._pattern)

    def to_table(self) -> pl.DataFrame:
        """Return the table of all tasks, sorted by task, if it fits into memory."""
        self._check_memory()
        return self._read(self.scan().select(pl.exclude("gold"))).sort("task")

    def for_tasks(self, tasks: Any) -> Result:
        """Return the result of these tasks, in memory."""
        requested = tasks if isinstance(tasks, pl.Series) else pl.Series("task", tasks)
        kind = self.scan().collect_schema()["task"]
        names = requested.cast(kind, strict=False).drop_nulls().unique()
        return self._result_of(self._read(self.scan().filter(pl.col("task").is_in(names.implode()))).sort("task"))

    def least_certain(self, n: int = 20) -> Result:
        """Return the result of the n tasks with the lowest confidence, in memory."""
        return self._result_of(self._read(self.scan().bottom_k(n, by="confidence")))

    def columns(self, *names: str) -> Iterator[dict[str, npt.NDArray[Any]]]:
        """Yield these columns of each part; `gold` exists for fits without gold too."""
        labels = [name for name in names if not name.startswith("blind_")]
        blind = [name for name in names if name.startswith("blind_")]
        if "gold" not in self._columns:
            labels = [name for name in labels if name != "gold"]
        for path in self._files:
            tables = [self._read(pl.scan_parquet(path).select(labels))]
            if blind:
                tables.append(self._read(pl.scan_parquet(_blind(path)).select(blind)))
            table = pl.concat(tables, how="horizontal")
            out = {name: table[name].to_numpy() for name in table.columns}
            yield out if "gold" in out or "gold" not in names else out | {"gold": np.zeros(table.height, dtype=bool)}

    def add_column(self, name: str, of: Callable[[dict[str, npt.NDArray[Any]]], pl.Series], *columns: str) -> None:
        """Compute a column from columns of each part, and write it to the labels of the part, before `gold`."""
        for path, part in zip(self._files, self.columns(*columns), strict=True):
            table = self._read(pl.scan_parquet(path)).with_columns(of(part).alias(name))
            last = [gold for gold in ("gold",) if gold in table.columns]
            new = path.with_suffix(".new")
            table.select(pl.exclude(last), *last).write_parquet(new)
            new.replace(path)
        vars(self).pop("_columns", None)

    def drawn(self, n: int, *, seed: int = 0) -> Result:
        """Return a random sample of n tasks with labels and without gold, in memory; all of them if there are fewer."""
        free = pl.col("n_labels") > 0
        if "gold" in self._columns:
            free &= ~pl.col("gold")
        some = pl.Series("task", [], dtype=self.scan().collect_schema()["task"])
        for path in self._files:
            more = self._read(pl.scan_parquet(path).filter(free).select("task"))["task"]
            some = pl.concat([some, more])
            some = some.gather(sampling_order(some, seed)[:n])
        return self.for_tasks(some)

    def fingerprint(self) -> str:
        """Return a hash of the names of all tasks, the same as that of a result in memory."""
        return fingerprint_of(
            sorted_blocks(lambda: (self._read(pl.scan_parquet(f).select("task"))["task"] for f in self._files))
        )

    def trust(self, error: float) -> Trust:
        """Return the trust statement, counted part by part."""
        from .shipping import partitioned_trust

        return partitioned_trust(self, error)[0]

    def infer(self, annotations: Votes[Any], *, unknown_workers: Literal["error", "average"] = "error") -> Result:
        """Estimate new tasks from answers of the same workers, as `Result.infer`."""
        bare: Result = vars(self)["_bare"]
        return bare.infer(annotations, unknown_workers=unknown_workers)

    @property
    def _pattern(self) -> str:
        return str(labels_folder(vars(self)["_folder"]) / "part-*.parquet")

    @cached_property
    def _files(self) -> list[Path]:
        return sorted(labels_folder(vars(self)["_folder"]).glob("part-*.parquet"))

    @cached_property
    def _columns(self) -> list[str]:
        return self.scan().collect_schema().names()

    @cached_property
    def _in_memory(self) -> Result:
        self._check_memory()
        return self._result_of(self._read(self.scan()).sort("task"))

    def _check_memory(self) -> None:
        need, free = self.n_tasks * (8 * len(self.classes) + 60) * 3, free_memory()
        if free is not None and need > free:
            raise DataError(
                f"all {self.n_tasks:,} tasks would take about {gigabytes(need)} and {gigabytes(free)} are free; scan() "
                "goes through them, for_tasks() takes some"
            )

    def _read(self, lazy: pl.LazyFrame) -> pl.DataFrame:
        try:
            return lazy.collect()
        except FAULTS as error:
            folder = labels_folder(vars(self)["_folder"])
            raise DataError(f"{folder} is damaged ({first_line(error)}); run aggregate again") from None

    def _blind_of(self, tasks: pl.Series) -> dict[str, npt.NDArray[Any]]:
        """Return the columns of the fit without gold; empty if confidence is not calibrated on gold."""
        if "slope" not in self.extra.get(KEY, {}):
            return {}
        names = tasks.unique()
        tables = []
        for path in self._files:
            all_tasks = self._read(pl.scan_parquet(path).select("task"))["task"]
            rows = all_tasks.is_in(names.implode()).arg_true()
            if len(rows):
                blind = self._read(pl.scan_parquet(_blind(path)))[rows]
                tables.append(blind.with_columns(task=all_tasks.gather(rows)))
        if not tables:
            return {}
        blind_columns = pl.DataFrame({"task": tasks}).join(
            pl.concat(tables), on="task", how="left", maintain_order="left"
        )
        return {name: blind_columns[name].to_numpy() for name in blind_columns.columns if name != "task"}

    def _result_of(self, table: pl.DataFrame) -> Result:
        """Return a result in memory of some tasks, with the labels that were written."""
        base: ClassPosterior = vars(self)["_base"]
        columns = [f"p_{name}" for name in self.classes.cast(pl.String)]
        difficulty = table["difficulty"].to_numpy() if "difficulty" in table.columns else None
        estimate = ClassPosterior(
            np.ascontiguousarray(table.select(columns).to_numpy()).reshape(table.height, len(columns)),
            base.class_prior,
            base.classes,
            difficulty,
            base.seed,
            base.order,
        )
        vars(estimate)["labels"] = lookup(self.classes, table["label"])[0]
        fields = {name: value for name, value in vars(self).items() if name in Result.__dataclass_fields__}
        fields["extra"] = {**self.extra, **self._blind_of(table["task"])}
        if "can_ship" in table.columns:
            fields["extra"]["can_ship"] = table["can_ship"].cast(pl.Float64).fill_null(np.nan).to_numpy()
        return Result(
            **fields
            | {
                "tasks": table["task"],
                "estimate": estimate,
                "labels_per_task": table["n_labels"].to_numpy().astype(np.int64),
                "gold": table["gold"].to_numpy() if "gold" in table.columns else None,
            }
        )


def _blind(path: Path) -> Path:
    """Return the file of the fit without gold that belongs to a file of labels."""
    return path.parent.parent / BLIND / path.name


def labels_folder(folder: Path) -> Path:
    """Return the folder of the tables of the tasks."""
    return folder / (OLD_LABELS if not (folder / LABELS).exists() and (folder / OLD_LABELS).is_dir() else LABELS)


def load_partitioned(base: Result, folder: Path, facts: dict[str, Any]) -> PartitionedResult:
    """Return the result whose tasks are in this folder; raise if they are incomplete."""
    parts = labels_folder(folder)
    if not (parts / SUCCESS).is_file():
        raise DataError(f"{folder}: the labels are incomplete ({parts.name}/{SUCCESS} is missing); run aggregate again")
    n_parts = len(list(parts.glob("part-*.parquet")))
    try:
        if n_parts != int(facts["parts"]) or int(facts["n_tasks"]) < 0 or not np.isfinite(facts["mean_confidence"]):
            raise ValueError(f"{n_parts} parts of {facts['parts']} are there")
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{folder}: the saved result is damaged ({first_line(error)})") from None
    return PartitionedResult.of(base, folder, facts)
