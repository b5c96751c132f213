"""Methods for lines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .fitting import LineAggregator
from .maths import weighted_median


@dataclass(frozen=True, kw_only=True)
class MeanLine(LineAggregator):
    """The mean of each point along the line. One wild line moves it."""

    name: ClassVar[str] = "mean_line"

    def middle(self, lines, weight):
        """The weighted mean."""
        return np.average(lines, axis=0, weights=weight)


@dataclass(frozen=True, kw_only=True)
class MedianLine(LineAggregator):
    """The median of each coordinate of each point. Fails where half of the lines are wild."""

    name: ClassVar[str] = "median_line"

    def middle(self, lines, weight):
        """The weighted median."""
        return weighted_median(lines, weight)
