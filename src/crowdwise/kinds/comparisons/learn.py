"""Reward nets: a score of every item from its features, and a reliability of every worker.

    s_i = f(x_i),  d = s_i - s_j        P(worker says i > j) = e_w p(d) + (1 - e_w) p(-d)
    p(d) = e^(d/2) / (e^(d/2) + e^(-d/2) + e^t),    P(tie) = e^t / (the same);    e_w ~ Beta(2, 1)

Without ties e^t is 0 and p the logistic function: CrowdBT (Chen et al. 2013, doi:10.1145/2433396.2433420) with a net in
place of free scores; with them it is Davidson's model (1970, doi:10.1080/01621459.1970.10481082). A worker below one
half turns comparisons around, and their answers then teach as much as an honest worker's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Self, cast

import numpy as np
import numpy.typing as npt
import polars as pl
import torch
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from ...core.errors import ParameterError
from ...core.params import NonNegative, Positive, PositiveShare
from ...core.result import Result
from ...core.votes import Votes
from ...learn.data.batch import CrowdBatch
from ...learn.data.crowd import Rows
from ...learn.data.dataset import CrowdData, FeatureError
from ...learn.direct import AnswerMethod, DirectEstimator
from ...learn.estimator import not_fitted
from ...learn.method import Defaults, Output
from ...learn.pairs import ChanceTable, PairCrowd, PairData, Pairwise, both_ways, item_features, item_rows, terms
from ...learn.training.sweep import Sweep, sweep_answers
from .answers import Comparisons, rows_of
from .fitting import estimate_of, picture_of
from .maths.models import LEFT, RIGHT, TIE, PairFit


class PairMethod(AnswerMethod):
    """A method for comparisons: scores of both items, ties where there are any. `strength` draws the scores to 0."""

    sign: Tensor
    ties: Tensor

    def __init__(self, crowd: PairCrowd, strength: float) -> None:
        super().__init__(crowd)
        self.strength = strength
        share = float(crowd.weight[crowd.label == TIE].sum() / crowd.weight.sum().clamp_min(1e-12))
        self.register_buffer("ties", torch.tensor(share > 0))
        self.register_buffer("sign", torch.tensor(1.0))
        self.tie = nn.Parameter(torch.tensor(math.log(2 * max(share, 1e-3) / max(1 - share, 1e-3))))

    def wanted(self) -> str:
        """One score an item."""
        return "an item has one score"

    def answer(self, out: Output) -> Tensor:
        """Scores of both items: B, 2."""
        return self.sign * out.logits

    def log_outcomes(self, d: Tensor) -> Tensor:
        """log P(first wins, second wins, tie) by margins d[A] for who is always right: A, 3."""
        tie = self.tie.expand_as(d) if bool(self.ties) else torch.full_like(d, -torch.inf)
        return torch.log_softmax(torch.stack([d / 2, -d / 2, tie], dim=1), dim=1)

    def ridge(self, out: Output, batch: CrowdBatch) -> Tensor:
        """The pull of the scores to 0: without it they have no bound where the better item always wins."""
        return self.strength * batch.mean_over_tasks((out.logits**2).sum(1) / 2)

    def reliability(self) -> Tensor | None:
        """How often each worker follows the better item, where the method knows it."""
        return None


class RewardNet(PairMethod):
    """`prior_right` and `prior_wrong` are the Beta prior of the reliabilities, which begin at `start`."""

    name = "reward_net"
    defaults = Defaults(epochs=60, batch_size=128, lr=5e-3, worker_lr=5e-2)

    def __init__(
        self,
        crowd: PairCrowd,
        *,
        strength: NonNegative = 0.01,
        prior_right: Positive = 2.0,
        prior_wrong: Positive = 1.0,
        start: PositiveShare = 0.8,
    ) -> None:
        super().__init__(crowd, strength)
        self.table = ChanceTable(crowd.n_workers, 1, start, prior_right, prior_wrong)

    def said(self, out: Output, batch: CrowdBatch) -> Tensor:
        """Followed or turned around."""
        d = (out.logits[:, 0] - out.logits[:, 1]).index_select(0, batch.row)
        ahead, turned = (self.log_outcomes(each).gather(1, batch.label[:, None]).squeeze(1) for each in (d, -d))
        return both_ways(self.table.rows(batch.worker)[:, 0], ahead, turned)

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """The answers' likelihood, the workers' prior, the scores' ridge."""
        both = terms(self.said(out, batch), self.table, batch, self.heard)
        return both | {"ridge": self.ridge(out, batch)}

    def finish(self, sweep: Sweep) -> None:  # noqa: ARG002
        """Scores and reliabilities turned around are as likely: most workers are right, not most are wrong."""
        right = torch.sigmoid(self.table.all()[:, 0].detach())
        mean = (right * self.heard[:, 0]).sum() / self.heard.sum().clamp_min(1e-12)
        self.sign.fill_(-1.0 if float(mean) < 0.5 else 1.0)

    def reliability(self) -> Tensor:
        """Of every worker."""
        return torch.sigmoid(self.sign * self.table.all()[:, 0])


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


