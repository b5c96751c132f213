"""What the same workers' boxes say of other pictures, with everything learnt held fixed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...core.result import Result
from ...core.vocabulary import lookup
from ...core.votes import Votes
from ...kinds.boxes.answers import Boxes
from ...kinds.boxes.estimate import BoxWorkers
from ...maths.boxes.sides import known_sides
from .. import registry
from ..strangers import Policy, refuse_strangers
from .base import BoxAggregator, Found, as_boxes, drawn_in, estimate_of


def infer(result: Result, votes: Votes[Boxes], unknown_workers: Policy) -> Result:
    """The method's own way of putting boxes together; biases that it has learnt are taken off."""
    votes = as_boxes(votes)
    old, known = lookup(result.workers, votes.workers)
    refuse_strangers(result, votes.workers, known, unknown_workers)
    method: BoxAggregator = registry.method(result.method, **result.params)
    seen = drawn_in(votes)
    found = method.objects(seen)
    own = result.picture
    assert isinstance(own, BoxWorkers)
    if own.bias is not None and own.spread is not None:
        heard = result.labels_per_worker > 0
        usual = np.median(own.spread[heard], axis=0) if heard.any() else np.ones(4)
        bias = np.where(known[:, None], own.bias[old], 0.0)
        spread = np.where(known[:, None], own.spread[old], usual)
        found = replace(found, corner=known_sides(seen, found, bias, spread))
        solved = Found(found, found.kept(method.share))
    else:
        solved = method.solve(seen, found)
    return replace(
        result,
        tasks=votes.tasks,
        workers=votes.workers,
        estimate=estimate_of(solved, votes.n_tasks, votes.answers.tags),
        picture=_known_ones(own, old, known),
        labels_per_task=votes.labels_per_task,
        labels_per_worker=votes.labels_per_worker,
        gold=None,
        extra={},
    )


def _known_ones(picture: BoxWorkers, old: np.ndarray, known: np.ndarray) -> BoxWorkers:
    """The picture of these workers; of strangers nothing is known."""
    parts = {}
    for name, values in picture.arrays().items():
        nothing = np.nan if values.ndim == 1 and values.dtype.kind == "f" else 0
        mask = known if values.ndim == 1 else known[:, None]
        parts[name] = np.where(mask, values[old], nothing) if len(values) else values[old]
    return BoxWorkers(**parts)
