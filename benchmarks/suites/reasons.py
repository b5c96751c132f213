"""Why a peer's test fails here: each for a reason that was looked at. Whatever is not named here is a fault."""

from __future__ import annotations

PRIVATE = "calls GLAD's private methods (`_init`, `_join_all`, `_e_step`, ...), which are crowd-kit's way of doing it"
HABITS = (
    "the expected figures come from crowd-kit's mix-up of workers and labels (sorted names filed under names in order "
    "of appearance), which is fixed here"
)
MASI = "the distance comes from nltk, whose `masi_distance` has changed since the figure was written down"
REASONS = {
    "tests/aggregation/test_glad_aggregation.py": {"test_glad_e_step": PRIVATE, "test_glad_derivative": PRIVATE},
    "tests/aggregation/test_mace_aggregation.py": {
        "test_aggregate_mace_on_simple[em]": HABITS,
        "test_thetas_on_simple": HABITS,
    },
    "tests/metrics/test_metrics.py": {"test_alpha_krippendorff_with_distance": MASI},
}


def reason(file: str, name: str) -> str | None:
    """The reason why this test fails, if one is known."""
    return REASONS.get(file, {}).get(name)
