"""What calibration on gold has to know of all tasks, as sums: of tasks in several parts they add up to those of all.

Whether the checked tasks are a random sample is tested on counts: of labels, of confidence in bins, of the number of
labels. So the tests have the same outcome however the tasks are divided, and nothing is drawn for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from ..guarantee.sampled import holm, rank_sum_of_counts, shares_differ
from .gold_calibration import logit

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

# Bins of confidence. Their borders are shifted so that simple fractions, the usual shares of votes, lie inside a bin:
# there rounding errors do not move them to another one.
BINS, SHIFT = 100_000, 0.381966


@dataclass(frozen=True, eq=False)
class GoldSums:
    """Sums over tasks of a fit without gold. `labelled` tasks have labels, `logits` is the sum of their log odds;
    `others` have no gold, `claimed` is the sum of their confidence. `checked` and `right` are confidence and outcome of
    the checked tasks. The tables have a row for tasks that are not checked and one for those that are."""

    labelled: int
    logits: float
    others: int
    claimed: float
    checked: F8
    right: F8
    label: I8
    level: I8
    n_labels: I8

    @classmethod
    def of(
        cls,
        confidence: F8,
        label: I8,
        n_classes: int,
        n_labels: I8,
        gold: Mask,
        right: F8,
        taught: Mask | None = None,
    ) -> Self:
        """Of some tasks; `right` is the outcome of those in `gold`, in their order, that have labels. Tasks in `taught`
        have gold that only taught a fit: they are neither checked nor among the others."""
        has = n_labels > 0
        drawn_from = has if taught is None else has & ~taught
        others = ~gold if taught is None else ~(gold | taught)
        sides = [np.flatnonzero(drawn_from & side) for side in (~gold, gold)]
        bins = (confidence * BINS + SHIFT).astype(np.int64)
        most = int(n_labels.max(initial=0)) + 1
        return cls(
            int(has.sum()),
            float(logit(confidence[has]).sum()),
            int(others.sum()),
            float(confidence[others].sum()),
            confidence[gold & has],
            right,
            np.stack([np.bincount(label[side], minlength=n_classes) for side in sides]),
            np.stack([np.bincount(bins[side], minlength=BINS + 2) for side in sides]),
            np.stack([np.bincount(n_labels[side], minlength=most) for side in sides]),
        )

    def __add__(self, other: Self) -> Self:
        return type(self)(
            self.labelled + other.labelled,
            self.logits + other.logits,
            self.others + other.others,
            self.claimed + other.claimed,
            np.concatenate([self.checked, other.checked]),
            np.concatenate([self.right, other.right]),
            self.label + other.label,
            self.level + other.level,
            _padded(self.n_labels, other.n_labels),
        )

    @property
    def centre(self) -> float:
        """Mean log odds of the labelled tasks."""
        return self.logits / self.labelled if self.labelled else 0.0

    def sample_tests(self) -> dict[str, float]:
        """p-values, corrected for their number (Holm), of the checked tasks being a random sample; none where every
        task is checked."""
        if not self.label[0].any():
            return {}
        p = {
            "label": shares_differ(self.label[1], self.label[0]),
            "confidence": rank_sum_of_counts(self.level[1], self.level[0]),
            "number of labels": rank_sum_of_counts(self.n_labels[1], self.n_labels[0]),
        }
        return dict(zip(p, holm(list(p.values())), strict=True))


def _padded(one: I8, two: I8) -> I8:
    """The sum of two tables, the narrower one filled up with zeros."""
    if one.shape[1] < two.shape[1]:
        one, two = two, one
    out = one.copy()
    out[:, : two.shape[1]] += two
    return out
