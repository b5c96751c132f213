"""Geometric methods, which maximise the log-volume of a set of vectors."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn

from .....core.params import NonNegative, Positive, PositiveShare
from .....learn.data.batch import CrowdBatch
from .....learn.data.crowd import Crowd
from .....learn.data.dataset import CrowdData
from .....learn.method import CrowdModel, Defaults, Output
from .....learn.optimizers import make_optimizers
from .....learn.tables import WorkerTable
from .....learn.training.loop import train
from .....learn.training.processes import gather
from ..tables import ConfusionLogits, Start, starting_logits
from .confusion import TableMethod

# Relative size of the ridge on the Gram matrix. Without it, fewer rows than classes or an unused class make the
# determinant zero; published code then drops the term silently.
JITTER = 1e-6


def log_volume(rows: Tensor) -> Tensor:
    """Return log det(rowsᵀ rows + ridge) of rows[n, K], a scalar.

    For n rows on the simplex, the maximum is at balanced corners: K log(n / K). The ridge is 1e-6 · n / K times the
    identity. It is computed in double precision, because a Gram matrix squares the condition number.
    """
    n, k = rows.shape
    wide = rows.double()
    gram = wide.T @ wide
    ridge = JITTER * max(n, 1) / k * torch.eye(k, dtype=gram.dtype, device=gram.device)
    volume: Tensor = torch.linalg.slogdet(gram + ridge).logabsdet
    return volume.to(rows.dtype)


class GeoCrowdNetF(TableMethod):
    """GeoCrowdNet (F): coupled cross-entropy with outputs of the classifier that are spread out over the classes.

        minimise  mean of -log p(label)  -  strength · log det(F Fᵀ),   F = [f(x_1) ... f(x_B)], classes × tasks

    Classifier and confusion matrices are identifiable if outputs are sufficiently scattered (some tasks near every
    corner); experts are not required. The volume is largest if the classes are equally frequent and every output is
    certain, so the method suffers from class imbalance and from batches with few tasks per class. Complementary to the
    (W) variant. Ibrahim, Nguyen & Fu 2023, arXiv:2306.03288.

    `strength` of the volume: .01 on CIFAR-10N, .1 or .2 on LabelMe, 1e-4 for machine workers on MNIST.

    The paper's "identity" start is softmax of the identity, `scale=1`: a diagonal of .23 for ten classes.
    """

    name = "geo_crowd_net_f"
    defaults = Defaults(epochs=100, batch_size=100, lr=1e-3, worker_lr=1e-2, weight_decay=1e-4)

    def __init__(
        self,
        crowd: Crowd,
        *,
        strength: NonNegative = 0.01,
        start: Start = "eye",
        scale: float = 1.0,
        sparse: bool | None = None,
    ) -> None:
        super().__init__(crowd)
        self.strength = strength
        self.table = ConfusionLogits(starting_logits(crowd, start, scale=scale), sparse=sparse)

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Cross-entropy of the labels, minus the outputs' volume over the whole batch."""
        return {
            "cross_entropy": self.cross_entropy(out, batch),
            "volume": -self.strength * output_volume(out, batch) * batch.share,
        }


def output_volume(out: Output, batch: CrowdBatch) -> Tensor:
    """Return log det(F Fᵀ) of the whole batch, gathered over processes, with weighted tasks."""
    weight = batch.task_weight.to(out.log_proba.dtype)
    return log_volume(gather(out.log_proba.exp() * weight.sqrt()[:, None]))


EPS = 1e-10


