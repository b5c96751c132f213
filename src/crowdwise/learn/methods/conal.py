"""CoNAL: part of the noise is common to all workers, part is each worker's own, and tasks decide how much of each.

    z_iw = omega_iw A_commonᵀ f(x_i) + (1 - omega_iw) A_wᵀ f(x_i),   omega_iw = sigmoid(u(x_i) · v_w)
    p(y_iw | x_i) = softmax(z_iw),   minimise  cross-entropy - strength · sum_w |A_w - A_common| (Frobenius)

For crowds that share confusions: what is hard looks hard to everybody. u and v have length one, so omega stays between
.27 and .73: it shades, it does not switch. With strength 0 nothing tells the common part from the workers' own.
Departure: here u is two layers with a ReLU on what the classifier's last layer sees, so that any kind of input will do;
the authors' code puts two linear layers, no ReLU between them, on the raw input. v is a free vector per worker; theirs
is a linear layer with a bias on the worker's one-hot code, which can give the same vectors.
Chu, Ma & Wang 2021, arXiv:2012.13052 (Learning from Crowds by Modeling Common Confusions).
"""

from __future__ import annotations

from typing import Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ...core.params import Count, NonNegative
from ..feeding.batch import CrowdBatch
from ..feeding.crowd import Crowd
from ..method import CrowdMethod, Defaults, Output
from ..tables import WorkerTable


class CoNAL(CrowdMethod):
    """`form="logits"`: kernels and mixture as in the authors' code; "softmax": rows of both kernels on the simplex.

    Kernels begin at `scale` × identity; `hidden` and `embedding` size the task's and worker's vectors.
    """

    name = "conal"
    defaults = Defaults(epochs=100, batch_size=512, lr=1e-2)
    needs_features = True
    random_start = True

    def __init__(
        self,
        crowd: Crowd,
        *,
        n_features: int,
        strength: NonNegative = 1e-5,
        form: Literal["logits", "softmax"] = "logits",
        scale: float = 2.0,
        hidden: Count = 128,
        embedding: Count = 20,
    ) -> None:
        super().__init__(crowd)
        self.strength, self.form = strength, form
        m, k = crowd.n_workers, crowd.n_classes
        self.common = nn.Parameter(scale * torch.eye(k))
        # Every worker's distance is in every step's loss, so gradients are dense.
        self.own = WorkerTable((scale * torch.eye(k)).expand(m, k, k), sparse=False)
        self.of_task = nn.Sequential(nn.Linear(n_features, hidden), nn.ReLU(), nn.Linear(hidden, embedding))
        self.of_worker = WorkerTable(torch.randn(m, embedding), sparse=False)

    def omega(self, out: Output, batch: CrowdBatch) -> Tensor:
        """Share of the common noise in each label: A."""
        assert out.features is not None
        u = F.normalize(self.of_task(out.features.flatten(1)), dim=1)
        v = F.normalize(self.of_worker.rows(batch.worker), dim=1)
        return torch.sigmoid((u.index_select(0, batch.row) * v).sum(1))

    def kernels(self, omega: Tensor, workers: Tensor) -> Tensor:
        """The mixed kernels of workers[A] at omega[A]: A, true, observed."""
        share, own = omega[:, None, None], self.own.rows(workers)
        if self.form == "softmax":
            return share * torch.softmax(self.common, dim=1) + (1 - share) * torch.softmax(own, dim=2)
        return share * self.common + (1 - share) * own

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Cross-entropy of the labels; workers' kernels are pushed off the common one."""
        kernels = self.kernels(self.omega(out, batch), batch.worker)
        mixed = torch.einsum("ak,akl->al", out.log_proba.exp().index_select(0, batch.row), kernels)
        log_said = torch.log_softmax(mixed, dim=1) if self.form == "logits" else mixed.clamp_min(1e-12).log()
        distance = torch.linalg.vector_norm(self.own.rows(self.seen()) - self.common, dim=(1, 2)).sum()
        return {
            "cross_entropy": -batch.mean_over_labels(log_said.gather(1, batch.label[:, None]).squeeze(1)),
            "distance": -self.strength * distance * batch.share,
        }

    def confusion(self) -> Tensor:
        """Confusions at omega = 1/2, the middle of its range; derived by softmax where kernels are logits."""
        workers = torch.arange(self.n_workers, device=self.common.device)
        return self._derived(self.kernels(torch.full_like(workers, 0.5, dtype=self.common.dtype), workers))

    def posterior(self, out: Output, batch: CrowdBatch) -> Tensor:
        """Classifier × the derived confusions at each label's own omega."""
        confusion = self._derived(self.kernels(self.omega(out, batch), batch.worker)).clamp_min(1e-12)
        said = confusion.gather(2, batch.label[:, None, None].expand(-1, self.n_classes, 1)).squeeze(2)
        return torch.softmax(out.log_proba + batch.sum_by_task(said.log()), dim=1)

    def _derived(self, kernels: Tensor) -> Tensor:
        return torch.softmax(kernels, dim=2) if self.form == "logits" else kernels
