"""crowdwise predict: what a trained net says of new tasks, with their votes or without."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from .options import Force
from .terminal import naming, say, tell_ledger
from .train import Features
from .vote_options import USUAL, Asked, reads_votes

if TYPE_CHECKING:
    import polars as pl


class UnknownWorkers(StrEnum):
    """What becomes of votes by workers who were not there at the training."""

    error = "error"
    average = "average"


@reads_votes
def predict(
    folder: Annotated[Path, typer.Argument(help="A folder that train wrote.", metavar="DIR", show_default=False)],
    features: Features,
    votes: Annotated[
        str | None,
        typer.Option(
            "--votes", help="Votes on these tasks by workers of the training.", metavar="VOTES", show_default=False
        ),
    ] = None,
    unknown_workers: Annotated[
        UnknownWorkers,
        typer.Option("--unknown-workers", help="New workers: an error, or taken for the crowd's average worker."),
    ] = UnknownWorkers.error,
    asked: Asked = USUAL,
    device: Annotated[str, typer.Option("--device", help="cpu, cuda, cuda:1, mps ...")] = "cpu",
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="A CSV file, instead of stdout.", show_default=False)
    ] = None,
    force: Force = False,
) -> None:
    """New tasks: task, label, confidence, p_<class>... (for numbers task, value, std) as CSV on stdout.

    With --votes, features and votes are weighed together (for methods that can: see crowdwise methods).
    """
    from ..core.errors import DataError
    from ..io.csv.cells import to_csv
    from ..learn import CrowdClassifier, CrowdRegressor
    from ..learn.feeding.features import read_features

    if output is not None and output.exists() and not force:
        raise DataError(f"{output} is there already; choose another name or say --force")
    of_numbers = (folder / "regressor.json").is_file()
    estimator: Any = (CrowdRegressor if of_numbers else CrowdClassifier).load(folder)
    estimator.set_params(device=device)
    tasks, x = read_features(features)
    said = None
    if votes is not None:
        said = asked.read(votes).annotations
        tell_ledger(said.ledger)
    how: Literal["average", "error"] = "average" if unknown_workers is UnknownWorkers.average else "error"
    with naming(features, votes):
        if of_numbers:
            from .train_numbers import predicted

            frame = predicted(estimator, tasks, x, said, how)
        else:
            proba = (
                estimator.predict_proba(x)
                if said is None
                else estimator.forecast_proba(x, said, tasks=tasks, unknown_workers=how)
            )
            names = tasks if tasks is not None else (range(len(x)) if said is None else said.tasks)
            frame = table(estimator.class_names_, names, proba)
    text = to_csv(frame, output)
    if output is None:
        sys.stdout.write(text)
    else:
        say(f"{len(frame):,} tasks written to {output}")


def table(classes: pl.Series, tasks: Any, proba: Any) -> pl.DataFrame:
    """One row a task: task, label, confidence, p_<class>..."""
    import polars as pl

    best = proba.argmax(axis=1)
    columns = {"task": tasks, "label": classes.gather(best), "confidence": proba.max(axis=1)}
    columns |= {f"p_{name}": proba[:, k] for k, name in enumerate(classes.cast(pl.String).to_list())}
    return pl.DataFrame(columns)
