"""How many of a result's labels are right, in words, with what is known of how far that can be trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..core.result import Result


def outlook(result: Result) -> str:
    """One sentence without a full stop; a calibrated result has an interval, others only their own estimate."""
    if (expected := result.expected_accuracy) is None:
        return f"by its own estimate {result.mean_confidence:.1%} of the labels are right"
    mean, low, high = expected
    return (
        f"about {mean:.0%} of the labels are expected to be right; among crowds like those that this was learnt on, "
        f"nine in ten had between {low:.0%} and {high:.0%}"
    )
