"""Methods with confusion matrices, based on CCEM: classifier and confusion matrices by one cross-entropy.

    p(y_iw = l | x_i) = sum_k f_k(x_i) confusion[w, k, l],   minimise the mean of -log p over the observed labels

Identifiable if every class has expert workers and some tasks are certain (anchor points); otherwise only the product of
f and the confusion matrices is. Workers who copy do not harm f, because every label enters separately.
Rodrigues & Pereira 2018, arXiv:1709.01779 (as probabilities); Ibrahim, Nguyen & Fu 2023, arXiv:2306.03288.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
import polars as pl
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from .....core.arrays import F8
from .....core.errors import DataError, ParameterError
from .....core.params import Count, NonNegative, Note
from .....core.result import Result
from .....core.vocabulary import lookup, quote
from .....learn.data.batch import CrowdBatch
from .....learn.data.crowd import Crowd
from .....learn.method import CrowdMethod, Defaults, Output
from .....learn.nets.heads import WorkerHeads
from .....learn.tables import WorkerTable
from ..tables import ConfusionLogits, Start, starting_logits, vote_targets


class TableMethod(CrowdMethod):
    """Base class of methods whose confusion matrices are trained by gradient descent."""

    table: ConfusionLogits

    def cross_entropy(self, out: Output, batch: CrowdBatch) -> Tensor:
        """Mean of -log p(label | x) over the labels of the batch."""
        return -batch.mean_over_labels(self.table.log_likelihood(out.log_proba, batch))

    def confusion(self) -> Tensor:
        """Every worker's confusion matrix."""
        return self.table.log_all().exp()


class CCEM(TableMethod):
    """Coupled cross-entropy minimisation, without a regulariser.

    `start` and `scale` set the initial confusion matrices (see `starting_logits`).
    """

    name = "ccem"
    defaults = Defaults(epochs=100, batch_size=128, lr=1e-3, worker_lr=1e-2)

    def __init__(
        self,
        crowd: Crowd,
        *,
        start: Start = "tanno",
        scale: float = 1.0,
        form: Literal["softmax", "softplus"] = "softplus",
        sparse: bool | None = None,
    ) -> None:
        super().__init__(crowd)
        self.table = ConfusionLogits(starting_logits(crowd, start, scale=scale, form=form), form=form, sparse=sparse)

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Cross-entropy of the labels."""
        return {"cross_entropy": self.cross_entropy(out, batch)}


class CoNAL(CrowdMethod):
    """CoNAL: a mixture of noise common to all workers and individual noise, with weights that depend on the task.

        z_iw = omega_iw A_commonᵀ f(x_i) + (1 - omega_iw) A_wᵀ f(x_i),   omega_iw = sigmoid(u(x_i) · v_w)
        p(y_iw | x_i) = softmax(z_iw),   minimise  cross-entropy - strength · sum_w |A_w - A_common| (Frobenius)

    For crowds with common confusions: tasks that are hard are hard for everybody. u and v have length one, so omega is
    always between .27 and .73. With strength 0 the common part is not identifiable from the individual ones. Departure:
    here u is two layers with a ReLU on what the classifier's last layer sees, so that any kind of input is possible;
    the authors' code has two linear layers without a ReLU between them on the raw input. v is a free vector per worker;
    in the authors' code it is a linear layer with a bias on the worker's one-hot code, which can represent the same
    vectors. Chu, Ma & Wang 2021, arXiv:2012.13052 (Learning from Crowds by Modeling Common Confusions).

    `form="logits"`: kernels and mixture as in the authors' code; "softmax": rows of both kernels on the simplex.

    Kernels start at `scale` × identity; `hidden` and `embedding` are the sizes of the task's and worker's vectors.
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
        """Share of the common noise in every label: A."""
        assert out.features is not None
        u = F.normalize(self.of_task(out.features.flatten(1)), dim=1)
        v = F.normalize(self.of_worker.rows(batch.worker), dim=1)
        return torch.sigmoid((u.index_select(0, batch.row) * v).sum(1))

    def kernels(self, omega: Tensor, workers: Tensor) -> Tensor:
        """Mixed kernels of workers[A] at omega[A]: A, true, observed."""
        share, worker_kernels = omega[:, None, None], self.own.rows(workers)
        if self.form == "softmax":
            return share * torch.softmax(self.common, dim=1) + (1 - share) * torch.softmax(worker_kernels, dim=2)
        return share * self.common + (1 - share) * worker_kernels

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Cross-entropy of the labels minus the distances of the workers' kernels from the common one."""
        kernels = self.kernels(self.omega(out, batch), batch.worker)
        mixed = torch.einsum("ak,akl->al", out.log_proba.exp().index_select(0, batch.row), kernels)
        log_likelihood = torch.log_softmax(mixed, dim=1) if self.form == "logits" else mixed.clamp_min(1e-12).log()
        distance = torch.linalg.vector_norm(self.own.rows(self.labelled_workers()) - self.common, dim=(1, 2)).sum()
        return {
            "cross_entropy": -batch.mean_over_labels(log_likelihood.gather(1, batch.label[:, None]).squeeze(1)),
            "distance": -self.strength * distance * batch.share,
        }

    def confusion(self) -> Tensor:
        """Confusion matrices at omega = 1/2, the middle of its range; by softmax if kernels are logits."""
        workers = torch.arange(self.n_workers, device=self.common.device)
        return self._derived(self.kernels(torch.full_like(workers, 0.5, dtype=self.common.dtype), workers))

    def posterior(self, out: Output, batch: CrowdBatch) -> Tensor:
        """Classifier × confusion matrices at the omega of every label."""
        confusion = self._derived(self.kernels(self.omega(out, batch), batch.worker)).clamp_min(1e-12)
        likelihood = confusion.gather(2, batch.label[:, None, None].expand(-1, self.n_classes, 1)).squeeze(2)
        return torch.softmax(out.log_proba + batch.sum_by_task(likelihood.log()), dim=1)

    def _derived(self, kernels: Tensor) -> Tensor:
        return torch.softmax(kernels, dim=2) if self.form == "logits" else kernels


