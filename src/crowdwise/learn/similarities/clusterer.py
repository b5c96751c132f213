"""CrowdClusterer: fit on features of items and what a crowd said is the same, then cluster new items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Self, cast

import numpy as np
import numpy.typing as npt
import polars as pl
import torch
from torch import Tensor, nn

from ...core.params import Count, Whole
from ...core.rules import AtLeast, Below
from ...kinds.similarities.answers import Similarities
from ...maths.similarities.agreement import mutual_information
from ..direct import DirectEstimator
from ..estimator import not_fitted
from ..feeding.crowd import Rows
from ..feeding.data import CrowdData, FeatureError
from ..method import Rate
from ..pairs.crowd import PairCrowd, PairData, Pairwise, item_features, item_rows
from ..training.callbacks import Callback
from ..training.sweep import sweep_answers
from .outcome import how_many, outcome

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
