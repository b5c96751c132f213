"""cleanlab 2.9's names for data with several annotators: `cleanlab.` becomes `crowdwise.compat.cleanlab.` in imports.

The native interface is `crowdwise.classes.crowdlab`; this package adds cleanlab's signatures and pandas tables.
"""

from __future__ import annotations

from .active import get_active_learning_scores, get_active_learning_scores_ensemble
from .multiannotator import (
    convert_long_to_wide_dataset,
    get_label_quality_multiannotator,
    get_label_quality_multiannotator_ensemble,
    get_majority_vote_label,
)

__all__ = [
    "convert_long_to_wide_dataset",
    "get_active_learning_scores",
    "get_active_learning_scores_ensemble",
    "get_label_quality_multiannotator",
    "get_label_quality_multiannotator_ensemble",
    "get_majority_vote_label",
]
