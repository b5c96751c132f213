"""A second confidence beside that of an average of methods, for the order in which labels are accepted.

Averages of methods lose at the top: tasks on which many workers agree get about the same confidence, whoever the
workers are. A single model uses who gave the labels, and drifts where a crowd is thin. So the rank of a task is the
lower of its ranks by either confidence (`lowest_place`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ..core import method_registry as registry
from ..core.errors import CrowdwiseError
from ..core.votes import Votes
from .guarantee.sequential import lowest_place, scale_of

F8 = npt.NDArray[np.float64]
# Averages of methods lose at the top: tasks on which many agree stand there side by side, whoever these many are. A
# single model knows who gave the labels, and drifts where a crowd is thin. So a task stands where the more doubtful
# of the two puts it: at the lower of its places by either confidence (evaluation/guarantee/sequential.py).

# Averages of methods, and the model whose confidence is compared with theirs unless they name another one.
AVERAGES, MODEL = ("adaptive", "committee"), "hierarchical"
OWN = "confidence"


def second_model(method: str, params: Mapping[str, Any]) -> str | None:
    """The model beside an average of methods, None for every other method."""
    return str(params.get("model", MODEL)) if method in AVERAGES else None


def accepting_order(
    model: str | None,
    annotations: Votes[Any],
    label: npt.NDArray[np.int32],
    confidence: F8,
    among: npt.NDArray[np.bool_],
) -> F8:
    """What labels are accepted by, the highest first: the confidence, or the lower of two places `among` these tasks.
    The model is fitted without gold."""
    if model is None or not among.any():
        return confidence
    try:
        posterior = registry.method(model).fit(annotations).posterior
    except CrowdwiseError:  # the model cannot be fitted to these votes
        return confidence
    views = {OWN: confidence, model: posterior[np.arange(len(label)), label]}
    return lowest_place({name: scale_of(view[among]) for name, view in views.items()}, views)
