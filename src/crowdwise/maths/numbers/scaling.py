"""Every method works on standardised values: shifting and scaling the answers shifts and scales the estimates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .rows import F8, Rows

# Variances are squares: beyond these a double cannot hold them.
LARGEST, SMALLEST = 1e150, 1e-150


@dataclass(frozen=True)
class Scale:
    """value = centre + unit * standardised value."""

    centre: float
    unit: float

    def inward(self, values: F8) -> F8:
        """Standardise; gold's NaN stays NaN."""
        return np.asarray((values - self.centre) / self.unit)

    def outward(self, values: F8) -> F8:
        """Back to the answers' own units."""
        return np.asarray(self.centre + self.unit * values)


def standardise(rows: Rows, gold: F8 | None) -> tuple[Rows, F8 | None, Scale]:
    """Rows and gold with mean 0 and standard deviation 1 of the answers; all equal: only shifted."""
    scale = scale_of(rows)
    return rows.with_value(scale.inward(rows.value)), None if gold is None else scale.inward(gold), scale


def scale_of(rows: Rows) -> Scale:
    """The answers' mean and standard deviation, each row counted by its weight.

    Raises ValueError where the square of the spread does not fit into a double.
    """
    value, weight = rows.value, rows.weight
    if len(value) == 0:
        return Scale(0.0, 1.0)
    top = float(np.abs(value).max())
    if top == 0:
        return Scale(0.0, 1.0)
    small = value / top
    centre = float(np.average(small, weights=weight))
    spread = float(np.sqrt(np.average((small - centre) ** 2, weights=weight)))
    if spread <= 1e-14:  # rounding of equal values
        return Scale(float(value[0]), 1.0)
    if not SMALLEST < spread * top < LARGEST:
        size = "large" if spread * top >= LARGEST else "small"
        raise ValueError(
            f"the values spread over {spread * top:.1e}, too {size} to compute with: rescale them to a "
            "range between 1e-150 and 1e150"
        )
    return Scale(centre * top, spread * top)
