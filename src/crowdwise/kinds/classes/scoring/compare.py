"""Comparison of many methods on the same annotations, with or without truth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ....core import method_registry as registry
from ....core.arrays import F8
from ....core.errors import DataError, ParameterError
from ....core.truth import truth_table
from ....core.vocabulary import lookup, refuse_other_classes
from ....evaluation.evaluate import ALL_GOLD
from ....evaluation.guarantee.clusters import task_clusters
from ....evaluation.scores import Table
from ....io.csv.folder import write_tables
from ..annotations import Annotations
from ..methods.gold import GoldLabels, as_gold
from ..methods.requirements import is_wide
from .method_runs import ComparisonInputs, MethodRun, ProgressCallback, run_all

# Largest number of methods whose pairwise agreement is printed.
_FEW = 8
LEGEND = (
    "conf.: mean confidence; agrees: mean share of labels shared with the other methods; held-out: mean "
    "log-likelihood of held-out annotations; differ: share of pairs of methods that differ"
)
FILES = ("methods.csv", "agreement.csv", "tasks.csv")
NO_FOLDS = "no held-out scores: {classes:,} classes are too many to predict {labels:,} labels by"
ORDINAL_SCORES = ("mae", "kappa")
SCORES = ("accuracy", "expected_accuracy", "macro_f1", "log_loss", "brier", "ece", "mae", "kappa")


@dataclass(frozen=True, eq=False)
class Comparison:
    """Result of `compare`.

    Attributes:
        methods: One row per method: method, reason (why it could not run, else null), cpu_seconds, iterations,
            converged, mean_confidence, agreement (mean share of labels shared with the others), held_out (mean
            log-likelihood of a held-out annotation, in nats) with held_out_error; given truth, also the scores, with
            _low and _high of their 95 % intervals.
        agreement: Share of equal labels of every two methods that ran.
        tasks: One row per task, the most disputed first: task, n_labels, disagreement (share of pairs of methods that
            differ), true, and the label of each method.
        notes: Warnings and remarks.
        n_gold_left_out: Number of tasks with truth that are not scored because all methods were given it as gold.
    """

    methods: pl.DataFrame
    agreement: pl.DataFrame
    tasks: pl.DataFrame
    notes: tuple[str, ...] = ()
    n_gold_left_out: int = 0

    def disputed(self, limit: int = 10) -> pl.DataFrame:
        """Return the tasks on which the methods disagree most, without those on which they all agree."""
        return self.tasks.filter(pl.col("disagreement") > 0).head(limit)

    def save(self, folder: str | Path, *, force: bool = False) -> None:
        """Write methods.csv, agreement.csv and tasks.csv; existing files are overwritten only with `force`."""
        tables = (self.methods, self.agreement, self.tasks)
        write_tables(folder, dict(zip(FILES, tables, strict=True)), force=force)

    def to_dict(self, limit: int) -> dict[str, Any]:
        """Return plain values, with at most `limit` of the most disputed tasks."""
        names = self.agreement["method"].to_list()
        columns = [name for name in self.tasks.columns if name not in names]
        tasks = [
            {**{name: row[name] for name in columns}, "labels": {name: row[name] for name in names}}
            for row in self.disputed(limit).to_dicts()
        ]
        return {
            "methods": self.methods.to_dicts(),
            "agreement": {row.pop("method"): row for row in self.agreement.to_dicts()},
            "disputed": tasks,
            "n_gold_left_out": self.n_gold_left_out,
            "notes": list(self.notes),
        }

    def tables(self, limit: int, annotations: Annotations) -> list[Table]:
        """Return tables of the methods (best first), of those that could not run, of agreement, and of disputed tasks.

        Args:
            limit: The most disputed tasks.
            annotations: The votes.
        """
        table = self.methods.filter(self.methods["reason"].is_null())
        with_truth = "accuracy" in table.columns
        if with_truth:
            table = table.sort("accuracy", "log_loss", descending=[True, False])
        elif table["held_out"].is_not_null().any():
            table = table.sort("held_out", descending=True, nulls_last=True)
        header = ["method", "CPU s", "steps", "conf.", "agrees", "held-out"]
        header += ["accuracy", "95 % interval", "log-loss", "ECE", "F1"] if with_truth else []
        out = [Table("", header, [_cells(row, with_truth) for row in table.to_dicts()])]
        refused = self.methods.filter(self.methods["reason"].is_not_null())
        if len(refused):
            rows = [list(row) for row in refused.select("method", "reason").rows()]
            out.append(Table("Could not run", ["method", "reason"], rows))
        names = self.agreement["method"].to_list()
        if 2 <= len(names) <= _FEW:
            rows = [[row[0], *(f"{value:.3f}" for value in row[1:])] for row in self.agreement.rows()]
            out.append(Table("Share of equal labels", ["", *names], rows))
        disputes = self.disputed(limit)
        if len(disputes):
            rows = [_dispute(row, names, annotations) for row in disputes.to_dicts()]
            header = ["task", "differ", *(["true"] if with_truth else []), "votes", "labels by method"]
            out.append(Table("Most disputed tasks", header, rows))
        return out

    def legend(self) -> str:
        """Return a description of the columns."""
        return LEGEND


def _cells(row: dict[str, Any], with_truth: bool) -> list[str]:
    agrees, score = row["agreement"], row["held_out"]
    cells = [row["method"], f"{row['cpu_seconds']:.2f}", str(row["iterations"]), f"{row['mean_confidence']:.3f}"]
    cells += ["–" if agrees is None else f"{agrees:.3f}"]
    cells += ["–" if score is None else f"{score:.4f} ± {row['held_out_error']:.4f}"]
    if with_truth:
        cells += [f"{row['accuracy']:.4f}", f"{row['accuracy_low']:.4f} – {row['accuracy_high']:.4f}"]
        cells += [f"{row[name]:.4f}" for name in ("log_loss", "ece", "macro_f1")]
    return cells


def _dispute(row: dict[str, Any], names: list[str], annotations: Annotations) -> list[str]:
    """Row of one disputed task: its votes, and the methods behind each label, most frequent label first."""
    task = int((annotations.tasks == row["task"]).arg_max() or 0)
    votes = annotations.votes[task]
    ballots = ", ".join(f"{annotations.classes[int(k)]} {votes[k]:g}" for k in (-votes).argsort() if votes[k] > 0)
    labels = []
    for label, size in Counter(row[name] for name in names).most_common():
        members = [name for name in names if row[name] == label]
        labels.append(
            f"{label}: " + (", ".join(members) if size <= 3 else f"{', '.join(members[:2])} and {size - 2} more")
        )
    truth = [str(row["true"] if row["true"] is not None else "–")] if "true" in row else []
    return [str(row["task"]), f"{row['disagreement']:.2f}", *truth, ballots, "; ".join(labels)]


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
    watch: ProgressCallback | None = None,
    cluster: Any = None,
) -> Comparison:
    """Run many methods on the same annotations and compare them.

    Args:
        annotations: The votes.
        methods: Names of the methods, all by default. A method that cannot run gets a row with the reason.
        truth: Known labels for scoring.
        gold: Known labels that are given to the methods.
        seed: Seed of the methods and of the folds.
        folds: Folds of the held-out score, which takes up to this many further fits of each method; 0 for none.
        resamples: Bootstrap resamples for the intervals of the scores.
        jobs: Number of processes. With more than one, a script must call this under `if __name__ == "__main__":`. The
            results do not depend on it.
        watch: Progress callback, called as `watch(done, of, method)`.
        cluster: Column about the tasks, or table or mapping task, cluster, of tasks that belong together; the intervals
            of the scores then draw clusters.

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
    gold_labels = as_gold(gold, annotations)  # an error in the gold concerns all methods
    truth_labels = None if truth is None else truth_table(truth)
    if truth_labels is not None:
        _check_truth(annotations, truth_labels, gold_labels)
    if cluster is not None:
        if truth_labels is None:
            raise ParameterError("clusters are for the intervals of scores, which need the truth of some tasks")
        codes = task_clusters(cluster, annotations.tasks, annotations.about_tasks)
        cluster = pl.DataFrame({"task": annotations.tasks, "cluster": codes})
    n_folds = 0 if is_wide(annotations) else folds
    inputs = ComparisonInputs(
        annotations,
        gold,
        truth_labels,
        seed,
        n_folds,
        resamples if truth_labels is not None else 0,
        methods is None,
        cluster,
    )
    runs = list(run_all(inputs, names, jobs, watch))
    completed = [run for run in runs if run.labels is not None]
    if not completed:
        reasons = list(dict.fromkeys(str(run.reason) for run in runs))
        raise DataError(reasons[0] if len(reasons) == 1 else "no method could run: " + "; ".join(reasons[:3]))
    agreement = _agreement(completed)
    agreement_rows = {run.method: row for run, row in zip(completed, agreement, strict=True)}
    notes = tuple(f"{run.method}: {note}" for run in runs for note in run.notes)
    if n_folds < folds:
        notes += (NO_FOLDS.format(classes=annotations.n_classes, labels=len(annotations)),)
    return Comparison(
        methods=pl.DataFrame([_row(run, agreement_rows.get(run.method)) for run in runs], infer_schema_length=None),
        agreement=pl.DataFrame(
            {"method": list(agreement_rows), **{e.method: agreement[:, j] for j, e in enumerate(completed)}}
        ),
        tasks=_task_table(annotations, completed, truth_labels),
        notes=notes + _default_note(completed, registry.default_method(annotations)),
        n_gold_left_out=max((run.scores.n_gold_left_out for run in completed if run.scores is not None), default=0),
    )


