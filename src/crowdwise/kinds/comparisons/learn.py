"""Reward nets: scores of items from their features, and a reliability of each worker.

    s_i = f(x_i),  d = s_i - s_j        P(worker prefers i to j) = e_w p(d) + (1 - e_w) p(-d)
    p(d) = e^(d/2) / (e^(d/2) + e^(-d/2) + e^t),    P(tie) = e^t / (the same);    e_w ~ Beta(2, 1)

Without ties e^t is 0 and p the logistic function: CrowdBT (Chen et al. 2013, doi:10.1145/2433396.2433420) with a net in
place of free scores. With ties it is Davidson's model (1970, doi:10.1080/01621459.1970.10481082). Answers of reversed
workers, with a reliability below one half, are as informative as those of honest workers.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Self, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn.functional import logsigmoid

from ...core.arrays import F8
from ...core.errors import ParameterError
from ...core.params import NonNegative, Positive, PositiveShare
from ...core.result import Result
from ...core.votes import Votes
from ...learn.answers import AnswerMethod
from ...learn.data.batch import CrowdBatch
from ...learn.data.crowd import AnswerRows
from ...learn.data.dataset import FeatureError
from ...learn.method import Defaults, Output
from ...learn.pairs import LogitTable, PairAnswers, PairEstimator, item_features, log_mixture, loss_terms
from ...learn.training.sweep import Sweep
from .answers import Comparisons, rows_of
from .fitting import estimate_of, summarize_workers
from .maths.models import LEFT, RIGHT, TIE, PairFit


class PairMethod(AnswerMethod):
    """Base class of nets for comparisons: scores of both items, and a tie rate where there are ties.

    `strength` is the precision of a normal prior on the scores.
    """

    sign: Tensor
    ties: Tensor

    def __init__(self, crowd: PairAnswers, strength: float) -> None:
        super().__init__(crowd)
        self.strength = strength
        share = float(crowd.weight[crowd.label == TIE].sum() / crowd.weight.sum().clamp_min(1e-12))
        self.register_buffer("ties", torch.tensor(share > 0))
        self.register_buffer("sign", torch.tensor(1.0))
        self.tie = nn.Parameter(torch.tensor(math.log(2 * max(share, 1e-3) / max(1 - share, 1e-3))))

    def outputs_reason(self) -> str:
        """The expected outputs, for error messages."""
        return "an item has one score"

    def answer(self, out: Output) -> Tensor:
        """Scores of both items: B, 2."""
        return self.sign * out.logits

    def log_outcomes(self, d: Tensor) -> Tensor:
        """log P(first wins, second wins, tie) of a perfectly reliable worker, given margins d[A]: A, 3."""
        tie = self.tie.expand_as(d) if bool(self.ties) else torch.full_like(d, -torch.inf)
        return torch.log_softmax(torch.stack([d / 2, -d / 2, tie], dim=1), dim=1)

    def ridge(self, out: Output, batch: CrowdBatch) -> Tensor:
        """Prior of the scores. Without it scores are unbounded where the better item always wins."""
        return self.strength * batch.mean_over_tasks((out.logits**2).sum(1) / 2)

    def reliability(self) -> Tensor | None:
        """Reliability of each worker, if the method has it."""
        return None


class RewardNet(PairMethod):
    """Reward net with a reliability of each worker.

    Args:
        crowd: The comparisons.
        strength: Precision of a normal prior on the scores.
        prior_right: First parameter of the Beta prior of the reliabilities.
        prior_wrong: Second parameter of the Beta prior of the reliabilities.
        start: Starting value of the reliabilities.
    """

    name = "reward_net"
    defaults = Defaults(epochs=60, batch_size=128, lr=5e-3, worker_lr=5e-2)

    def __init__(
        self,
        crowd: PairAnswers,
        *,
        strength: NonNegative = 0.01,
        prior_right: Positive = 2.0,
        prior_wrong: Positive = 1.0,
        start: PositiveShare = 0.8,
    ) -> None:
        super().__init__(crowd, strength)
        self.table = LogitTable(crowd.n_workers, 1, start, prior_right, prior_wrong)

    def log_likelihood(self, out: Output, batch: CrowdBatch) -> Tensor:
        """Log-likelihood of the answers as given or reversed."""
        d = (out.logits[:, 0] - out.logits[:, 1]).index_select(0, batch.row)
        followed, reversed_ = (
            self.log_outcomes(margin).gather(1, batch.label[:, None]).squeeze(1) for margin in (d, -d)
        )
        return log_mixture(self.table.rows(batch.worker)[:, 0], followed, reversed_)

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Negative log-likelihood of the answers, prior of the workers, and prior of the scores."""
        losses = loss_terms(self.log_likelihood(out, batch), self.table, batch, self.label_weight)
        return losses | {"ridge": self.ridge(out, batch)}

    def finish(self, sweep: Sweep) -> None:  # noqa: ARG002
        """Fix the sign of the scores: the reverse solution is equally likely, but most workers are right."""
        right = torch.sigmoid(self.table.all()[:, 0].detach())
        mean = (right * self.label_weight[:, 0]).sum() / self.label_weight.sum().clamp_min(1e-12)
        self.sign.fill_(-1.0 if float(mean) < 0.5 else 1.0)

    def reliability(self) -> Tensor:
        """Reliability of each worker."""
        return torch.sigmoid(self.sign * self.table.all()[:, 0])


