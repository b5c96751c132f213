"""CCEM: classifier and confusion matrices by one cross-entropy.

    p(y_iw = l | x_i) = sum_k f_k(x_i) confusion[w, k, l],   minimise the mean of -log p over the observed labels

Identifiable when some workers are experts of each class and some tasks are certain (anchor points); otherwise only the
product of f and the confusions is. Copied workers do no harm to f: every label enters by itself.
Rodrigues & Pereira 2018, arXiv:1709.01779 (as probabilities); Ibrahim, Nguyen & Fu 2023, arXiv:2306.03288.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from .....core.errors import DataError, ParameterError
from .....core.params import Count, NonNegative, Note
from .....core.result import Result
from .....core.vocabulary import lookup, quote
from .....learn.data.batch import CrowdBatch
from .....learn.data.crowd import Crowd
from .....learn.method import CrowdMethod, Defaults, Output
from .....learn.nets.heads import WorkerHeads
from .....learn.tables import WorkerTable
from ..tables import ConfusionTable, Start, starting_logits, vote_targets


class CCEM(CrowdMethod):
    """Coupled cross-entropy minimisation, without a regulariser.

    `start` and `scale` say where the confusion matrices begin (see `starting_logits`).
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
        self.table = ConfusionTable(starting_logits(crowd, start, scale=scale, form=form), form=form, sparse=sparse)

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Cross-entropy of the labels."""
        return {"cross_entropy": -batch.mean_over_labels(self.table.log_likelihood(out.log_proba, batch))}

    def confusion(self) -> Tensor:
        """Every worker's confusion matrix."""
        return self.table.log_all().exp()


class CoNAL(CrowdMethod):
    """CoNAL: part of the noise is common to all workers, part is each worker's own, and tasks decide how much of each.

        z_iw = omega_iw A_commonᵀ f(x_i) + (1 - omega_iw) A_wᵀ f(x_i),   omega_iw = sigmoid(u(x_i) · v_w)
        p(y_iw | x_i) = softmax(z_iw),   minimise  cross-entropy - strength · sum_w |A_w - A_common| (Frobenius)

    For crowds that share confusions: what is hard looks hard to everybody. u and v have length one, so omega stays
    between .27 and .73: it shades, it does not switch. With strength 0 nothing tells the common part from the
    workers' own. Departure: here u is two layers with a ReLU on what the classifier's last layer sees, so that any
    kind of input will do; the authors' code puts two linear layers, no ReLU between them, on the raw input. v is a
    free vector per worker; theirs is a linear layer with a bias on the worker's one-hot code, which can give the
    same vectors. Chu, Ma & Wang 2021, arXiv:2012.13052 (Learning from Crowds by Modeling Common Confusions).

    `form="logits"`: kernels and mixture as in the authors' code; "softmax": rows of both kernels on the simplex.

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


Kind = Literal["mw", "vw", "vb", "vwb", "s"]


class CrowdLayer(CrowdMethod):
    """Crowd Layer: a layer of free weights for every worker on top of the classifier's probabilities.

        MW   z_w = W_wᵀ f(x)       VW   z_w = v_w ∘ f(x)       VB   z_w = f(x) + b_w
        VW+B z_w = v_w ∘ f(x) + b_w            S   z_w = s_w f(x)            p(y_w | x) = softmax(z_w)

    The weights are no probabilities; confusions are derived, row k = softmax of the layer at the corner e_k. Fast
    and hard to upset, but f itself is only as calibrated as the labels are flat: softmax of probabilities is never
    sure. Rodrigues & Pereira 2018, arXiv:1709.01779, section 4.2.

    `kind` as above: mw, vw, vb, vwb or s. Weights begin at `scale` × identity, biases at zero.

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


