"""CrowdRanker: fit on features of items and who preferred which, then score new items, judge the workers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, cast

import numpy as np
import numpy.typing as npt
import polars as pl
import torch
from torch import Tensor, nn

from ...kinds.comparisons.answers import Comparisons
from ...maths.comparisons.rows import LEFT, RIGHT, TIE
from ..direct import DirectEstimator
from ..estimator import not_fitted
from ..feeding.crowd import Rows
from ..feeding.data import CrowdData, FeatureError
from ..methods.comparisons.reward_net import PairMethod
from ..pairs.crowd import PairCrowd, PairData, Pairwise, item_features, item_rows
from ..training.sweep import sweep_answers
from .outcome import outcome

F8 = npt.NDArray[np.float64]


class CrowdRanker(DirectEstimator):
    """A net that scores items, trained on comparisons that a crowd made.

    `net`: "linear", "mlp", "cnn", any Module with one output, or a function (input shape, outputs) -> Module. `method`:
    "reward_net", with a reliability of every worker, or "majority_reward", the net alone. The epoch that best predicts
    the answers of a `validation` share of pairs is kept (0: the last one, on all pairs).

    >>> import numpy as np
    >>> from crowdwise import comparison_votes
    >>> x = np.linspace(-1, 1, 21)[:, None]
    >>> left, right = np.triu_indices(21, 4)
    >>> votes = comparison_votes(left, right, ["right"] * len(left), worker=["ann", "bob", "cat"] * (len(left) // 3))
    >>> fitted = CrowdRanker("linear", epochs=20, validation=0).fit(x, votes)
    >>> bool(np.diff(fitted.predict([[-2.0], [0.0], [2.0]])).min() > 0)
    True
    """

    takes, what, usual = "comparisons", "ranker", "reward_net"

    def fit(self, X: Any, y: Any, *, items: Any = None) -> Self:
        """Learn from features X and votes y of comparisons; rows of X follow `items`, by default y.answers.items."""
        votes = self._asked(y, Comparisons)
        x = item_features(X)
        self.tasks_, place = item_rows(items, votes.answers.items, len(x))
        said = votes.answers
        crowd = PairCrowd.of(
            place[said.left], place[said.right], votes.worker.astype(np.int64), said.outcome.astype(np.int64),
            votes.weight, n_workers=votes.n_workers, per_item=1, turned=np.array([RIGHT, LEFT, TIE]),
        )  # fmt: skip
        self.workers_ = votes.workers
        self._train(x, crowd)
        score = self._scores(x).double()
        self.centre_ = float(score[torch.unique(crowd.pairs)].mean())
        with torch.no_grad():
            self.result_ = outcome(self, votes, score.numpy()[place] - self.centre_)
        return self

    @property
    def items_(self) -> pl.Series:
        """What the rows of the features are called."""
        return self.tasks_

    def _n_outputs(self) -> int:
        return 1

    def _data(self, x: Any, crowd: Any) -> CrowdData:
        return PairData(x, crowd)

    def rebuild_net(self, net: Any, n_outputs: int | None = None) -> nn.Module:  # noqa: ARG002
        """The net of one item, asked about both of a pair."""
        return Pairwise(super().rebuild_net(net, 1))

    # ---------------------------------------------------------------- using it
    def predict(self, X: Any) -> F8:
        """The score of every row: the higher, the better; those of the training's items have mean 0."""
        x = self._checked(X)
        found: F8 = self._scores(x).double().numpy() - self.centre_
        return found

    def predict_proba(self, left: Any, right: Any) -> F8:
        """P(left wins, right wins, tie) of each row of both, told by who is always right: row, 3."""
        one, two = self._checked(left), self._checked(right)
        if len(one) != len(two):
            raise FeatureError(f"left has {len(one):,} rows, right has {len(two):,}; each row is one pair")
        d = self._scores(one) - self._scores(two)
        with torch.no_grad():
            return cast("F8", self._pairs().log_outcomes(d.to(self._device())).exp().cpu().double().numpy())

    def score(self, X: Any, y: Any) -> float:
        """Kendall's tau of the scores of X with the true ones, y."""
        from scipy.stats import kendalltau

        said, truth = self.predict(X), np.asarray(y, dtype=np.float64)
        if truth.shape != said.shape:
            raise FeatureError(f"y has shape {truth.shape}, but X has {len(said):,} rows; give one true score a row")
        return float(kendalltau(said, truth).statistic)

    def _checked(self, X: Any) -> Tensor:
        if not hasattr(self, "model_"):
            raise not_fitted("CrowdRanker")
        x = item_features(X)
        self._fits_net(tuple(x.shape[1:]))
        return x

    def _scores(self, x: Tensor) -> Tensor:
        data = PairData(x, PairCrowd.shape(len(self.workers_), 1, len(x)))
        return sweep_answers(self.model_, data, self._device()).cpu().flatten()[: len(x)]

    def _pairs(self) -> PairMethod:
        return cast("PairMethod", self.model_.method)

    # ---------------------------------------------------------------- saving
    def _facts(self) -> dict[str, Any]:
        return {"centre": self.centre_}

    def _recall(self, facts: Mapping[str, Any]) -> Rows:
        self.centre_ = float(facts["centre"])
        return PairCrowd.shape(len(self.workers_), 1)
