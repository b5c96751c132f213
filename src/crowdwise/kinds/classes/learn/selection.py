"""Selection of the epoch (and the method) without truth, by the classifier's prediction of held-out labels.

    likelihood    mean over held-out labels of log sum_k p(k | x) confusion[worker, k, label]
    information   mutual-information gain between p(. | x) and the evidence of the held-out labels

The confusion matrices are computed from the training labels and the method's posterior by the same rule for all
methods, so that scores are comparable between epochs and between methods, including those without confusion matrices.
"""

from __future__ import annotations

from typing import Literal, cast

import numpy as np
import torch
from torch import Tensor

from ....core.errors import ParameterError
from ....learn.data.crowd import Crowd
from ....learn.data.dataset import CrowdData
from ....learn.method import CrowdModel
from ....learn.training.sweep import sweep_both
from .methods.max_mig import mutual_information_gain
from .tables import expected_confusion

CriterionName = Literal["likelihood", "information"]


class HeldOutCriterion:
    """Selection criterion for `train`; higher is better. `data` holds the training labels, `held_out` the others."""

    def __init__(
        self, data: CrowdData, held_out: Crowd, kind: CriterionName = "likelihood", device: torch.device | str = "cpu"
    ):
        if kind not in ("likelihood", "information"):
            raise ParameterError(f"criterion must be likelihood or information, got {kind!r}")
        self.data, self.held_out, self.kind, self.device = data, held_out, kind, device

    def __call__(self, model: CrowdModel) -> float:
        """Score the current model."""
        log_proba, posterior = (part.cpu() for part in sweep_both(model, self.data, self.device, quick=True))
        log_confusion = expected_confusion(cast("Crowd", self.data.crowd), posterior).log()
        return score(log_proba, log_confusion, self.held_out, self.kind)


def score(log_proba: Tensor, log_confusion: Tensor, held_out: Crowd, kind: CriterionName = "likelihood") -> float:
    """Score how well log_proba[task, class] predicts the held-out labels."""
    if kind == "likelihood":
        log_joint = log_proba[held_out.task] + log_confusion[held_out.worker, :, held_out.label]
        return float((torch.logsumexp(log_joint, 1) * held_out.weight).sum() / held_out.weight.sum())
    has_labels = held_out.labelled
    k = held_out.n_classes
    log_g = torch.log_softmax(held_out.evidence(log_confusion), 1)
    return float(
        mutual_information_gain(log_proba[has_labels], log_g[has_labels], torch.full((k,), -float(np.log(k))), "kl")
    )
