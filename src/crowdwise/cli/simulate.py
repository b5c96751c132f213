"""crowdwise simulate: simulated crowds with known truth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..core.errors import ParameterError
from .options import Force, Seed, option
from .terminal import info, print_table


def simulate(
    scenario: Annotated[
        str | None, typer.Argument(help="Scenario to simulate; without one, all are listed.", metavar="[SCENARIO]")
    ] = None,
    tasks: Annotated[int, option("Simulation", "--tasks", "Number of tasks.", min=1)] = 1000,
    workers: Annotated[
        int | None, option("Simulation", "--workers", "Number of workers; 60 by default, 9 for judges.", min=1)
    ] = None,
    classes: Annotated[int | None, option("Simulation", "--classes", "Number of classes; 4 by default.", min=1)] = None,
    labels: Annotated[
        int | None,
        option("Simulation", "--labels", "Labels per task; 5 by default, one of each worker for judges.", min=1),
    ] = None,
    features: Annotated[
        int, option("Simulation", "--features", "Dimension of the task features; 0 for none.", min=0)
    ] = 0,
    seed: Seed = 0,
    output: Annotated[
        Path | None,
        option(
            "Output",
            "-o, --output",
            "Folder for labels.csv (votes.csv for other kinds), truth.csv, workers.csv and features.npz.",
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