def _suitable(annotations: Annotations) -> list[str]:
    """Names of all methods for classes, without those that need an order or links if there are none."""
    missing = {"order"} if annotations.answers.order is None else set()
    missing |= {"links"} if annotations.links is None else set()
    return [name for name in registry.names() if not missing & registry.card(name).needs]


def _check_truth(annotations: Annotations, truth_labels: pl.DataFrame, gold: GoldLabels | None) -> None:
    """Raise unless some task with truth is not gold."""
    at, has_task = lookup(annotations.tasks, truth_labels["task"])
    if not has_task.any():
        raise DataError("none of the tasks in the truth is in the annotations; do the task ids match?")
    refuse_other_classes(truth_labels["label"].filter(pl.Series(has_task)), annotations.classes, "the true labels")
    if gold is not None and gold.mask[at[has_task]].all():
        raise DataError(ALL_GOLD.format(n=int(has_task.sum())))


def _row(run: MethodRun, shares: F8 | None) -> dict[str, Any]:
    mean_agreement = None if shares is None or len(shares) == 1 else float((shares.sum() - 1) / (len(shares) - 1))
    has_run = run.reason is None
    row: dict[str, Any] = {
        "method": run.method,
        "reason": run.reason,
        "cpu_seconds": run.cpu_seconds if has_run else None,
        "iterations": run.iterations if has_run else None,
        "converged": run.converged if has_run else None,
        "mean_confidence": run.mean_confidence if has_run else None,
        "agreement": mean_agreement,
        "held_out": run.held_out,
        "held_out_error": run.held_out_error,
    }
    if run.scores is not None:
        row["n"] = run.scores.n
        for name in SCORES:
            score = getattr(run.scores, name)
            if score is not None or name not in ORDINAL_SCORES:
                low, high = run.scores.intervals.get(name, (None, None))
                row |= {name: score, f"{name}_low": low, f"{name}_high": high}
    return row


