"""Regressors: what is read, written and said of a net that learnt from numbers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..terminal import print_table, say
from . import ways

if TYPE_CHECKING:
    import polars as pl

    from ...core.votes import Votes
    from ...kinds.numbers.kind import Numbers
    from ...kinds.numbers.learn.regressor import CrowdRegressor


def features(path: Path) -> dict[str, Any]:
    """X, and the tasks that its rows are of."""
    from ...learn.data.folder import read_features

    tasks, x = read_features(path)
    return {"X": x, "tasks": tasks}


def summary(fitted: CrowdRegressor, votes: Votes[Numbers], output: Path) -> dict[str, Any]:
    """What --json prints."""
    own = {"tasks": len(fitted.tasks_), "numbers": list(votes.answers.names), "score": _score(fitted)}
    return {**ways.summary(fitted, votes, output), **own}


def tell(fitted: CrowdRegressor, votes: Votes[Numbers], output: Path) -> None:
    """The short summary for people."""
    history, score = fitted.history_, _score(fitted)
    say(
        f"{len(votes):,} numbers for {len(fitted.tasks_):,} tasks by {votes.n_workers:,} workers, "
        f"{ways.with_shape(fitted)}"
    )
    if score is None:
        say(f"{len(history)} epochs, loss {history['loss'][0]:.4f} to {history['loss'][-1]:.4f}")
    else:
        say(
            f"{len(history)} epochs; epoch {history.best_epoch} predicts held-out numbers best "
            f"({score:.0%} of their variance): kept"
        )
    print_table("Workers", *fitted.result_.kind.hooks.worker_rows(fitted.result_))
    say(f"written to {output}; new tasks: crowdwise predict {output} FEATURES")


def _score(fitted: CrowdRegressor) -> float | None:
    history = fitted.history_
    return None if history.best_epoch is None or "score" not in history.rows[0] else max(history["score"])


def predicted(fitted: CrowdRegressor, given: dict[str, Any], said: Any, unknown: Any) -> pl.DataFrame:
    """One row a task: task, value, and std where the method knows it; by part where an answer has several."""
    import numpy as np
    import polars as pl

    x, tasks = given["X"], given["tasks"]
    if said is None:
        value = fitted.predict(x)
        std = None if fitted.gap_ is None else fitted.predict_std(x)
    else:
        value, std = fitted.forecast(x, said, tasks=tasks, unknown_workers=unknown)
    names = tasks if tasks is not None else (range(len(x)) if said is None else said.tasks)
    columns: dict[str, Any] = {"task": names}
    for name, numbers in (("value", value), ("std", std)):
        if numbers is not None:
            wide = np.reshape(numbers, (len(value), -1))
            columns |= {each: wide[:, j] for j, each in enumerate(fitted.column(name))}
    return pl.DataFrame(columns)
