"""One crowd of a kind by seed: small and large ones, hard tasks, uneven classes, workers unlike in skill.

Even seeds are small (15 to 30 workers, 3 to 6 answers a task), odd ones larger. Every third crowd is honest throughout;
in the others 15 % answer at random and 10 % of each other sort of trouble that the kind knows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from crowdwise import simulate
from crowdwise.kinds.boxes.simulate import box_crowd
from crowdwise.kinds.comparisons.simulate import comparison_crowd
from crowdwise.kinds.numbers.simulate import number_crowd
from crowdwise.kinds.outlines.simulate import outline_crowd
from crowdwise.kinds.rankings.simulate import ranking_crowd
from crowdwise.kinds.sets.simulate import set_crowd
from crowdwise.kinds.similarities.simulate import pair_crowd
from crowdwise.kinds.spans.simulate import span_crowd
from crowdwise.kinds.texts.simulate import text_crowd
from crowdwise.kinds.triplets.simulate import triplet_crowd

RANDOM, OTHER = 0.15, 0.1
# Tasks of small and of larger crowds, where they are not the usual ones: rankings and pictures tell more each.
TASKS = {"rankings": ((12, 40), (40, 80)), "outlines": ((60, 120), (150, 250))}
USUAL_TASKS = ((60, 200), (200, 400))


@dataclass(frozen=True)
class Shape:
    """How large a crowd is, and what share of it is planted."""

    tasks: int
    workers: int
    each: int
    random: float
    other: float


def shape(kind: str, seed: int, rng: np.random.Generator) -> Shape:
    """The size of crowd `seed`."""
    large = seed % 2
    low, high = TASKS.get(kind, USUAL_TASKS)[large]
    workers = int(rng.integers(*((15, 31), (40, 71))[large]))
    planted = seed % 3 > 0
    return Shape(int(rng.integers(low, high + 1)), workers, int(rng.integers(3, 7)), RANDOM * planted, OTHER * planted)


Told = dict[str, Any]


def _pick(rng: np.random.Generator, *values: Any) -> Any:
    return values[int(rng.integers(len(values)))]


def _similarities(s: Shape, rng: np.random.Generator) -> tuple[Any, Told]:
    told = {"clusters": _pick(rng, 2, 4, 6), "coins": _pick(rng, (0.7, 0.95), (0.6, 0.9))}
    return simulate.PlantedSimilarities(pair_crowd(
        s.tasks, s.workers, per_task=s.each, random=s.random, constant=s.other, adversarial=s.other, seed=rng, **told,
    )), told  # fmt: skip


def _triplets(s: Shape, rng: np.random.Generator) -> tuple[Any, Told]:
    told = {"slope": _pick(rng, 0.25, 0.5), "dimensions": _pick(rng, 1, 2)}
    return simulate.PlantedTriplets(triplet_crowd(
        s.tasks, s.workers, per_task=s.each, random=s.random, constant=s.other, adversarial=s.other, seed=rng, **told,
    )), told  # fmt: skip


def _comparisons(s: Shape, rng: np.random.Generator) -> tuple[Any, Told]:
    told = {"scale": _pick(rng, 0.8, 1.5, 2.5), "slope": _pick(rng, 0.25, 0.4, 0.6), "ties": _pick(rng, None, 0.0)}
    return simulate.PlantedComparisons(comparison_crowd(
        s.tasks, s.workers, per_task=s.each, random=s.random, reversed=s.other, constant=s.other, seed=rng, **told,
    )), told  # fmt: skip


def _rankings(s: Shape, rng: np.random.Generator) -> tuple[Any, Told]:
    told = {"top": _pick(rng, None, 3), "items": _pick(rng, 4, 6, 10), "scale": _pick(rng, 0.5, 1.0), "heat": 0.4}
    drawn = ranking_crowd(
        s.tasks, s.workers, per_task=s.each, random=s.random, reversed=s.other, seed=rng, **told
    )  # fmt: skip
    return simulate.PlantedRankings(drawn, rest=told["top"] is not None), told


def _sets(s: Shape, rng: np.random.Generator) -> tuple[Any, Told]:
    told = {"classes": _pick(rng, 5, 12, 30), "hit": _pick(rng, 0.5, 0.62, 0.75), "uneven": _pick(rng, 0.3, 1.2),
            "of_worker": _pick(rng, 0.5, 1.0)}  # fmt: skip
    return simulate.PlantedSets(set_crowd(
        s.tasks, s.workers, per_task=s.each, random=s.random, constant=s.other, seed=rng, **told,
    )), told  # fmt: skip


def _spans(s: Shape, rng: np.random.Generator) -> tuple[Any, Told]:
    long = {"words": (60, 150), "length": (4, 14), "density": 0.02, "tags": ()}
    told = {"miss": _pick(rng, (0.05, 0.4), (0.2, 0.6)), **_pick(rng, {}, long)}
    return simulate.PlantedSpans(span_crowd(
        s.tasks, s.workers, per_task=s.each, random=s.random, idle=s.other, constant=s.other, seed=rng, **told,
    )), told  # fmt: skip


def _boxes(s: Shape, rng: np.random.Generator) -> tuple[Any, Told]:
    told = {"classes": _pick(rng, 1, 3), "objects": _pick(rng, 1.0, 2.0, 8.0), "recall": _pick(rng, 0.65, 0.9),
            "extra": _pick(rng, 0.1, 0.5)}  # fmt: skip
    return simulate.PlantedBoxes(box_crowd(
        s.tasks, s.workers, per_task=s.each, random=s.random, idle=s.other, whole=s.other, seed=rng, **told,
    )), told  # fmt: skip


def _outlines(s: Shape, rng: np.random.Generator) -> tuple[Any, Told]:
    return simulate.PlantedOutlines(outline_crowd(
        s.tasks, s.workers, per_task=s.each, random=s.random, idle=s.other, seed=int(rng.integers(2**31)),
    )), {}  # fmt: skip


def _texts(s: Shape, rng: np.random.Generator) -> tuple[Any, Told]:
    told = {"error": _pick(rng, (0.02, 0.3), (0.1, 0.5)), "freedom": _pick(rng, 0.0, 0.5)}
    return simulate.PlantedTexts(text_crowd(
        s.tasks, s.workers, per_task=s.each, random=s.random, constant=s.other, seed=rng, **told,
    )), told  # fmt: skip


def _probabilities(s: Shape, rng: np.random.Generator) -> tuple[Any, Told]:
    told = {"share": _pick(rng, 0.5, 0.8), "leaning": _pick(rng, 0.0, 0.8), "common": _pick(rng, 0.0, 0.8)}
    return simulate.probability_crowd(
        s.tasks, s.workers, per_task=s.each, random=s.random, constant=s.other, reversed=s.other,
        seed=int(rng.integers(2**31)), **told,
    ), told  # fmt: skip


def _numbers(s: Shape, rng: np.random.Generator) -> tuple[Any, Told]:
    told = {"slope": _pick(rng, 0.0, 0.2), "heavy": _pick(rng, None, 4.0)}
    return simulate.PlantedNumbers(number_crowd(
        s.tasks, s.workers, per_task=s.each, random=s.random, constant=s.other, reversed=s.other, seed=rng, **told,
    )), told  # fmt: skip


CROWDS: dict[str, Callable[[Shape, np.random.Generator], tuple[Any, Told]]] = {
    "numbers": _numbers,
    "probabilities": _probabilities,
    "sets": _sets,
    "comparisons": _comparisons,
    "rankings": _rankings,
    "similarities": _similarities,
    "triplets": _triplets,
    "spans": _spans,
    "boxes": _boxes,
    "outlines": _outlines,
    "texts": _texts,
}


def crowd(kind: str, seed: int) -> tuple[Any, Told]:
    """Crowd `seed` of a kind, with who was planted as what, and what the simulator was told."""
    rng = np.random.default_rng([list(CROWDS).index(kind), seed])
    return CROWDS[kind](shape(kind, seed, rng), rng)