def _default_note(runs: list[MethodRun], default_method: str) -> tuple[str, ...]:
    """Explain why the default method may rank low by the held-out score."""
    scores = {run.method: run.held_out for run in runs if run.held_out is not None}
    default_score = scores.get(default_method)
    better = 0 if default_score is None else sum(score > default_score for score in scores.values())
    if not better:
        return ()
    return (
        f"{default_method}, the default, is number {better + 1} of {len(scores)} by held-out score. The score measures "
        "how well a method predicts the workers' labels, which favours a single sharp model; an average of several is "
        "deliberately less sharp, so that its confidence is right where a single model would be wrong. This pays off "
        "on data with known truth; use --truth with some true labels to measure it on these data",
    )


def _agreement(runs: list[MethodRun]) -> F8:
    """Share of equal labels of every two methods."""
    labels = np.stack([np.asarray(run.labels) for run in runs])
    return np.array([(labels == method_labels).mean(axis=1) for method_labels in labels])


def _task_table(annotations: Annotations, runs: list[MethodRun], truth_labels: pl.DataFrame | None) -> pl.DataFrame:
    labels = np.stack([np.asarray(run.labels) for run in runs], axis=1)  # task, method
    n, m = labels.shape
    # Ordered pairs of methods that agree, including a method with itself; a table of classes might be too large.
    same = np.zeros(n)
    for method_labels in labels.T:
        same += (labels == method_labels[:, None]).sum(axis=1)
    differ = (m * m - same) / max(m * (m - 1), 1)
    table = pl.DataFrame({"task": annotations.tasks, "n_labels": annotations.labels_per_task, "disagreement": differ})
    if truth_labels is not None:
        at, has_task = lookup(annotations.tasks, truth_labels["task"])
        true = np.full(n, len(truth_labels), dtype=np.int64)
        true[at[has_task]] = np.flatnonzero(has_task)
        truth_values = pl.concat([truth_labels["label"], pl.Series("label", [None], dtype=truth_labels["label"].dtype)])
        table = table.with_columns(truth_values.gather(true).alias("true"))
    columns = [annotations.classes.gather(labels[:, j]).alias(run.method) for j, run in enumerate(runs)]
    return table.with_columns(columns).sort("disagreement", descending=True, maintain_order=True)
