"""What training on comparisons found, as the same Result that aggregation gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
import numpy.typing as npt

from ...aggregate.comparisons.found import estimate_of, picture_of
from ...core.result import Result
from ...core.votes import Votes
from ...kinds.comparisons.answers import Comparisons
from ...kinds.comparisons.rows import rows_of
from ...maths.comparisons.fit import PairFit
from ..methods.comparisons.reward_net import PairMethod

if TYPE_CHECKING:
    from .ranker import CrowdRanker


def outcome(fitted: CrowdRanker, votes: Votes[Comparisons], score: npt.NDArray[np.float64]) -> Result:
    """The net's score[item], who wins each pair by them, and how far workers follow them. A net has no intervals."""
    method = cast("PairMethod", fitted.model_.method)
    level = float(method.tie) if bool(method.ties) else -np.inf
    rows, fit = rows_of(votes), PairFit(score, tie_level=level)
    return Result(
        tasks=votes.tasks,
        workers=votes.workers,
        estimate=estimate_of(votes, rows, fit, None, 0.95, fitted.seed),
        picture=picture_of(votes, rows, fit),
        labels_per_task=votes.labels_per_task,
        labels_per_worker=votes.labels_per_worker,
        extra={
            "tie_level": level if np.isfinite(level) else None,
            "tie_spread": 0.0,
            "best_epoch": fitted.history_.best_epoch or len(fitted.history_),
        },
        **fitted._course(),
    )
