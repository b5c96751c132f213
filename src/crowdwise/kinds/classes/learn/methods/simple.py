"""Baselines: soft bootstrapping, two-stage training, and training on the votes.

Soft bootstrapping mixes the votes with the predictions of the net as the target:

    minimise  -sum_k (beta y_k + (1 - beta) f_k(x)) log f_k(x),   y the shares of the votes

A confident net may overrule a label. This helps against scattered errors but not against systematic ones, and does not
model workers. Reed et al. 2015, arXiv:1412.6596; a baseline of Tanno et al. 2019, arXiv:1902.03680.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import torch
from torch import Tensor

from .....core import method_registry as registry
from .....core.params import MethodName, Share
from .....learn.data.batch import CrowdBatch
from .....learn.data.crowd import Crowd
from .....learn.em import EMMethod
from .....learn.method import CrowdMethod, Defaults, Output
from .....learn.simplex import rows_to_one
from ..tables import annotations_of, vote_targets


class SoftBootstrap(CrowdMethod):
    """Soft bootstrapping: training on a mixture of the votes and the net's predictions.

    `beta` is the weight of the votes in the target, in 0..1; `targets` as in vanilla ("soft" shares or "hard"
    majority).

    In the paper, gradients flow through the net's part of the target, which favours low entropy; `detach=True` stops
    them.
    """

    name = "soft_bootstrap"
    defaults = Defaults(epochs=50, batch_size=64, lr=1e-3)

    def __init__(
        self, crowd: Crowd, *, beta: Share = 0.95, detach: bool = False, targets: Literal["soft", "hard"] = "soft"
    ) -> None:
        super().__init__(crowd)
        self.beta, self.detach = beta, detach
        self.targets: Literal["soft", "hard"] = targets

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Cross-entropy to the votes and to the net's predictions."""
        proba = out.log_proba.exp()
        proba = proba.detach() if self.detach else proba
        votes = vote_targets(batch, self.n_classes, self.targets)
        return {
            "cross_entropy": -self.beta * batch.mean_over_tasks((votes * out.log_proba).sum(1)),
            "bootstrap": -(1 - self.beta) * batch.mean_over_tasks((proba * out.log_proba).sum(1)),
        }


class TwoStage(EMMethod):
    """Two stages: any aggregator's posterior as soft targets of the classifier.

        q = aggregator(labels), once;   f minimises -sum_i sum_k q_i(k) log f_k(x_i)

    The baseline that costs no more than the aggregator. Fails where labels are few: features never help to assess the
    workers, and with one label per task the aggregator has little information.

    `aggregator` is any registered aggregator that needs no gold, `params` its parameters by name.
    """

    name = "two_stage"
    defaults = Defaults(epochs=50, batch_size=64, lr=1e-3)
    matrices: Tensor

    def __init__(
        self, crowd: Crowd, *, aggregator: MethodName = "hierarchical", params: Mapping[str, Any] | None = None
    ) -> None:
        method = registry.method(aggregator, **(params or {}))
        super().__init__(crowd)
        confusion: Tensor | None = None
        if len(crowd):  # without labels the weights come from a file
            result = method.fit(annotations_of(crowd))
            self.target = torch.from_numpy(result.posterior.copy()).float()
            confusion = None if result.confusion is None else torch.from_numpy(result.confusion.copy()).float()
        # For an aggregator without confusion matrices, use those implied by its posterior.
        self.register_buffer(
            "matrices", rows_to_one(crowd.counts(self.target) + 0.01) if confusion is None else confusion
        )

    def confusion(self) -> Tensor:
        """Confusion matrices of the aggregator."""
        return self.matrices


class Vanilla(CrowdMethod):
    """Vanilla: the classifier alone, trained on the votes as if they were true.

        targets="soft":  cross-entropy to the shares of the votes
        targets="hard":  cross-entropy to the majority (ties shared)
        targets="each":  cross-entropy to every single label

    Fails where errors are systematic: the net learns the crowd's mean error.

    This is the baseline that every other method must beat.
    """

    name = "vanilla"
    defaults = Defaults(epochs=50, batch_size=64, lr=1e-3)

    def __init__(self, crowd: Crowd, *, targets: Literal["soft", "hard", "each"] = "soft") -> None:
        super().__init__(crowd)
        self.targets: Literal["soft", "hard", "each"] = targets

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Cross-entropy to the votes."""
        if self.targets == "each":
            log_likelihood = out.log_proba[batch.row, batch.label]
            return {"cross_entropy": -batch.mean_over_labels(log_likelihood)}
        target = vote_targets(batch, self.n_classes, self.targets)
        return {"cross_entropy": -batch.mean_over_tasks((target * out.log_proba).sum(1))}

    def posterior(self, out: Output, batch: CrowdBatch) -> Tensor | None:  # noqa: ARG002
        """None, because the method does not model workers."""
        return None