Kind = Literal["mw", "vw", "vb", "vwb", "s"]


class CrowdLayer(CrowdMethod):
    """Crowd Layer: a layer of free weights per worker on top of the classifier's probabilities.

        MW   z_w = W_wᵀ f(x)       VW   z_w = v_w ∘ f(x)       VB   z_w = f(x) + b_w
        VW+B z_w = v_w ∘ f(x) + b_w            S   z_w = s_w f(x)            p(y_w | x) = softmax(z_w)

    The weights are not probabilities; confusion matrices are derived from them, row k = softmax of the layer at the
    corner e_k. Fast and robust, but f is calibrated only if the labels are noisy, because a softmax of probabilities is
    never certain. Rodrigues & Pereira 2018, arXiv:1709.01779, section 4.2.

    `kind` as above: mw, vw, vb, vwb or s. Weights start at `scale` × identity, biases at zero.

    "mw" may also start at the logs of confusion matrices, `start="votes"` (against the majority) or "dawid_skene".
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
        """Tables of the layer by name: matrix, weight, bias."""
        return [(name, table) for name, table in self.layer.items() if isinstance(table, WorkerTable)]

    def scores(self, proba: Tensor, workers: Tensor) -> Tensor:
        """Output z[A, K] of the layer for workers[A] at probabilities proba[A, K]."""
        rows = {name: table.rows(workers) for name, table in self.tables()}
        if "matrix" in rows:
            return torch.einsum("ak,akl->al", proba, rows["matrix"])
        scores = proba * rows["weight"] if "weight" in rows else proba
        return scores + rows["bias"] if "bias" in rows else scores

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Cross-entropy of the labels."""
        scores = self.scores(out.log_proba.exp().index_select(0, batch.row), batch.worker)
        log_likelihood = torch.log_softmax(scores, dim=1).gather(1, batch.label[:, None]).squeeze(1)
        return {"cross_entropy": -batch.mean_over_labels(log_likelihood)}

    def confusion(self) -> Tensor:
        """Derived confusion matrices: the output of the layer for a classifier that is certain of class k."""
        k = self.n_classes
        weight = next(self.parameters())
        workers = torch.arange(self.n_workers, device=weight.device).repeat_interleave(k)
        corners = torch.eye(k, dtype=weight.dtype, device=weight.device).repeat(self.n_workers, 1)
        return torch.softmax(self.scores(corners, workers), dim=1).view(-1, k, k)


