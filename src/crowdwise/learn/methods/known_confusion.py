"""Known confusion: the classifier under confusion matrices that are given; the oracle of the confusion methods.

    p(y_iw = l | x_i) = sum_k f_k(x_i) confusion[w, k, l],   only f is trained

With the true matrices it bounds what ccem, trace and their kin can reach; with an aggregator's it is a two-stage method
that keeps every label. It is as good as the matrices are.
Patrini et al. 2017, arXiv:1609.03683 (forward correction), for every worker.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...errors import DataError, ParameterError
from ..batch import CrowdBatch
from ..crowd import Crowd
from ..method import CrowdMethod, Defaults, Output


class KnownConfusion(CrowdMethod):
    """`confusion` is worker × true × observed (tensor or array, rows summing to one) or a Result that has it.

    Workers and classes stand in the order of the annotations' own; one matrix true × observed serves all workers.
    """

    name = "known_confusion"
    defaults = Defaults(epochs=50, batch_size=64, lr=1e-3)
    matrices: Tensor

    def __init__(self, crowd: Crowd, *, confusion: Any) -> None:
        super().__init__(crowd)
        self.register_buffer("matrices", _matrices(confusion, crowd))

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Cross-entropy of the labels."""
        found, _ = batch.present
        log_confusion = self.matrices.index_select(0, found).clamp_min(1e-12).log()
        said = torch.logsumexp(out.log_proba.index_select(0, batch.row) + batch.said(log_confusion), dim=1)
        return {"cross_entropy": -batch.mean_over_labels(said)}

    def confusion(self) -> Tensor:
        """The matrices that were given."""
        return self.matrices


def _matrices(confusion: Any, crowd: Crowd) -> Tensor:
    """The given matrices, checked: worker, true, observed."""
    given = getattr(confusion, "confusion", confusion)
    if given is None:
        raise ParameterError("the result given as confusion= has no confusion matrices; its method estimates none")
    found = given.detach().cpu() if isinstance(given, Tensor) else torch.from_numpy(np.asarray(given, dtype=float))
    m, k = crowd.n_workers, crowd.n_classes
    if found.shape == (k, k):
        found = found.expand(m, k, k)
    if found.shape != (m, k, k):
        raise DataError(
            f"confusion= has shape {tuple(found.shape)}, but {m} workers and {k} classes need ({m}, {k}, {k})"
        )
    bad = ~((found >= 0).all(2) & ((found.sum(2) - 1).abs() < 1e-4))
    if bad.any():
        worker, true = (int(i) for i in bad.nonzero()[0])
        raise DataError(f"confusion= is no distribution for worker {worker}, class {true}; its rows must sum to one")
    return found.float().clone()
