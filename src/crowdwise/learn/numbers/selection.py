"""Choosing the epoch without truth, for numbers: how much of the held-out answers' variance does the net predict?

    score = 1 - sum w (r - b - s f(x))² / sum w (r - b - s c)²        c: the best constant

Lines s, b and weights w = 1 / (spread² + s² · gap) of the workers come from the training answers alone, without a net,
by one rule for all methods: so scores can be compared between epochs and between methods. They are drawn against the
mean worker as the method counts them, whose answer is what f says.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import torch
from torch import Tensor

from ..feeding.data import CrowdData
from ..method import CrowdModel
from ..training.sweep import sweep_answers
from .crowd import NumberCrowd
from .lines import Lines, against, mean_line, settle
from .method import NumberMethod

STEPS = 50


class HeldOutNumbers:
    """A criterion for `train`: higher is better. `data` holds the training answers, `held` those kept aside."""

    kind = "explained"

    def __init__(self, data: CrowdData, held: NumberCrowd, device: torch.device | str = "cpu") -> None:
        self.data, self.held, self.device = data, held, device
        crowd = cast("NumberCrowd", data.crowd)
        nothing = torch.zeros(crowd.n_tasks, crowd.n_outputs)
        self.lines = settle(Lines.start(crowd.n_workers, crowd.n_outputs), nothing, crowd, STEPS)

    def __call__(self, model: CrowdModel) -> float:
        """Score of the model as it is."""
        with torch.no_grad():
            by_slope, by_bias = (each.double().cpu() for each in cast("NumberMethod", model.method).trust())
        own = self.lines.slope, self.lines.bias
        mean = mean_line(own, (by_slope, by_bias))
        slope, bias = against(own, mean)
        lines = replace(self.lines, slope=slope, bias=bias, gap=self.lines.gap * mean[0] ** 2)
        return explained(sweep_answers(model, self.data, self.device).cpu(), lines, self.held)


def explained(value: Tensor, lines: Lines, held: NumberCrowd) -> float:
    """Share of the held-out answers' variance that value[task, part] predicts; the mean over parts."""
    slope = lines.slope[held.worker]
    weight = held.weight.double()[:, None] / (lines.variance[held.worker] + slope**2 * lines.gap)
    said = held.label.double() - lines.bias[held.worker]
    constant = (weight * slope * said).sum(0) / (weight * slope**2).sum(0).clamp_min(1e-30)
    left = (weight * (said - slope * value.double()[held.task]) ** 2).sum(0)
    all_of_it = (weight * (said - slope * constant) ** 2).sum(0)
    return float((1 - left / all_of_it.clamp_min(1e-12)).mean())