def outcome(fitted: CrowdRanker, votes: Votes[Comparisons], score: npt.NDArray[np.float64]) -> Result:
    """The net's score[item], who wins each pair by them, and how far workers follow them. A net has no intervals."""
    method = cast("PairMethod", fitted.model_.method)
    level = float(method.tie) if bool(method.ties) else -np.inf
    rows, fit = rows_of(votes), PairFit(score, tie_level=level)
    return Result(
        tasks=votes.tasks,
        workers=votes.workers,
        estimate=estimate_of(votes, rows, fit, None, 0.95, fitted.seed),
        picture=picture_of(votes, rows, fit),
        labels_per_task=votes.labels_per_task,
        labels_per_worker=votes.labels_per_worker,
        extra={
            "tie_level": level if np.isfinite(level) else None,
            "tie_spread": 0.0,
            "best_epoch": fitted.history_.best_epoch or len(fitted.history_),
        },
        **fitted._course(),
    )


# A worker is taken to turn at most this share around: at one half nothing can be learnt from them.
MOST = 0.45


def robust_preference_loss(margin: Tensor, flip: Tensor | float = 0.0, weight: Tensor | None = None) -> Tensor:
    """Mean loss of margins d (of the chosen over the rejected), where a share `flip` of them is turned around.

    >>> d = torch.tensor([0.7, -0.2])
    >>> clean = robust_preference_loss(d)
    >>> mean = 0.8 * robust_preference_loss(d, 0.2) + 0.2 * robust_preference_loss(-d, 0.2)
    >>> bool(torch.isclose(mean, clean))
    True
    """
    share = torch.as_tensor(flip, dtype=margin.dtype, device=margin.device)
    if bool((share < 0).any()) or bool((share >= 0.5).any()):
        raise ParameterError("flip must lie between 0 and 0.5; answers of reversed workers are to be turned first")
    loss = -((1 - share) * logsigmoid(margin) - share * logsigmoid(-margin)) / (1 - 2 * share)
    if weight is None:
        return loss.mean()
    return (weight * loss).sum() / weight.sum().clamp_min(torch.finfo(loss.dtype).tiny)


def robust_dpo_loss(
    chosen: Tensor,
    rejected: Tensor,
    reference_chosen: Tensor,
    reference_rejected: Tensor,
    *,
    flip: Tensor | float = 0.0,
    beta: float = 0.1,
    weight: Tensor | None = None,
) -> Tensor:
    """DPO's loss from log-probabilities of both answers under the policy and under the reference policy."""
    margin = beta * ((chosen - reference_chosen) - (rejected - reference_rejected))
    return robust_preference_loss(margin, flip, weight)


def flips(votes: Votes[Any], result: Result) -> tuple[np.ndarray, np.ndarray]:
    """Of every row: whether its answer is to be turned (its worker is reversed), and the share of flips that is left.

    From the workers' reliabilities in a fit of comparisons; unknown workers are taken for the average one.
    """
    trust = np.asarray(result.worker_table()["reliability"].to_numpy())
    usual = float(np.nanmean(trust)) if np.isfinite(trust).any() else 0.5
    own = np.where(np.isnan(trust), usual, trust)[votes.worker]
    return own < 0.5, np.minimum(np.minimum(own, 1 - own), MOST)


class MajorityReward(PairMethod):
    """CrowdRanker: fit on features of items and who preferred which, then score new items, judge the workers.

    What training on comparisons found, as the same Result that aggregation gives.

    The loss of direct preference optimisation, freed of flipped preferences.

    Where a share e of the preferences was turned around, the loss l(d) = -log s(d) of what was observed is biased;

        l_e(d) = [(1 - e) l(d) - e l(-d)] / (1 - 2 e)

    has the mean of the clean loss. Chowdhury, Kini & Natarajan (2024), arXiv:2403.00409.

    The baseline for comparisons: a reward net on each pair's majority, workers left out of it.

    minimise  mean over pairs of the cross-entropy to the outcome that leads  +  strength · mean of s² / 2

    The net alone, trained on the outcome that leads among each pair's answers. `strength` draws the scores to 0.
    """

    name = "majority_reward"
    defaults = Defaults(epochs=60, batch_size=128, lr=5e-3)

    def __init__(self, crowd: PairCrowd, *, strength: NonNegative = 0.01) -> None:
        super().__init__(crowd, strength)

    def said(self, out: Output, batch: CrowdBatch) -> Tensor:
        """As if everybody were right."""
        d = (out.logits[:, 0] - out.logits[:, 1]).index_select(0, batch.row)
        return self.log_outcomes(d).gather(1, batch.label[:, None]).squeeze(1)

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Cross-entropy to the outcome that leads; outcomes that lead together share."""
        votes = batch.votes(3)
        lead = ((votes == votes.amax(1, keepdim=True)) & (votes > 0)).to(votes.dtype)
        lead = lead / lead.sum(1, keepdim=True).clamp_min(1e-12)
        likely = self.log_outcomes(out.logits[:, 0] - out.logits[:, 1])
        said = torch.where(lead > 0, lead * likely, torch.zeros_like(lead)).sum(1)
        return {"cross_entropy": -batch.mean_over_tasks(said), "ridge": self.ridge(out, batch)}
