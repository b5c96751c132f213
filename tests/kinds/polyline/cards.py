"""Methods for lines."""

from __future__ import annotations

from crowdwise.core.card import Card

_MODULE = f"{__package__}.methods"
METHODS = {
    "median_line": Card(
        "median_line", f"{_MODULE}:MedianLine", "lines", "median of each point", "folklore",
        can=frozenset({"infer"}), takes="polyline",
    ),
    "mean_line": Card(
        "mean_line", f"{_MODULE}:MeanLine", "lines", "mean of each point", "folklore",
        can=frozenset({"infer"}), takes="polyline",
    ),
}  # fmt: skip
