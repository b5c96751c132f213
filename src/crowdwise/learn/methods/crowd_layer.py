"""Crowd Layer: a layer of free weights for every worker on top of the classifier's probabilities.

    MW   z_w = W_wᵀ f(x)       VW   z_w = v_w ∘ f(x)       VB   z_w = f(x) + b_w
    VW+B z_w = v_w ∘ f(x) + b_w            S   z_w = s_w f(x)            p(y_w | x) = softmax(z_w)

The weights are no probabilities; confusions are derived, row k = softmax of the layer at the corner e_k. Fast and
hard to upset, but f itself is only as calibrated as the labels are flat: softmax of probabilities is never sure.
Rodrigues & Pereira 2018, arXiv:1709.01779, section 4.2.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from ...core.errors import ParameterError
from ..feeding.batch import CrowdBatch
from ..feeding.crowd import Crowd
from ..method import CrowdMethod, Defaults, Output
from ..tables import WorkerTable, starting_logits

Kind = Literal["mw", "vw", "vb", "vwb", "s"]


class CrowdLayer(CrowdMethod):
    """`kind` as above: mw, vw, vb, vwb or s. Weights begin at `scale` × identity, biases at zero.

    "mw" may also begin at the logs of confusions, `start="votes"` (against the majority) or "dawid_skene".
    """

    name = "crowd_layer"
    defaults = Defaults(epochs=50, batch_size=64, lr=1e-3)

    def __init__(
        self,
        crowd: Crowd,
        *,
        kind: Kind = "mw",
        start: Literal["eye", "votes", "dawid_skene"] = "eye",
        scale: float = 1.0,
        sparse: bool | None = None,
    ) -> None:
        super().__init__(crowd)
        if kind != "mw" and start != "eye":
            raise ParameterError(f"start={start!r} needs full matrices, kind='mw'; {kind!r} has none")
        m, k = crowd.n_workers, crowd.n_classes
        tables = {
            "mw": {"matrix": starting_logits(crowd, start, scale=scale)},
            "vw": {"weight": torch.full((m, k), scale)},
            "vb": {"bias": torch.zeros(m, k)},
            "vwb": {"weight": torch.full((m, k), scale), "bias": torch.zeros(m, k)},
            "s": {"weight": torch.full((m, 1), scale)},
        }[kind]
        self.layer = nn.ModuleDict({name: WorkerTable(values, sparse=sparse) for name, values in tables.items()})

    def tables(self) -> list[tuple[str, WorkerTable]]:
        """What the layer is made of: matrix, weight, bias."""
        return [(name, table) for name, table in self.layer.items() if isinstance(table, WorkerTable)]

    def scores(self, proba: Tensor, workers: Tensor) -> Tensor:
        """The layer's output z[A, K] of workers[A] at probabilities proba[A, K]."""
        rows = {name: table.rows(workers) for name, table in self.tables()}
        if "matrix" in rows:
            return torch.einsum("ak,akl->al", proba, rows["matrix"])
        scores = proba * rows["weight"] if "weight" in rows else proba
        return scores + rows["bias"] if "bias" in rows else scores

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Cross-entropy of the labels."""
        scores = self.scores(out.log_proba.exp().index_select(0, batch.row), batch.worker)
        said = torch.log_softmax(scores, dim=1).gather(1, batch.label[:, None]).squeeze(1)
        return {"cross_entropy": -batch.mean_over_labels(said)}

    def confusion(self) -> Tensor:
        """Derived confusions: the layer's answer to a classifier that is sure of class k."""
        k = self.n_classes
        weight = next(self.parameters())
        workers = torch.arange(self.n_workers, device=weight.device).repeat_interleave(k)
        corners = torch.eye(k, dtype=weight.dtype, device=weight.device).repeat(self.n_workers, 1)
        return torch.softmax(self.scores(corners, workers), dim=1).view(-1, k, k)
