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

from ...core.errors import DataError, ParameterError
from ..feeding.crowd import Crowd, Rows
from ..feeding.data import CrowdData
from ..method import CrowdModel
from ..methods.max_mig import mutual_information_gain
from ..tables import expected_confusion
from .sweep import sweep_both

Kind = Literal["likelihood", "information"]
AnyCrowd = TypeVar("AnyCrowd", bound=Rows)


def hold_out(crowd: AnyCrowd, share: float, seed: int = 0) -> tuple[AnyCrowd, AnyCrowd]:
    """The labels to train on, and all labels of a random `share` of the labelled tasks; both know every task."""
    if not 0 < share < 1:
        raise ParameterError(f"the held-out share must lie between 0 and 1, got {share}")
    tasks = crowd.labelled.nonzero().squeeze(1)
    n = round(share * len(tasks))
    if n < 1 or n >= len(tasks):
        raise DataError(f"{len(tasks)} labelled tasks are too few to keep {share:.0%} of them aside")
    chosen = np.random.default_rng([seed, 1]).permutation(tasks.numpy())[:n]
    held = torch.zeros(crowd.n_tasks, dtype=torch.bool)
    held[torch.from_numpy(chosen)] = True
    aside = held[crowd.task]
    return crowd.keep(~aside), crowd.keep(aside)


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
