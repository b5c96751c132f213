"""Single confusion: one confusion matrix for the whole crowd, between the classifier and the labels.

    p(y = l | x) = sum_k f_k(x) confusion[k, l],   minimise  cross-entropy + strength · tr(confusion)

The trace term keeps the matrix from staying at the identity, so that the net need not imitate the mean error. Right
where all workers err alike; it cannot tell a good worker from a bad one.
Sukhbaatar et al. 2015, arXiv:1406.2080; with the trace a baseline of Tanno et al. 2019, arXiv:1902.03680.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor

from ...core.params import NonNegative
from ..feeding.batch import CrowdBatch
from ..feeding.crowd import Crowd
from ..method import CrowdMethod, Defaults, Output
from ..tables import ConfusionTable, Start, starting_logits
from ..targets import vote_targets


class SingleConfusion(CrowdMethod):
    """`targets="each"` explains every label, "hard" only the majority's; `strength=0` drops the trace.

    `start`, `scale` and `form` say where the matrix begins and how it is kept on the simplex (see `ConfusionTable`).
    """

    name = "single_confusion"
    defaults = Defaults(epochs=200, batch_size=50, lr=1e-3)

    def __init__(
        self,
        crowd: Crowd,
        *,
        strength: NonNegative = 0.01,
        targets: Literal["each", "hard"] = "each",
        start: Start = "tanno",
        scale: float = 1.0,
        form: Literal["softmax", "softplus"] = "softplus",
    ) -> None:
        super().__init__(crowd)
        self.strength, self.targets = strength, targets
        pooled = replace(crowd, n_workers=1, worker=torch.zeros_like(crowd.worker))  # the crowd as one worker
        self.table = ConfusionTable(starting_logits(pooled, start, scale=scale, form=form), form=form, sparse=False)

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Cross-entropy of labels or majority, and the trace."""
        log_confusion = self.table.log_all()[0]
        log_said = torch.logsumexp(out.log_proba[:, :, None] + log_confusion, dim=1)  # B, observed
        if self.targets == "each":
            cross = -batch.mean_over_labels(log_said[batch.row, batch.label])
        else:
            cross = -batch.mean_over_tasks((vote_targets(batch, self.n_classes, "hard") * log_said).sum(1))
        return {"cross_entropy": cross, "trace": self.strength * log_confusion.exp().trace() * batch.share}

    def confusion(self) -> Tensor:
        """The one matrix, for every worker."""
        return self.table.log_all().exp().expand(self.n_workers, -1, -1)
