"""Classifiers: what is read, written and said of a net that learnt from labels."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..terminal import print_table, say
from . import ways

if TYPE_CHECKING:
    import polars as pl

    from ...kinds.classes.annotations import Annotations
    from ...kinds.classes.learn.classifier import CrowdClassifier


def features(path: Path) -> dict[str, Any]:
    """X, and the tasks that its rows are of."""
    from ...learn.data.folder import read_features

    tasks, x = read_features(path)
    return {"X": x, "tasks": tasks}


def summary(fitted: CrowdClassifier, votes: Annotations, output: Path) -> dict[str, Any]:
    """What --json prints."""
    own = {"classes": votes.classes.to_list(), "mean_confidence": fitted.result_.mean_confidence}
    return {**ways.summary(fitted, votes, output), "tasks": len(fitted.tasks_), **own}


def tell(fitted: CrowdClassifier, votes: Annotations, output: Path) -> None:
    """The short summary for people."""
    from ...evaluation.statement import outlook

    say(
        f"{len(votes):,} annotations of {len(fitted.tasks_):,} tasks by {votes.n_workers:,} workers, "
        f"{votes.n_classes} classes, {ways.with_shape(fitted)}"
    )
    say(ways.went(fitted, "labels"))
    say(outlook(fitted.result_))
    print_table("Workers, best and worst", *fitted.result_.kind.hooks.worker_rows(fitted.result_))
    say(f"written to {output}; new tasks: crowdwise predict {output} FEATURES")


def predicted(fitted: CrowdClassifier, given: dict[str, Any], said: Any, unknown: Any) -> pl.DataFrame:
    """One row a task: task, label, confidence, p_<class>..."""
    import polars as pl

    x, tasks = given["X"], given["tasks"]
    proba = (
        fitted.predict_proba(x)
        if said is None
        else fitted.forecast_proba(x, said, tasks=tasks, unknown_workers=unknown)
    )
    names = tasks if tasks is not None else (range(len(x)) if said is None else said.tasks)
    classes = fitted.class_names_
    columns = {"task": names, "label": classes.gather(proba.argmax(axis=1)), "confidence": proba.max(axis=1)}
    columns |= {f"p_{name}": proba[:, k] for k, name in enumerate(classes.cast(pl.String).to_list())}
    return pl.DataFrame(columns)
