"""Verdicts: the label of one judge, or of a fit to many workers, for every task."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from ...core.arrays import F8, I8, Mask
from ...core.errors import DataError, ParameterError
from ...core.intake.frames import to_polars
from ...core.kind import KindHooks
from ...core.result import Result
from ...core.side_tables import SideTable, column_by
from ...core.truth import truth_table
from ...core.votes import Votes


@dataclass(frozen=True, eq=False)
class Verdicts:
    """label[task] (a code; len(classes) if there is none) with its confidence, or value[task] for numbers.

    `used_to_fit` marks the tasks whose gold was used to make these verdicts; `name` is that of the judge or the method.
    `acceptance_order` is the score by which tasks are accepted, if it is not the confidence. `changed` marks labels
    that changed in the fit with gold, if these are the verdicts of the fit without it. `cluster` is the cluster of each
    task, if tasks come in clusters. `sd` is the standard deviation of numbers.

    Kinds with a score have the predicted score as `value`; `score_of(gold)` returns the codes of the gold tasks and the
    scores of their estimates, `score_name` is what the score is called, and `shown` are the estimates as text.
    """

    tasks: pl.Series
    name: str
    label: I8
    classes: pl.Series
    confidence: F8
    n_labels: I8
    value: F8 | None = None
    posterior: F8 | None = None
    used_to_fit: Mask | None = None
    acceptance_order: F8 | None = None
    changed: Mask | None = None
    cluster: I8 | None = None
    about: SideTable = None
    sd: F8 | None = None
    score_of: Callable[[Any], tuple[I8, F8]] | None = None
    score_name: str = ""
    shown: pl.Series | None = None
    judges: list[dict[str, Any]] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.tasks)

    @property
    def has_verdict(self) -> Mask:
        """Mask of the tasks with a verdict."""
        return np.asarray(self.n_labels > 0)

    @property
    def order(self) -> F8:
        """Score by which tasks are accepted, highest first."""
        return self.confidence if self.acceptance_order is None else self.acceptance_order

    def take(self, tasks: I8) -> Verdicts:
        """Return the verdicts on these tasks, in this order."""
        arrays = {name: array for name, array in vars(self).items() if isinstance(array, np.ndarray)}
        parts: dict[str, Any] = {name: array[tasks] for name, array in arrays.items()}
        shown = None if self.shown is None else self.shown.gather(tasks)
        return replace(self, tasks=self.tasks.gather(tasks), shown=shown, **parts)

    def keep(self, tasks: Mask) -> Verdicts:
        """Return the verdicts on the tasks of a mask."""
        return self.take(np.flatnonzero(tasks))

    def groups_per(self, per: Any) -> tuple[I8, list[Any]]:
        """Return group[task] and the group names: one group (per None), the labels ("class"), or those of `groups`."""
        if per is None:
            return np.zeros(len(self), dtype=np.int64), [None]
        if isinstance(per, str) and per == "class":
            return self.label, self.classes.to_list()
        return self.groups(per)

    def groups(self, by: Any) -> tuple[I8, list[Any]]:
        """Return group[task] and the group names from a column about the tasks, or from a table or mapping task, group.

        Tasks without a group have the code len(names).
        """
        if isinstance(by, str):
            column = column_by(self.about, by, self.tasks)
            if column is None:
                column_names = [] if self.about is None else self.about.columns[1:]
                available = (
                    f"it has {', '.join(column_names)}" if column_names else "there is none; give --about-tasks FILE"
                )
                raise ParameterError(f"the table about the tasks has no column {by!r}; {available}")
            return coded(column)
        return coded(column_by(group_table(by, "task"), "group", self.tasks))


def coded(column: pl.Series | None) -> tuple[I8, list[Any]]:
    """Return codes and names of a column; null has the code len(names)."""
    assert column is not None
    names = column.drop_nulls().unique().sort()
    table = pl.DataFrame({"name": names, "code": np.arange(len(names))})
    joined = pl.DataFrame({"name": column}).join(table, on="name", how="left", maintain_order="left")
    return joined["code"].fill_null(len(names)).to_numpy().astype(np.int64), names.to_list()


def group_table(given: Any, key: str) -> pl.DataFrame:
    """Return a mapping, or a table with the column `key` and one other (or one called group), as `key`, group."""
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


def as_verdicts(given: Any, votes: Votes[Any] | None = None) -> Verdicts:
    """Return the verdicts of a result, or of votes: one judge's own, else the default method's fit without gold."""
    if isinstance(given, Verdicts):
        return given
    given, _, votes = in_classes(given, None, votes)
    if isinstance(given, Votes):
        votes, given = given, fitted(given)
    if not isinstance(given, Result):
        raise ParameterError(f"votes or a result are needed, got {type(given).__name__}")
    if given.extra.get("subjective"):
        raise ParameterError("this run is subjective: its tasks have no single true label")
    verdicts: Verdicts = score_verdicts(given, votes) if has_scores(given) else given.kind.hooks.verdicts(given)
    if votes is None:
        return verdicts
    is_single = votes.n_workers == 1
    confidence, posterior = verdicts.confidence, verdicts.posterior
    if is_single and votes.confidence is not None and len(votes) == int((votes.labels_per_task > 0).sum()):
        confidence = confidence.copy()
        confidence[votes.task] = np.where(np.isnan(votes.confidence), 0.0, votes.confidence)
        posterior = _stated(verdicts, confidence)
    name = str(votes.workers[0]) if is_single else verdicts.name
    extra: dict[str, Any] = {"about": votes.about_tasks, "judges": _judges(votes)}
    return replace(verdicts, name=name, confidence=confidence, posterior=posterior, **extra)


def in_classes(given: Any, gold: Any, votes: Votes[Any] | None = None) -> tuple[Any, Any, Votes[Any] | None]:
    """Return votes or a result, gold, and the votes behind the result; comparisons of two systems become classes.

    A result of comparisons is replaced by its votes: it ranks the systems and has no verdict on a single task.
    """
    subject = given if isinstance(given, Votes) else votes
    if subject is None or not subject.kind.hooks.supports(KindHooks.as_classes):
        return given, gold, votes
    annotations, gold = subject.kind.hooks.as_classes(subject, gold)
    return annotations, gold, annotations


def _stated(verdicts: Verdicts, confidence: F8) -> F8 | None:
    """Return a judge's stated confidence as class probabilities; the remainder is shared equally."""
    k = len(verdicts.classes)
    if verdicts.value is not None or k < 2:
        return verdicts.posterior
    out = np.repeat(((1 - confidence) / (k - 1))[:, None], k, axis=1)
    judged = np.flatnonzero(verdicts.has_verdict)
    out[judged, verdicts.label[judged]] = confidence[judged]
    out[~verdicts.has_verdict] = 1 / k
    return out