class InstanceConfusion(CrowdMethod):
    """Instance-dependent confusion: every worker's confusion matrix is a function of the task.

        p(y_iw = l | x_i) = sum_k f_k(x_i) A_w(x_i)[k, l],   minimise  cross-entropy + strength · mean tr(A_w(x_i))
        A_w(x) ∝ softplus(B_w + H_w φ(x)),  or with rank r   softplus(B_w + U_w(x) V_w(x)),   φ the net's last features

    For workers who err on some kinds of tasks and not on others. A worker has classes² × features numbers (with a
    rank, 2 r classes × features): with few labels per worker it explains away everything; a low rank, or ccem, is
    then safer. Zhang et al. 2020, arXiv:2007.15963, for whole tasks instead of pixels.

    `rank=None` is the full head; `strength` weighs the trace, averaged over the observed labels.

    The matrices begin at softplus(6·I - 5), near the identity, for every x. There are none apart from tasks.
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
        self.random_start = rank is not None  # U begins at random, since U = V = 0 would never move
        m, k = crowd.n_workers, crowd.n_classes
        self.base = WorkerTable((6.0 * torch.eye(k) - 5.0).expand(m, k, k), sparse=sparse)
        outputs = k * k if rank is None else 2 * rank * k
        bias = torch.zeros(m, outputs)
        if rank is not None:
            bias[:, : rank * k] = 0.1 * torch.randn(m, rank * k)
        self.heads = WorkerHeads(torch.zeros(m, outputs, n_features), bias, sparse=sparse)

    def log_confusion(self, out: Output, batch: CrowdBatch) -> Tensor:
        """Log confusion of each label's worker on its task: A, true, observed."""
        assert out.features is not None
        k = self.n_classes
        said = self.heads(out.features.flatten(1), batch)
        if self.rank is None:
            change = said.view(-1, k, k)
        else:
            left, right = said.split(self.rank * k, dim=1)
            change = left.view(-1, k, self.rank) @ right.view(-1, self.rank, k)
        positive = F.softplus(self.base.rows(batch.worker) + change) + 1e-10
        return positive.log() - positive.sum(2, keepdim=True).log()  # normalised over the observed class

    def said_on_average(self, out: Output, batch: CrowdBatch) -> Tensor:
        """The mean over workers, each by their share of a class's labels, on these very tasks; a worker at a time."""
        share = self.shares_of_labels()
        total = out.logits.new_zeros(len(batch.label), self.n_classes)
        for worker in self.seen():
            as_theirs = replace(batch, worker=worker.expand_as(batch.worker))
            total = total + share[worker] * _at(self.log_confusion(out, as_theirs), batch.label).exp()
        return total.clamp_min(1e-12).log()

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Cross-entropy of the labels and the mean trace."""
        log_confusion = self.log_confusion(out, batch)
        said = torch.logsumexp(out.log_proba.index_select(0, batch.row) + _at(log_confusion, batch.label), dim=1)
        traces = torch.diagonal(log_confusion, dim1=1, dim2=2).exp().sum(1)
        return {
            "cross_entropy": -batch.mean_over_labels(said),
            "trace": self.strength * batch.mean_over_labels(traces),
        }

    def posterior(self, out: Output, batch: CrowdBatch) -> Tensor:
        """Classifier × the workers' confusions on these very tasks."""
        evidence = batch.sum_by_task(_at(self.log_confusion(out, batch), batch.label))
        return torch.softmax(out.log_proba + evidence, dim=1)


def _at(log_confusion: Tensor, label: Tensor) -> Tensor:
    """log_confusion[a, :, label[a]]: A, true."""
    return log_confusion.gather(2, label[:, None, None].expand(-1, log_confusion.shape[1], 1)).squeeze(2)


F8 = npt.NDArray[np.float64]


class KnownConfusion(CrowdMethod):
    """Known confusion: the classifier under confusion matrices that are given; the oracle of the confusion methods.

        p(y_iw = l | x_i) = sum_k f_k(x_i) confusion[w, k, l],   only f is trained

    With the true matrices it bounds what ccem, trace and the like can reach; with an aggregator's it is a two-stage
    method that keeps every label. It is as good as the matrices are. Patrini et al. 2017, arXiv:1609.03683 (forward
    correction), for every worker.

    `confusion` is worker × true × observed (tensor or array, rows summing to one) or a Result that has it.

    Arrays stand in the order of the annotations' workers and classes; one matrix true × observed serves all workers.
    A Result is taken in its own order here; CrowdClassifier matches it by names (`aligned`).
    """

    name = "known_confusion"
    defaults = Defaults(epochs=50, batch_size=64, lr=1e-3)
    matrices: Tensor

    def __init__(self, crowd: Crowd, *, confusion: Annotated[Any, Note("a result or matrices")] | None = None) -> None:
        super().__init__(crowd)
        self.register_buffer("matrices", _matrices(confusion, crowd))
        self.heard = torch.ones_like(self.heard)  # every worker is known, with labels in training or without

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Cross-entropy of the labels."""
        found, _ = batch.present
        log_confusion = self.matrices.index_select(0, found).clamp_min(1e-12).log()
        said = torch.logsumexp(out.log_proba.index_select(0, batch.row) + batch.said(log_confusion), dim=1)
        return {"cross_entropy": -batch.mean_over_labels(said)}

    def confusion(self) -> Tensor:
        """The matrices that were given."""
        return self.matrices


def aligned(result: Result, workers: pl.Series, classes: pl.Series) -> Result | F8:
    """The result's confusions in the order of these workers and classes; an unknown name is an error."""
    if result.confusion is None:
        return result
    places = []
    for what, mine, given in (("workers", workers, result.workers), ("classes", classes, result.classes)):
        at, known = lookup(given, mine)
        if not known.all():
            missing = mine.filter(pl.Series(~known))
            raise DataError(f"the result given as confusion= does not know the {what} {quote(missing)}")
        places.append(at)
    worker, label = places
    return result.confusion[np.ix_(worker, label, label)]