class InstanceConfusion(CrowdMethod):
    """Instance-dependent confusion: the confusion matrix of a worker is a function of the task.

        p(y_iw = l | x_i) = sum_k f_k(x_i) A_w(x_i)[k, l],   minimise  cross-entropy + strength · mean tr(A_w(x_i))
        A_w(x) ∝ softplus(B_w + H_w φ(x)),  or with rank r   softplus(B_w + U_w(x) V_w(x)),   φ the net's last features

    For workers who err on some kinds of tasks and not on others. A worker has classes² × features parameters (with a
    rank, 2 r classes × features): with few labels per worker the model overfits, and a low rank or ccem is safer.
    Zhang et al. 2020, arXiv:2007.15963, for whole tasks instead of pixels.

    `rank=None` is the full head; `strength` weighs the trace, averaged over the observed labels.

    The matrices start at softplus(6·I - 5), close to the identity, for every x. They are defined only for given tasks.
    """

    name = "instance_confusion"
    defaults = Defaults(epochs=100, batch_size=64, lr=1e-3)
    needs_features = True

    def __init__(
        self,
        crowd: Crowd,
        *,
        n_features: int,
        strength: NonNegative = 0.01,
        rank: Count | None = None,
        sparse: bool | None = None,
    ) -> None:
        super().__init__(crowd)
        self.strength, self.rank = strength, rank
        self.random_start = rank is not None  # U starts at random, because U = V = 0 has no gradient
        m, k = crowd.n_workers, crowd.n_classes
        self.base = WorkerTable((6.0 * torch.eye(k) - 5.0).expand(m, k, k), sparse=sparse)
        outputs = k * k if rank is None else 2 * rank * k
        bias = torch.zeros(m, outputs)
        if rank is not None:
            bias[:, : rank * k] = 0.1 * torch.randn(m, rank * k)
        self.heads = WorkerHeads(torch.zeros(m, outputs, n_features), bias, sparse=sparse)

    def log_confusion(self, out: Output, batch: CrowdBatch) -> Tensor:
        """Log confusion matrix of every label's worker on its task: A, true, observed."""
        assert out.features is not None
        k = self.n_classes
        outputs = self.heads(out.features.flatten(1), batch)
        if self.rank is None:
            change = outputs.view(-1, k, k)
        else:
            u, v = outputs.split(self.rank * k, dim=1)
            change = u.view(-1, k, self.rank) @ v.view(-1, self.rank, k)
        positive = F.softplus(self.base.rows(batch.worker) + change) + 1e-10
        return positive.log() - positive.sum(2, keepdim=True).log()  # normalised over the observed class

    def mean_worker_log_likelihood(self, out: Output, batch: CrowdBatch) -> Tensor:
        """Mean over workers, weighted by their shares of the labels, on the given tasks; one worker at a time."""
        share = self.shares_of_labels()
        total = out.logits.new_zeros(len(batch.label), self.n_classes)
        for worker in self.labelled_workers():
            as_worker = replace(batch, worker=worker.expand_as(batch.worker))
            total = total + share[worker] * _label_columns(self.log_confusion(out, as_worker), batch.label).exp()
        return total.clamp_min(1e-12).log()

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Cross-entropy of the labels and the mean trace."""
        log_confusion = self.log_confusion(out, batch)
        log_likelihood = torch.logsumexp(
            out.log_proba.index_select(0, batch.row) + _label_columns(log_confusion, batch.label), dim=1
        )
        traces = torch.diagonal(log_confusion, dim1=1, dim2=2).exp().sum(1)
        return {
            "cross_entropy": -batch.mean_over_labels(log_likelihood),
            "trace": self.strength * batch.mean_over_labels(traces),
        }

    def posterior(self, out: Output, batch: CrowdBatch) -> Tensor:
        """Classifier × the workers' confusion matrices on the given tasks."""
        evidence = batch.sum_by_task(_label_columns(self.log_confusion(out, batch), batch.label))
        return torch.softmax(out.log_proba + evidence, dim=1)


def _label_columns(log_confusion: Tensor, label: Tensor) -> Tensor:
    """Return log_confusion[a, :, label[a]]: A, true."""
    return log_confusion.gather(2, label[:, None, None].expand(-1, log_confusion.shape[1], 1)).squeeze(2)