def fitted(votes: Votes[Any], method: str | None = None, seed: int = 0) -> Result:
    """Fit votes without gold; a single judge's answers are taken as they are."""
    from ...core import method_registry as registry

    if (
        method is None
        and votes.single_label
        and votes.n_workers == 1
        and votes.kind.hooks.supports(KindHooks.one_worker)
    ):
        result_: Result = votes.kind.hooks.one_worker().fit(votes)
        return result_
    name = registry.default_method(votes) if method is None else method
    result: Result = registry.method(name, seed=seed).fit(votes)
    return result


def class_verdicts(result: Result) -> Verdicts:
    """Return the verdicts of a result of classes."""
    label = np.where(result.labels_per_task > 0, result.labels.astype(np.int64), len(result.classes))
    return Verdicts(
        result.tasks, result.method, label, result.classes, np.asarray(result.confidence, dtype=float),
        np.asarray(result.labels_per_task), posterior=result.posterior, used_to_fit=result.gold,
    )  # fmt: skip


def number_verdicts(result: Result) -> Verdicts:
    """Return the verdicts of a result of numbers with a single part."""
    value = np.asarray(result.mean, dtype=float)
    if value.ndim != 1:
        raise ParameterError(f"the answers have {value.shape[1]} parts; estimate one at a time")
    no_label = np.zeros(len(value), dtype=np.int64)
    estimate: Any = result.estimate
    sd = np.nan_to_num(np.asarray(estimate.sd, dtype=float), nan=np.inf)
    # The smaller the standard deviation, the sooner a number is accepted.
    unit = float(np.median(sd[np.isfinite(sd)])) if np.isfinite(sd).any() else 1.0
    confidence = 1.0 / (1.0 + sd / max(unit, 1e-300))
    return Verdicts(
        result.tasks, result.method, no_label, pl.Series("label", [], dtype=pl.String), confidence,
        np.asarray(result.labels_per_task), value=value, used_to_fit=result.gold,
        sd=np.where(np.isfinite(sd), sd, unit), shown=pl.Series("value", value).cast(pl.String),
    )  # fmt: skip


def has_scores(result: Result) -> bool:
    """Whether the answers of a result have a score but no verdicts of their own."""
    hooks = result.kind.hooks
    return hooks.supports(KindHooks.task_scores) and not hooks.supports(KindHooks.verdicts)


def score_verdicts(result: Result, votes: Votes[Any] | None) -> Verdicts:
    """Return each task's predicted score as its verdict."""
    kind = result.kind
    if votes is None:
        raise ParameterError(f"scores of {kind.display_name} need the votes behind the result; give votes too")
    predicted = agreement(votes, result)
    shown = result.to_table()[next(iter(kind.columns))] if set(kind.columns) & set(result.to_table().columns) else None
    return Verdicts(
        result.tasks, result.method, np.zeros(len(predicted), dtype=np.int64), pl.Series("label", [], dtype=pl.String),
        predicted, np.asarray(result.labels_per_task), value=predicted, used_to_fit=result.gold,
        score_of=partial(kind.hooks.task_scores, votes, result), score_name=kind.hooks.score_name, shown=shown,
    )  # fmt: skip


def agreement(votes: Votes[Any], result: Result) -> F8:
    """Return the mean score of the answers of each task against the estimate; the overall mean without answers."""
    hooks = votes.kind.hooks
    joined = votes.answers.join(hooks.estimated_answers(votes, result))
    rows = np.arange(len(votes), dtype=np.int64)
    scores = hooks.score_of_distance(np.asarray(hooks.distance(joined, rows, len(votes) + votes.task.astype(np.int64))))
    count = np.bincount(votes.task, minlength=votes.n_tasks)
    total = np.bincount(votes.task, weights=scores, minlength=votes.n_tasks)
    overall = float(scores.mean()) if len(scores) else 0.0
    return np.asarray(np.divide(total, count, out=np.full(votes.n_tasks, overall), where=count > 0))


def _judges(votes: Votes[Any]) -> list[dict[str, Any]]:
    """Return names, versions and the like of the workers, for certificates; of a large crowd only its size."""
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
