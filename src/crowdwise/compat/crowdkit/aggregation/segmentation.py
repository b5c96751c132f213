"""crowd-kit's aggregators of masks: majority, RASA and one-coin EM of each image by itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from .base import InputError, MissingError
from .utils import add_skills_to_data

F8 = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
COLUMNS = ("task", "worker", "segmentation")


@dataclass(eq=False)
class BaseImageSegmentationAggregator:
    """Base of the three; `segmentations_` is a Series of masks named agg_segmentation, indexed by task."""

    segmentations_: Any = field(init=False, repr=False)

    def fit_predict(self, data: Any) -> Any:
        """`segmentations_` of a frame with task, worker and segmentation (a 2-d array of 0 and 1)."""
        return self.fit(data).segmentations_

    def fit(self, data: Any) -> Any:
        """Learn from a frame; returns self."""
        self.segmentations_ = _series({task: self._one(masks) for task, masks, _ in _images(data)})
        return self

    def _one(self, masks: Mask) -> Mask:
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
            found[task] = 2 * np.tensordot(say, masks, axes=1) >= say.sum()
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

    def _one(self, masks: Mask) -> Mask:
        say = np.full(len(masks), 1 / len(masks))
        before: F8 | None = None
        self.loss_history_ = []
        found = np.zeros(masks.shape[1:], dtype=bool)
        for _ in range(self.n_iter):
            votes = np.tensordot(say, masks, axes=1)
            found = votes >= 0.5
            say = _by_overlap(masks, found)
            if before is not None:
                change = float(((votes - before) ** 2).sum()) / max(float((votes**2).sum()), 1e-300)
                self.loss_history_.append(change)
                if change < self.tol:
                    break
            before = votes
        return found


def _by_overlap(masks: Mask, found: Mask) -> F8:
    """Shares by log(1 / (1 - IoU) + 1); two empty masks agree wholly."""
    both = (masks & found).sum(axis=(1, 2)).astype(np.float64)
    union = (masks | found).sum(axis=(1, 2)).astype(np.float64)
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

    def _one(self, masks: Mask) -> Mask:
        said, region = masks.astype(np.float64), int(masks.any(axis=0).sum())
        self.loss_history_ = []
        if not region:
            return np.zeros(masks.shape[1:], dtype=bool)
        prior = said.mean(axis=0)
        skill = _skills(said, np.round(prior), region)
        last = -np.inf
        for _ in range(self.n_iter):
            right = np.where(masks, skill[:, None, None], 1 - skill[:, None, None])
            with np.errstate(divide="ignore"):
                yes, no = np.log(right), np.log(1 - right)
                belief = _posterior(np.log(prior) + yes.sum(axis=0), np.log(1 - prior) + no.sum(axis=0))
            belief[belief < self.eps] = 0.0
            skill = _skills(said, belief, region)
            bound = _bound(masks, skill, prior, belief) / said.size
            prior = belief
            self.loss_history_.append(bound)
            if bound - last < self.tol:
                break
            last = bound
        return np.asarray(prior > 0.5)


def _skills(said: F8, belief: F8, region: int) -> F8:
    wrong = said.sum(axis=(1, 2)) + belief.sum() - 2 * (said * belief).sum(axis=(1, 2))
    return np.asarray(1 - wrong / region)


def _posterior(yes: F8, no: F8) -> F8:
    """exp(yes) / (exp(yes) + exp(no)); 0 where both are impossible."""
    top = np.maximum(yes, no)
    known = np.isfinite(top)
    with np.errstate(invalid="ignore"):
        a, b = np.exp(yes - top), np.exp(no - top)
        return np.where(known, a / (a + b), 0.0)


def _bound(masks: Mask, skill: F8, prior: F8, belief: F8) -> float:
    right = np.where(masks, skill[:, None, None], 1 - skill[:, None, None])
    with np.errstate(divide="ignore", invalid="ignore"):
        inside = np.nan_to_num((np.log(right) + np.log(prior)) * belief, nan=0.0)
        outside = np.nan_to_num((np.log(1 - right) + np.log(1 - prior)) * (1 - belief), nan=0.0)
        entropy = np.nan_to_num(np.log(belief) * belief, nan=0.0)
    return float(inside.sum() + outside.sum() - entropy.sum())


def _checked(data: Any) -> Any:
    missing = [name for name in COLUMNS if name not in data.columns]
    if missing:
        raise MissingError(f"the frame has no column {missing[0]!r}; masks need task, worker, segmentation")
    return data[list(COLUMNS)]


def _images(data: Any) -> Iterator[tuple[Any, Mask, Any]]:
    """(task, masks[worker, row, column], rows) of each image."""
    frame = data if "skill" in data.columns else _checked(data)
    for task, rows in frame.groupby("task", sort=True):
        masks = [np.asarray(each) for each in rows["segmentation"]]
        if len({mask.shape for mask in masks}) > 1 or masks[0].ndim != 2:
            shapes = ", ".join(sorted({str(mask.shape) for mask in masks}))
            raise InputError(f"the masks of task {task!r} have the shapes {shapes}; they must be one 2-d shape")
        yield task, np.array(masks) > 0, rows


def _series(found: dict[Any, Mask]) -> Any:
    import pandas as pd

    out = pd.Series(list(found.values()), index=pd.Index(list(found), name="task"), dtype=object)
    return out.rename("agg_segmentation")
