"""Orders of tasks by places: where a task stands among all tasks by a confidence, as a share of tasks no surer than it.

Places of different confidences can be compared; a task that two methods see stands at the lower of its two places.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .ranks import Ranks, Sorted, up_to

F8 = npt.NDArray[np.float64]
# So many steps a scale of confidences has in a certificate.
STEPS = 1000


@dataclass(frozen=True)
class Scale:
    """Values of a confidence in the certified batch, rising, and the place of each."""

    value: list[float]
    place: list[float]

    def of(self, confidence: F8) -> F8:
        """The place that such a confidence had there."""
        return np.interp(confidence, self.value, self.place)


def scale_of(confidence: F8) -> Scale:
    """At most a thousand steps of the places of these confidences; ties share the middle of theirs."""
    return scale_by(Sorted(confidence))


def scale_by(confidence: Ranks) -> Scale:
    """The same of confidences that need not be in memory."""
    n = confidence.n
    value = np.unique(confidence.at(np.rint(np.linspace(0, n - 1, min(n, STEPS))).astype(np.int64)))
    place = (confidence.below(value) + up_to(confidence, value) + 1) / 2 / max(n, 1)
    return Scale(value.tolist(), place.tolist())


def lowest_place(scales: Mapping[str, Scale], views: Mapping[str, F8]) -> F8:
    """The lowest place of each task over several confidences."""
    return np.asarray(np.min([scale.of(views[name]) for name, scale in scales.items()], axis=0))