class CrowdRanker(PairEstimator):
    """A net that scores items, trained on comparisons by a crowd.

    Args:
        net: "linear", "mlp", "cnn", a Module with one output, or a function (input shape, outputs) -> Module.
        method: "reward_net", with a reliability of each worker, or "majority_reward", without.

    Its other arguments are those of `TrainingOptions`.

    >>> import numpy as np
    >>> from crowdwise.kinds.comparisons import comparison_votes
    >>> x = np.linspace(-1, 1, 21)[:, None]
    >>> left, right = np.triu_indices(21, 4)
    >>> votes = comparison_votes(left, right, ["right"] * len(left), worker=["ann", "bob", "cat"] * (len(left) // 3))
    >>> fitted = CrowdRanker("linear", epochs=20, validation=0).fit(x, votes)
    >>> bool(np.diff(fitted.predict([[-2.0], [0.0], [2.0]])).min() > 0)
    True
    """

    takes, what, default_method = "comparisons", "ranker", "reward_net"

    def fit(self, X: Any, y: Any, *, items: Any = None) -> Self:
        """Train the net.

        Args:
            X: Features of the items, one row per item.
            y: Comparisons.
            items: Items of the rows of X (default: y.answers.items).
        """
        votes = self._votes_of(y, Comparisons)
        x = item_features(X)
        row = self._train_on_pairs(votes, x, items, votes.answers.outcome, [RIGHT, LEFT, TIE])
        score = self._scores(x).double()
        compared = np.unique(row[np.concatenate([votes.answers.left, votes.answers.right])])
        self.centre_ = float(score[torch.from_numpy(compared)].mean())
        with torch.no_grad():
            self.result_ = outcome(self, votes, score.numpy()[row] - self.centre_)
        return self

    def _n_outputs(self) -> int:
        return 1

    # ---------------------------------------------------------------- prediction
    def predict(self, X: Any) -> F8:
        """Return the score of each row (higher is better). The training items have mean 0."""
        x = self._checked_features(X)
        centred: F8 = self._scores(x).double().numpy() - self.centre_
        return centred

    def predict_proba(self, left: Any, right: Any) -> F8:
        """Return P(left wins, right wins, tie) of each pair of rows, for a perfectly reliable worker: row, 3."""
        one, two = self._checked_features(left), self._checked_features(right)
        if len(one) != len(two):
            raise FeatureError(f"left has {len(one):,} rows, right has {len(two):,}; each row must be a pair")
        d = self._scores(one) - self._scores(two)
        with torch.no_grad():
            proba = cast("PairMethod", self.model_.method).log_outcomes(d.to(self._device())).exp()
        return cast("F8", proba.cpu().double().numpy())

    def score(self, X: Any, y: Any) -> float:
        """Return Kendall's tau between the scores of X and the true scores y."""
        from scipy.stats import kendalltau

        score, truth = self.predict(X), np.asarray(y, dtype=np.float64)
        if truth.shape != score.shape:
            raise FeatureError(f"y has shape {truth.shape}, but X has {len(score):,} rows; give one true score per row")
        return float(kendalltau(score, truth).statistic)

    def _scores(self, x: Tensor) -> Tensor:
        return self._item_outputs(x).flatten()

    # ---------------------------------------------------------------- saving
    def _facts(self) -> dict[str, Any]:
        return {"own": {"centre": self.centre_}}

    def _restore(self, facts: Mapping[str, Any]) -> AnswerRows:
        self.centre_ = float(facts["own"]["centre"])
        return self._shape_of_crowd()


