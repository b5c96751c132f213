"""EMMethod: base class of methods that train the classifier on a posterior of every task; WarmUp: trust in the net."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from .data.batch import CrowdBatch
from .data.crowd import Crowd
from .data.folder import on_disk, release_memory
from .method import CrowdMethod, Output
from .training.sweep import Part, Sweep


class WarmUp(nn.Module):
    """Mixin of methods whose E-step uses the classifier: for `warm_up` steps the labels alone decide, then the trust in
    the classifier, a power of its probabilities, rises from 0 to 1 over as many steps.

    The predictions of an untrained classifier agree with each other more than workers do, so that an E-step that trusts
    them may take the workers for adversaries and exchange the classes for good. `warm_up=0` trusts it from the start.
    """

    warm_up: int
    steps: Tensor

    def start_warm_up(self, warm_up: int) -> None:
        """Set the length, and count steps from 0."""
        self.warm_up = warm_up
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))

    @property
    def trust(self) -> float:
        """Trust in the classifier, in 0..1."""
        if not self.warm_up:
            return 1.0
        return min(1.0, max(0.0, int(self.steps) / self.warm_up - 1))

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *more: Any) -> None:
        # Models that were saved before there was a warm-up trust their classifier.
        state_dict.setdefault(f"{prefix}steps", torch.tensor(2 * self.warm_up))
        super()._load_from_state_dict(state_dict, prefix, *more)


class EMMethod(CrowdMethod):
    """`target[task, class]` is the posterior of the training tasks; it starts as the soft majority vote.

    Subclasses update it in place in `begin_epoch`; if features are on disk, so is the posterior (`put_on_disk`).
    """

    target: Tensor

    def __init__(self, crowd: Crowd) -> None:
        super().__init__(crowd)
        self.register_buffer("target", crowd.soft_majority.clone())

    def put_on_disk(self, folder: Path) -> None:
        """Keep the posterior in a file of that folder."""
        self.target = on_disk(self.target, folder)

    def renew(self, sweep: Sweep, log_posterior: Callable[[Part], Tensor]) -> Tensor:
        """The E-step, part by part: log_posterior(part) is up to a constant of each task. Returns the expected counts
        of all labels: worker, true, observed."""
        counts: Tensor | None = None
        for part in sweep.parts():
            posterior = torch.softmax(log_posterior(part), dim=1)
            self.target[part.rows] = posterior.to(self.target.dtype)
            part_counts = part.crowd.counts(posterior)
            counts = part_counts if counts is None else counts + part_counts
            release_memory(self.target)
        assert counts is not None, "there are no tasks"
        return counts

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Cross-entropy of the classifier to the posterior: -sum_i sum_k q_i(k) log f_k(x_i)."""
        return {"cross_entropy": self.cross_entropy(out.log_proba, batch)}

    def cross_entropy(self, log_proba: Tensor, batch: CrowdBatch) -> Tensor:
        """Cross-entropy of log_proba[B, K] to the posterior of the batch's tasks."""
        return -batch.mean_over_tasks((self.target[batch.task] * log_proba).sum(1))
