"""NumberMethod: what a training method must say that learns from numbers."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor

from ..method import Method, Output
from ..training.sweep import Sweep
from .crowd import NumberCrowd
from .lines import Lines, Pair, against, mean_line


class NumberMethod(Method):
    """A worker's answer is slope_w f(x) + bias_w and noise. f, slopes and biases are told apart only by convention.

    So what is reported is what the crowd's mean worker would answer: there slopes have mean one and biases mean zero,
    over the workers by `trust`. `heard[worker, 1]` is the weight of each worker's answers; whoever has none is the mean
    worker.
    """

    def __init__(self, crowd: NumberCrowd) -> None:
        heard = torch.zeros(crowd.n_workers).index_add(0, crowd.worker, crowd.weight)
        super().__init__(crowd, heard[:, None])

    def wanted(self) -> str:
        """One output a part of an answer."""
        return "an answer is one number" if self.n_outputs == 1 else f"an answer has {self.n_outputs} numbers"

    def raw(self) -> Pair:
        """slope, bias[worker, part] of every worker in the net's own numbers."""
        ones = self.heard.new_ones(self.n_workers, self.n_outputs)
        return ones, torch.zeros_like(ones)

    def trust(self) -> Pair:
        """How much each worker counts in the mean worker's slope and bias: worker, part. By default by answers."""
        heard = self.heard.expand(-1, self.n_outputs)
        return heard, heard

    def gauge(self) -> Pair:
        """slope, bias[part] of the mean worker in the net's own numbers."""
        return mean_line(self.raw(), self.trust())

    def answer(self, out: Output) -> Tensor:
        """What the mean worker would say: B, part."""
        slope, bias = self.gauge()
        return slope * out.logits + bias

    def lines(self) -> Pair:
        """slope, bias[worker, part] against what the mean worker would say."""
        slope, bias = against(self.raw(), self.gauge())
        heard = self.heard > 0
        return torch.where(heard, slope, 1.0), torch.where(heard, bias, 0.0)

    def model(self) -> Lines | None:
        """Lines with variances against what the mean worker would say, for methods that have a likelihood."""
        return None

    @staticmethod
    def crowd_of(sweep: Sweep) -> NumberCrowd:
        """The whole crowd of a sweep, which for these methods has numbers."""
        return cast("NumberCrowd", cast("object", sweep.crowd))
