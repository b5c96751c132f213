"""Known boxes of some pictures."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core import method_registry as registry
from ...core.callback import Callback
from ...core.errors import DataError, ParameterError
from ...core.intake.columns import pick
from ...core.intake.frames import to_polars
from ...core.method import Method
from ...core.params import Share
from ...core.result import Result, versions
from ...core.truth import place_gold, truth_table
from ...core.vocabulary import lookup, quote
from ...core.votes import Votes
from ...evaluation.calibration import Decided, checked, wanted
from ...stats.gold_calibration import GoldCalibration
from ..classes.methods.infer import Policy, refuse_strangers
from ..spans.maths import ranges
from .answers import BoxCoder, Boxes, box_votes, told_by
from .estimate import BoxEstimate, BoxWorkers
from .maths import Drawn, Objects, Truth, drawn, known_sides, match_lists, rate, tally, taught


def box_truth(truth: Any) -> tuple[pl.Series, Boxes]:
    """Any way to write down the boxes of pictures: the tasks, and their boxes."""
    if isinstance(truth, dict):
        truth = pl.DataFrame({"task": pl.Series(list(truth)), "boxes": BoxCoder({"boxes": list(truth.values())}).texts})
    table = truth_table(truth, ("boxes",), like=("label",))
    try:
        boxes = BoxCoder({"boxes": table["boxes"]}).finish()
    except DataError as error:
        raise DataError(f"the truth: {error}") from None
    return table["task"], boxes


def box_gold(gold: Any, votes: Votes[Boxes]) -> tuple[Truth | None, pl.Series, npt.NDArray[np.bool_] | None]:
    """(the known boxes, all classes, which pictures are known). Codes of the votes' classes stay as they are: a class
    that only gold has comes last."""
    tags = votes.answers.tags
    if gold is None:
        return None, tags, None
    names, boxes = box_truth(gold)
    task, known = place_gold(names.to_frame("task"), votes.tasks)
    if len(boxes.corner) and tags.to_list() != [""] and boxes.tags.to_list() == [""]:
        raise DataError(f"the gold boxes have no classes, but those of the votes have ({quote(tags)})")
    more = [name for name in boxes.tags.to_list() if name not in set(tags.to_list())]
    own = [*tags.to_list(), *(more if len(boxes.corner) else [])]
    place = {name: i for i, name in enumerate(own)}
    rows = np.flatnonzero(known)[np.argsort(task[known], kind="stable")]
    sorted_boxes = boxes.take(rows)
    size = np.zeros(votes.n_tasks, dtype=np.int64)
    size[task[rows]] = sorted_boxes.size
    told = np.zeros(votes.n_tasks, dtype=bool)
    told[task[rows]] = True
    code = np.array([place.get(name, 0) for name in boxes.tags.to_list()], dtype=np.int64)
    truth = Truth(told, size, np.array(sorted_boxes.corner), code[sorted_boxes.tag])
    return truth, pl.Series("tag", own, dtype=pl.String), told


# ----------------------------------------------------------------
# Estimates and known boxes as answers, for what is measured between answers.


def said(votes: Votes[Boxes], result: Result) -> Boxes:  # noqa: ARG001
    """The fused boxes of every picture."""
    own = result.estimate
    assert isinstance(own, BoxEstimate)
    return Boxes(own.n_boxes, own.corner, own.tag, own.tags)


def known(votes: Votes[Boxes], gold: Any) -> tuple[npt.NDArray[np.int64], Boxes]:
    """Codes of the known pictures, and their boxes."""
    names, boxes = box_truth(gold)
    task, there = place_gold(names.to_frame("task"), votes.tasks)
    rows = np.flatnonzero(there)
    return task[rows].astype(np.int64), boxes.take(rows)


# ----------------------------------------------------------------
# What every method for boxes shares: checks, gold, which objects are kept, the workers' picture, the Result.

F8 = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Found:
    """What a method made of the boxes: objects, which of them are kept, and the workers' biases if it knows them."""

    objects: Objects
    kept: Mask
    bias: F8 | None = None
    spread: F8 | None = None
    n_iter: int = 0
    converged: bool = True
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class BoxAggregator(Method):
    """A method for boxes: boxes that mean one object are put together, and objects that more than `share` of those who
    looked at the picture drew are kept. `overlap` is the least IoU of boxes that can mean the same."""

    takes: ClassVar[str] = "boxes"
    overlap: Share = 0.3
    share: Share = 0.5

    def fit(
        self,
        votes: Votes[Boxes] | Any,
        gold: Any = None,
        *,
        prior: Any = None,
        n_shards: int = 1,  # noqa: ARG002
        callback: Callback | None = None,  # noqa: ARG002
        calibrate: bool | None = None,
    ) -> Result:
        """The boxes of each picture in these votes, or in a table task, worker, boxes.

        `gold` is the known boxes of some pictures (a mapping or a table task, boxes): they stay put, and workers are
        judged by them. `calibrate` adds the chance that a box is right, learnt on gold; the default method does so
        unless it is False.
        """
        if prior is not None:
            raise ParameterError(f"{self.name} cannot use prior=")
        votes = as_boxes(votes)
        truth, tags, told = box_gold(gold, votes)
        seen = drawn_in(votes)
        found = self.objects(seen)
        if truth is not None:
            found = taught(seen, found, truth)
        solved = self.solve(seen, found)
        self.warn_unless_settled(solved.converged, solved.n_iter)
        result = self._result(votes, seen, solved, tags, told)
        return checked(self, result, votes, gold) if wanted(self, gold, calibrate) else result

    @abstractmethod
    def objects(self, seen: Drawn) -> Objects:
        """Which boxes mean the same object."""

    def solve(self, seen: Drawn, found: Objects) -> Found:  # noqa: ARG002
        """Which objects are kept, and their corners."""
        return Found(found, found.kept(self.share))

    def _result(self, votes: Votes[Boxes], seen: Drawn, solved: Found, tags: pl.Series, told: Mask | None) -> Result:
        counts = tally(seen, solved.objects, self.share)
        recall, precision = rate(counts.drew, counts.there), rate(counts.drew, counts.drew + counts.spurious)
        picture = BoxWorkers(
            counts.there, counts.drew, counts.spurious, *recall, *precision, counts.overlap, solved.bias, solved.spread
        )
        return Result(
            method=self.name,
            params=self.params(),
            tasks=votes.tasks,
            workers=votes.workers,
            estimate=estimate_of(solved, votes.n_tasks, tags),
            picture=picture,
            labels_per_task=votes.labels_per_task,
            labels_per_worker=votes.labels_per_worker,
            gold=told,
            n_iter=solved.n_iter,
            converged=solved.converged,
            extra=solved.extra,
            versions=versions(),
        )


