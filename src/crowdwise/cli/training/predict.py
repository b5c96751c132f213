"""crowdwise predict: what a trained net says of new tasks, with their votes or without."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer

from ..options import Force
from ..terminal import naming, say, tell_ledger
from ..vote_options import USUAL, Asked, reads_votes
from .train import Features
from .ways import way_of


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
    """New tasks: task, label, confidence, p_<class>... as CSV on stdout.

    For numbers it is task, value, std; for comparisons item, score; for same or different item, cluster, confidence;
    for spans task, spans, confidence.

    With --votes, features and votes are weighed together (for methods that can: see crowdwise methods).
    """
    from ...core.errors import DataError
    from ...io.csv.cells import to_csv

    if output is not None and output.exists() and not force:
        raise DataError(f"{output} is there already; choose another name or say --force")
    way = way_of(folder)
    estimator = way.loaded(folder)
    estimator.set_params(device=device)
    given = way.words.features(features)
    said = None
    if votes is not None:
        said = asked.read(votes).annotations
        tell_ledger(said.ledger)
    how: Literal["average", "error"] = "average" if unknown_workers is UnknownWorkers.average else "error"
    with naming(features, votes):
        frame = way.words.predicted(estimator, given, said, how)
    text = to_csv(frame, output)
    if output is None:
        sys.stdout.write(text)
    else:
        say(f"{len(frame):,} {frame.columns[0]}s written to {output}")
