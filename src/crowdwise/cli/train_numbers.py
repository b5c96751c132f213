"""crowdwise train and predict for numbers: what is written and said of a net that learnt from them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .terminal import print_table, say

if TYPE_CHECKING:
    import polars as pl

    from ..core.votes import Votes
    from ..kinds.numbers.votes import Numbers
    from ..learn.regressor import CrowdRegressor


def write(fitted: CrowdRegressor, votes: Votes[Numbers], output: Path, checkpoints: str) -> None:
    """The net, the tables, the history, the votes; checkpoints are of no more use."""
    from ..learn.numbers.store import save

    save(fitted, output, force=True, votes=votes)
    shutil.rmtree(output / checkpoints, ignore_errors=True)


def summary(fitted: CrowdRegressor, votes: Votes[Numbers], output: Path) -> dict[str, Any]:
    """What --json prints."""
    history = fitted.history_
    return {
        "method": fitted.method,
        "net": fitted.net,
        "params": dict(fitted.result_.params),
        "annotations": len(votes),
        "tasks": len(fitted.tasks_),
        "workers": votes.n_workers,
        "numbers": list(votes.answers.names),
        "features": list(fitted.input_shape_),
        "epochs": len(history),
        "best_epoch": history.best_epoch,
        "stopped_early": history.stopped_early,
        "loss": history["loss"][-1],
        "score": _score(fitted),
        "ledger": votes.ledger.to_dict(),
        "output": str(output),
    }


def tell(fitted: CrowdRegressor, votes: Votes[Numbers], output: Path) -> None:
    """The short summary for people."""
    history, score = fitted.history_, _score(fitted)
    shape = " × ".join(map(str, fitted.input_shape_))
    say(
        f"{len(votes):,} numbers for {len(fitted.tasks_):,} tasks by {votes.n_workers:,} workers, features {shape}; "
        f"{fitted.method} with {fitted.net}"
    )
    if score is None:
        say(f"{len(history)} epochs, loss {history['loss'][0]:.4f} to {history['loss'][-1]:.4f}")
    else:
        say(
            f"{len(history)} epochs; epoch {history.best_epoch} predicts held-out numbers best "
            f"({score:.0%} of their variance): kept"
        )
    print_table("Workers", *fitted.result_.kind.door("worker_rows")(fitted.result_))
    say(f"written to {output}; new tasks: crowdwise predict {output} FEATURES")


def _score(fitted: CrowdRegressor) -> float | None:
    history = fitted.history_
    return None if history.best_epoch is None or "score" not in history.rows[0] else max(history["score"])


def predicted(fitted: CrowdRegressor, tasks: Any, x: Any, said: Any, unknown: Any) -> pl.DataFrame:
    """One row a task: task, value, and std where the method knows it; by part where an answer has several."""
    import numpy as np
    import polars as pl

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
