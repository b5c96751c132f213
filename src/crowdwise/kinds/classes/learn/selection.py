"""Choosing the epoch (and the method) without truth: labels of tasks kept aside, predicted by the classifier.

    likelihood    mean over held-out labels of log sum_k p(k | x) confusion[worker, k, label]
    information   mutual-information gain between p(. | x) and what the held-out labels say

The confusions come from the training labels and the method's own posterior by one rule for all methods, so that scores
can be compared between epochs and between methods, those without confusion matrices included.
"""

from __future__ import annotations

from typing import Literal, TypeVar, cast

import numpy as np
import torch
from torch import Tensor

from ....core.errors import ParameterError
from ....learn.data.crowd import Crowd, Rows
from ....learn.data.dataset import CrowdData
from ....learn.method import CrowdModel
from ....learn.training.sweep import sweep_both
from .methods.max_mig import mutual_information_gain
from .tables import expected_confusion

Kind = Literal["likelihood", "information"]
AnyCrowd = TypeVar("AnyCrowd", bound=Rows)


class HeldOut:
    """A criterion for `train`: higher is better. `data` holds the training labels, `held` those kept aside."""

    def __init__(self, data: CrowdData, held: Crowd, kind: Kind = "likelihood", device: torch.device | str = "cpu"):
        if kind not in ("likelihood", "information"):
            raise ParameterError(f"criterion must be likelihood or information, got {kind!r}")
        self.data, self.held, self.kind, self.device = data, held, kind, device

    def __call__(self, model: CrowdModel) -> float:
        """Score of the model as it is."""
        log_proba, posterior = (part.cpu() for part in sweep_both(model, self.data, self.device))
        log_confusion = expected_confusion(cast("Crowd", self.data.crowd), posterior).log()
        return score(log_proba, log_confusion, self.held, self.kind)


def score(log_proba: Tensor, log_confusion: Tensor, held: Crowd, kind: Kind = "likelihood") -> float:
    """How well log_proba[task, class] predicts the held-out labels."""
    if kind == "likelihood":
        said = log_proba[held.task] + log_confusion[held.worker, :, held.label]
        return float((torch.logsumexp(said, 1) * held.weight).sum() / held.weight.sum())
    on = held.labelled
    k = held.n_classes
    log_g = torch.log_softmax(held.evidence(log_confusion), 1)
    return float(mutual_information_gain(log_proba[on], log_g[on], torch.full((k,), -float(np.log(k))), "kl"))
