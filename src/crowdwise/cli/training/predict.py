"""crowdwise predict: predictions of a trained net for new tasks, with or without votes."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Literal

import typer

from ...core.options import ReadOptions
from ..options import Force
from ..terminal import error_context, info, print_ledger
from ..vote_options import DEFAULT_READ_OPTIONS, read_votes, reads_votes
from .train import Features
from .trainers import trainer_of


class UnknownWorkers(StrEnum):
    """What to do with votes of workers unseen in training."""

    error = "error"
    average = "average"


@reads_votes
def predict(
    folder: Annotated[Path, typer.Argument(help="Folder written by train.", metavar="DIR", show_default=False)],
    features: Features,
    votes: Annotated[
        str | None,
        typer.Option(
            "--votes",
            help="Votes on these tasks by workers of the training.",
            metavar="VOTES",
            show_default=False,
            rich_help_panel="Input",
        ),
    ] = None,
    unknown_workers: Annotated[
        UnknownWorkers,
        typer.Option(
            "--unknown-workers",
            help="Whether to refuse workers unseen in training, or treat them as the average worker.",
            rich_help_panel="Method",
        ),
    ] = UnknownWorkers.error,
    read_options: ReadOptions = DEFAULT_READ_OPTIONS,
    device: Annotated[
        str, typer.Option("--device", help="Device: cpu, cuda, cuda:1, mps, ...", rich_help_panel="Method")
    ] = "cpu",
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="CSV file to write instead of standard output.",
            show_default=False,
            rich_help_panel="Output",
        ),
    ] = None,
    force: Force = False,
) -> None:
    """Predict new tasks with a trained net and print them as CSV.

    The columns are task, label, confidence, p_<class>... for classes; task, value, std for numbers; item, score for
    comparisons; item, cluster, confidence for similarities; task, spans, confidence for spans.

    With --votes, features and votes are combined, for methods that support it (see crowdwise methods).
    """
    from ...core.errors import DataError
    from ...io.csv.cells import to_csv

    if output is not None and output.exists() and not force:
        raise DataError(f"{output} exists already; choose another name or use --force")
    trainer = trainer_of(folder)
    estimator = trainer.estimator_class().load(folder)
    estimator.set_params(device=device)
    inputs = trainer.read_features(features)
    annotations = None
    if votes is not None:
        annotations = read_votes(votes, read_options).annotations
        print_ledger(annotations.ledger)
    unknown: Literal["average", "error"] = "average" if unknown_workers is UnknownWorkers.average else "error"
    with error_context(features, votes):
        frame = trainer.predict_table(estimator, inputs, annotations, unknown)
    text = to_csv(frame, output)
    if output is None:
        sys.stdout.write(text)
    else:
        info(f"{len(frame):,} {frame.columns[0]}s written to {output}")
