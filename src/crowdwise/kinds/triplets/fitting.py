"""Base class of the methods for triplets, gold triplets, and estimates of further triplets."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.arrays import F8, I8, Mask
from ...core.errors import DataError
from ...core.intake.frames import to_polars
from ...core.method import FitOptions, FitOutput, Method
from ...core.params import Count, NonNegative
from ...core.result import Result, UnknownWorkers
from ...core.truth import place_gold, truth_table
from ...core.vocabulary import lookup, quote
from ...core.votes import Votes
from ...evaluation.calibration import DecisionHooks, two_sided
from ...stats.gold_calibration import GoldCalibration
from ..boxes.maths import rate
from ..comparisons.fitting import refuse_items
from ..similarities.answers import series_of
from .answers import SIDES, WORDS, Triplets, detect_columns, fill_columns, triplet_votes
from .estimate import TripletEstimate, TripletWorkers
from .maths import Embedding, EmbeddingModel, TripletRows, choose_dimensions, closer, embed, right_share

# Weight of a gold triplet in the embedding, in answers.
GOLD_WEIGHT = 5.0


def read_truth(frame: pl.DataFrame) -> pl.DataFrame | None:
    """Convert a table head, left, right, closer to a table task, label.

    `task` is the default name of the triplet and `label` the name of the closer item. None where columns are missing.
    """
    roles = detect_columns(frame.columns)
    if roles is None:
        return None
    columns = {role: series_of(frame[name], role).cast(pl.String).str.strip_chars() for role, name in roles.items()}
    closer = columns.pop("closer")
    word = closer.str.to_lowercase().replace_strict(WORDS, default=-1, return_dtype=pl.Int8).fill_null(-1)
    left, right = columns["left"], columns["right"]
    side = (pl.when((closer == left) | (closer == right)).then(closer).when(word == 0).then(left)
            .when(word == 1).then(right).otherwise(closer))  # fmt: skip
    fill_columns(columns)
    return pl.DataFrame({"task": columns["task"], "label": pl.select(side).to_series()})


def gold_sides(truth: Any, tasks: pl.Series, item_codes: tuple[I8, I8, I8], items: pl.Series) -> npt.NDArray[np.int8]:
    """Return side[task]: 0 where the left item is truly closer, 1 where the right one is, -1 where unknown.

    `truth` is a mapping or a table of task and the closer item, or a table head, left, right, closer; `item_codes` are
    head, left and right of each task.
    """
    if not isinstance(truth, dict):
        frame = to_polars(truth)
        as_labels = read_truth(frame) if set(SIDES) <= set(frame.columns) else None
        truth = frame if as_labels is None else as_labels
    table = truth_table(truth, aliases=("closer",))
    refuse_items(table, tasks, items, "known triplets: head, left, right, closer")
    text, names = table.cast(pl.String), items.cast(pl.String)
    columns: dict[str, Any] = {role: names.gather(side) for role, side in zip(SIDES, item_codes, strict=True)}
    fill_columns(columns)
    places = pl.DataFrame({"at": np.arange(len(tasks)), "name": tasks.cast(pl.String), "called": columns["task"]})
    by_name = text.join(places, left_on="task", right_on="name")
    unmatched = text.filter(~text["task"].is_in(by_name["task"].unique().to_list()))
    by_triplet = unmatched.join(places, left_on="task", right_on="called")
    matches = pl.concat([by_name.select("task", "label", "at"), by_triplet.select("task", "label", "at")])
    place_gold(text, matches["task"].unique().sort())  # reports tasks that are not in the votes
    at, label = matches["at"].to_numpy(), matches["label"]
    is_left, is_right = ((label == names.gather(side[at])).to_numpy() for side in item_codes[1:])
    bad = ~(is_left | is_right)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise DataError(
            f"the truth of task {quote([tasks[int(at[row])]])} is {quote([label[row]])}, neither of its two items; "
            "name the closer item, or give the columns head, left, right, closer"
        )
    out = np.full(len(tasks), -1, dtype=np.int8)
    out[at] = np.where(is_left, 0, 1)
    return out


def with_gold(rows: TripletRows, head: I8, left: I8, right: I8, side: npt.NDArray[np.int8]) -> TripletRows:
    """Add a row for each gold triplet, attributed to an additional worker who is always right."""
    at = np.flatnonzero(side >= 0)
    near, far = (np.where(side[at] == which, left[at], right[at]) for which in (0, 1))
    worker = np.full(len(at), rows.n_workers)
    return TripletRows(
        np.concatenate([rows.head, head[at]]),
        np.concatenate([rows.near, near]),
        np.concatenate([rows.far, far]),
        np.concatenate([rows.worker, worker]),
        np.concatenate([rows.weight, np.full(len(at), GOLD_WEIGHT)]),
        rows.n_items,
        rows.n_workers + 1,
    )


# ----------------------------------------------------------------
# Base class of the methods: validation, the number of dimensions, workers, and the Result.


@dataclass(frozen=True, kw_only=True)
class TripletAggregator(Method):
    """Base class of the methods that embed items.

    `fit` takes votes or a table head, left, right, closer with optional columns task and worker. Gold are the truly
    closer items of some tasks: a mapping, a table task, label, or a table head, left, right, closer. Calibration
    corrects the probabilities.

    Args:
        dimensions: Number of dimensions; None chooses the number that best predicts held-out answers.
        most: Maximum number of dimensions to choose from.
        ridge: Ridge penalty on the coordinates.
        n_init: Number of random starts.
        max_iter: Maximum number of iterations per start.
    """

    takes: ClassVar[str] = "triplets"
    dimensions: Count | None = 2
    most: Count = 4
    ridge: NonNegative = 0.02
    n_init: Count = 3
    max_iter: Count = 500

    def fit_votes(self, votes: Votes[Triplets], gold: Any, options: FitOptions) -> FitOutput:  # noqa: ARG002
        """Embed the items, then estimate the triplets and the workers."""
        answer_rows, model = rows_of(votes), self.model()
        item_codes = items_of_tasks(votes)
        sides = None if gold is None else gold_sides(gold, votes.tasks, item_codes, votes.answers.items)
        rows = answer_rows if sides is None else with_gold(answer_rows, *item_codes, sides)
        chosen: dict[str, Any] = {}
        if self.dimensions is None:
            dimensions, scores = choose_dimensions(rows, model, self.most, seed=self.seed)
            model, chosen = replace(model, dimensions=dimensions), {"held_out_by_dimension": np.array(scores)}
        embedding = embed(rows, model, seed=self.seed, starts=self.n_init, max_iter=self.max_iter)
        m = votes.n_workers  # without the worker of the gold triplets
        embedding = replace(embedding, slope=embedding.slope[:m], slope_error=embedding.slope_error[:m])
        items = np.concatenate([answer_rows.head, answer_rows.near, answer_rows.far])
        weight = np.bincount(items, weights=np.tile(answer_rows.weight, 3), minlength=rows.n_items).astype(np.float64)
        return FitOutput(
            estimate=estimate_of(votes, embedding.place, model, weight, sides),
            worker_summary=summarize_workers(answer_rows, embedding, model),
            gold=None if sides is None else sides >= 0,
            trace=np.array([embedding.objective]),
            n_iter=embedding.n_iter,
            converged=embedding.converged,
            extra={"dimensions": model.dimensions, "kernel": model.kernel, **chosen},
        )

    @abstractmethod
    def model(self) -> EmbeddingModel:
        """Return the model to fit."""


def estimate_of(
    votes: Votes[Triplets], place: F8, model: EmbeddingModel, weight: F8, sides: npt.NDArray[np.int8] | None = None
) -> TripletEstimate:
    """Estimate each task from the embedding, with gold in place."""
    head, left, right = items_of_tasks(votes)
    odds = closer(place, head, left, right, model) if len(place) else np.zeros(len(head))
    chance = 1 / (1 + np.exp(np.clip(-odds, -500, 500)))
    if sides is not None:
        chance = np.where(sides >= 0, sides == 0, chance).astype(np.float64)
    return TripletEstimate(head, left, right, chance, place, weight, votes.answers.items)


def summarize_workers(rows: TripletRows, embedding: Embedding, model: EmbeddingModel) -> TripletWorkers:
    """Slope of each worker, and the share of answers that agree with the embedding."""
    m = rows.n_workers
    right = right_share(embedding.place, rows, model)
    n = np.bincount(rows.worker, minlength=m)
    hits = np.bincount(rows.worker, weights=right, minlength=m)
    skill, low, high = (np.clip(bound, 0.0, 1.0) for bound in rate(np.minimum(hits, n), n))
    wide = 1.96 * embedding.slope_error
    slope = embedding.slope if model.workers else np.ones(m)
    return TripletWorkers(skill, low, high, slope, slope - wide, slope + wide)


def rows_of(votes: Votes[Triplets]) -> TripletRows:
    """Return the rows of positive weight as arrays."""
    answers = votes.answers
    weight = np.ones(len(votes)) if votes.weight is None else votes.weight
    use = np.flatnonzero(weight > 0)
    head, near, far, worker = (
        np.asarray(column)[use].astype(np.int64) for column in (answers.head, answers.near, answers.far, votes.worker)
    )
    return TripletRows(head, near, far, worker, weight[use], len(answers.items), votes.n_workers)


def items_of_tasks(votes: Votes[Triplets]) -> tuple[I8, I8, I8]:
    """Return the three items of each task, left and right sorted by name; a task with two triplets raises DataError."""
    answers = votes.answers
    columns = (answers.head, np.minimum(answers.left, answers.right), np.maximum(answers.left, answers.right))
    by_task = [np.zeros(votes.n_tasks, dtype=np.int64) for _ in columns]
    for out, values in zip(by_task, columns, strict=True):
        out[votes.task] = values
    bad = np.logical_or.reduce([out[votes.task] != values for out, values in zip(by_task, columns, strict=True)])
    if bad.any():
        task = int(votes.task[int(np.flatnonzero(bad)[0])])
        raise DataError(
            f"task {votes.tasks[task]!r} asks about two different triplets; leave out the task column to make each "
            "triplet a task"
        )
    return by_task[0], by_task[1], by_task[2]


def from_table(table: pl.DataFrame) -> Votes[Triplets]:
    """Convert a table head, left, right, closer (and task, worker) to votes."""
    roles = detect_columns(table.columns)
    if roles is None:
        raise DataError(f"the columns head, left, right and closer are needed; there are {', '.join(table.columns)}")
    more: dict[str, Any] = {name: table[name] for name in ("task", "worker", "weight") if name in table.columns}
    return triplet_votes(*(table[roles[name]] for name in ("head", "left", "right", "closer")), **more)


# ----------------------------------------------------------------
# Decisions: the closer item, which is right where it is the known one.


def decisions() -> DecisionHooks:
    """Return the decisions that calibration works on."""
    return DecisionHooks("triplets", "with the known item closer", _sides, _right, _apply)


def _sides(result: Result) -> tuple[I8, F8]:
    p = result.estimate_as(TripletEstimate).left_closer
    return np.arange(len(p)), np.maximum(p, 1 - p)


def _right(votes: Votes[Triplets], result: Result, gold: Any) -> F8:
    estimate = result.estimate_as(TripletEstimate)
    side = gold_sides(gold, votes.tasks, (estimate.head, estimate.left, estimate.right), estimate.items)
    equal = ((estimate.left_closer > 0.5) == (side == 0)).astype(np.float64)
    return np.where(side >= 0, equal, np.nan)


def _apply(estimate: TripletEstimate, calibration: GoldCalibration, keep: Mask, parts: Any) -> TripletEstimate:
    del parts
    return replace(estimate, left_closer=two_sided(estimate.left_closer, calibration, keep))


# ----------------------------------------------------------------
# Estimates of other triplets, and estimates as answers.


def infer(result: Result, votes: Votes[Triplets], unknown_workers: UnknownWorkers) -> Result:
    """Estimate other triplets of the same items from the embedding; new items raise DataError."""
    estimate, summary = result.estimate_as(TripletEstimate), result.worker_summary
    assert isinstance(summary, TripletWorkers)
    codes, is_known = result.worker_codes(votes.workers, unknown_workers)
    at, has_place = lookup(estimate.items, votes.answers.items)
    if not has_place.all():
        new = votes.answers.items.to_frame("item").filter(~has_place)["item"]
        raise DataError(f"items {quote(new)} were not in the fit of {result.method}; fit again with them")
    place = estimate.place[at]
    model = EmbeddingModel(place.shape[1], str(result.extra.get("kernel", "gauss")))
    items = np.concatenate([votes.answers.head, votes.answers.left, votes.answers.right])
    weight = np.bincount(items, minlength=len(place)).astype(np.float64)
    workers = summary.select(codes, is_known, slope=1.0, slope_low=1.0, slope_high=1.0)
    return result.for_votes(votes, estimate_of(votes, place, model, weight), workers, extra=result.extra)


def gold_answers(votes: Votes[Triplets], gold: Any) -> tuple[I8, Triplets]:
    """Return the codes of the gold tasks and their triplets as answers."""
    item_codes = items_of_tasks(votes)
    side = gold_sides(gold, votes.tasks, item_codes, votes.answers.items)
    at = np.flatnonzero(side >= 0)
    head, left, right = (codes[at].astype(np.int32) for codes in item_codes)
    return at, Triplets(head, left, right, side[at], votes.answers.items)


def estimated_answers(votes: Votes[Triplets], result: Result) -> Triplets:  # noqa: ARG001
    """Return the estimates as answers, one per task."""
    estimate = result.estimate_as(TripletEstimate)
    head, left, right = (getattr(estimate, name).astype(np.int32) for name in ("head", "left", "right"))
    return Triplets(head, left, right, (estimate.left_closer <= 0.5).astype(np.int8), estimate.items)
