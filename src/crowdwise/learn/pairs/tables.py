"""Chances of workers as logits, with a Beta prior that every answer carries a share of."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from ..feeding.batch import CrowdBatch
from ..tables import WorkerTable


class ChanceTable(WorkerTable):
    """logit[worker, ...] of a worker's chances, from `start`, with a Beta(right, wrong) prior on each.

    The prior is the density of the logit, whose mode is never at 0 or 1.
    """

    def __init__(self, n: int, parts: int, start: float, right: float, wrong: float) -> None:
        start = min(start, 1 - 1e-6)
        super().__init__(torch.full((n, parts), math.log(start / (1 - start))))
        self.right, self.wrong = right, wrong

    def prior(self, logit: Tensor) -> Tensor:
        """Log density of logit[A, parts], its parts added up: A."""
        return (self.right * logsigmoid(logit) + self.wrong * logsigmoid(-logit)).sum(1)

    def pull(self, batch: CrowdBatch, heard: Tensor) -> Tensor:
        """The prior's term of the loss: each answer carries its share of its worker's, so that an epoch has it once."""
        logit = self.rows(batch.worker)
        share = heard[:, 0].index_select(0, batch.worker).clamp_min(1e-12)
        return -batch.mean_over_labels(self.prior(logit) / share)


def terms(said: Tensor, table: ChanceTable, batch: CrowdBatch, heard: Tensor) -> dict[str, Tensor]:
    """What every method with such a table minimises: the likelihood of what was said, log P[answer], and the prior."""
    return {"likelihood": -batch.mean_over_labels(said), "prior": table.pull(batch, heard)}


def both_ways(chance: Tensor, ahead: Tensor, turned: Tensor) -> Tensor:
    """log(c e^ahead + (1 - c) e^turned) with c = sigmoid(chance)."""
    return torch.logaddexp(logsigmoid(chance) + ahead, logsigmoid(-chance) + turned)
