"""Methods that give the likelihood of single answers, and the criterion that holds some of these out."""

from __future__ import annotations

import torch
from torch import Tensor

from .data.batch import CrowdBatch
from .data.crowd import AnswerRows
from .data.dataset import CrowdData
from .method import CrowdModel, Output, TrainingMethod
from .probe import evaluating
from .training.sweep import ROWS


class AnswerMethod(TrainingMethod):
    """A method with a likelihood of every answer; `label_weight[worker, 1]` is the weight of each worker's answers."""

    def __init__(self, crowd: AnswerRows) -> None:
        super().__init__(crowd, torch.zeros(crowd.n_workers).index_add(0, crowd.worker, crowd.weight)[:, None])

    def log_likelihood(self, out: Output, batch: CrowdBatch) -> Tensor:
        """log P(answer | x, worker) of every answer: A."""
        raise NotImplementedError


class HeldOutAnswers:
    """A criterion for `train`: the mean log-likelihood of the held-out answers."""

    kind = "likelihood"

    def __init__(self, data: CrowdData, device: torch.device | str = "cpu") -> None:
        self.data, self.device = data, device

    def __call__(self, model: CrowdModel) -> float:
        """Score of the current model."""
        log_likelihood, total = 0.0, 0.0
        method = model.method
        assert isinstance(method, AnswerMethod)
        with evaluating(model):
            for tasks in torch.split(self.data.crowd.labelled.nonzero().squeeze(1), ROWS):
                batch = self.data.batch(tasks).to(self.device)
                answer_log_likelihood = method.log_likelihood(model.output(batch.x), batch)
                log_likelihood += float((answer_log_likelihood * batch.weight).sum())
                total += float(batch.weight.sum())
        return log_likelihood / max(total, 1e-12)
