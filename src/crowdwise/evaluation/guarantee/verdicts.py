"""Verdicts: what a judge, or everybody together, says of every task, ready to be held against gold."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.errors import DataError, ParameterError
from ...core.intake.frames import to_polars
from ...core.kind import KindHooks
from ...core.result import Result
from ...core.side_tables import SideTable, column_by
from ...core.truth import truth_table
from ...core.votes import Votes

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Verdicts:
    """label[task] (a code; len(classes) where there is none) with its confidence, or value[task] for numbers.

    `told` marks the tasks whose gold made these verdicts; `who` is the judge's name, or the method's. `standing` is the
    order in which tasks are accepted, where it is not the confidence. `changed` marks labels that the fit with gold
    changed, where these are the verdicts of the fit without it.
    """

    tasks: pl.Series
    who: str
    label: I8
    classes: pl.Series
    confidence: F8
    n_labels: I8
    value: F8 | None = None
    posterior: F8 | None = None
    told: Mask | None = None
    standing: F8 | None = None
    changed: Mask | None = None
    about: SideTable = None
    judges: list[dict[str, Any]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.tasks)

    @property
    def said(self) -> Mask:
        """Tasks with a verdict."""
        return np.asarray(self.n_labels > 0)

    @property
    def order(self) -> F8:
        """What tasks are accepted by, the highest first."""
        return self.confidence if self.standing is None else self.standing

    def keep(self, tasks: Mask) -> Verdicts:
        """Only these tasks."""
        mask = pl.Series(tasks)
        parts: dict[str, Any] = {
            name: None if (value := getattr(self, name)) is None else value[tasks]
            for name in ("label", "confidence", "n_labels", "value", "posterior", "told", "standing", "changed")
        }
        return replace(self, tasks=self.tasks.filter(mask), **parts)

    def groups(self, by: Any) -> tuple[I8, list[Any]]:
        """group[task] and the groups' names: a column of what is known of tasks, or a table or mapping task, group.

        Tasks of no group have the code of nobody, len(names).
        """
        if isinstance(by, str):
            found = column_by(self.about, by, self.tasks)
            if found is None:
                known = [] if self.about is None else self.about.columns[1:]
                has = f"it has {', '.join(known)}" if known else "there is none; give --about-tasks FILE"
                raise ParameterError(f"the table about the tasks has no column {by!r}; {has}")
            return coded(found)
        return coded(column_by(group_table(by, "task"), "group", self.tasks))


def coded(column: pl.Series | None) -> tuple[I8, list[Any]]:
    """Codes and names of a column; null is len(names)."""
    assert column is not None
    names = column.drop_nulls().unique().sort()
    table = pl.DataFrame({"name": names, "code": np.arange(len(names))})
    joined = pl.DataFrame({"name": column}).join(table, on="name", how="left", maintain_order="left")
    return joined["code"].fill_null(len(names)).to_numpy().astype(np.int64), names.to_list()


def group_table(given: Any, key: str) -> pl.DataFrame:
    """A mapping, or a table with the column `key` and one other (or one called group), as `key`, group."""
    if isinstance(given, dict):
        return truth_table(given).rename({"task": key, "label": "group"})
    table = to_polars(given)
    if key not in table.columns or table.width < 2:
        raise DataError(f"a table of groups needs the columns {key} and group; it has {', '.join(table.columns)}")
    others = [name for name in table.columns if name != key]
    name = "group" if "group" in others else others[0]
    if len(others) > 1 and "group" not in others:
        raise DataError(f"which of {', '.join(others)} is the group? name the column (--group NAME)")
    return table.select(key, pl.col(name).alias("group")).drop_nulls()


def verdicts(given: Any, votes: Votes[Any] | None = None) -> Verdicts:
    """Verdicts of a result, or of votes: one judge's own, else the default method's fit without gold."""
    if isinstance(given, Verdicts):
        return given
    if isinstance(given, Votes):
        votes, given = given, fitted(given)
    if not isinstance(given, Result):
        raise ParameterError(f"votes or a result are needed, got {type(given).__name__}")
    if given.extra.get("subjective"):
        raise ParameterError("this run is subjective: there is no one truth of a task to be right about")
    made: Verdicts = given.kind.hooks.verdicts(given)
    if votes is None:
        return made
    alone = votes.n_workers == 1
    confidence, posterior = made.confidence, made.posterior
    if alone and votes.confidence is not None and len(votes) == int((votes.labels_per_task > 0).sum()):
        confidence = confidence.copy()
        confidence[votes.task] = np.where(np.isnan(votes.confidence), 0.0, votes.confidence)
        posterior = _stated(made, confidence)
    who = str(votes.workers[0]) if alone else made.who
    more: dict[str, Any] = {"about": votes.about_tasks, "judges": _judges(votes)}
    return replace(made, who=who, confidence=confidence, posterior=posterior, **more)


def _stated(made: Verdicts, confidence: F8) -> F8 | None:
    """A judge's stated confidence as chances of all classes; what is left is shared out."""
    k = len(made.classes)
    if made.value is not None or k < 2:
        return made.posterior
    out = np.repeat(((1 - confidence) / (k - 1))[:, None], k, axis=1)
    said = np.flatnonzero(made.said)
    out[said, made.label[said]] = confidence[said]
    out[~made.said] = 1 / k
    return out


def fitted(votes: Votes[Any], method: str | None = None, seed: int = 0) -> Result:
    """A fit without gold; one judge needs no model."""
    from ...core import method_registry as registry

    if (
        method is None
        and votes.single_label
        and votes.n_workers == 1
        and votes.kind.hooks.supports(KindHooks.one_worker)
    ):
        plain: Result = votes.kind.hooks.one_worker().fit(votes)
        return plain
    name = registry.default_method(votes) if method is None else method
    found: Result = registry.method(name, seed=seed).fit(votes)
    return found


def class_verdicts(result: Result) -> Verdicts:
    """The door for classes."""
    label = np.where(result.labels_per_task > 0, result.labels.astype(np.int64), len(result.classes))
    return Verdicts(
        result.tasks, result.method, label, result.classes, np.asarray(result.confidence, dtype=float),
        np.asarray(result.labels_per_task), posterior=result.posterior, told=result.gold,
    )  # fmt: skip


def number_verdicts(result: Result) -> Verdicts:
    """The door for numbers of one part."""
    value = np.asarray(result.mean, dtype=float)
    if value.ndim != 1:
        raise ParameterError(f"the answers have {value.shape[1]} parts; estimate one at a time")
    nobody = np.zeros(len(value), dtype=np.int64)
    return Verdicts(
        result.tasks, result.method, nobody, pl.Series("label", [], dtype=pl.String), np.zeros(len(value)),
        np.asarray(result.labels_per_task), value=value, told=result.gold,
    )  # fmt: skip


def _judges(votes: Votes[Any]) -> list[dict[str, Any]]:
    """Names, versions and the like of the workers, for certificates; of a large crowd only how many."""
    if votes.n_workers > 100:
        return [{"workers": votes.n_workers}]
    table = votes.about_workers
    rows: list[dict[str, Any]] = [{"worker": name} for name in votes.workers.to_list()]
    for name in ("version", "family", "kind", "prompt", "prompt_hash"):
        column = column_by(table, name, votes.workers)
        if column is not None:
            for row, value in zip(rows, column.to_list(), strict=True):
                row[name] = value
    return rows
