"""crowdwise simulate: simulated crowds with known truth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..core.errors import ParameterError
from .options import Force, Seed
from .terminal import info, print_table


def simulate(
    scenario: Annotated[
        str | None,
        typer.Argument(
            help="Scenario to simulate; without one, all are listed.", metavar="[SCENARIO]", show_default=False
        ),
    ] = None,
    tasks: Annotated[int, typer.Option("--tasks", min=1, help="Number of tasks.", rich_help_panel="Simulation")] = 1000,
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            min=1,
            help="Number of workers; 60 by default, 9 for judges.",
            show_default=False,
            rich_help_panel="Simulation",
        ),
    ] = None,
    classes: Annotated[
        int | None,
        typer.Option("--classes", min=1, help="Number of classes; 4 by default.", rich_help_panel="Simulation"),
    ] = None,
    labels: Annotated[
        int | None,
        typer.Option(
            "--labels",
            min=1,
            help="Labels per task; 5 by default, one of each worker for judges.",
            show_default=False,
            rich_help_panel="Simulation",
        ),
    ] = None,
    features: Annotated[
        int,
        typer.Option(
            "--features", min=0, help="Dimension of the task features; 0 for none.", rich_help_panel="Simulation"
        ),
    ] = 0,
    seed: Seed = 0,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            help="Folder for labels.csv (votes.csv for other kinds), truth.csv, workers.csv and features.npz.",
            show_default=False,
            rich_help_panel="Output",
        ),
    ] = None,
    force: Force = False,
) -> None:
    """Simulate a crowd with known truth, or list the scenarios."""
    from .. import simulate as simulation

    if scenario is None:
        rows = [[name, entry.description] for name, entry in simulation.EVERY.items()]
        print_table("", ["scenario", "the crowd"], rows, stderr=False)
        return
    if output is None:
        raise ParameterError("simulate needs -o DIR to write to")
    crowd = simulation.scenario(
        scenario, tasks=tasks, workers=workers, classes=classes, labels=labels, features=features, seed=seed
    )
    crowd.save(output, force=force)
    info(f"{crowd.annotations!r} written to {output}")
