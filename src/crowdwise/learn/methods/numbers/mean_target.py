"""Mean target: the net alone, trained on the mean of what a task's workers said.

    minimise  mean over tasks of |mean_w r_w - f(x)|²

The baseline. Fails where workers differ in bias and tasks in workers: the net's target then says who was asked.
"""

from __future__ import annotations

from torch import Tensor

from ...feeding.batch import CrowdBatch
from ...method import Defaults, Output
from ...numbers.crowd import NumberCrowd
from ...numbers.method import NumberMethod


class MeanTarget(NumberMethod):
    """Training on the workers' mean: the baseline that every other method must beat. It knows nothing of workers."""

    name = "mean_target"
    defaults = Defaults(epochs=100, batch_size=128, lr=1e-3)

    def __init__(self, crowd: NumberCrowd) -> None:
        super().__init__(crowd)

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Squared error to the mean."""
        weight = batch.sum_by_task(batch.weight.new_ones(len(batch.row), 1))
        target = batch.sum_by_task(batch.label) / weight.clamp_min(1e-12)
        error = ((target - out.logits) ** 2).sum(1)
        return {"squared_error": batch.mean_over_tasks(error * (weight[:, 0] > 0))}
