"""Simulated crowds that outline one round object per image."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from ...core.arrays import F8, I8
from ...core.votes import Votes
from ...simulate.draws import draw_kinds, draw_workers, numbered
from ...simulate.planted import Planted, answer_columns, planted_by, scenarios, worker_columns
from .answers import Outlines, outline_votes, write

POINTS = 32
WIDTH, HEIGHT = 640.0, 480.0


@dataclass(frozen=True, eq=False)
class OutlineCrowd:
    """The outlines of a simulated crowd as text, drawn[row] and truth[task], and the noise of each worker.

    `kind` is honest, random (outlines anything) or idle (outlines nothing).
    """

    task: I8
    worker: I8
    drawn: list[str]
    truth: list[str]
    noise: F8
    kind: list[str]


def outline_crowd(
    tasks: int = 300,
    workers: int = 30,
    *,
    per_task: int = 5,
    random: float = 0.0,
    idle: float = 0.0,
    seed: int | np.random.Generator = 0,
) -> OutlineCrowd:
    """Draw a crowd that outlines one round object per image.

    Args:
        tasks: Number of images.
        workers: Number of workers.
        per_task: Number of different workers of each image.
        random: Share of workers who outline anything.
        idle: Share of workers who never draw an outline.
        seed: Seed of the draws, or a generator.
    """
    rng = np.random.default_rng(seed)
    kind = draw_kinds(workers, {"random": random, "idle": idle}, rng)
    noise = 0.06 * np.exp(rng.normal(0.0, 0.5, workers))
    blobs = [_blob(rng) for _ in range(tasks)]
    worker = draw_workers(tasks, workers, per_task, rng).ravel()
    task = np.repeat(np.arange(tasks), per_task)
    drawn = [
        _drawn(blobs[t], kind[w], float(noise[w]), rng) for t, w in zip(task.tolist(), worker.tolist(), strict=True)
    ]
    return OutlineCrowd(task, worker, drawn, [write([_points(*blob)]) for blob in blobs], noise, kind)


def _blob(rng: np.random.Generator) -> tuple[F8, F8]:
    """(centre, radius at each of the angles)."""
    centre = rng.uniform(0.3, 0.7, 2) * (WIDTH, HEIGHT)
    angle = np.linspace(0, 2 * np.pi, POINTS, endpoint=False)
    waves: Any = sum(rng.normal(0, 0.12) * np.sin(k * angle + rng.uniform(0, 6.3)) for k in (2, 3, 4))
    return centre, rng.uniform(50, 130) * (1 + waves)


def _points(centre: F8, radius: F8) -> Any:
    angle = np.linspace(0, 2 * np.pi, POINTS, endpoint=False)
    return np.round(centre + radius[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]), 1)


def _drawn(blob: tuple[F8, F8], kind: str, noise: float, rng: np.random.Generator) -> str:
    if kind == "idle":
        return "[]"
    centre, radius = _blob(rng) if kind == "random" else blob
    error = rng.normal(0, noise) + noise * np.convolve(rng.normal(size=POINTS + 4), np.ones(5) / 5, "valid")
    shift = rng.normal(0, noise, 2) * radius.mean()
    return write([_points(centre + shift, radius * np.maximum(1 + error, 0.2))])


class PlantedOutlines(Planted[Votes[Outlines]]):
    """Simulated outlines with their ground truth. `truth` holds the true outlines of each task as text.

    >>> from crowdwise import simulate
    >>> simulate.scenario("outlines_random", tasks=10, workers=10, seed=1)
    PlantedOutlines(honest, random: Votes(50 answers with outlines, 10 tasks, 10 workers))
    """

    def __init__(self, planted: OutlineCrowd) -> None:
        tasks, workers = numbered("t", len(planted.truth)), numbered("w", len(planted.kind))
        super().__init__(
            outline_votes(outlines=planted.drawn, **answer_columns(planted, tasks, workers)),
            pl.DataFrame({"task": tasks, "outlines": planted.truth}),
            worker_columns(workers, planted.kind, noise=np.round(planted.noise, 4)),
            planted,
        )


OUTLINE_SCENARIOS = scenarios(
    "outlines",
    planted_by(outline_crowd, PlantedOutlines),
    {
        "outlines_plain": ("outlines of one object per image, each worker with their own noise", {}),
        "outlines_random": ("outlines; a fifth of the workers outline anything", {"random": 0.2}),
        "outlines_idle": ("outlines; a fifth of the workers never draw any", {"idle": 0.2}),
    },
)