def _matrices(confusion: Any, crowd: Crowd) -> Tensor:
    """The given matrices, checked: worker, true, observed."""
    m, k = crowd.n_workers, crowd.n_classes
    if confusion is None:
        if len(crowd):
            raise ParameterError(
                "known_confusion needs the matrices: confusion=array (worker, true, observed) or a Result"
            )
        confusion = np.full((k, k), 1 / k)  # a mere shape: the matrices come from a file
    given = getattr(confusion, "confusion", confusion)
    if given is None:
        raise ParameterError("the result given as confusion= has no confusion matrices; its method estimates none")
    found = given.detach().cpu() if isinstance(given, Tensor) else torch.from_numpy(np.asarray(given, dtype=float))
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


class SingleConfusion(CrowdMethod):
    """Single confusion: one confusion matrix for the whole crowd, between the classifier and the labels.

        p(y = l | x) = sum_k f_k(x) confusion[k, l],   minimise  cross-entropy + strength · tr(confusion)

    The trace term keeps the matrix from staying at the identity, so that the net need not imitate the mean error.
    Right where all workers err alike; it cannot tell a good worker from a bad one. Sukhbaatar et al. 2015,
    arXiv:1406.2080; with the trace a baseline of Tanno et al. 2019, arXiv:1902.03680.

    `targets="each"` explains every label, "hard" only the majority's; `strength=0` drops the trace.

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


class Trace(CrowdMethod):
    """Trace: coupled cross-entropy, with the confusions pulled off the identity so that the net must explain the
    labels.

        minimise mean_i sum_w -log sum_k f_k(x_i) confusion[w, k, y_iw] + strength · mean_w tr(confusion[w]) (eq. 4)

    Right where the crowd's mean confusion is diagonally dominant by column: label l comes more often from truth l
    than from any other truth. Then, of all pairs that explain the labels, the true one has the least trace (lemma
    1). A strength so large that the trace outweighs the cross-entropy flattens every matrix. Works with one label
    per task. The traces are those of workers with labels: nothing would oppose the pull on the others. Tanno et al.
    2019, arXiv:1902.03680. Log-trace: Kim et al. 2022, pmlr v151, eq. 35.

    `over` workers the traces' "mean" is taken, as in the authors' code, or their "sum", as in eq. 4.

    The paper adds up the labels of a task and averages over tasks; here the cross-entropy is a mean over labels, as
    everywhere, and the trace is divided by the labels per task instead, which is the same loss up to a factor.
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
        self.table = ConfusionTable(starting_logits(crowd, start, scale=scale, form=form), form=form, sparse=False)

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Cross-entropy of the labels and the traces (eq. 4)."""
        traces = torch.diagonal(self.table.log_of(self.seen()), dim1=1, dim2=2).exp().sum(1)
        total = traces.mean() if self.over == "mean" and len(traces) else traces.sum()
        return {
            "cross_entropy": -batch.mean_over_labels(self.table.log_likelihood(out.log_proba, batch)),
            "trace": self.strength * total / self.labels_per_task * batch.share,
        }

    def confusion(self) -> Tensor:
        """Every worker's confusion matrix."""
        return self.table.log_all().exp()


