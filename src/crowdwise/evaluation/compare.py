"""Scores of several methods on the same votes, whatever the kind of answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.kind import get


def compare(annotations: Any, methods: Sequence[str] | None = None, **how: Any) -> Any:
    """Run many methods (all for this kind of answers by default) on the same votes and lay them side by side.

    A method that cannot run is a row with the reason. `how`: truth, gold, seed, folds (0 leaves out the held-out score,
    which takes up to that many fits more), jobs (processes), watch; for classes also resamples. See Comparison.
    """
    votes = get("classes").hooks.coerce(annotations)
    return votes.kind.hooks.compare(votes, methods, **how)
