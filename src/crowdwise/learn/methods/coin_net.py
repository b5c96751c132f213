"""COINNet: confusion matrices, and for every label a correction that few tasks may use: instance-dependent outliers.

    p(y_iw | x_i) = confusion[w]ᵀ f(x_i) + e_iw,   sum_l e_iw[l] = 0
    minimise  mean of -log p(label)  +  strength · mean_i (sum_w |e_iw|² + zeta)^(power/2)  -  volume · log det(F Fᵀ)

Tasks whose labels no confusion matrix explains get a large correction and stop bending the rest; its size is the
task's score `outlier`. One vector per observed label is kept, labels × classes numbers in all. Labels that were kept
aside get theirs afterwards, with classifier and confusions as they are. With few outliers it is geo_crowd_net_f with
more to tune; for a new task the correction is unknown and left out.
Nguyen, Ibrahim & Fu 2024, Noisy label learning with instance-dependent outliers, NeurIPS 37.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn

from ...core.params import NonNegative, Positive, PositiveShare
from ..feeding.batch import CrowdBatch
from ..feeding.crowd import Crowd
from ..feeding.data import CrowdData
from ..method import CrowdMethod, CrowdModel, Defaults, Output
from ..optimizers import make_optimizers
from ..tables import ConfusionTable, Start, WorkerTable, starting_logits
from ..training.loop import train
from .geo_crowd_net_f import output_volume

EPS = 1e-10


class COINNet(CrowdMethod):
    """`strength` of the outlier penalty, `volume` of the outputs' volume; `power` in 0..1 is the penalty's p.

    `zeta` rounds the penalty's cusp at zero: below 1e-6 single precision cannot follow its gradient.
    """

    name = "coin_net"
    defaults = Defaults(epochs=150, batch_size=512, lr=1e-3, weight_decay=1e-4)
    task: Tensor

    def __init__(
        self,
        crowd: Crowd,
        *,
        strength: NonNegative = 0.01,
        volume: NonNegative = 0.01,
        power: PositiveShare = 0.4,
        zeta: Positive = 1e-6,
        start: Start = "eye",
        scale: float = 1.0,
        sparse: bool | None = None,
    ) -> None:
        super().__init__(crowd)
        self.strength, self.volume, self.power, self.zeta = strength, volume, power, zeta
        self.n_tasks = crowd.n_tasks
        self.table = ConfusionTable(starting_logits(crowd, start, scale=scale), sparse=sparse)
        self.errors = WorkerTable(
            torch.zeros(len(crowd), crowd.n_classes), sparse=sparse
        )  # a row a label, not a worker
        self.register_buffer("task", crowd.task.clone())

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Cross-entropy of the labels, the outliers' penalty and the volume."""
        error = _centred(self.errors.rows(batch.place))
        found, at = batch.present
        confusion = self.table.log_of(found).exp()
        explained = torch.einsum("ak,akl->al", out.log_proba.exp().index_select(0, batch.row), confusion[at])
        said = (explained + error).clamp(EPS, 1 - EPS)
        log_said = said.gather(1, batch.label[:, None]).squeeze(1).log() - said.sum(1).log()
        size = torch.zeros_like(batch.task_weight, dtype=error.dtype).index_add(0, batch.row, error.square().sum(1))
        return {
            "cross_entropy": -batch.mean_over_labels(log_said),
            "outliers": self.strength * batch.mean_over_tasks((size + self.zeta) ** (self.power / 2)),
            "volume": -self.volume * output_volume(out, batch) * batch.share,
        }

    def confusion(self) -> Tensor:
        """Every worker's confusion matrix, for tasks that are no outliers."""
        return self.table.log_all().exp()

    def task_scores(self) -> dict[str, Tensor]:
        """`outlier`, sum_w |e_iw|² of every training task: large where no confusion matrix explains the labels."""
        size = _centred(self.errors.all()).square().sum(1)
        none = torch.zeros(self.n_tasks, dtype=size.dtype, device=size.device)
        return {"outlier": none.index_add(0, self.task, size)}

    def scores_aside(self, log_proba: Tensor, aside: Crowd, how: Mapping[str, Any]) -> dict[str, Tensor]:
        """`outlier` of tasks kept aside: their labels' corrections, learnt as long, with all the rest as it is."""
        given = {name: self.given[name] for name in ("strength", "power", "zeta")}
        held = COINNet(aside, volume=0.0, **given).to(self.task.device)
        held.table = deepcopy(self.table).requires_grad_(False)
        model = CrowdModel(nn.Identity(), held)
        with torch.enable_grad():
            train(model, CrowdData(log_proba, aside), optimizer=make_optimizers(model, lr=how["lr"]),
                  epochs=how["epochs"], batch_size=how["batch_size"])  # fmt: skip
        return held.task_scores()

    def _load_from_state_dict(self, state_dict: Mapping[str, Any], prefix: str, *rest: Any) -> None:
        """A method built from a crowd's shape has no labels yet: it takes their number from the file."""
        task = state_dict.get(f"{prefix}task")
        if task is not None and not len(self.task):
            self.task = torch.empty_like(task, device=self.task.device)
            weight = self.errors.weight
            self.errors.weight = nn.Parameter(weight.new_zeros(len(task), weight.shape[1]))
        super()._load_from_state_dict(state_dict, prefix, *rest)


def _centred(error: Tensor) -> Tensor:
    """Corrections move probability about, they add none."""
    return error - error.mean(1, keepdim=True)
