"""Compare several methods on the same votes, for any kind of answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.kind import get


def compare(annotations: Any, methods: Sequence[str] | None = None, **options: Any) -> Any:
    """Run several methods on the same votes and compare their results.

    Args:
        annotations: Votes of any kind, or a table task, worker, label.
        methods: Names of methods; by default all for this kind of answers.
        **options: truth, gold, seed, folds (0 skips the held-out score, which takes up to that many more fits), jobs
            (processes), watch; for classes also resamples and cluster.

    Returns:
        A comparison with a row for each method (see `Comparison`). A method that cannot run has a row with the reason.
    """
    votes = get("classes").hooks.coerce(annotations)
    return votes.kind.hooks.compare(votes, methods, **options)
