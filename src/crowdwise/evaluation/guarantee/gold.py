"""Gold for verdicts: reading it, checking its origin, and comparing it with the fit."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.arrays import F8, I8, Mask
from ...core.errors import DataError, ParameterError
from ...core.intake.frames import to_polars
from ...core.result import Result
from ...core.side_tables import SideTable
from ...core.truth import place_gold, task_named, truth_table
from ...core.vocabulary import as_series, lookup, refuse_other_classes, spelt_like, union
from ...core.votes import Votes
from ...stats.hashing import fingerprint_of
from .verdicts import Verdicts, as_verdicts

if TYPE_CHECKING:
    from ...out_of_core.plan import PartitionPlan

# Optional columns of a gold table: sampling probability of the task, and the worker that wrote the label.
CHANCE, WRITER = "probability", "worker"
SAMPLINGS = ("random", "clusters", "within verdict", "weights", "by truth", "unknown")


@dataclass(frozen=True, eq=False)
class GoldSample:
    """Gold labels: task[i] is a code of the verdicts' tasks, label[i] a code of their classes or value[i] a number."""

    task: I8
    label: I8
    value: F8 | None = None
    chance: F8 | None = None

    def __len__(self) -> int:
        return len(self.task)

    def take(self, rows: npt.NDArray[Any]) -> GoldSample:
        """Return these rows."""
        parts: dict[str, Any] = {name: None if array is None else array[rows] for name, array in vars(self).items()}
        return GoldSample(**parts)

    def within(self, tasks: Mask) -> GoldSample:
        """Return the gold of these tasks, coded by their position among them."""
        kept = self.take(tasks[self.task])
        return replace(kept, task=(np.cumsum(tasks) - 1)[kept.task])


def place(gold: Any, verdicts: Verdicts, about_workers: SideTable = None) -> tuple[GoldSample, Verdicts]:
    """Return gold as codes, and the verdicts over the classes of both; gold written by a model is rejected."""
    if gold is None:
        raise ParameterError("gold labels are needed: a table task,label with the known truth of some tasks")
    extra = _extra(gold, about_workers)
    if verdicts.score_of is not None:
        task, score = verdicts.score_of(gold)
        if not len(task):
            raise DataError("no task of the gold is among the tasks of the verdicts; are these the same tasks?")
        return GoldSample(task, np.zeros(len(task), dtype=np.int64), score), verdicts
    numbers = verdicts.value is not None
    table = truth_table(gold, ("value",) if numbers else ("label",), ("label", "value"))
    task_code, is_known = place_gold(table, verdicts.tasks)
    task = task_code[is_known].astype(np.int64)
    chance = None
    if extra is not None and CHANCE in extra.columns:
        chance = _chances(extra, table)[is_known]
    if numbers:
        value = table["value"].cast(pl.Float64, strict=False).to_numpy().astype(float)[is_known]
        if np.isnan(value).any():
            raise DataError("the verdicts are numbers, and some gold labels are not")
        return GoldSample(task, np.zeros(len(task), dtype=np.int64), value, chance), verdicts
    given_label = spelt_like(table["label"], verdicts.classes)
    refuse_other_classes(given_label.filter(pl.Series(is_known)), verdicts.classes, "the gold labels")
    classes = union(verdicts.classes, given_label.unique())
    verdicts = _over(verdicts, classes)
    label = lookup(classes, given_label)[0][is_known]
    return GoldSample(task, label.astype(np.int64), None, chance), verdicts


def _over(verdicts: Verdicts, classes: pl.Series) -> Verdicts:
    """Return the verdicts over more classes."""
    if len(classes) == len(verdicts.classes):
        return verdicts
    new_code = lookup(classes, verdicts.classes)[0].astype(np.int64)
    posterior = None
    if verdicts.posterior is not None:
        posterior = np.zeros((len(verdicts), len(classes)))
        posterior[:, new_code] = verdicts.posterior
    label = np.append(new_code, len(classes))[verdicts.label]
    return replace(verdicts, classes=classes, label=label, posterior=posterior)


def _extra(gold: Any, about_workers: SideTable) -> pl.DataFrame | None:
    """Return the gold table with all its columns; raise if a model wrote it."""
    if isinstance(gold, dict):
        return None
    table = task_named(to_polars(gold))
    kind, writer = table.columns.count("kind"), table.columns.count(WRITER)
    rows = table
    if writer and not kind and about_workers is not None and "kind" in about_workers.columns:
        kinds = about_workers.select(pl.col("worker").cast(pl.String).alias(WRITER), "kind")
        rows = table.with_columns(pl.col(WRITER).cast(pl.String)).join(kinds, on=WRITER, how="left")
        kind = 1
    if kind:
        models = rows.filter(pl.col("kind").cast(pl.String).str.to_lowercase().is_in(["model", "llm", "machine"]))
        if len(models):
            name = str(models[WRITER][0]) if writer else "a model"
            raise DataError(f"gold was written by {name} (kind model); gold must come from people")
    return table


