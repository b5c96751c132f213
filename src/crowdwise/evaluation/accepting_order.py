"""The order in which labels are accepted: a second confidence beside that of an average of methods.

Averages of methods lose power at the top: tasks on which many workers agree get about the same confidence, no matter
which workers they are. A single model uses the identity of the workers, but drifts where a crowd is thin. Tasks are
therefore ordered by the lower of their two percentiles (`lowest_percentile`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ..core import method_registry as registry
from ..core.arrays import F8
from ..core.errors import CrowdwiseError
from ..core.votes import Votes
from .guarantee.sequential import lowest_percentile, percentile_scale

# Methods that average others, and the model whose confidence is used beside theirs unless they name another one.
AVERAGES, MODEL = ("adaptive", "committee"), "hierarchical"
OWN = "confidence"


def second_model(method: str, params: Mapping[str, Any]) -> str | None:
    """Return the model used beside an average of methods; None for every other method."""
    return str(params.get("model", MODEL)) if method in AVERAGES else None


def accepting_order(
    model: str | None,
    annotations: Votes[Any],
    label: npt.NDArray[np.int32],
    confidence: F8,
    candidates: npt.NDArray[np.bool_],
) -> F8:
    """Return the score by which labels are accepted, highest first.

    This is the confidence, or the lower of two percentiles among the `candidates`. The model is fitted without gold.
    """
    if model is None or not candidates.any():
        return confidence
    try:
        posterior = registry.method(model).fit(annotations).posterior
    except CrowdwiseError:  # the model cannot be fitted to these votes
        return confidence
    confidences = {OWN: confidence, model: posterior[np.arange(len(label)), label]}
    return lowest_percentile(
        {name: percentile_scale(view[candidates]) for name, view in confidences.items()}, confidences
    )
