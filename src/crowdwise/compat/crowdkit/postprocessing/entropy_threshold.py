"""crowdkit.postprocessing.entropy_threshold: removal of workers whose labels have low entropy."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ....core.errors import CrowdwiseWarning
from ..aggregation.table import columns_of
from ..metrics.data import uncertainty


def entropy_threshold(answers: Any, workers_skills: Any = None, percentile: int = 10, min_answers: int = 2) -> Any:
    """Drop the rows of workers whose labels' entropy is at or below the `percentile` of all workers.

    Workers with fewer than `min_answers` labels are kept. Warns if half of the rows or more are dropped.

    >>> import pandas as pd
    >>> votes = pd.DataFrame({"task": [1, 2, 3] * 3, "worker": [*"aaabbbccc"], "label": [*"xyxxyyxxx"]})
    >>> entropy_threshold(votes)["worker"].unique().tolist()
    ['a', 'b']
    """
    labels = columns_of(answers).groupby("worker")["label"].count()
    busy = answers[answers["worker"].isin(labels.index[labels >= min_answers])]
    remaining = answers
    if len(busy):
        entropy = uncertainty(busy, workers_skills, compute_by="worker", aggregate=False)
        low = entropy.index[entropy <= np.nanpercentile(entropy, percentile)]
        remaining = answers[~answers["worker"].isin(low)]
    if len(answers) and len(remaining) <= len(answers) // 2:
        warnings.warn(
            "Removed >= 1/2 of answers with entropy_threshold. This might lead to poor annotation quality. "
            "Lower the percentile or raise min_answers",
            CrowdwiseWarning,
            stacklevel=2,
        )
    return remaining
