"""MBEM: confusions against the classifier's own hard predictions, then a classifier trained from scratch.

    c_i = argmax_k f_k(x_i)                                             f trained on q, at first the vote shares
    confusion[w, k, l] = #(c_i = k, y_iw = l) / #(c_i = k),   d_k = share of c_i = k
    log q_i(k) = log d_k + sum_w log confusion[w, k, y_iw]              (f itself is left out; + constant)

The confusions and f that come out belong together: the last step counts them against the predictions of the f that is
kept. Works with one label per task, because f sees many tasks of a worker. Fails where the first classifier, trained on
the votes, is bad at some class: its hard predictions fix the confusions.
Khetan, Lipton & Anandkumar 2018, arXiv:1712.04577, algorithm 1. In log space; their code multiplies probabilities.
"""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from ....core.errors import ParameterError
from ....core.params import Count, NonNegative
from ...em import EMMethod
from ...feeding.crowd import Crowd
from ...method import Defaults
from ...simplex import rows_to_one
from ...training.sweep import Sweep


class MBEM(EMMethod):
    """Model-bootstrapped EM: the epochs are shared out over `rounds`, each from the net's first weights.

    `smoothing` pseudo-counts keep confusions positive; a class that is never predicted gets a uniform row.
    """

    name = "mbem"
    defaults = Defaults(epochs=100, batch_size=128, lr=1e-3)
    restarts = True
    matrices: Tensor

    def __init__(self, crowd: Crowd, *, rounds: Count = 2, smoothing: NonNegative = 0.01) -> None:
        super().__init__(crowd)
        self.rounds, self.smoothing = rounds, smoothing
        self.register_buffer("matrices", rows_to_one(crowd.counts(crowd.soft_majority) + smoothing))

    def begin_epoch(self, sweep: Sweep) -> None:
        """At the end of a round: confusions against the predictions, new targets, and the net from scratch."""
        if sweep.epochs < self.rounds:
            raise ParameterError(f"mbem needs an epoch for each of its {self.rounds} rounds, got {sweep.epochs}")
        if sweep.epoch == 0 or sweep.epoch * self.rounds % sweep.epochs >= self.rounds:
            return  # of the epochs e in 1 .. E - 1, rounds - 1 are the first to reach a whole r · E / rounds
        class_prior = rows_to_one(self._count(sweep) + self.smoothing)
        log, log_prior = self.matrices.log(), class_prior.log()
        self.renew(sweep, lambda part: log_prior + part.crowd.evidence(log))
        sweep.restart()

    def finish(self, sweep: Sweep) -> None:
        """The confusions of the classifier that is kept."""
        self._count(sweep)

    def _count(self, sweep: Sweep) -> Tensor:
        """Confusions against the classifier's predictions; how many labelled tasks of each class it predicts."""
        counts, mass = self.target.new_zeros(self.n_workers, 1, 1), self.target.new_zeros(self.n_classes)
        for part in sweep.parts():
            predicted = F.one_hot(part.log_proba.argmax(1), self.n_classes).to(self.target.dtype)
            counts = counts + part.crowd.counts(predicted)
            mass = mass + predicted[part.crowd.labelled].sum(0)
        self.matrices = rows_to_one(counts + self.smoothing)
        return mass

    def confusion(self) -> Tensor:
        """The confusions against the predictions; in training those of the round before."""
        return self.matrices
