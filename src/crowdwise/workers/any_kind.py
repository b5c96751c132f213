"""Agreement of the workers beyond chance, for votes of any kind."""

from __future__ import annotations

from typing import Any

from ..core.errors import ParameterError
from ..core.kind import get
from .flags import Coefficient


def agreement(votes: Any, **options: Any) -> list[Coefficient]:
    """Compute the agreement coefficients of the crowd; no fit is needed.

    Args:
        votes: Votes of any kind, or a table task, worker, label.
        **options: For classes `level` ("nominal", "ordinal", "interval" or "ratio"), `order` (the classes from low to
            high) and `seed` of the intervals.

    Returns:
        Krippendorff's alpha for every kind, by its own distance; for classes also raw agreement, Fleiss', Cohen's and
        Scott's coefficients and Gwet's AC, for numbers also the ICC. A coefficient that is undefined has no value, but
        a reason.

    >>> import crowdwise as cw
    >>> votes = cw.numbers.number_votes([1, 1, 2, 2, 3, 3], [*"ababab"], [1, 1, 2, 3, 5, 5])
    >>> [c.name for c in agreement(votes)]
    ['ICC(1,1), one answer', "ICC(2,1), one answer, workers' levels separated", "Krippendorff's alpha, interval"]
    """
    votes = get("classes").hooks.coerce(votes)
    coefficients: list[Coefficient] = votes.kind.hooks.agreement(votes, **options)
    return coefficients


def krippendorff_alpha(votes: Any, **options: Any) -> float | None:
    """Compute Krippendorff's alpha of votes of any kind; None if it is undefined (`agreement` gives the reason).

    Args:
        votes: Votes of any kind, or a table task, worker, label.
        **options: For classes `level` and `order`, as in `agreement`.

    >>> import crowdwise as cw
    >>> round(krippendorff_alpha(cw.numbers.number_votes([1, 1, 2, 2, 3, 3], [*"ababab"], [1, 1, 2, 3, 5, 5])), 3)
    0.95
    """
    alphas = [c for c in agreement(votes, **options) if "Krippendorff" in c.name]
    if len(alphas) > 1:
        parts = ", ".join(c.name.partition(":")[0] for c in alphas)
        raise ParameterError(f"the answers have the parts {parts}, each with an alpha of its own; use agreement(votes)")
    return alphas[0].value
