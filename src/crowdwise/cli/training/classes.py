"""Classifiers on the command line: features, summaries and predictions of a net trained on labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..terminal import info, print_table
from . import trainers

if TYPE_CHECKING:
    import polars as pl

    from ...kinds.classes.annotations import Annotations
    from ...kinds.classes.learn.classifier import CrowdClassifier


def read_features(path: Path) -> dict[str, Any]:
    """Read X and the tasks of its rows."""
    from ...learn.data.folder import read_features as read_file

    tasks, x = read_file(path)
    return {"X": x, "tasks": tasks}


def summary(fitted: CrowdClassifier, votes: Annotations, output: Path) -> dict[str, Any]:
    """Return what --json prints."""
    facts = {"classes": votes.classes.to_list(), "mean_confidence": fitted.result_.mean_confidence}
    return {**trainers.summary(fitted, votes, output), "tasks": len(fitted.tasks_), **facts}


def print_summary(fitted: CrowdClassifier, votes: Annotations, output: Path) -> None:
    """Print a short summary on stderr."""
    from ...evaluation.statement import outlook

    info(
        f"{len(votes):,} annotations of {len(fitted.tasks_):,} tasks by {votes.n_workers:,} workers, "
        f"{votes.n_classes} classes, {trainers.net_sentence(fitted)}"
    )
    info(trainers.epochs_sentence(fitted, "labels"))
    info(outlook(fitted.result_))
    print_table("Workers, best and worst", *fitted.result_.kind.hooks.worker_rows(fitted.result_))
    info(f"written to {output}; new tasks: crowdwise predict {output} FEATURES")


def predict_table(fitted: CrowdClassifier, inputs: dict[str, Any], votes: Any, unknown: Any) -> pl.DataFrame:
    """Return one row per task: task, label, confidence, p_<class>..."""
    import polars as pl

    x, tasks = inputs["X"], inputs["tasks"]
    proba = (
        fitted.predict_proba(x)
        if votes is None
        else fitted.forecast_proba(x, votes, tasks=tasks, unknown_workers=unknown)
    )
    names = tasks if tasks is not None else (range(len(x)) if votes is None else votes.tasks)
    classes = fitted.class_names_
    columns = {"task": names, "label": classes.gather(proba.argmax(axis=1)), "confidence": proba.max(axis=1)}
    columns |= {f"p_{name}": proba[:, k] for k, name in enumerate(classes.cast(pl.String).to_list())}
    return pl.DataFrame(columns)
