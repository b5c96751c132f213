"""cleanlab 2.9's names for data with several annotators: `cleanlab.` becomes `crowdwise.compat.cleanlab.` in imports.

The way in is `crowdwise.crowdlab`; this room has cleanlab's signatures and pandas tables over it.
"""

from __future__ import annotations

from .multiannotator import get_active_learning_scores, get_label_quality_multiannotator, get_majority_vote_label

__all__ = ["get_active_learning_scores", "get_label_quality_multiannotator", "get_majority_vote_label"]