class LogTrace(CrowdMethod):
    """The trace as a prior: rows are Dirichlet, 1 - strength on the diagonal and 1 elsewhere.

        maximise  sum_labels E_f[log confusion[w, k, y]]  -  strength · sum_w tr(log confusion[w])         (eq. 35)

    Here divided by the number of labels of the whole crowd. `likelihood="bound"` is the paper's expectation of a
    logarithm, "marginal" the logarithm of the expectation, as in `trace`. A worker with fewer than `strength` expected
    labels of a class loses that diagonal cell altogether: the prior has no bottom there.
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
        self.table = ConfusionTable(starting_logits(crowd, start, scale=scale, form=form), form=form, sparse=False)

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Minus the two terms of eq. 35, per label."""
        log_confusion = self.table.log_all()
        if self.likelihood == "marginal":
            said = self.table.log_likelihood(out.log_proba, batch)
        else:
            found, _ = batch.present
            said = (out.log_proba.exp().index_select(0, batch.row) * batch.said(log_confusion[found])).sum(1)
        log_traces = torch.diagonal(log_confusion[self.seen()], dim1=1, dim2=2).sum()
        return {
            "cross_entropy": -batch.mean_over_labels(said),
            "log_trace": self.strength * log_traces / self.labels * batch.share,
        }

    def confusion(self) -> Tensor:
        """Every worker's confusion matrix."""
        return self.table.log_all().exp()


BLOCK = 1 << 20  # numbers of the normaliser of A that are held at a time


class UnionNet(CrowdMethod):
    """UnionNet: all workers as one, whose answer to a task is the stack of their labels.

        B   p(w, l | x) = sum_k f_k(x) T[k, (w, l)],  rows of T sum to one over all (w, l);  every task counts once
        A   p(w, l | x) = softmax over all (w, l) of sum_k f_k(x) W[w, k, l];                every label counts once

    One distribution for the crowd instead of one per worker: it also models who labels, which in a sparse crowd is
    mostly chance. The normaliser of A runs over workers × classes for every task: its time grows with the crowd, its
    memory does not. Wei et al. 2022, doi:10.1109/TNNLS.2022.3168696.

    `form` is "b" (stochastic matrix) or "a" (softmax of weights).

    B begins at softmax of `scale` × identity, A at `scale` × identity; by default 5 and 1. `start="votes"` takes log
    confusions against the majority.
    """

    name = "union_net"
    defaults = Defaults(epochs=100, batch_size=128, lr=1e-3)

    def __init__(
        self, crowd: Crowd, *, form: Literal["a", "b"] = "b", start: Start = "eye", scale: float | None = None
    ) -> None:
        super().__init__(crowd)
        self.form = form
        first = scale if scale is not None else {"a": 1.0, "b": 5.0}[form]
        # The normaliser takes in every worker, so gradients are dense.
        self.table = WorkerTable(starting_logits(crowd, start, scale=first), sparse=False)

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Cross-entropy of the stacked labels."""
        k = self.n_classes
        said = _columns(self.table.all()).index_select(0, batch.worker * k + batch.label)  # A, true
        crowd = _columns(self.table.rows(self.seen()))  # who never labels takes no share
        if self.form == "a":
            proba = out.log_proba.exp()
            log_said = (proba.index_select(0, batch.row) * said).sum(1) - log_normaliser(proba, crowd)[batch.row]
            return {"cross_entropy": -batch.mean_over_labels(log_said)}
        log_rows = said - torch.logsumexp(crowd, dim=0)
        log_said = torch.logsumexp(out.log_proba.index_select(0, batch.row) + log_rows, dim=1)
        number = batch.sum_by_task(torch.ones_like(log_said)).clamp_min(1e-12)
        share = batch.sum_by_task(log_said) / number  # a task's labels share its weight
        return {"cross_entropy": -batch.mean_over_tasks(share)}

    def confusion(self) -> Tensor:
        """The worker's slice of the stack, rows normalised."""
        return torch.softmax(self.table.all(), dim=2)


def _columns(weights: Tensor) -> Tensor:
    """Weights[worker, true, observed] as the columns of one matrix: worker·observed, true."""
    return weights.transpose(1, 2).reshape(-1, weights.shape[1])


def log_normaliser(proba: Tensor, columns: Tensor) -> Tensor:
    """log sum_j exp(proba[B, K] · columns[J, K]_j): B, in blocks that are computed again for the gradient."""
    size = max(BLOCK // max(len(proba), 1), 1)
    blocks = torch.split(columns, size) if len(columns) > size else ()
    if not blocks:
        return torch.logsumexp(proba @ columns.T, dim=1)
    parts = [checkpoint(_log_sum, proba, block, use_reentrant=False) for block in blocks]
    return torch.logsumexp(torch.stack(parts), dim=0)


def _log_sum(proba: Tensor, block: Tensor) -> Tensor:
    return torch.logsumexp(proba @ block.T, dim=1)
