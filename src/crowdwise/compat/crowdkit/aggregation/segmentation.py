"""crowd-kit's aggregators of masks: majority, RASA and one-coin EM of each image by itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ....kinds.outlines.kernels import count_codes
from .base import InputError, MissingError
from .utils import add_skills_to_data

F8 = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
COLUMNS = ("task", "worker", "segmentation")
# Workers of one image whose masks are told apart by the bits of one number.
BITS = 12


@dataclass(frozen=True, eq=False)
class Patterns:
    """Pixels that the same workers have in are one: said[worker, pattern], how many pixels each has, its code, and the
    code at[pixel]."""

    said: F8
    count: F8
    code: npt.NDArray[np.int64]
    at: npt.NDArray[np.integer]
    shape: tuple[int, ...]

    def image(self, value: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """value[pattern] at every pixel."""
        table = np.zeros(int(self.code[-1]) + 1 if len(self.code) else 1, dtype=value.dtype)
        table[self.code] = value
        return np.asarray(table.take(self.at).reshape(self.shape))


def patterns(masks: list[Mask]) -> Patterns:
    """Of a mask of every worker: a picture of many pixels has few patterns, so rounds over them cost nothing."""
    n, flat = len(masks), [mask.ravel() for mask in masks]
    at: npt.NDArray[Any]
    if n > BITS:
        kinds, at = np.unique(np.packbits(np.array(flat), axis=0), axis=1, return_inverse=True)
        said = np.unpackbits(kinds, axis=0, count=n).astype(np.float64)
        at = at.ravel()
    else:
        # One bit a worker, in bytes where eight are enough.
        small = np.uint8 if n <= 8 else np.uint16
        at = flat[0].astype(small)
        moved = np.empty_like(at)
        for w in range(1, n):
            own = flat[w].view(np.uint8) if n <= 8 else flat[w].astype(small)
            np.bitwise_or(at, np.left_shift(own, small(w), out=moved), out=at)
        said = ((np.arange(2**n) >> np.arange(n)[:, None]) & 1).astype(np.float64)
    count = np.zeros(said.shape[1], dtype=np.int64)
    count_codes(at, count)
    there = np.flatnonzero(count)
    return Patterns(said[:, there], count[there].astype(np.float64), there, at, masks[0].shape)


@dataclass(eq=False)
class BaseImageSegmentationAggregator:
    """Base of the three; `segmentations_` is a Series of masks named agg_segmentation, indexed by task."""

    segmentations_: Any = field(init=False, repr=False)

    def fit_predict(self, data: Any) -> Any:
        """`segmentations_` of a frame with task, worker and segmentation (a 2-d array of 0 and 1)."""
        return self.fit(data).segmentations_

    def fit(self, data: Any) -> Any:
        """Learn from a frame; returns self."""
        found = {}
        for task, masks, _ in _images(data):
            seen = patterns(masks)
            found[task] = seen.image(self._one(seen))
        self.segmentations_ = _series(found)
        return self

    def _one(self, seen: Patterns) -> Mask:
        """Which patterns are in."""
        raise NotImplementedError


@dataclass(eq=False)
class SegmentationMajorityVote(BaseImageSegmentationAggregator):
    """A pixel is in where at least half of the votes, weighted by `skills` at fit, have it in.

    >>> import pandas as pd
    >>> masks = [np.array([[1, 0], [1, 1]]), np.array([[0, 1], [1, 1]]), np.array([[0, 1], [1, 1]])]
    >>> frame = pd.DataFrame({"task": ["t"] * 3, "worker": [*"abc"], "segmentation": masks})
    >>> SegmentationMajorityVote().fit_predict(frame).loc["t"].astype(int).tolist()
    [[0, 1], [1, 1]]
    """

    default_skill: float | None = None
    on_missing_skill: str = "error"
    skills_: Any = field(init=False, repr=False, default=None)

    def fit(self, data: Any, skills: Any = None) -> SegmentationMajorityVote:
        """`data` with task, worker, segmentation; `skills` a Series by worker."""
        self.skills_ = skills
        frame = data if skills is None else add_skills_to_data(
            _checked(data), skills, self.on_missing_skill, self.default_skill
        )  # fmt: skip
        found = {}
        for task, masks, rows in _images(frame):
            say = np.ones(len(masks)) if skills is None else rows["skill"].to_numpy(dtype=np.float64)
            seen = patterns(masks)
            found[task] = seen.image(2 * (say @ seen.said) >= say.sum())
        self.segmentations_ = _series(found)
        return self

    def fit_predict(self, data: Any, skills: Any = None) -> Any:
        """`segmentations_` of the data."""
        return self.fit(data, skills).segmentations_


@dataclass(eq=False)
class SegmentationRASA(BaseImageSegmentationAggregator):
    """Votes weighted by log(1 / (1 - IoU) + 1) of a worker's mask with the result, over and over: at most `n_iter`
    times, until the weighted votes change by less than `tol`."""

    n_iter: int = 10
    tol: float = 1e-5
    loss_history_: list[float] = field(init=False, repr=False, default_factory=list)

    def _one(self, seen: Patterns) -> Mask:
        say = np.full(len(seen.said), 1 / len(seen.said))
        before: F8 | None = None
        self.loss_history_ = []
        found = np.zeros(len(seen.count), dtype=bool)
        for _ in range(self.n_iter):
            votes = say @ seen.said
            found = votes >= 0.5
            say = _by_overlap(seen, found)
            if before is not None:
                change = float(seen.count @ (votes - before) ** 2) / max(float(seen.count @ votes**2), 1e-300)
                self.loss_history_.append(change)
                if change < self.tol:
                    break
            before = votes
        return found


def _by_overlap(seen: Patterns, found: Mask) -> F8:
    """Shares by log(1 / (1 - IoU) + 1); two empty masks agree wholly."""
    both, own = seen.said @ (seen.count * found), seen.said @ seen.count
    union = own + float(seen.count @ found) - both
    iou = np.divide(both, union, out=np.ones_like(both), where=union > 0)
    weight = np.log(1 / (1 - iou + 1e-5) + 1)
    return np.asarray(weight / weight.sum())


@dataclass(eq=False)
class SegmentationEM(BaseImageSegmentationAggregator):
    """One coin of each worker, over the pixels that anybody has in: how often they are right, by EM. A pixel's first
    prior is the share of the votes, then what was found for it. At most `n_iter` rounds, until the bound a pixel grows
    by less than `tol`."""

    n_iter: int = 10
    tol: float = 1e-5
    eps: ClassVar[float] = 1e-15
    loss_history_: list[float] = field(init=False, repr=False, default_factory=list)

    def _one(self, seen: Patterns) -> Mask:
        said, region = seen.said, float(seen.count @ seen.said.any(axis=0))
        self.loss_history_ = []
        if not region:
            return np.zeros(len(seen.count), dtype=bool)
        prior = said.mean(axis=0)
        skill = _skills(seen, np.round(prior), region)
        last = -np.inf
        for _ in range(self.n_iter):
            right = np.where(said > 0, skill[:, None], 1 - skill[:, None])
            with np.errstate(divide="ignore"):
                yes, no = np.log(right), np.log(1 - right)
                belief = _posterior(np.log(prior) + yes.sum(axis=0), np.log(1 - prior) + no.sum(axis=0))
            belief[belief < self.eps] = 0.0
            skill = _skills(seen, belief, region)
            bound = _bound(seen, skill, prior, belief) / (len(said) * float(seen.count.sum()))
            prior = belief
            self.loss_history_.append(bound)
            if bound - last < self.tol:
                break
            last = bound
        return np.asarray(prior > 0.5)


def _skills(seen: Patterns, belief: F8, region: float) -> F8:
    wrong = seen.said @ seen.count + float(seen.count @ belief) - 2 * (seen.said @ (seen.count * belief))
    return np.asarray(1 - wrong / region)


def _posterior(yes: F8, no: F8) -> F8:
    """exp(yes) / (exp(yes) + exp(no)); 0 where both are impossible."""
    top = np.maximum(yes, no)
    known = np.isfinite(top)
    with np.errstate(invalid="ignore"):
        a, b = np.exp(yes - top), np.exp(no - top)
        return np.where(known, a / (a + b), 0.0)


def _bound(seen: Patterns, skill: F8, prior: F8, belief: F8) -> float:
    right = np.where(seen.said > 0, skill[:, None], 1 - skill[:, None])
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # what is impossible has minus infinity
        inside = np.nan_to_num((np.log(right) + np.log(prior)) * belief, nan=0.0)
        outside = np.nan_to_num((np.log(1 - right) + np.log(1 - prior)) * (1 - belief), nan=0.0)
        entropy = np.nan_to_num(np.log(belief) * belief, nan=0.0)
        return float((inside.sum(axis=0) + outside.sum(axis=0) - entropy) @ seen.count)


def _checked(data: Any) -> Any:
    missing = [name for name in COLUMNS if name not in data.columns]
    if missing:
        raise MissingError(f"the frame has no column {missing[0]!r}; masks need task, worker, segmentation")
    return data[list(COLUMNS)]


def _images(data: Any) -> Iterator[tuple[Any, list[Mask], Any]]:
    """(task, the workers' masks, rows) of each image."""
    frame = data if "skill" in data.columns else _checked(data)
    for task, rows in frame.groupby("task", sort=True):
        masks = [np.asarray(each) for each in rows["segmentation"]]
        if len({mask.shape for mask in masks}) > 1 or masks[0].ndim != 2:
            shapes = ", ".join(sorted({str(mask.shape) for mask in masks}))
            raise InputError(f"the masks of task {task!r} have the shapes {shapes}; they must be one 2-d shape")
        yield task, [mask if mask.dtype == bool else mask > 0 for mask in masks], rows


def _series(found: dict[Any, Mask]) -> Any:
    import pandas as pd

    out = pd.Series(list(found.values()), index=pd.Index(list(found), name="task"), dtype=object)
    return out.rename("agg_segmentation")
