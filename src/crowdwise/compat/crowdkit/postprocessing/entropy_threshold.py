"""crowdkit.postprocessing.entropy_threshold: rows of workers who always say the same are left out."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ....core.errors import CrowdwiseWarning
from ..aggregation.table import columns_of
from ..metrics.data import uncertainty


def entropy_threshold(answers: Any, workers_skills: Any = None, percentile: int = 10, min_answers: int = 2) -> Any:
    """The rows without those of workers whose labels' entropy lies at or below the `percentile` of all workers';
    workers with fewer than `min_answers` labels stay. Warns where half of the rows or more are gone.

    >>> import pandas as pd
    >>> votes = pd.DataFrame({"task": [1, 2, 3] * 3, "worker": [*"aaabbbccc"], "label": [*"xyxxyyxxx"]})
    >>> entropy_threshold(votes)["worker"].unique().tolist()
    ['a', 'b']
    """
    labels = columns_of(answers).groupby("worker")["label"].count()
    busy = answers[answers["worker"].isin(labels.index[labels >= min_answers])]
    kept = answers
    if len(busy):
        entropy = uncertainty(busy, workers_skills, compute_by="worker", aggregate=False)
        low = entropy.index[entropy <= np.nanpercentile(entropy, percentile)]
        kept = answers[~answers["worker"].isin(low)]
    if len(answers) and len(kept) <= len(answers) // 2:
        warnings.warn(
            "Removed >= 1/2 of answers with entropy_threshold. This might lead to poor annotation quality. "
            "Lower the percentile or raise min_answers",
            CrowdwiseWarning,
            stacklevel=2,
        )
    return kept
