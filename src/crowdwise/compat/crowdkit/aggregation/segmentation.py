"""crowd-kit's aggregators of masks: majority vote, RASA and one-coin EM, each image separately."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from ....core.arrays import F8, Mask
from ....kinds.outlines.kernels import count_codes
from .base import InputError, select_columns
from .utils import add_skills_to_data

COLUMNS = ("task", "worker", "segmentation")
# Up to this many workers of an image, the pattern of a pixel is stored in the bits of one number.
BITS = 12


@dataclass(frozen=True, eq=False)
class Patterns:
    """Pixels grouped by the set of workers whose masks contain them.

    `membership[worker, pattern]`, the number of pixels `count[pattern]`, the `code[pattern]`, and the code `at[pixel]`.
    """

    membership: F8
    count: F8
    code: npt.NDArray[np.int64]
    at: npt.NDArray[np.integer]
    shape: tuple[int, ...]

    def image(self, value: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return value[pattern] at every pixel."""
        table = np.zeros(int(self.code[-1]) + 1 if len(self.code) else 1, dtype=value.dtype)
        table[self.code] = value
        return np.asarray(table.take(self.at).reshape(self.shape))


def patterns(masks: list[Mask]) -> Patterns:
    """Group the pixels of the workers' masks: an image has few patterns, so that iterations over them are cheap."""
    n, flat = len(masks), [mask.ravel() for mask in masks]
    at: npt.NDArray[Any]
    if n > BITS:
        kinds, at = np.unique(np.packbits(np.array(flat), axis=0), axis=1, return_inverse=True)
        membership = np.unpackbits(kinds, axis=0, count=n).astype(np.float64)
        at = at.ravel()
    else:
        # One bit per worker, in bytes if eight are enough.
        small = np.uint8 if n <= 8 else np.uint16
        at = flat[0].astype(small)
        moved = np.empty_like(at)
        for w in range(1, n):
            bit = flat[w].view(np.uint8) if n <= 8 else flat[w].astype(small)
            np.bitwise_or(at, np.left_shift(bit, small(w), out=moved), out=at)
        membership = ((np.arange(2**n) >> np.arange(n)[:, None]) & 1).astype(np.float64)
    count = np.zeros(membership.shape[1], dtype=np.int64)
    count_codes(at, count)
    present = np.flatnonzero(count)
    return Patterns(membership[:, present], count[present].astype(np.float64), present, at, masks[0].shape)


@dataclass(eq=False)
class BaseImageSegmentationAggregator:
    """Base of the three; `segmentations_` is a Series of masks named agg_segmentation, indexed by task."""

    segmentations_: Any = field(init=False, repr=False)

    def fit_predict(self, data: Any) -> Any:
        """`segmentations_` of a frame with task, worker and segmentation (a 2-d array of 0 and 1)."""
        return self.fit(data).segmentations_

    def fit(self, data: Any) -> Any:
        """Fit to a frame; return self."""
        images = {}
        for task, masks, _ in _images(data):
            pixels = patterns(masks)
            images[task] = pixels.image(self._one(pixels))
        self.segmentations_ = _series(images)
        return self

    def _one(self, pixels: Patterns) -> Mask:
        """Return which patterns belong to the result."""
        raise NotImplementedError