def outcome(fitted: CrowdRanker, votes: Votes[Comparisons], score: npt.NDArray[np.float64]) -> Result:
    """Build the result from the net's score[item]: outcomes of pairs and reliability of workers, without intervals."""
    method = cast("PairMethod", fitted.model_.method)
    level = float(method.tie) if bool(method.ties) else -np.inf
    rows, fit = rows_of(votes), PairFit(score, tie_level=level)
    estimate, workers = estimate_of(votes, rows, fit, None, 0.95, fitted.seed), summarize_workers(votes, rows, fit)
    return fitted._result(votes, estimate, workers, tie_level=level if np.isfinite(level) else None, tie_spread=0.0)


# Upper limit of a worker's share of flipped answers: at one half they carry no information.
MOST = 0.45


def robust_preference_loss(margin: Tensor, flip: Tensor | float = 0.0, weight: Tensor | None = None) -> Tensor:
    """Preference loss corrected for flipped preferences, as in direct preference optimization.

    Where a share e of the preferences is flipped, the loss l(d) = -log s(d) is biased, but

        l_e(d) = [(1 - e) l(d) - e l(-d)] / (1 - 2 e)

    has the mean of the clean loss. Chowdhury, Kini & Natarajan (2024), arXiv:2403.00409.

    Args:
        margin: Margins d of the chosen over the rejected.
        flip: Share of flipped preferences, for all or for each.
        weight: Weight of each margin.

    >>> d = torch.tensor([0.7, -0.2])
    >>> clean = robust_preference_loss(d)
    >>> mean = 0.8 * robust_preference_loss(d, 0.2) + 0.2 * robust_preference_loss(-d, 0.2)
    >>> bool(torch.isclose(mean, clean))
    True
    """
    share = torch.as_tensor(flip, dtype=margin.dtype, device=margin.device)
    if bool((share < 0).any()) or bool((share >= 0.5).any()):
        raise ParameterError("flip must lie between 0 and 0.5; reverse the answers of reversed workers first")
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
    """DPO loss corrected for flipped preferences.

    Args:
        chosen: Log-probabilities of the chosen answers under the policy.
        rejected: Log-probabilities of the rejected answers under the policy.
        reference_chosen: Log-probabilities of the chosen answers under the reference policy.
        reference_rejected: Log-probabilities of the rejected answers under the reference policy.
        flip: Share of flipped preferences, for all or for each.
        beta: Inverse temperature.
        weight: Weight of each pair.
    """
    margin = beta * ((chosen - reference_chosen) - (rejected - reference_rejected))
    return robust_preference_loss(margin, flip, weight)


def flips(votes: Votes[Any], result: Result) -> tuple[np.ndarray, np.ndarray]:
    """Return for each row whether its answer is to be reversed, and the share of flipped answers that remains.

    Both follow from the reliability of the row's worker in a fit of comparisons. Unknown workers get the average.
    """
    by_worker = np.asarray(result.worker_table()["reliability"].to_numpy())
    average = float(np.nanmean(by_worker)) if np.isfinite(by_worker).any() else 0.5
    reliability = np.where(np.isnan(by_worker), average, by_worker)[votes.worker]
    return reliability < 0.5, np.minimum(np.minimum(reliability, 1 - reliability), MOST)


class MajorityReward(PairMethod):
    """The baseline for comparisons: a reward net trained on the majority outcome of each pair, without workers.

    minimize  mean over pairs of the cross-entropy to the majority outcome  +  strength · mean of s² / 2
    """

    name = "majority_reward"
    defaults = Defaults(epochs=60, batch_size=128, lr=5e-3)

    def __init__(self, crowd: PairAnswers, *, strength: NonNegative = 0.01) -> None:
        super().__init__(crowd, strength)

    def log_likelihood(self, out: Output, batch: CrowdBatch) -> Tensor:
        """Log-likelihood of the answers as if all workers were perfectly reliable."""
        d = (out.logits[:, 0] - out.logits[:, 1]).index_select(0, batch.row)
        return self.log_outcomes(d).gather(1, batch.label[:, None]).squeeze(1)

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Cross-entropy to the majority outcome (shared by tied outcomes), and the prior of the scores."""
        votes = batch.votes(3)
        lead = ((votes == votes.amax(1, keepdim=True)) & (votes > 0)).to(votes.dtype)
        lead = lead / lead.sum(1, keepdim=True).clamp_min(1e-12)
        likely = self.log_outcomes(out.logits[:, 0] - out.logits[:, 1])
        likelihood = torch.where(lead > 0, lead * likely, torch.zeros_like(lead)).sum(1)
        return {"cross_entropy": -batch.mean_over_tasks(likelihood), "ridge": self.ridge(out, batch)}
