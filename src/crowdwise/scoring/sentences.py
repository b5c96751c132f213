"""What a fit comes to, in a sentence or two for people."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core.result import Result
from ..core.votes import Votes
from ..kinds.classes.annotations import Annotations
from ..kinds.numbers.estimate import NumberEstimate
from .needs import needs
from .outlook import outlook


def sentences(annotations: Annotations, result: Result) -> list[str]:
    """How right the labels are, and what the doubtful ones need."""
    return [f"{outlook(result)}; {in_need(annotations, result)}"]


def in_need(annotations: Annotations, result: Result) -> str:
    """How many labels are not safe, and what would settle them."""
    need = needs(annotations, result)
    unsure = need.n_vote + need.n_expert
    if not unsure:
        return "all are at least 90 % sure"
    start, futile = f"{unsure:,} tasks are less than 90 % sure", "more votes of this crowd would not settle them"
    if not need.n_expert:
        return f"{start} and need another vote"
    if not need.n_vote:
        return f"{start} and need an expert: {futile}"
    return f"{start}: {need.n_vote:,} need another vote, {need.n_expert:,} an expert, as {futile}"


def number_sentences(votes: Votes[Any], result: Result) -> list[str]:
    """The range of the estimates and the width of their intervals."""
    estimate = result.estimate
    assert isinstance(estimate, NumberEstimate)
    out = []
    level = 100 * float(result.params.get("level", 0.9))
    spread = votes.answers.value.std(axis=0) if len(votes) else np.zeros(len(estimate.parts))
    for j, part in enumerate(estimate.parts.to_list()):
        name = f"{part}: " if part else ""
        value, half = estimate.value[:, j], (estimate.high - estimate.low)[:, j] / 2
        line = f"{name}estimates from {value.min():.4g} to {value.max():.4g}, mean {value.mean():.4g}"
        if np.isnan(half).all():
            line += "; this method has no intervals"
        else:
            of = f" (answers spread by {spread[j]:.3g})" if spread[j] > 0 else ""
            line += f"; {level:.0f} % intervals of ± {np.nanmean(half):.3g} on average{of}"
        out.append(line)
    if result.gold is None or int(result.gold.sum()) < ENOUGH:
        out.append(
            "these intervals say how far this crowd settles the answer; what all of it gets wrong only gold can show "
            f"(--gold with {ENOUGH} tasks or more)"
        )
    return out


# Gold tasks from which they set the width of intervals.
ENOUGH = 10