@dataclass(eq=False)
class SegmentationMajorityVote(BaseImageSegmentationAggregator):
    """A pixel belongs to the result if at least half of the votes, weighted by `skills` at fit, contain it.

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
        """Fit to `data` with task, worker, segmentation; `skills` is a Series by worker."""
        self.skills_ = skills
        frame = data if skills is None else add_skills_to_data(
            select_columns(data, COLUMNS), skills, self.on_missing_skill, self.default_skill
        )  # fmt: skip
        images = {}
        for task, masks, rows in _images(frame):
            weight = np.ones(len(masks)) if skills is None else rows["skill"].to_numpy(dtype=np.float64)
            pixels = patterns(masks)
            images[task] = pixels.image(2 * (weight @ pixels.membership) >= weight.sum())
        self.segmentations_ = _series(images)
        return self

    def fit_predict(self, data: Any, skills: Any = None) -> Any:
        """`segmentations_` of the data."""
        return self.fit(data, skills).segmentations_


@dataclass(eq=False)
class SegmentationRASA(BaseImageSegmentationAggregator):
    """Votes weighted by log(1 / (1 - IoU) + 1) of a worker's mask with the result, at most `n_iter` rounds, until the
    weighted votes change by less than `tol`."""

    n_iter: int = 10
    tol: float = 1e-5
    loss_history_: list[float] = field(init=False, repr=False, default_factory=list)

    def _one(self, pixels: Patterns) -> Mask:
        weight = np.full(len(pixels.membership), 1 / len(pixels.membership))
        last: F8 | None = None
        self.loss_history_ = []
        inside = np.zeros(len(pixels.count), dtype=bool)
        for _ in range(self.n_iter):
            votes = weight @ pixels.membership
            inside = votes >= 0.5
            weight = _by_overlap(pixels, inside)
            if last is not None:
                change = float(pixels.count @ (votes - last) ** 2) / max(float(pixels.count @ votes**2), 1e-300)
                self.loss_history_.append(change)
                if change < self.tol:
                    break
            last = votes
        return inside


def _by_overlap(pixels: Patterns, inside: Mask) -> F8:
    """Return weights by log(1 / (1 - IoU) + 1); two empty masks agree fully."""
    intersection, area = pixels.membership @ (pixels.count * inside), pixels.membership @ pixels.count
    union = area + float(pixels.count @ inside) - intersection
    iou = np.divide(intersection, union, out=np.ones_like(intersection), where=union > 0)
    weight = np.log(1 / (1 - iou + 1e-5) + 1)
    return np.asarray(weight / weight.sum())


@dataclass(eq=False)
class SegmentationEM(BaseImageSegmentationAggregator):
    """One accuracy per worker over the pixels of any mask, by EM.

    A pixel's first prior is the share of the votes, later its posterior. At most `n_iter` rounds, until the bound per
    pixel grows by less than `tol`.
    """

    n_iter: int = 10
    tol: float = 1e-5
    eps: ClassVar[float] = 1e-15
    loss_history_: list[float] = field(init=False, repr=False, default_factory=list)

    def _one(self, pixels: Patterns) -> Mask:
        membership, region = pixels.membership, float(pixels.count @ pixels.membership.any(axis=0))
        self.loss_history_ = []
        if not region:
            return np.zeros(len(pixels.count), dtype=bool)
        prior = membership.mean(axis=0)
        skill = _skills(pixels, np.round(prior), region)
        last = -np.inf
        for _ in range(self.n_iter):
            right = np.where(membership > 0, skill[:, None], 1 - skill[:, None])
            with np.errstate(divide="ignore"):
                yes, no = np.log(right), np.log(1 - right)
                posterior = _posterior(np.log(prior) + yes.sum(axis=0), np.log(1 - prior) + no.sum(axis=0))
            posterior[posterior < self.eps] = 0.0
            skill = _skills(pixels, posterior, region)
            bound = _bound(pixels, skill, prior, posterior) / (len(membership) * float(pixels.count.sum()))
            prior = posterior
            self.loss_history_.append(bound)
            if bound - last < self.tol:
                break
            last = bound
        return np.asarray(prior > 0.5)


def _skills(pixels: Patterns, posterior: F8, region: float) -> F8:
    wrong = (
        pixels.membership @ pixels.count
        + float(pixels.count @ posterior)
        - 2 * (pixels.membership @ (pixels.count * posterior))
    )
    return np.asarray(1 - wrong / region)


def _posterior(yes: F8, no: F8) -> F8:
    """Return exp(yes) / (exp(yes) + exp(no)); 0 if both are impossible."""
    top = np.maximum(yes, no)
    is_possible = np.isfinite(top)
    with np.errstate(invalid="ignore"):
        a, b = np.exp(yes - top), np.exp(no - top)
        return np.where(is_possible, a / (a + b), 0.0)


def _bound(pixels: Patterns, skill: F8, prior: F8, posterior: F8) -> float:
    right = np.where(pixels.membership > 0, skill[:, None], 1 - skill[:, None])
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):  # impossible values have log -inf
        inside = np.nan_to_num((np.log(right) + np.log(prior)) * posterior, nan=0.0)
        outside = np.nan_to_num((np.log(1 - right) + np.log(1 - prior)) * (1 - posterior), nan=0.0)
        entropy = np.nan_to_num(np.log(posterior) * posterior, nan=0.0)
        return float((inside.sum(axis=0) + outside.sum(axis=0) - entropy) @ pixels.count)


def _images(data: Any) -> Iterator[tuple[Any, list[Mask], Any]]:
    """Yield (task, the workers' masks, rows) of each image."""
    frame = data if "skill" in data.columns else select_columns(data, COLUMNS)
    for task, rows in frame.groupby("task", sort=True):
        masks = [np.asarray(mask) for mask in rows["segmentation"]]
        if len({mask.shape for mask in masks}) > 1 or masks[0].ndim != 2:
            shapes = ", ".join(sorted({str(mask.shape) for mask in masks}))
            raise InputError(f"the masks of task {task!r} have the shapes {shapes}; they must be one 2-d shape")
        yield task, [mask if mask.dtype == bool else mask > 0 for mask in masks], rows


def _series(images: dict[Any, Mask]) -> Any:
    out = pd.Series(list(images.values()), index=pd.Index(list(images), name="task"), dtype=object)
    return out.rename("agg_segmentation")
