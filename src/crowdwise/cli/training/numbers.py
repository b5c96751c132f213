"""Regressors on the command line: features, summaries and predictions of a net trained on numbers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..terminal import info, print_table
from . import trainers

if TYPE_CHECKING:
    import polars as pl

    from ...core.votes import Votes
    from ...kinds.numbers.answers import Numbers
    from ...kinds.numbers.learn.regressor import CrowdRegressor


def read_features(path: Path) -> dict[str, Any]:
    """Read X and the tasks of its rows."""
    from ...learn.data.folder import read_features as read_file

    tasks, x = read_file(path)
    return {"X": x, "tasks": tasks}


def summary(fitted: CrowdRegressor, votes: Votes[Numbers], output: Path) -> dict[str, Any]:
    """Return what --json prints."""
    facts = {"tasks": len(fitted.tasks_), "numbers": list(votes.answers.names), "score": _score(fitted)}
    return {**trainers.summary(fitted, votes, output), **facts}


def print_summary(fitted: CrowdRegressor, votes: Votes[Numbers], output: Path) -> None:
    """Print a short summary on stderr."""
    history, score = fitted.history_, _score(fitted)
    info(
        f"{len(votes):,} numbers for {len(fitted.tasks_):,} tasks by {votes.n_workers:,} workers, "
        f"{trainers.net_sentence(fitted)}"
    )
    if score is None:
        info(f"{len(history)} epochs, loss {history['loss'][0]:.4f} to {history['loss'][-1]:.4f}")
    else:
        info(
            f"{len(history)} epochs; epoch {history.best_epoch} predicts held-out numbers best "
            f"({score:.0%} of their variance) and was kept"
        )
    print_table("Workers", *fitted.result_.kind.hooks.worker_rows(fitted.result_))
    info(f"written to {output}; new tasks: crowdwise predict {output} FEATURES")


def _score(fitted: CrowdRegressor) -> float | None:
    history = fitted.history_
    return None if history.best_epoch is None or "score" not in history.rows[0] else max(history["score"])


def predict_table(fitted: CrowdRegressor, inputs: dict[str, Any], votes: Any, unknown: Any) -> pl.DataFrame:
    """Return one row per task: task, value, and std where the method has it; one column per part of an answer."""
    import numpy as np
    import polars as pl

    x, tasks = inputs["X"], inputs["tasks"]
    if votes is None:
        value = fitted.predict(x)
        std = None if fitted.gap_ is None else fitted.predict_std(x)
    else:
        value, std = fitted.forecast(x, votes, tasks=tasks, unknown_workers=unknown)
    names = tasks if tasks is not None else (range(len(x)) if votes is None else votes.tasks)
    columns: dict[str, Any] = {"task": names}
    for name, numbers in (("value", value), ("std", std)):
        if numbers is not None:
            wide = np.reshape(numbers, (len(value), -1))
            columns |= {column: wide[:, j] for j, column in enumerate(fitted.column(name))}
    return pl.DataFrame(columns)