class KnownConfusion(CrowdMethod):
    """Known confusion: the classifier with given confusion matrices; the oracle of the confusion methods.

        p(y_iw = l | x_i) = sum_k f_k(x_i) confusion[w, k, l],   only f is trained

    With the true matrices it is an upper bound for ccem, trace and similar methods; with those of an aggregator it is a
    two-stage method that uses every label. It is as good as the matrices are. Patrini et al. 2017, arXiv:1609.03683
    (forward correction), for every worker.

    `confusion` is worker × true × observed (tensor or array, rows summing to one) or a Result with confusion matrices.

    Arrays are in the order of the annotations' workers and classes; one matrix true × observed applies to all workers.
    The matrices of a Result are used in their order; CrowdClassifier matches them by name (`aligned_confusion`).
    """

    name = "known_confusion"
    defaults = Defaults(epochs=50, batch_size=64, lr=1e-3)
    matrices: Tensor

    def __init__(self, crowd: Crowd, *, confusion: Annotated[Any, Note("a result or matrices")] | None = None) -> None:
        super().__init__(crowd)
        self.register_buffer("matrices", _matrices(confusion, crowd))
        # Every worker has a matrix, with labels in training or without.
        self.label_weight = torch.ones_like(self.label_weight)

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Cross-entropy of the labels."""
        workers, _ = batch.present
        log_confusion = self.matrices.index_select(0, workers).clamp_min(1e-12).log()
        log_likelihood = torch.logsumexp(
            out.log_proba.index_select(0, batch.row) + batch.label_columns(log_confusion), dim=1
        )
        return {"cross_entropy": -batch.mean_over_labels(log_likelihood)}

    def confusion(self) -> Tensor:
        """The given matrices."""
        return self.matrices


def aligned_confusion(result: Result, workers: pl.Series, classes: pl.Series) -> Result | F8:
    """Return the confusion matrices of the result in the order of these workers and classes.

    Raises:
        DataError: If the result has no matrix for a worker or a class.
    """
    if result.confusion is None:
        return result
    positions = []
    for vocabulary, names, result_names in (("workers", workers, result.workers), ("classes", classes, result.classes)):
        at, is_known = lookup(result_names, names)
        if not is_known.all():
            missing = names.filter(pl.Series(~is_known))
            raise DataError(f"the result passed as confusion= has no {vocabulary} {quote(missing)}")
        positions.append(at)
    worker, label = positions
    return result.confusion[np.ix_(worker, label, label)]


def _matrices(confusion: Any, crowd: Crowd) -> Tensor:
    """Return the given matrices after validation: worker, true, observed."""
    m, k = crowd.n_workers, crowd.n_classes
    if confusion is None:
        if len(crowd):
            raise ParameterError(
                "known_confusion needs the matrices: confusion=array (worker, true, observed) or a Result"
            )
        confusion = np.full((k, k), 1 / k)  # only the shape matters: the matrices are loaded from a file
    values = getattr(confusion, "confusion", confusion)
    if values is None:
        raise ParameterError("the result passed as confusion= has no confusion matrices; its method estimates none")
    matrices = (
        values.detach().cpu() if isinstance(values, Tensor) else torch.from_numpy(np.asarray(values, dtype=float))
    )
    if matrices.shape == (k, k):
        matrices = matrices.expand(m, k, k)
    if matrices.shape != (m, k, k):
        raise DataError(
            f"confusion= has shape {tuple(matrices.shape)}, but {m} workers and {k} classes need ({m}, {k}, {k})"
        )
    is_invalid = ~((matrices >= 0).all(2) & ((matrices.sum(2) - 1).abs() < 1e-4))
    if is_invalid.any():
        worker, true = (int(i) for i in is_invalid.nonzero()[0])
        raise DataError(f"confusion= is not a distribution for worker {worker}, class {true}; its rows must sum to one")
    return matrices.float().clone()


class SingleConfusion(TableMethod):
    """Single confusion: one confusion matrix for the whole crowd, between the classifier and the labels.

        p(y = l | x) = sum_k f_k(x) confusion[k, l],   minimise  cross-entropy + strength · tr(confusion)

    The trace term prevents the matrix from staying at the identity, so that the net does not imitate the mean error.
    Appropriate if all workers make similar errors; good and bad workers are not distinguished. Sukhbaatar et al. 2015,
    arXiv:1406.2080; with the trace a baseline of Tanno et al. 2019, arXiv:1902.03680.

    `targets="each"` explains every label, "hard" only the majority vote; `strength=0` drops the trace.

    `start`, `scale` and `form` set the initial matrix and its parametrisation (see `ConfusionLogits`).
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
        self.table = ConfusionLogits(starting_logits(pooled, start, scale=scale, form=form), form=form, sparse=False)

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Cross-entropy of the labels or the majority vote, and the trace."""
        log_confusion = self.table.log_all()[0]
        log_likelihood = torch.logsumexp(out.log_proba[:, :, None] + log_confusion, dim=1)  # B, observed
        if self.targets == "each":
            cross = -batch.mean_over_labels(log_likelihood[batch.row, batch.label])
        else:
            cross = -batch.mean_over_tasks((vote_targets(batch, self.n_classes, "hard") * log_likelihood).sum(1))
        return {"cross_entropy": cross, "trace": self.strength * log_confusion.exp().trace() * batch.share}

    def confusion(self) -> Tensor:
        """The common matrix, repeated for every worker."""
        return super().confusion().expand(self.n_workers, -1, -1)


class Trace(TableMethod):
    """Trace: coupled cross-entropy with a penalty on the traces of the confusion matrices.

        minimise mean_i sum_w -log sum_k f_k(x_i) confusion[w, k, y_iw] + strength · mean_w tr(confusion[w]) (eq. 4)

    The penalty moves the confusion matrices away from the identity, so that the net must explain the labels.
    Appropriate if the crowd's mean confusion matrix is diagonally dominant by column: label l comes more often from
    truth l than from any other truth. Then the true one has the smallest trace of all pairs that explain the labels
    (lemma 1). With a strength so large that the trace outweighs the cross-entropy, every matrix becomes flat. Works
    with one label per task. Only the traces of workers with labels are penalised, because nothing would balance the
    penalty for the others. Tanno et al. 2019, arXiv:1902.03680. Log-trace: Kim et al. 2022, pmlr v151, eq. 35.

    `over` is the "mean" of the workers' traces, as in the authors' code, or their "sum", as in eq. 4.

    The paper sums over the labels of a task and averages over tasks; here the cross-entropy is a mean over labels, as
    in the other methods, and the trace is divided by the labels per task, which is the same loss up to a factor.
    """

    name = "trace"
    defaults = Defaults(epochs=200, batch_size=50, lr=1e-3)

    def __init__(
        self,
        crowd: Crowd,
        *,
        strength: NonNegative = 0.01,
        over: Literal["mean", "sum"] = "mean",
        start: Start = "tanno",
        scale: float = 1.0,
        form: Literal["softmax", "softplus"] = "softplus",
    ) -> None:
        super().__init__(crowd)
        self.strength, self.over = strength, over
        self.labels_per_task = float(crowd.weight.sum()) / max(int(crowd.labelled.sum()), 1) or 1.0
        # Every worker's trace is in every step's loss, so gradients are dense.
        self.table = ConfusionLogits(starting_logits(crowd, start, scale=scale, form=form), form=form, sparse=False)

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Cross-entropy of the labels and the traces (eq. 4)."""
        traces = torch.diagonal(self.table.log_of(self.labelled_workers()), dim1=1, dim2=2).exp().sum(1)
        total = traces.mean() if self.over == "mean" and len(traces) else traces.sum()
        return {
            "cross_entropy": self.cross_entropy(out, batch),
            "trace": self.strength * total / self.labels_per_task * batch.share,
        }


