"""Similarity nets: clusters of items from their features, and two error rates ("coins") of each worker.

    p = f(x_i) · f(x_j)        P(worker answers same) = a_w p + (1 - b_w) (1 - p)
    minimize  mean over answers of -log P(answer)  -  strength · log det(Fᵀ F) / k

a is the probability of "same" for the same cluster, b of "different" for different ones; both start at .9. The volume
of the outputs F of a batch keeps the items from collapsing into one cluster.
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
from .fitting import items_of_tasks, numbered, pairs_of, summarize_workers
from .maths import mutual_information, together

SMALLEST = 1e-6  # smallest probability that two items are the same


class SimilarityNet(AnswerMethod):
    """Similarity net with two coins of each worker.

    Args:
        crowd: The answers.
        strength: Weight of the volume.
        prior_right: First parameter of the Beta prior of both coins.
        prior_wrong: Second parameter of the Beta prior of both coins.
        start: Starting value of the coins.
    """

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

    def outputs_reason(self) -> str:
        """The expected outputs, for error messages."""
        return f"there are {self.per_item} clusters"

    def answer(self, out: Output) -> Tensor:
        """log p(cluster | x) of both items: B, 2 · clusters."""
        return self._each(out).flatten(1)

    def _each(self, out: Output) -> Tensor:
        return torch.log_softmax(out.logits.view(len(out.logits), 2, self.per_item), dim=2)

    def log_likelihood(self, out: Output, batch: CrowdBatch) -> Tensor:
        """Log-likelihood of the answers, with the two coins of each worker."""
        proba = self._each(out).exp()
        same = (proba[:, 0] * proba[:, 1]).sum(1).clamp(SMALLEST, 1 - SMALLEST).index_select(0, batch.row)
        coins = torch.sigmoid(self.table.rows(batch.worker))
        yes = (coins[:, 0] * same + (1 - coins[:, 1]) * (1 - same)).clamp(SMALLEST, 1 - SMALLEST)
        return torch.where(batch.label == 1, yes.log(), (1 - yes).log())

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Negative log-likelihood of the answers, prior of the coins, and volume."""
        proba = self._each(out).exp()
        rows = gather(proba.flatten(0, 1))
        losses = terms(self.log_likelihood(out, batch), self.table, batch, self.label_weight)
        return losses | {"volume": -self.strength / self.per_item * log_volume(rows) * batch.share}

    def coins(self) -> Tensor:
        """a and b of each worker: worker, 2."""
        return torch.sigmoid(self.table.all())


# ----------------------------------------------------------------
# The Result of training.


def how_many(votes: Votes[Similarities], seed: int) -> int:
    """Number of clusters that the default method finds in the answers; at least two."""
    result = registry.method(registry.default_method(votes), seed=seed).fit(votes)
    return max(int(result.estimate.n_clusters), 2)


def outcome(fitted: CrowdClusterer, votes: Votes[Similarities], belief: npt.NDArray[np.float64]) -> Result:
    """Build the result from the net's belief[item, cluster]: probabilities of pairs and coins of workers."""
    pairs = pairs_of(votes)
    left, right = items_of_tasks(votes)
    unknown = np.full(pairs.n_items, -1, dtype=np.int64)
    belief = numbered(belief / belief.sum(axis=1, keepdims=True), unknown, 0)
    same = np.clip((belief[left] * belief[right]).sum(axis=1), 0, 1)
    return Result(
        tasks=votes.tasks,
        workers=votes.workers,
        estimate=SimilarityEstimate(left, right, same, belief, pairs.degree, unknown >= 0, votes.answers.items),
        worker_summary=summarize_workers(pairs, together(pairs, belief)),
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
# The estimator.

F8 = npt.NDArray[np.float64]


class CrowdClusterer(DirectEstimator):
    """A net that clusters items, trained on pairs that a crowd labelled same or different.

    The numbers of the clusters are arbitrary.

    Args:
        net: "linear", "mlp", "cnn", a Module with one output per cluster, or a function (input shape, clusters) ->
            Module.
        clusters: Number of clusters (None: as many as the default method finds in the answers).

    >>> import numpy as np
    >>> from crowdwise.kinds.similarities import similarity_votes
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
        """Train the net.

        Args:
            X: Features of the items, one row per item.
            y: Same-or-different answers.
            items: Items of the rows of X (default: y.answers.items).
        """
        votes = self._asked(y, Similarities)
        x = item_features(X)
        self.tasks_, place = item_rows(items, votes.answers.items, len(x))
        self.clusters_ = self.clusters or how_many(votes, self.seed)
        answers = votes.answers
        crowd = PairCrowd.of(
            place[answers.left], place[answers.right], votes.worker.astype(np.int64), answers.same.astype(np.int64),
            votes.weight, n_workers=votes.n_workers, per_item=self.clusters_, swapped_label=np.array([0, 1]),
        )  # fmt: skip
        self.workers_ = votes.workers
        self._train(x, crowd)
        self.order_ = np.argsort(-self._belief(x)[place].sum(axis=0), kind="stable")
        self.result_ = outcome(self, votes, self.predict_proba(x)[place])
        return self

    @property
    def items_(self) -> pl.Series:
        """The items of the rows of the features."""
        return self.tasks_

    def _n_outputs(self) -> int:
        return self.clusters_

    def _data(self, x: Any, crowd: Any) -> CrowdData:
        return PairData(x, crowd)

    def rebuild_net(self, net: Any, n_outputs: int | None = None) -> nn.Module:  # noqa: ARG002
        """Wrap the net of one item, so that it clusters both items of a pair."""
        return Pairwise(super().rebuild_net(net, self.clusters_))

    # ---------------------------------------------------------------- prediction
    def predict_proba(self, X: Any) -> F8:
        """Return p(cluster | x) of each row: row, cluster; the cluster with most training items comes first."""
        if not hasattr(self, "model_"):
            raise not_fitted("CrowdClusterer")
        x = item_features(X)
        self._fits_net(tuple(x.shape[1:]))
        return self._belief(x)[:, self.order_]

    def _belief(self, x: Tensor) -> F8:
        data = PairData(x, PairCrowd.shape(len(self.workers_), self.clusters_, len(x)))
        log_belief = sweep_answers(self.model_, data, self._device()).cpu().view(-1, self.clusters_)[: len(x)]
        return cast("F8", log_belief.exp().double().numpy())

    def predict(self, X: Any) -> npt.NDArray[np.int64]:
        """Return the most likely cluster of each row, numbered from 0."""
        cluster: npt.NDArray[np.int64] = self.predict_proba(X).argmax(axis=1)
        return cluster

    def score(self, X: Any, y: Any) -> float:
        """Return the normalised mutual information between the clusters of X and the true clusters y."""
        cluster, truth = self.predict(X), np.asarray(y)
        if truth.shape != cluster.shape:
            raise FeatureError(
                f"y has shape {truth.shape}, but X has {len(cluster):,} rows; give one true cluster per row"
            )
        return mutual_information(cluster, np.unique(truth, return_inverse=True)[1])

    # ---------------------------------------------------------------- saving
    def _facts(self) -> dict[str, Any]:
        return {"clusters": self.clusters_, "order": self.order_.tolist()}

    def _recall(self, facts: Mapping[str, Any]) -> Rows:
        self.clusters_ = int(facts["clusters"])
        self.order_ = np.array([int(position) for position in facts["order"]], dtype=np.int64)
        if sorted(self.order_.tolist()) != list(range(self.clusters_)):
            raise ValueError("the order of the clusters is not a permutation")
        return PairCrowd.shape(len(self.workers_), self.clusters_)