class COINNet(TableMethod):
    """COINNet: confusion matrices with a sparse correction of every label for instance-dependent outliers.

        p(y_iw | x_i) = confusion[w]ᵀ f(x_i) + e_iw,   sum_l e_iw[l] = 0
        minimise mean of -log p(label) + strength · mean_i (sum_w |e_iw|² + zeta)^(power/2) - volume · log det(F Fᵀ)

    Tasks whose labels no confusion matrix explains get a large correction and no longer distort the others; its size is
    the task's score `outlier`. There is one vector per observed label, labels × classes parameters in total. The
    corrections of held-out labels are fitted afterwards, with fixed classifier and confusion matrices. With few
    outliers the method equals geo_crowd_net_f with more hyperparameters; for a new task the correction is unknown and
    omitted. Nguyen, Ibrahim & Fu 2024, Noisy label learning with instance-dependent outliers, NeurIPS 37.

    `strength` weighs the outlier penalty, `volume` the volume of the outputs; `power` in 0..1 is the penalty's p.

    `zeta` smooths the penalty's cusp at zero: below 1e-6, its gradient exceeds single precision.
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
        self.table = ConfusionLogits(starting_logits(crowd, start, scale=scale), sparse=sparse)
        self.errors = WorkerTable(torch.zeros(len(crowd), crowd.n_classes), sparse=sparse)  # one row per label
        self.register_buffer("task", crowd.task.clone())

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Cross-entropy of the labels, the outliers' penalty and the volume."""
        error = _centred(self.errors.rows(batch.place))
        workers, at = batch.present
        confusion = self.table.log_of(workers).exp()
        explained = torch.einsum("ak,akl->al", out.log_proba.exp().index_select(0, batch.row), confusion[at])
        proba = (explained + error).clamp(EPS, 1 - EPS)
        log_likelihood = proba.gather(1, batch.label[:, None]).squeeze(1).log() - proba.sum(1).log()
        size = torch.zeros_like(batch.task_weight, dtype=error.dtype).index_add(0, batch.row, error.square().sum(1))
        return {
            "cross_entropy": -batch.mean_over_labels(log_likelihood),
            "outliers": self.strength * batch.mean_over_tasks((size + self.zeta) ** (self.power / 2)),
            "volume": -self.volume * output_volume(out, batch) * batch.share,
        }

    def task_scores(self) -> dict[str, Tensor]:
        """Return `outlier`, sum_w |e_iw|² of every training task: large if no confusion matrix explains the labels."""
        size = _centred(self.errors.all()).square().sum(1)
        none = torch.zeros(self.n_tasks, dtype=size.dtype, device=size.device)
        return {"outlier": none.index_add(0, self.task, size)}

    def held_out_task_scores(
        self, log_proba: Tensor, held_out: Crowd, training: Mapping[str, Any]
    ) -> dict[str, Tensor]:
        """Return `outlier` of held-out tasks, by corrections fitted with all other parameters fixed."""
        hyperparameters = {name: self.hyperparameters[name] for name in ("strength", "power", "zeta")}
        method = COINNet(held_out, volume=0.0, **hyperparameters).to(self.task.device)
        method.table = deepcopy(self.table).requires_grad_(False)
        model = CrowdModel(nn.Identity(), method)
        with torch.enable_grad():
            train(model, CrowdData(log_proba, held_out), optimizer=make_optimizers(model, lr=training["lr"]),
                  epochs=training["epochs"], batch_size=training["batch_size"])  # fmt: skip
        return method.task_scores()

    def _load_from_state_dict(self, state_dict: Mapping[str, Any], prefix: str, *args: Any) -> None:
        """Take the number of labels from the file if the method was built from the shape of a crowd without labels."""
        task = state_dict.get(f"{prefix}task")
        if task is not None and not len(self.task):
            self.task = torch.empty_like(task, device=self.task.device)
            weight = self.errors.weight
            self.errors.weight = nn.Parameter(weight.new_zeros(len(task), weight.shape[1]))
        super()._load_from_state_dict(state_dict, prefix, *args)


def _centred(error: Tensor) -> Tensor:
    """Centre corrections, so that they add no probability."""
    return error - error.mean(1, keepdim=True)


class GeoCrowdNetW(TableMethod):
    """GeoCrowdNet (W): coupled cross-entropy with confusion matrices that are jointly far from singular.

        minimise  mean of -log p(label)  -  strength · log det(sum_w confusion[w] confusion[w]ᵀ)

    Classifier and confusion matrices are identifiable if the stacked confusion matrices are sufficiently scattered:
    for every class there are workers who rarely confuse it. Neither certain tasks nor balanced classes are required;
    with few or poor workers, confusion matrices that are truly flat become too sharp. Complementary to the (F)
    variant. Ibrahim, Nguyen & Fu 2023, arXiv:2306.03288.

    `strength` of the volume: .01 on CIFAR-10N, .1 or .2 on LabelMe; `start` and `scale` as in geo_crowd_net_f.
    """

    name = "geo_crowd_net_w"
    defaults = Defaults(epochs=100, batch_size=100, lr=1e-3, worker_lr=1e-2, weight_decay=1e-4)

    def __init__(self, crowd: Crowd, *, strength: NonNegative = 0.01, start: Start = "eye", scale: float = 1.0) -> None:
        super().__init__(crowd)
        self.strength = strength
        # Every worker's matrix is in every step's loss, so gradients are dense.
        self.table = ConfusionLogits(starting_logits(crowd, start, scale=scale), sparse=False)

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Cross-entropy of the labels minus the volume of the confusion matrices."""
        confusion = self.table.log_of(self.labelled_workers()).exp()
        stacked = confusion.transpose(1, 2).reshape(-1, self.n_classes)  # worker·observed, true: the paper's W
        return {
            "cross_entropy": self.cross_entropy(out, batch),
            "volume": -self.strength * log_volume(stacked) * batch.share,
        }
