"""crowdwise simulate: planted crowds, with the truth beside them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..core.errors import ParameterError
from .options import Force, Seed
from .terminal import print_table, say


def simulate(
    scenario: Annotated[
        str | None,
        typer.Argument(help="A scenario; without one they are listed.", metavar="[SCENARIO]", show_default=False),
    ] = None,
    tasks: Annotated[int, typer.Option("--tasks", min=1)] = 1000,
    workers: Annotated[
        int | None, typer.Option("--workers", min=1, help="60 unless said; of judges 9.", show_default=False)
    ] = None,
    classes: Annotated[
        int | None, typer.Option("--classes", min=1, help="Classes, of scenarios of classes; 4 unless said.")
    ] = None,
    labels: Annotated[
        int | None,
        typer.Option("--labels", min=1, help="Labels per task, 5 unless said; of judges all.", show_default=False),
    ] = None,
    features: Annotated[int, typer.Option("--features", min=0, help="Feature dimensions; 0 for none.")] = 0,
    seed: Seed = 0,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="Folder for labels.csv (of other kinds votes.csv), truth.csv, workers.csv, features.npz.",
            show_default=False,
        ),
    ] = None,
    force: Force = False,
) -> None:
    """Draw a crowd whose truth is known."""
    from .. import simulate as room

    if scenario is None:
        rows = [[name, each.description] for name, each in room.EVERY.items()]
        print_table("", ["scenario", "the crowd"], rows, stderr=False)
        return
    if output is None:
        raise ParameterError("simulate needs -o DIR to write to")
    crowd = room.scenario(
        scenario, tasks=tasks, workers=workers, classes=classes, labels=labels, features=features, seed=seed
    )
    crowd.save(output, force=force)
    say(f"{crowd.annotations!r} written to {output}")