class LogTrace(TableMethod):
    """Log-trace: the trace as a prior; rows are Dirichlet, 1 - strength on the diagonal and 1 elsewhere.

        maximise  sum_labels E_f[log confusion[w, k, y]]  -  strength · sum_w tr(log confusion[w])         (eq. 35)

    Here it is divided by the number of labels of the whole crowd. `likelihood="bound"` is the paper's expectation of a
    logarithm, "marginal" the logarithm of the expectation, as in `trace`. For a worker with fewer than `strength`
    expected labels of a class, the diagonal cell tends to zero, because the prior is unbounded there.
    """

    name = "log_trace"
    defaults = Defaults(epochs=200, batch_size=64, lr=1e-3, worker_lr=1e-2)

    def __init__(
        self,
        crowd: Crowd,
        *,
        strength: NonNegative = 0.5,
        likelihood: Literal["bound", "marginal"] = "bound",
        start: Start = "eye",
        scale: float = 2.0,
        form: Literal["softmax", "softplus"] = "softmax",
    ) -> None:
        super().__init__(crowd)
        self.strength, self.likelihood = strength, likelihood
        self.labels = max(float(crowd.weight.sum()), 1.0)
        self.table = ConfusionLogits(starting_logits(crowd, start, scale=scale, form=form), form=form, sparse=False)

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Negative terms of eq. 35, per label."""
        log_confusion = self.table.log_all()
        if self.likelihood == "marginal":
            log_likelihood = self.table.log_likelihood(out.log_proba, batch)
        else:
            workers, _ = batch.present
            log_likelihood = (
                out.log_proba.exp().index_select(0, batch.row) * batch.label_columns(log_confusion[workers])
            ).sum(1)
        log_traces = torch.diagonal(log_confusion[self.labelled_workers()], dim1=1, dim2=2).sum()
        return {
            "cross_entropy": -batch.mean_over_labels(log_likelihood),
            "log_trace": self.strength * log_traces / self.labels * batch.share,
        }


BLOCK = 1 << 20  # numbers of the normaliser of A in memory at a time


class UnionNet(CrowdMethod):
    """UnionNet: all workers as a single one, whose answer to a task is the stack of their labels.

        B   p(w, l | x) = sum_k f_k(x) T[k, (w, l)],  rows of T sum to one over all (w, l);  every task counts once
        A   p(w, l | x) = softmax over all (w, l) of sum_k f_k(x) W[w, k, l];                every label counts once

    There is one distribution for the crowd instead of one per worker, so it also models which workers label, which is
    mostly random in a sparse crowd. The normaliser of A is a sum over workers × classes for every task: time grows with
    the crowd, memory does not. Wei et al. 2022, doi:10.1109/TNNLS.2022.3168696.

    `form` is "b" (stochastic matrix) or "a" (softmax of weights).

    B starts at the softmax of `scale` × identity, A at `scale` × identity; by default 5 and 1. `start="votes"` uses the
    log confusion matrices against the majority.
    """

    name = "union_net"
    defaults = Defaults(epochs=100, batch_size=128, lr=1e-3)

    def __init__(
        self, crowd: Crowd, *, form: Literal["a", "b"] = "b", start: Start = "eye", scale: float | None = None
    ) -> None:
        super().__init__(crowd)
        self.form = form
        first = scale if scale is not None else {"a": 1.0, "b": 5.0}[form]
        # The normaliser depends on every worker, so gradients are dense.
        self.table = WorkerTable(starting_logits(crowd, start, scale=first), sparse=False)

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Cross-entropy of the stacked labels."""
        k = self.n_classes
        columns = _columns(self.table.all()).index_select(0, batch.worker * k + batch.label)  # A, true
        all_columns = _columns(self.table.rows(self.labelled_workers()))  # workers without labels have no share
        if self.form == "a":
            proba = out.log_proba.exp()
            log_likelihood = (proba.index_select(0, batch.row) * columns).sum(1) - log_normaliser(proba, all_columns)[
                batch.row
            ]
            return {"cross_entropy": -batch.mean_over_labels(log_likelihood)}
        log_rows = columns - torch.logsumexp(all_columns, dim=0)
        log_likelihood = torch.logsumexp(out.log_proba.index_select(0, batch.row) + log_rows, dim=1)
        number = batch.sum_by_task(torch.ones_like(log_likelihood)).clamp_min(1e-12)
        share = batch.sum_by_task(log_likelihood) / number  # a task's labels share its weight
        return {"cross_entropy": -batch.mean_over_tasks(share)}

    def confusion(self) -> Tensor:
        """Slices of the stack with normalised rows."""
        return torch.softmax(self.table.all(), dim=2)


def _columns(weights: Tensor) -> Tensor:
    """Reshape weights[worker, true, observed] to the columns of one matrix: worker·observed, true."""
    return weights.transpose(1, 2).reshape(-1, weights.shape[1])


def log_normaliser(proba: Tensor, columns: Tensor) -> Tensor:
    """Return log sum_j exp(proba[B, K] · columns[J, K]_j): B, in blocks that are recomputed for the gradient."""
    size = max(BLOCK // max(len(proba), 1), 1)
    blocks = torch.split(columns, size) if len(columns) > size else ()
    if not blocks:
        return torch.logsumexp(proba @ columns.T, dim=1)
    parts = [checkpoint(_log_sum, proba, block, use_reentrant=False) for block in blocks]
    return torch.logsumexp(torch.stack(parts), dim=0)


def _log_sum(proba: Tensor, block: Tensor) -> Tensor:
    return torch.logsumexp(proba @ block.T, dim=1)
