"""Similarity nets: clusters of items from their features, and two coins of every worker.

    p = f(x_i) · f(x_j)        P(worker says same) = a_w p + (1 - b_w) (1 - p)
    minimise  mean over answers of -log P(answer)  -  strength · log det(Fᵀ F) / k

a is how often a worker sees that two are the same, b that they are not; both begin at .9. The volume of the outputs F
of a batch keeps all items from falling into one cluster.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Self, cast

import numpy as np
import numpy.typing as npt
import polars as pl
import torch
from torch import Tensor, nn

from ...core import method_registry as registry
from ...core.params import AtLeast, Below, Count, NonNegative, Positive, PositiveShare, Whole
from ...core.result import Result
from ...core.votes import Votes
from ...learn.data.batch import CrowdBatch
from ...learn.data.crowd import Rows
from ...learn.data.dataset import CrowdData, FeatureError
from ...learn.direct import AnswerMethod, DirectEstimator
from ...learn.estimator import not_fitted
from ...learn.method import Defaults, Output, Rate
from ...learn.pairs import ChanceTable, PairCrowd, PairData, Pairwise, item_features, item_rows, terms
from ...learn.training.history import Callback
from ...learn.training.processes import gather
from ...learn.training.sweep import sweep_answers
from ..classes.learn.methods.geometry import log_volume
from .answers import Similarities
from .estimate import SimilarityEstimate
from .fitting import items_of_tasks, numbered, pairs_of, picture_of
from .maths import mutual_information, together

SMALLEST = 1e-6  # of a chance that two are the same


class SimilarityNet(AnswerMethod):
    """`strength` of the volume; `prior_right` and `prior_wrong` are the Beta prior of both coins, from `start`."""

    name = "similarity_net"
    defaults = Defaults(epochs=60, batch_size=128, lr=5e-3, worker_lr=2e-2)

    def __init__(
        self,
        crowd: PairCrowd,
        *,
        strength: NonNegative = 0.02,
        prior_right: Positive = 2.0,
        prior_wrong: Positive = 1.0,
        start: PositiveShare = 0.9,
    ) -> None:
        super().__init__(crowd)
        self.strength, self.per_item = strength, crowd.per_item
        self.table = ChanceTable(crowd.n_workers, 2, start, prior_right, prior_wrong)

    def wanted(self) -> str:
        """One output a cluster."""
        return f"there are {self.per_item} clusters"

    def answer(self, out: Output) -> Tensor:
        """log p(cluster | x) of both items: B, 2 · clusters."""
        return self._each(out).flatten(1)

    def _each(self, out: Output) -> Tensor:
        return torch.log_softmax(out.logits.view(len(out.logits), 2, self.per_item), dim=2)

    def said(self, out: Output, batch: CrowdBatch) -> Tensor:
        """By the worker's two coins."""
        proba = self._each(out).exp()
        same = (proba[:, 0] * proba[:, 1]).sum(1).clamp(SMALLEST, 1 - SMALLEST).index_select(0, batch.row)
        coins = torch.sigmoid(self.table.rows(batch.worker))
        yes = (coins[:, 0] * same + (1 - coins[:, 1]) * (1 - same)).clamp(SMALLEST, 1 - SMALLEST)
        return torch.where(batch.label == 1, yes.log(), (1 - yes).log())

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """The answers' likelihood, the coins' prior, the volume."""
        proba = self._each(out).exp()
        rows = gather(proba.flatten(0, 1))
        both = terms(self.said(out, batch), self.table, batch, self.heard)
        return both | {"volume": -self.strength / self.per_item * log_volume(rows) * batch.share}

    def coins(self) -> Tensor:
        """a, b of every worker: worker, 2."""
        return torch.sigmoid(self.table.all())


# ----------------------------------------------------------------
# What training on same or different found, as the same Result that aggregation gives.


def how_many(votes: Votes[Similarities], seed: int) -> int:
    """As many clusters as the answers alone say, by what is usual for them; at least two."""
    found = registry.method(registry.default_method(votes), seed=seed).fit(votes)
    return max(int(found.estimate.n_clusters), 2)


def outcome(fitted: CrowdClusterer, votes: Votes[Similarities], belief: npt.NDArray[np.float64]) -> Result:
    """The net's belief[item, cluster], what it says of each pair, and the workers' coins against it."""
    pairs = pairs_of(votes)
    left, right = items_of_tasks(votes)
    unknown = np.full(pairs.n_items, -1, dtype=np.int64)
    belief = numbered(belief / belief.sum(axis=1, keepdims=True), unknown, 0)
    same = np.clip((belief[left] * belief[right]).sum(axis=1), 0, 1)
    return Result(
        tasks=votes.tasks,
        workers=votes.workers,
        estimate=SimilarityEstimate(left, right, same, belief, pairs.degree, unknown >= 0, votes.answers.items),
        picture=picture_of(pairs, together(pairs, belief)),
        labels_per_task=votes.labels_per_task,
        labels_per_worker=votes.labels_per_worker,
        extra={
            "k": belief.shape[1],
            "cluster_names": [],
            "best_epoch": fitted.history_.best_epoch or len(fitted.history_),
        },
        **fitted._course(),
    )


# ----------------------------------------------------------------
# CrowdClusterer: fit on features of items and what a crowd said is the same, then cluster new items.

F8 = npt.NDArray[np.float64]


