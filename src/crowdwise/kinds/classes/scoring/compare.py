"""Many methods side by side on the same annotations, with the truth or without."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ....core import method_registry as registry
from ....core.errors import DataError, ParameterError
from ....core.truth import truth_table
from ....core.vocabulary import lookup
from ....evaluation.evaluate import ALL_GOLD
from ....evaluation.scores import Table
from ....io.csv.folder import write_tables
from ..annotations import Annotations
from ..methods.gold import Gold, as_gold
from ..methods.needs import wide
from . import contest as compare_shown
from .contest import Contest, Entry, Watch, run_all

F8 = npt.NDArray[np.float64]

FILES = ("methods.csv", "agreement.csv", "tasks.csv")
NO_FOLDS = "no held-out scores: {classes:,} classes are too many to predict {labels:,} labels by"
LADDER = ("mae", "kappa")
SCORES = ("accuracy", "expected_accuracy", "macro_f1", "log_loss", "brier", "ece", "mae", "kappa")


@dataclass(frozen=True, eq=False)
class Comparison:
    """What `compare` found.

    `methods`: one row a method: method, reason (why it could not run, else null), cpu_seconds, iterations, converged,
    mean_confidence, agreement (mean share of labels shared with the others), held_out (mean log-likelihood of a
    held-out annotation, nats) with held_out_error; with truth the scores, each with _low and _high of its 95 %
    interval. `agreement`: the share of equal labels of every two methods that ran. `tasks`: one row a task, the most
    disputed first: task, n_labels, disagreement (share of pairs of methods that differ), true, and each method's label.
    `n_gold_left_out`: tasks with a truth that are not scored, because all methods were given it as gold.
    """

    methods: pl.DataFrame
    agreement: pl.DataFrame
    tasks: pl.DataFrame
    notes: tuple[str, ...] = ()
    n_gold_left_out: int = 0

    def disputed(self, limit: int = 10) -> pl.DataFrame:
        """The tasks on which the methods disagree most, none on which they all agree."""
        return self.tasks.filter(pl.col("disagreement") > 0).head(limit)

    def save(self, folder: str | Path, *, force: bool = False) -> None:
        """methods.csv, agreement.csv and tasks.csv; never over existing files without `force`."""
        tables = (self.methods, self.agreement, self.tasks)
        write_tables(folder, dict(zip(FILES, tables, strict=True)), force=force)

    def to_dict(self, limit: int) -> dict[str, Any]:
        """Plain values, with so many of the most disputed tasks."""
        return compare_shown.plain(self, limit)

    def tables(self, limit: int, annotations: Annotations) -> list[Table]:
        """For people."""
        return compare_shown.tables(self, limit, annotations)

    def legend(self) -> str:
        """What the columns mean."""
        return compare_shown.LEGEND


def compare_classes(
    annotations: Annotations,
    methods: Sequence[str] | None = None,
    *,
    truth: Any = None,
    gold: Any = None,
    seed: int = 0,
    folds: int = 5,
    resamples: int = 1000,
    jobs: int = 1,
    watch: Watch | None = None,
) -> Comparison:
    """Run many methods (all by default) on the same annotations and lay them side by side.

    A method that cannot run is a row with the reason. `folds` = 0 leaves out the held-out score, which takes up to
    that many further fits of each method. With `jobs` > 1 the methods run in so many processes, and a script must then
    call this under `if __name__ == "__main__":`; the answer is the same. `watch(done, of, method)` is called
    on the way.

    >>> import crowdwise as cw
    >>> votes = Annotations.from_arrays([1, 1, 2, 2], ["a", "b", "a", "b"], ["x", "x", "y", "y"])
    >>> cw.compare(votes, ["majority_vote", "dawid_skene"], truth={1: "x", 2: "x"}).methods["accuracy"].to_list()
    [0.5, 0.5]
    """
    names = list(dict.fromkeys(_suitable(annotations) if methods is None else methods))
    for name in names:
        registry.card(name)
    if folds == 1 or folds < 0:
        raise ParameterError(f"folds must be 0 (no held-out score) or at least 2, got {folds}")
    known = as_gold(gold, annotations)  # what is wrong with the gold is wrong for all of them
    answers = None if truth is None else truth_table(truth)
    if answers is not None:
        _check_truth(annotations, answers, known)
    wanted = 0 if wide(annotations) else folds
    contest = Contest(
        annotations, gold, answers, seed, wanted, resamples if answers is not None else 0, methods is None
    )
    entries = list(run_all(contest, names, jobs, watch))
    ran = [entry for entry in entries if entry.labels is not None]
    if not ran:
        reasons = list(dict.fromkeys(str(entry.reason) for entry in entries))
        raise DataError(reasons[0] if len(reasons) == 1 else "no method could run: " + "; ".join(reasons[:3]))
    agree = _agreement(ran)
    found = {entry.method: row for entry, row in zip(ran, agree, strict=True)}
    notes = tuple(f"{entry.method}: {note}" for entry in entries for note in entry.notes)
    if wanted < folds:
        notes += (NO_FOLDS.format(classes=annotations.n_classes, labels=len(annotations)),)
    return Comparison(
        methods=pl.DataFrame([_row(entry, found.get(entry.method)) for entry in entries], infer_schema_length=None),
        agreement=pl.DataFrame({"method": list(found), **{e.method: agree[:, j] for j, e in enumerate(ran)}}),
        tasks=_tasks(annotations, ran, answers),
        notes=notes + _about_the_default(ran, registry.default_method(annotations)),
        n_gold_left_out=max((entry.scores.n_gold_left_out for entry in ran if entry.scores is not None), default=0),
    )


def _suitable(annotations: Annotations) -> list[str]:
    """All methods for classes; those that need an order or links only where there are such."""
    lacks = {"order"} if annotations.answers.order is None else set()
    lacks |= {"links"} if annotations.links is None else set()
    return [name for name in registry.names() if not lacks & registry.card(name).needs]


def _check_truth(annotations: Annotations, answers: pl.DataFrame, gold: Gold | None) -> None:
    """Raise unless some task has a truth that no method was told."""
    at, here = lookup(annotations.tasks, answers["task"])
    if not here.any():
        raise DataError("none of the tasks in the truth has a label here; do the task ids match?")
    if gold is not None and gold.mask[at[here]].all():
        raise DataError(ALL_GOLD.format(n=int(here.sum())))


def _row(entry: Entry, agree: F8 | None) -> dict[str, Any]:
    others = None if agree is None or len(agree) == 1 else float((agree.sum() - 1) / (len(agree) - 1))
    ran = entry.reason is None
    row: dict[str, Any] = {
        "method": entry.method,
        "reason": entry.reason,
        "cpu_seconds": entry.cpu_seconds if ran else None,
        "iterations": entry.iterations if ran else None,
        "converged": entry.converged if ran else None,
        "mean_confidence": entry.mean_confidence if ran else None,
        "agreement": others,
        "held_out": entry.held_out,
        "held_out_error": entry.held_out_error,
    }
    if entry.scores is not None:
        row["n"] = entry.scores.n
        for name in (each for each in SCORES if getattr(entry.scores, each) is not None or each not in LADDER):
            low, high = entry.scores.intervals.get(name, (None, None))
            row |= {name: getattr(entry.scores, name), f"{name}_low": low, f"{name}_high": high}
    return row


def _about_the_default(ran: list[Entry], default: str) -> tuple[str, ...]:
    """Why the method that is recommended may stand low by the held-out score."""
    scores = {entry.method: entry.held_out for entry in ran if entry.held_out is not None}
    own = scores.get(default)
    better = 0 if own is None else sum(score > own for score in scores.values())
    if not better:
        return ()
    return (
        f"{default}, the default, is number {better + 1} of {len(scores)} by held-out score. The score asks "
        "how well a method predicts what workers say, which favours one sharp model; an average of several is less "
        "sharp on purpose, so that its confidence holds where a single model would be wrong. On sets with known truth "
        "this pays; --truth with some true labels shows what holds here",
    )


def _agreement(ran: list[Entry]) -> F8:
    """Share of equal labels of every two methods: one that stands alone is very good or has lost its way."""
    labels = np.stack([np.asarray(entry.labels) for entry in ran])
    return np.array([(labels == own).mean(axis=1) for own in labels])


def _tasks(annotations: Annotations, ran: list[Entry], answers: pl.DataFrame | None) -> pl.DataFrame:
    labels = np.stack([np.asarray(entry.labels) for entry in ran], axis=1)  # task, method
    n, m = labels.shape
    same = np.zeros(n)  # pairs of methods that agree, each with itself too; no table of classes, who may be thousands
    for own in labels.T:
        same += (labels == own[:, None]).sum(axis=1)
    differ = (m * m - same) / max(m * (m - 1), 1)
    table = pl.DataFrame({"task": annotations.tasks, "n_labels": annotations.labels_per_task, "disagreement": differ})
    if answers is not None:
        at, known = lookup(annotations.tasks, answers["task"])
        true = np.full(n, len(answers), dtype=np.int64)
        true[at[known]] = np.flatnonzero(known)
        shown = pl.concat([answers["label"], pl.Series("label", [None], dtype=answers["label"].dtype)])
        table = table.with_columns(shown.gather(true).alias("true"))
    columns = [annotations.classes.gather(labels[:, j]).alias(entry.method) for j, entry in enumerate(ran)]
    return table.with_columns(columns).sort("disagreement", descending=True, maintain_order=True)
