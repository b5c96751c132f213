"""What the places say of other triplets, and the estimates as answers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ...core.errors import DataError
from ...core.result import Result
from ...core.vocabulary import lookup, quote
from ...core.votes import Votes
from ...kinds.triplets.answers import Triplets
from ...kinds.triplets.estimate import TripletEstimate, TripletWorkers
from ...maths.triplets.embedding import Model
from ..strangers import Policy, refuse_strangers
from .base import as_triplets, estimate_of, items_of_tasks
from .gold import known_sides


def infer(result: Result, votes: Votes[Triplets], unknown_workers: Policy) -> Result:
    """Other triplets of the same items, by their places; new items have none and are refused."""
    votes = as_triplets(votes)
    own, picture = result.estimate, result.picture
    assert isinstance(own, TripletEstimate)
    assert isinstance(picture, TripletWorkers)
    old, known = lookup(result.workers, votes.workers)
    refuse_strangers(result, votes.workers, known, unknown_workers)
    at, there = lookup(own.items, votes.answers.items)
    if not there.all():
        new = votes.answers.items.to_frame("item").filter(~there)["item"]
        raise DataError(f"items {quote(new)} were not there when {result.method} was fitted; fit again with them")
    place = own.place[at]
    model = Model(place.shape[1], str(result.extra.get("kernel", "gauss")))
    three = np.concatenate([votes.answers.head, votes.answers.left, votes.answers.right])
    weight = np.bincount(three, minlength=len(place)).astype(np.float64)
    parts = {name: np.where(known, values[old], 1.0 if name.startswith("slope") else np.nan)
             for name, values in picture.arrays().items()}  # fmt: skip
    return replace(
        result,
        tasks=votes.tasks,
        workers=votes.workers,
        estimate=estimate_of(votes, place, model, weight),
        picture=TripletWorkers(**parts),
        labels_per_task=votes.labels_per_task,
        labels_per_worker=votes.labels_per_worker,
        gold=None,
    )


def known(votes: Votes[Triplets], gold: Any) -> tuple[npt.NDArray[np.int64], Triplets]:
    """Codes of the known tasks and their answers."""
    three = items_of_tasks(votes)
    side = known_sides(gold, votes.tasks, three, votes.answers.items)
    at = np.flatnonzero(side >= 0)
    head, left, right = (each[at].astype(np.int32) for each in three)
    return at, Triplets(head, left, right, side[at], votes.answers.items)


def said(votes: Votes[Triplets], result: Result) -> Triplets:  # noqa: ARG001
    """What the places say of every task."""
    own = result.estimate
    assert isinstance(own, TripletEstimate)
    head, left, right = (getattr(own, name).astype(np.int32) for name in ("head", "left", "right"))
    return Triplets(head, left, right, (own.left_closer <= 0.5).astype(np.int8), own.items)