def _chances(extra: pl.DataFrame, table: pl.DataFrame) -> F8:
    """Return the inclusion probabilities in the order of the checked table."""
    keyed = extra.select(as_series(extra["task"], "task"), pl.col(CHANCE).cast(pl.Float64, strict=False))
    keyed = keyed.unique("task", maintain_order=True)
    code, is_known = lookup(keyed["task"], table["task"])
    chance = np.where(is_known, keyed[CHANCE].to_numpy().astype(float)[code], np.nan)
    if not ((chance > 0) & (chance <= 1)).all():
        raise DataError(f"the column {CHANCE} must hold the sampling probability, above 0 and at most 1")
    return np.asarray(chance)


def read_gold(path: str | Path, columns: Any = None, missing: Any = ()) -> pl.DataFrame:
    """Read a gold file: task, label and, if present, probability, worker and kind."""
    from ...io.read import read_truth
    from ...io.tables import open_table

    truth = read_truth(path, columns=columns, missing=missing)
    try:
        table = open_table(path)
    except DataError:  # a labelling tool's export
        return truth
    extra_columns = [name for name in (CHANCE, WRITER, "kind") if name in table.header]
    key = (columns or {}).get("task", "task")
    if not extra_columns or key not in table.header:
        return truth
    extra = table.read([key, *extra_columns]).rename({key: "task"})
    extra = extra.with_columns(as_series(extra["task"], "task").cast(pl.String)).unique("task", maintain_order=True)
    return truth.join(extra, on="task", how="left", maintain_order="left")


def gold_tasks(gold: Any) -> pl.Series:
    """Return the task names of a mapping or table of gold."""
    names = as_series(gold.keys() if isinstance(gold, dict) else task_named(to_polars(gold))["task"], "task")
    return names.cast(pl.String).unique()


def fingerprint(names: pl.Series | PartitionPlan) -> str:
    """Return a hash of ids that does not depend on their order; for a plan, of its tasks."""
    return fingerprint_of([names.cast(pl.String).sort()]) if isinstance(names, pl.Series) else names.fingerprint()


def hashed(names: pl.Series, seed: int) -> F8:
    """Return a number from 0 to 1 for each id by its hash; it does not depend on the other ids."""
    digests = [
        hashlib.blake2b(f"{seed}:{name}".encode(), digest_size=8).digest() for name in names.cast(pl.String).to_list()
    ]
    return np.frombuffer(b"".join(digests), dtype=">u8").astype(np.float64) / 2.0**64


def blind_to(gold: GoldSample, given: Any, verdicts: Verdicts) -> Verdicts:
    """Return the verdicts of the fit without gold if `given` was fitted with this gold and calibrated on it.

    Gold can only judge a fit that did not use it. If the gold is different, or there was no such fit, the verdicts
    stay.
    """
    in_gold = np.zeros(len(verdicts), dtype=bool)
    in_gold[gold.task] = True
    extra = given.extra if isinstance(given, Result) else {}
    if verdicts.used_to_fit is None or not (verdicts.used_to_fit & in_gold).any() or "blind_label" not in extra:
        return verdicts
    code = lookup(verdicts.classes, given.classes)[0].astype(np.int64)
    label = np.where(
        verdicts.has_verdict, code[np.asarray(extra["blind_label"], dtype=np.int64)], len(verdicts.classes)
    )
    confidence = np.asarray(extra["blind_confidence"], dtype=float)
    used_to_fit = verdicts.used_to_fit & ~in_gold
    changed = (label != verdicts.label) & ~in_gold
    return replace(
        verdicts, label=label, confidence=confidence, posterior=None, changed=changed,
        used_to_fit=used_to_fit if used_to_fit.any() else None,
    )  # fmt: skip


def place_blind(gold: Any, given: Any, votes: Votes[Any] | None) -> tuple[GoldSample, Verdicts]:
    """Return gold as codes, and the verdicts of votes or of a result, as fitted without this gold.

    Raises:
        DataError: If there is no fit without this gold.
    """
    votes = given if isinstance(given, Votes) else votes
    sample, verdicts = place(gold, as_verdicts(given, votes), None if votes is None else votes.about_workers)
    verdicts = blind_to(sample, given, verdicts)
    not_used_to_fit(verdicts, sample)
    return sample, verdicts


def not_used_to_fit(verdicts: Verdicts, gold: GoldSample) -> None:
    """Raise if the gold was used to fit the verdicts, which would make them look better than they are."""
    if verdicts.used_to_fit is not None and verdicts.used_to_fit[gold.task].any():
        raise DataError(
            "the same gold was used to fit this result (temperature, stack); certify with other gold or let accept "
            "split it (--fit-share .4)"
        )
