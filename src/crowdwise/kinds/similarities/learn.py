"""Similarity nets: clusters of items from their features, and two error rates ("coins") of each worker.

    p = f(x_i) · f(x_j)        P(worker answers same) = a_w p + (1 - b_w) (1 - p)
    minimize  mean over answers of -log P(answer)  -  strength · log det(Fᵀ F) / k

a is the probability of "same" for the same cluster, b of "different" for different ones; both start at .9. The volume
of the outputs F of a batch keeps the items from collapsing into one cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Self, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ...core import method_registry as registry
from ...core.arrays import F8
from ...core.params import AtLeast, NonNegative, Positive, PositiveShare
from ...core.result import Result
from ...core.votes import Votes
from ...learn.answers import AnswerMethod
from ...learn.data.batch import CrowdBatch
from ...learn.data.crowd import AnswerRows
from ...learn.data.dataset import FeatureError
from ...learn.method import Defaults, Output
from ...learn.pairs import LogitTable, PairAnswers, PairEstimator, item_features, loss_terms
from ...learn.training.processes import gather
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
        crowd: PairAnswers,
        *,
        strength: NonNegative = 0.02,
        prior_right: Positive = 2.0,
        prior_wrong: Positive = 1.0,
        start: PositiveShare = 0.9,
    ) -> None:
        super().__init__(crowd)
        self.strength, self.per_item = strength, crowd.per_item
        self.table = LogitTable(crowd.n_workers, 2, start, prior_right, prior_wrong)

    def outputs_reason(self) -> str:
        """The expected outputs, for error messages."""
        return f"there are {self.per_item} clusters"

    def answer(self, out: Output) -> Tensor:
        """log p(cluster | x) of both items: B, 2 · clusters."""
        return self._log_clusters(out).flatten(1)

    def _log_clusters(self, out: Output) -> Tensor:
        return torch.log_softmax(out.logits.view(len(out.logits), 2, self.per_item), dim=2)

    def log_likelihood(self, out: Output, batch: CrowdBatch) -> Tensor:
        """Log-likelihood of the answers, with the two coins of each worker."""
        proba = self._log_clusters(out).exp()
        same = (proba[:, 0] * proba[:, 1]).sum(1).clamp(SMALLEST, 1 - SMALLEST).index_select(0, batch.row)
        coins = torch.sigmoid(self.table.rows(batch.worker))
        yes = (coins[:, 0] * same + (1 - coins[:, 1]) * (1 - same)).clamp(SMALLEST, 1 - SMALLEST)
        return torch.where(batch.label == 1, yes.log(), (1 - yes).log())

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Negative log-likelihood of the answers, prior of the coins, and volume."""
        proba = self._log_clusters(out).exp()
        rows = gather(proba.flatten(0, 1))
        losses = loss_terms(self.log_likelihood(out, batch), self.table, batch, self.label_weight)
        return losses | {"volume": -self.strength / self.per_item * log_volume(rows) * batch.share}

    def coins(self) -> Tensor:
        """a and b of each worker: worker, 2."""
        return torch.sigmoid(self.table.all())


# ----------------------------------------------------------------
# The Result of training.


def n_clusters_of(votes: Votes[Similarities], seed: int) -> int:
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
    estimate = SimilarityEstimate(left, right, same, belief, pairs.degree, unknown >= 0, votes.answers.items)
    workers = summarize_workers(pairs, together(pairs, belief))
    return fitted._result(votes, estimate, workers, k=belief.shape[1], cluster_names=[])


# ----------------------------------------------------------------
# The estimator.


@dataclass(eq=False, repr=False)
class CrowdClusterer(PairEstimator):
    """A net that clusters items, trained on pairs that a crowd labelled same or different.

    The numbers of the clusters are arbitrary.

    Args:
        net: "linear", "mlp", "cnn", a Module with one output per cluster, or a function (input shape, clusters) ->
            Module.
        clusters: Number of clusters (None: as many as the default method finds in the answers).

    Its other arguments are those of `TrainingOptions`.

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

    takes, what, default_method = "similarities", "clusterer", "similarity_net"
    _: KW_ONLY
    clusters: Annotated[int, AtLeast(2)] | None = None

    def fit(self, X: Any, y: Any, *, items: Any = None) -> Self:
        """Train the net.

        Args:
            X: Features of the items, one row per item.
            y: Same-or-different answers.
            items: Items of the rows of X (default: y.answers.items).
        """
        votes = self._votes_of(y, Similarities)
        x = item_features(X)
        self.clusters_ = self.clusters or n_clusters_of(votes, self.seed)
        row = self._train_on_pairs(votes, x, items, votes.answers.same, [0, 1])
        self.order_ = np.argsort(-self._belief(x)[row].sum(axis=0), kind="stable")
        self.result_ = outcome(self, votes, self.predict_proba(x)[row])
        return self

    def _n_outputs(self) -> int:
        return self.clusters_

    # ---------------------------------------------------------------- prediction
    def predict_proba(self, X: Any) -> F8:
        """Return p(cluster | x) of each row: row, cluster; the cluster with most training items comes first."""
        return self._belief(self._checked_features(X))[:, self.order_]

    def _belief(self, x: Tensor) -> F8:
        return cast("F8", self._item_outputs(x).exp().double().numpy())

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
        return {"own": {"clusters": self.clusters_, "order": self.order_.tolist()}}

    def _restore(self, facts: Mapping[str, Any]) -> AnswerRows:
        self.clusters_ = int(facts["own"]["clusters"])
        self.order_ = np.array([int(position) for position in facts["own"]["order"]], dtype=np.int64)
        if sorted(self.order_.tolist()) != list(range(self.clusters_)):
            raise ValueError("the order of the clusters is not a permutation")
        return self._shape_of_crowd()