def estimate_of(solved: Found, n_tasks: int, tags: pl.Series) -> BoxEstimate:
    """The kept objects, picture by picture, from left to right."""
    found = solved.objects
    some = np.flatnonzero(solved.kept)
    order = some[np.lexsort((found.tag[some], *found.corner[some].T[::-1], found.task[some]))]
    return BoxEstimate(
        n_boxes=np.bincount(found.task[order], minlength=n_tasks),
        corner=found.corner[order],
        tag=found.tag[order],
        support=found.share[order],
        tags=tags,
    )


def drawn_in(votes: Votes[Boxes]) -> Drawn:
    """The boxes of these votes for the maths; rows of weight 0 are absent."""
    if votes.weight is not None and not (votes.weight > 0).all():
        votes = votes.take(votes.weight > 0)
    own = votes.answers
    return drawn(
        own.corner, own.tag, own.size, votes.task, votes.worker, votes.weight, votes.n_tasks, votes.n_workers
    )  # fmt: skip


def as_boxes(votes: Any) -> Votes[Boxes]:
    """Votes of boxes as they are, a table task, worker, boxes as votes; anything else is told how to be read."""
    if isinstance(votes, Votes):
        if isinstance(votes.answers, Boxes):
            return votes
        raise DataError(
            f"boxes are needed, got {votes.kind.people}; read the file with kind='boxes' (--kind boxes), or take a "
            "method for these"
        )
    if isinstance(votes, str | Path):
        raise DataError(f"votes are needed, got the path {str(votes)!r}; read the file first: cw.read(path)")
    if isinstance(votes, np.ndarray | list | tuple):
        raise DataError("votes are needed; three columns go through cw.box_votes(task, worker, boxes)")
    frame = to_polars(votes)
    picked, _ = pick(frame, dict(told_by(frame.columns) or {}), "the frame", (), ("task", "worker", "boxes"))
    return box_votes(picked.pop("task"), picked.pop("worker"), picked.pop("boxes"), **picked)


# ----------------------------------------------------------------
# Boxes as decisions: one is right where a known box of its class, matched one-to-one, overlaps it by half.

I8 = npt.NDArray[np.int64]
# The least IoU with a known box.
OVERLAP = 0.5


def decided() -> Decided:
    """What is right or wrong."""
    return Decided("boxes", "with an IoU of .5 or more with a known box of their class", _boxes, _right, _apply)


def _own(result: Result) -> BoxEstimate:
    assert isinstance(result.estimate, BoxEstimate)
    return result.estimate


def _boxes(result: Result) -> tuple[I8, F8]:
    own = _own(result)
    return np.repeat(np.arange(len(own)), own.n_boxes), own.support


def _right(votes: Votes[Boxes], result: Result, gold: Any) -> F8:
    own = _own(result)
    task, theirs = known(votes, gold)
    mine = said(votes, result).take(task)
    bare = [each.tags.to_list() == [""] for each in (mine, theirs)]
    if bare[0] == bare[1]:
        both, n = mine.join(theirs), len(mine)
        mine, theirs = both.take(np.arange(n)), both.take(np.arange(n, len(both)))
        tags = mine.tag, theirs.tag
    else:  # where one side has no classes, they do not count
        tags = np.zeros_like(mine.tag), np.zeros_like(theirs.tag)
    _, hit, _, _ = match_lists(
        mine.corner, theirs.corner, mine.start[:-1], mine.size, theirs.start[:-1], theirs.size,
        tag_a=tags[0], tag_b=tags[1], least=OVERLAP,
    )  # fmt: skip
    right = np.zeros(len(mine.corner))
    right[hit] = 1.0
    out = np.full(len(own.corner), np.nan)
    out[ranges(own.start[:-1][task], own.n_boxes[task])] = right
    return out


def _apply(estimate: BoxEstimate, learnt: GoldCalibration, kept: Mask, parts: Any) -> BoxEstimate:
    del parts
    task = np.repeat(np.arange(len(estimate)), estimate.n_boxes)
    return replace(estimate, sure=np.where(kept[task], 1.0, learnt.of(estimate.support)))


# ----------------------------------------------------------------
# What the same workers' boxes say of other pictures, with everything learnt held fixed.


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
