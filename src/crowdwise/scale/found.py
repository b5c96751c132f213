"""A result whose tasks lie in parts on disk: workers and confusions are in memory, tasks are scanned when asked for.

What asks for all tasks at once (`posterior`, `to_table`) gets them where they fit into memory, and is told to `scan`
where they do not.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from ..core.errors import DataError
from ..core.faults import FAULTS, first_line
from ..core.kind import Kind, get
from ..core.result import Result
from ..core.vocabulary import lookup
from ..core.votes import Votes
from ..kinds.classes.estimate import ClassPosterior
from .memory import free_memory, gigabytes
from .output import LABELS, SUCCESS

# What the base result has of the tasks; here it is read when it is asked for.
_OF_TASKS = ("tasks", "estimate", "labels_per_task")
_KNOWN = ("classes", "class_prior", "order")


class FoundInParts(Result):
    """A result in parts; `scan()` is the table of its tasks, `n_tasks` their number."""

    @classmethod
    def of(cls, base: Result, folder: Path, facts: dict[str, Any]) -> FoundInParts:
        """From a result without tasks and the folder where they are."""
        self = object.__new__(cls)
        vars(self).update({name: value for name, value in vars(base).items() if name not in (*_OF_TASKS, "gold")})
        vars(self).update(_bare=base, _base=base.estimate, _folder=folder, _facts=facts)
        return self

    def __getattr__(self, name: str) -> Any:
        """Tasks when they are asked for; classes and workers without them."""
        own = vars(self)
        if name in _KNOWN:
            return getattr(own["_base"], name)
        if name in _OF_TASKS:
            whole = self._whole
            return getattr(whole, name)
        picture = own.get("picture")
        if picture is not None and not name.startswith("_") and hasattr(picture, name):
            return getattr(picture, name)
        if name == "mean_confidence":
            return float(own["_facts"]["mean_confidence"])
        return super().__getattr__(name)

    @property
    def gold(self) -> npt.NDArray[np.bool_] | None:
        """Which tasks were gold; None where the fit was given none."""
        return self._whole.gold if "gold" in self._columns else None

    @property
    def kind(self) -> Kind:
        """Classes."""
        return get("classes")

    @property
    def n_tasks(self) -> int:
        """How many tasks there are."""
        return int(vars(self)["_facts"]["n_tasks"])

    def facts(self) -> dict[str, Any]:
        """Classes, their prior, and the mean confidence."""
        prior = {"classes": self.classes.to_list(), "class_prior": self.class_prior.tolist()}
        return {**prior, "mean_confidence": self.mean_confidence}

    def __repr__(self) -> str:
        return (
            f"Result({self.method}: {self.n_tasks:,} tasks in {vars(self)['_facts']['parts']} parts, "
            f"{len(self.workers):,} workers, {len(self.classes):,} classes, mean confidence {self.mean_confidence:.3f})"
        )

    def scan(self) -> pl.LazyFrame:
        """The tasks: task, label, confidence, entropy, n_labels, p_<class>..."""
        return pl.scan_parquet(self._pattern)

    def to_table(self) -> pl.DataFrame:
        """All tasks, where they fit into memory."""
        self._refuse()
        return self._read(self.scan().select(pl.exclude("gold")))

    def for_tasks(self, tasks: Any) -> Result:
        """The result as far as these tasks go, in memory."""
        wanted = tasks if isinstance(tasks, pl.Series) else pl.Series("task", tasks)
        kind = self.scan().collect_schema()["task"]
        names = wanted.cast(kind, strict=False).drop_nulls().unique()
        return self._made(self._read(self.scan().filter(pl.col("task").is_in(names.implode()))).sort("task"))

    def least_certain(self, n: int = 20) -> Result:
        """The n tasks with the lowest confidence, in memory."""
        return self._made(self._read(self.scan().bottom_k(n, by="confidence")))

    def infer(self, annotations: Votes[Any], *, unknown_workers: Literal["error", "average"] = "error") -> Result:
        """What the same workers' answers say of new tasks; the tasks here are not needed for it."""
        bare: Result = vars(self)["_bare"]
        return bare.infer(annotations, unknown_workers=unknown_workers)

    @property
    def _pattern(self) -> str:
        return str(vars(self)["_folder"] / LABELS / "part-*.parquet")

    @cached_property
    def _columns(self) -> list[str]:
        return self.scan().collect_schema().names()

    @cached_property
    def _whole(self) -> Result:
        self._refuse()
        return self._made(self._read(self.scan()).sort("task"))

    def _refuse(self) -> None:
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
            where = vars(self)["_folder"] / LABELS
            raise DataError(f"{where} is damaged ({first_line(error)}); run aggregate again") from None

    def _made(self, table: pl.DataFrame) -> Result:
        """A result in memory of some tasks, with the labels that were drawn."""
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
        kept = {name: value for name, value in vars(self).items() if name in Result.__dataclass_fields__}
        return Result(
            **kept
            | {
                "tasks": table["task"],
                "estimate": estimate,
                "labels_per_task": table["n_labels"].to_numpy().astype(np.int64),
                "gold": table["gold"].to_numpy() if "gold" in table.columns else None,
            }
        )


def found_in(base: Result, folder: Path, facts: dict[str, Any]) -> FoundInParts:
    """A result whose tasks are in this folder; refused where they are not whole."""
    if not (folder / LABELS / SUCCESS).is_file():
        raise DataError(f"{folder}: the labels are not whole ({LABELS}/{SUCCESS} is missing); run aggregate again")
    there = len(list((folder / LABELS).glob("part-*.parquet")))
    try:
        if there != int(facts["parts"]) or int(facts["n_tasks"]) < 0 or not np.isfinite(facts["mean_confidence"]):
            raise ValueError(f"{there} parts of {facts['parts']} are there")
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{folder}: the saved result is damaged ({first_line(error)})") from None
    return FoundInParts.of(base, folder, facts)