class CrowdClusterer(DirectEstimator):
    """A net that puts items into clusters, trained on pairs that a crowd called same or different.

    `net`: "linear", "mlp", "cnn", any Module with one output a cluster, or a function (input shape, clusters) ->
    Module. `clusters` is how many there are; where nobody says, as many as `clusters` (of crowdwise aggregate) finds in
    the answers. Their numbers mean nothing: only which items share one.

    >>> import numpy as np
    >>> from crowdwise import similarity_votes
    >>> x = np.repeat([[-1.0], [1.0]], 6, axis=0)
    >>> left, right = np.triu_indices(12, 1)
    >>> votes = similarity_votes(left, right, x[left, 0] == x[right, 0])
    >>> fitted = CrowdClusterer("linear", clusters=2, epochs=30, lr=0.05, validation=0).fit(x, votes)
    >>> one, two, three = fitted.predict([[-2.0], [2.0], [3.0]])
    >>> bool(one != two), bool(two == three)
    (True, True)
    """

    takes, what, usual = "similarities", "clusterer", "similarity_net"

    def __init__(
        self,
        net: Any = "mlp",
        method: str | None = None,
        *,
        clusters: Annotated[int, AtLeast(2)] | None = None,
        params: Mapping[str, Any] | None = None,
        epochs: Count | None = None,
        batch_size: Count | None = None,
        lr: Rate | None = None,
        worker_lr: Rate | None = None,
        weight_decay: Rate | None = None,
        validation: Annotated[float, AtLeast(0), Below(1)] = 0.15,
        patience: Count | None = None,
        refit: bool = False,
        device: str | torch.device = "cpu",
        fabric: Any = None,
        callbacks: Sequence[Callback] = (),
        folder: str | Path | None = None,
        every: Count | None = None,
        resume: bool = False,
        seed: Whole = 0,
    ) -> None:
        super().__init__(
            net, method, params=params, epochs=epochs, batch_size=batch_size, lr=lr, worker_lr=worker_lr,
            weight_decay=weight_decay, validation=validation, patience=patience, refit=refit, device=device,
            fabric=fabric, callbacks=callbacks, folder=folder, every=every, resume=resume, seed=seed,
        )  # fmt: skip
        self.clusters = clusters

    def fit(self, X: Any, y: Any, *, items: Any = None) -> Self:
        """Learn from features X and votes y of same or different; rows of X follow `items`, by default
        y.answers.items."""
        votes = self._asked(y, Similarities)
        x = item_features(X)
        self.tasks_, place = item_rows(items, votes.answers.items, len(x))
        self.clusters_ = self.clusters or how_many(votes, self.seed)
        said = votes.answers
        crowd = PairCrowd.of(
            place[said.left], place[said.right], votes.worker.astype(np.int64), said.same.astype(np.int64),
            votes.weight, n_workers=votes.n_workers, per_item=self.clusters_, turned=np.array([0, 1]),
        )  # fmt: skip
        self.workers_ = votes.workers
        self._train(x, crowd)
        self.order_ = np.argsort(-self._belief(x)[place].sum(axis=0), kind="stable")
        self.result_ = outcome(self, votes, self.predict_proba(x)[place])
        return self

    @property
    def items_(self) -> pl.Series:
        """What the rows of the features are called."""
        return self.tasks_

    def _n_outputs(self) -> int:
        return self.clusters_

    def _data(self, x: Any, crowd: Any) -> CrowdData:
        return PairData(x, crowd)

    def rebuild_net(self, net: Any, n_outputs: int | None = None) -> nn.Module:  # noqa: ARG002
        """The net of one item, asked about both of a pair."""
        return Pairwise(super().rebuild_net(net, self.clusters_))

    # ---------------------------------------------------------------- using it
    def predict_proba(self, X: Any) -> F8:
        """p(cluster | x) of every row: row, cluster, the one with most of the training's items first."""
        if not hasattr(self, "model_"):
            raise not_fitted("CrowdClusterer")
        x = item_features(X)
        self._fits_net(tuple(x.shape[1:]))
        return self._belief(x)[:, self.order_]

    def _belief(self, x: Tensor) -> F8:
        data = PairData(x, PairCrowd.shape(len(self.workers_), self.clusters_, len(x)))
        found = sweep_answers(self.model_, data, self._device()).cpu().view(-1, self.clusters_)[: len(x)]
        return cast("F8", found.exp().double().numpy())

    def predict(self, X: Any) -> npt.NDArray[np.int64]:
        """The likeliest cluster of every row, a number from 0."""
        found: npt.NDArray[np.int64] = self.predict_proba(X).argmax(axis=1)
        return found

    def score(self, X: Any, y: Any) -> float:
        """Normalised mutual information of the clusters of X with the true ones, y."""
        said, truth = self.predict(X), np.asarray(y)
        if truth.shape != said.shape:
            raise FeatureError(f"y has shape {truth.shape}, but X has {len(said):,} rows; give one true cluster a row")
        return mutual_information(said, np.unique(truth, return_inverse=True)[1])

    # ---------------------------------------------------------------- saving
    def _facts(self) -> dict[str, Any]:
        return {"clusters": self.clusters_, "order": self.order_.tolist()}

    def _recall(self, facts: Mapping[str, Any]) -> Rows:
        self.clusters_ = int(facts["clusters"])
        self.order_ = np.array([int(each) for each in facts["order"]], dtype=np.int64)
        if sorted(self.order_.tolist()) != list(range(self.clusters_)):
            raise ValueError("the clusters are not in an order")
        return PairCrowd.shape(len(self.workers_), self.clusters_)
