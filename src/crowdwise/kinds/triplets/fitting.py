"""Known triplets: which of two items is truly more like a third."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.callback import Callback
from ...core.errors import DataError, ParameterError
from ...core.intake.frames import to_polars
from ...core.method import Method
from ...core.params import Count, NonNegative
from ...core.result import Result, versions
from ...core.truth import place_gold, truth_table
from ...core.vocabulary import lookup, quote
from ...core.votes import Votes
from ...evaluation.calibration import Decided, checked, two_sided, wanted
from ...stats.gold_calibration import GoldCalibration
from ..boxes.maths import rate
from ..classes.methods.infer import Policy, refuse_strangers
from ..comparisons.fitting import refuse_items
from ..similarities.answers import series_of
from .answers import SIDES, WORDS, Triplets, complete, told_by, triplet_votes
from .estimate import TripletEstimate, TripletWorkers
from .maths import Embedding, Model, choose_dimensions, closer, embed, right_share
from .maths import Triplets as Rows

I8 = npt.NDArray[np.int64]
# Answers that a known triplet weighs as much as, in the places of its items.
GOLD_WEIGHT = 5.0


def read_truth(frame: pl.DataFrame) -> pl.DataFrame | None:
    """Columns head, left, right, closer as a table task, label: task is what the triplet is called where nobody names
    it, label the closer item's name. None where the columns are not these."""
    found = told_by(frame.columns)
    if found is None:
        return None
    columns = {role: series_of(frame[name], role).cast(pl.String).str.strip_chars() for role, name in found.items()}
    said = columns.pop("closer")
    word = said.str.to_lowercase().replace_strict(WORDS, default=-1, return_dtype=pl.Int8).fill_null(-1)
    left, right = columns["left"], columns["right"]
    side = (pl.when((said == left) | (said == right)).then(said).when(word == 0).then(left)
            .when(word == 1).then(right).otherwise(said))  # fmt: skip
    complete(columns)
    return pl.DataFrame({"task": columns["task"], "label": pl.select(side).to_series()})


def known_sides(truth: Any, tasks: pl.Series, three: tuple[I8, I8, I8], items: pl.Series) -> npt.NDArray[np.int8]:
    """side[task]: 0 where the truth is its left item, 1 where it is its right one, -1 where it is not known.

    `truth` is a mapping or a table of task and the closer item, or a table head, left, right, closer; `three` are
    head, left and right of each task.
    """
    if not isinstance(truth, dict):
        frame = to_polars(truth)
        told = read_truth(frame) if set(SIDES) <= set(frame.columns) else None
        truth = frame if told is None else told
    table = truth_table(truth, like=("closer",))
    refuse_items(table, tasks, items, "known triplets: head, left, right, closer")
    text, names = table.cast(pl.String), items.cast(pl.String)
    own: dict[str, Any] = {role: names.gather(side) for role, side in zip(SIDES, three, strict=True)}
    complete(own)
    places = pl.DataFrame({"at": np.arange(len(tasks)), "name": tasks.cast(pl.String), "called": own["task"]})
    by_name = text.join(places, left_on="task", right_on="name")
    rest = text.filter(~text["task"].is_in(by_name["task"].unique().to_list()))
    found = pl.concat([by_name.select("task", "label", "at"),
                       rest.join(places, left_on="task", right_on="called").select("task", "label", "at")])  # fmt: skip
    place_gold(text, found["task"].unique().sort())  # says what is not there
    at, said = found["at"].to_numpy(), found["label"]
    is_left, is_right = ((said == names.gather(side[at])).to_numpy() for side in three[1:])
    bad = ~(is_left | is_right)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise DataError(
            f"the truth of task {quote([tasks[int(at[row])]])} is {quote([said[row]])}, neither of its two items; name "
            "the closer item, or give the columns head, left, right, closer"
        )
    out = np.full(len(tasks), -1, dtype=np.int8)
    out[at] = np.where(is_left, 0, 1)
    return out


def with_gold(rows: Rows, head: I8, left: I8, right: I8, side: npt.NDArray[np.int8]) -> Rows:
    """The rows, and one row more for each known triplet, of a worker who is always right."""
    at = np.flatnonzero(side >= 0)
    near, far = (np.where(side[at] == which, left[at], right[at]) for which in (0, 1))
    who = np.full(len(at), rows.n_workers)
    return Rows(
        np.concatenate([rows.head, head[at]]),
        np.concatenate([rows.near, near]),
        np.concatenate([rows.far, far]),
        np.concatenate([rows.worker, who]),
        np.concatenate([rows.weight, np.full(len(at), GOLD_WEIGHT)]),
        rows.n_items,
        rows.n_workers + 1,
    )


# ----------------------------------------------------------------
# What every method for triplets shares: checks, the number of dimensions, workers, the Result.

F8 = npt.NDArray[np.float64]


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


# ----------------------------------------------------------------
# The closer of two items as a decision: right where it is the known one.

Mask = npt.NDArray[np.bool_]


def decided() -> Decided:
    """What is right or wrong."""
    return Decided("triplets", "with the known item closer", _sides, _right, _apply)


def _own(result: Result) -> TripletEstimate:
    assert isinstance(result.estimate, TripletEstimate)
    return result.estimate


def _sides(result: Result) -> tuple[I8, F8]:
    p = _own(result).left_closer
    return np.arange(len(p)), np.maximum(p, 1 - p)


def _right(votes: Votes[Triplets], result: Result, gold: Any) -> F8:
    own = _own(result)
    side = known_sides(gold, votes.tasks, (own.head, own.left, own.right), own.items)
    equal = ((own.left_closer > 0.5) == (side == 0)).astype(np.float64)
    return np.where(side >= 0, equal, np.nan)


def _apply(estimate: TripletEstimate, learnt: GoldCalibration, kept: Mask, parts: Any) -> TripletEstimate:
    del parts
    return replace(estimate, left_closer=two_sided(estimate.left_closer, learnt, kept))


# ----------------------------------------------------------------
# What the places say of other triplets, and the estimates as answers.


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
