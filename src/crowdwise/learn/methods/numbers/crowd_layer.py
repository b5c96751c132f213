"""Crowd Layer for numbers: a slope and a bias for every worker on top of the net's number.

    S   s_w f(x)        B   f(x) + b_w        SB   s_w f(x) + b_w        BS   s_w (f(x) + b_w)
    minimise  mean over answers of (answer - that)²,  from s = 1, b = 0

Every answer weighs the same, so a careless worker costs the net as much as a careful one teaches it; `gaussian_net`
weighs them. Nothing holds a worker with one answer: their bias is what that answer is off by, which does the net no
harm.
Rodrigues & Pereira 2018, arXiv:1709.01779, section 4.3.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from ...feeding.batch import CrowdBatch
from ...method import Defaults, Output
from ...numbers.crowd import NumberCrowd
from ...numbers.lines import Pair
from ...numbers.method import NumberMethod
from ...tables import WorkerTable


class _Layer(NumberMethod):
    """Slopes where the form has an s, biases where it has a b."""

    form: ClassVar[Literal["s", "b", "sb", "bs"]]
    defaults = Defaults(epochs=100, batch_size=128, lr=1e-3)

    def __init__(self, crowd: NumberCrowd, *, sparse: bool | None = None) -> None:
        super().__init__(crowd)
        m, p = crowd.n_workers, crowd.n_outputs
        start = {"s": torch.ones(m, p), "b": torch.zeros(m, p)}
        self.layer = nn.ModuleDict({each: WorkerTable(start[each], sparse=sparse) for each in self.form})

    def tables(self) -> list[tuple[str, WorkerTable]]:
        """What the layer is made of: s, b."""
        return [(name, table) for name, table in self.layer.items() if isinstance(table, WorkerTable)]

    def _table(self, name: str) -> WorkerTable | None:
        return dict(self.tables()).get(name)

    def _line(self, slope: Tensor | None, bias: Tensor | None) -> tuple[Tensor | float, Tensor | float]:
        """Slope and bias of the line that the form draws; 1 and 0 where it has none."""
        if slope is None or bias is None:
            return 1.0 if slope is None else slope, 0.0 if bias is None else bias
        return slope, slope * bias if self.form == "bs" else bias

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Squared error of every answer."""
        tables = self._table("s"), self._table("b")
        slope, bias = self._line(*(None if each is None else each.rows(batch.worker) for each in tables))
        error = batch.label - slope * out.logits.index_select(0, batch.row) - bias
        return {"squared_error": batch.mean_over_labels((error**2).sum(1))}

    def raw(self) -> Pair:
        """The lines of all workers."""
        slope, bias = super().raw()
        tables = self._table("s"), self._table("b")
        own = self._line(*(None if each is None else each.all().detach() for each in tables))
        return slope * own[0], bias + own[1]


class CrowdLayerS(_Layer):
    """A slope per worker: they use another part of the scale."""

    name, form = "crowd_layer_s", "s"


class CrowdLayerB(_Layer):
    """A bias per worker: they are strict or kind."""

    name, form = "crowd_layer_b", "b"


class CrowdLayerSB(_Layer):
    """A slope, then a bias per worker."""

    name, form = "crowd_layer_sb", "sb"


class CrowdLayerBS(_Layer):
    """A bias, then a slope per worker: the same lines as SB, another way to learn them."""

    name, form = "crowd_layer_bs", "bs"
