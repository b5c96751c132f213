"""What every method for triplets shares: checks, the number of dimensions, workers, the Result."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ...core.errors import DataError, ParameterError
from ...core.intake.frames import to_polars
from ...core.params import Count, NonNegative
from ...core.result import Result, versions
from ...core.votes import Votes
from ...engine.em import Callback
from ...kinds.triplets.answers import Triplets, told_by, triplet_votes
from ...kinds.triplets.estimate import TripletEstimate, TripletWorkers
from ...maths.boxes.tally import rate
from ...maths.triplets.embedding import Embedding, Model, choose_dimensions, closer, embed, right_share
from ...maths.triplets.embedding import Triplets as Rows
from ..decisions.checked import checked, wanted
from ..method import Method
from .gold import known_sides, with_gold

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class TripletAggregator(Method):
    """A method that gives items places. `dimensions` is their number; None takes the number, up to `most`, that
    predicts answers held out best. `ridge` keeps points from running away, `n_init` starts are tried."""

    takes: ClassVar[str] = "triplets"
    dimensions: Count | None = 2
    most: Count = 4
    ridge: NonNegative = 0.02
    n_init: Count = 3
    max_iter: Count = 500

    def fit(
        self,
        votes: Votes[Triplets] | Any,
        gold: Any = None,
        *,
        prior: Any = None,
        n_shards: int = 1,  # noqa: ARG002
        callback: Callback | None = None,  # noqa: ARG002
        calibrate: bool | None = None,
    ) -> Result:
        """Places of the items in these votes, or in a table head, left, right, closer (task, worker, if there are).

        `gold` is the item that is truly closer in some tasks (a mapping or a table task, label, or head, left, right,
        closer): it stays put and teaches. `calibrate` corrects the chances by gold; the default method does so unless
        it is False.
        """
        if prior is not None:
            raise ParameterError(f"{self.name} cannot use prior=")
        votes = as_triplets(votes)
        asked, model = rows_of(votes), self.model()
        three = items_of_tasks(votes)
        known = None if gold is None else known_sides(gold, votes.tasks, three, votes.answers.items)
        rows = asked if known is None else with_gold(asked, *three, known)
        scores: list[float] | None = None
        if self.dimensions is None:
            best, scores = choose_dimensions(rows, model, self.most, seed=self.seed)
            model = replace(model, dimensions=best)
        found = embed(rows, model, seed=self.seed, starts=self.n_init, max_iter=self.max_iter)
        self.warn_unless_settled(found.converged, found.n_iter)
        m = votes.n_workers  # without the one that is gold
        found = replace(found, slope=found.slope[:m], slope_error=found.slope_error[:m])
        result = self._result(votes, asked, found, model, scores, known)
        return checked(self, result, votes, gold) if wanted(self, gold, calibrate) else result

    @abstractmethod
    def model(self) -> Model:
        """What is fitted."""

    def _result(
        self,
        votes: Votes[Triplets],
        rows: Rows,
        found: Embedding,
        model: Model,
        scores: list[float] | None,
        known: npt.NDArray[np.int8] | None,
    ) -> Result:
        extra: dict[str, Any] = {"dimensions": model.dimensions, "kernel": model.kernel}
        if scores is not None:
            extra["held_out_by_dimension"] = np.array(scores)
        both = np.concatenate([rows.head, rows.near, rows.far])
        weight = np.bincount(both, weights=np.tile(rows.weight, 3), minlength=rows.n_items).astype(np.float64)
        return Result(
            method=self.name,
            params=self.params(),
            tasks=votes.tasks,
            workers=votes.workers,
            estimate=estimate_of(votes, found.place, model, weight, known),
            picture=picture_of(rows, found, model),
            labels_per_task=votes.labels_per_task,
            labels_per_worker=votes.labels_per_worker,
            gold=None if known is None else known >= 0,
            trace=np.array([found.objective]),
            stage=np.zeros(1, dtype=np.int64),
            n_iter=found.n_iter,
            converged=found.converged,
            extra=extra,
            versions=versions(),
        )


def estimate_of(
    votes: Votes[Triplets], place: F8, model: Model, weight: F8, known: npt.NDArray[np.int8] | None = None
) -> TripletEstimate:
    """What the places say of every task; where the truth is known, it."""
    head, left, right = items_of_tasks(votes)
    odds = closer(place, head, left, right, model) if len(place) else np.zeros(len(head))
    chance = 1 / (1 + np.exp(np.clip(-odds, -500, 500)))
    if known is not None:
        chance = np.where(known >= 0, known == 0, chance).astype(np.float64)
    return TripletEstimate(head, left, right, chance, place, weight, votes.answers.items)


def picture_of(rows: Rows, found: Embedding, model: Model) -> TripletWorkers:
    """Each worker's slope, and the share of their answers that go with the places."""
    m = rows.n_workers
    right = right_share(found.place, rows, model)
    n = np.bincount(rows.worker, minlength=m)
    hits = np.bincount(rows.worker, weights=right, minlength=m)
    skill, low, high = (np.clip(each, 0.0, 1.0) for each in rate(np.minimum(hits, n), n))
    wide = 1.96 * found.slope_error
    slope = found.slope if model.workers else np.ones(m)
    return TripletWorkers(skill, low, high, slope, slope - wide, slope + wide)


def rows_of(votes: Votes[Triplets]) -> Rows:
    """The rows for the maths; rows of weight 0 are absent."""
    own = votes.answers
    weight = np.ones(len(votes)) if votes.weight is None else votes.weight
    use = np.flatnonzero(weight > 0)
    head, near, far, worker = (
        np.asarray(each)[use].astype(np.int64) for each in (own.head, own.near, own.far, votes.worker)
    )
    return Rows(head, near, far, worker, weight[use], len(own.items), votes.n_workers)


def items_of_tasks(votes: Votes[Triplets]) -> tuple[I8, I8, I8]:
    """The three items of each task, left and right in the order of their names; other triplets in it are refused."""
    own = votes.answers
    said = (own.head, np.minimum(own.left, own.right), np.maximum(own.left, own.right))
    found = [np.zeros(votes.n_tasks, dtype=np.int64) for _ in said]
    for out, values in zip(found, said, strict=True):
        out[votes.task] = values
    bad = np.logical_or.reduce([out[votes.task] != values for out, values in zip(found, said, strict=True)])
    if bad.any():
        task = int(votes.task[int(np.flatnonzero(bad)[0])])
        raise DataError(
            f"task {votes.tasks[task]!r} asks about two different triplets; leave the task column out, and each "
            "triplet is a task"
        )
    return found[0], found[1], found[2]


def as_triplets(votes: Any) -> Votes[Triplets]:
    """Votes as they are, a table head, left, right, closer as votes; anything else is told how to be read."""
    if isinstance(votes, Votes):
        if isinstance(votes.answers, Triplets):
            return votes
        raise DataError(
            f"triplets are needed, got {votes.kind.people}; read the file with kind='triplets' (--kind triplets), or "
            "take a method for these"
        )
    if isinstance(votes, str | np.ndarray | list | tuple) or not hasattr(votes, "__len__"):
        raise DataError("votes are needed; columns go through cw.triplet_votes(head, left, right, closer, worker=...)")
    frame = to_polars(votes)
    found = told_by(frame.columns)
    if found is None:
        raise DataError(f"the columns head, left, right and closer are needed; there are {', '.join(frame.columns)}")
    more: dict[str, Any] = {name: frame[name] for name in ("task", "worker", "weight") if name in frame.columns}
    return triplet_votes(*(frame[found[name]] for name in ("head", "left", "right", "closer")), **more)
