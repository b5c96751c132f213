"""Fitting same-or-different answers: the base class of the methods, gold, results and inference for other pairs."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.callback import Callback
from ...core.errors import DataError, ParameterError
from ...core.intake.frames import to_polars
from ...core.method import Method
from ...core.params import Count
from ...core.result import Result, versions
from ...core.truth import truth_table
from ...core.vocabulary import lookup, quote
from ...core.votes import Votes
from ..boxes.maths import rate
from ..classes.methods.infer import Policy, refuse_strangers
from .answers import Similarities, detect_columns, similarity_votes
from .estimate import SimilarityEstimate, SimilarityWorkers
from .maths import Pairs, choose_k, together


def estimated_answers(votes: Votes[Similarities], result: Result) -> Similarities:  # noqa: ARG001
    """Return the estimates as one answer per task."""
    estimate = result.estimate
    assert isinstance(estimate, SimilarityEstimate)
    same = (estimate.same > 0.5).astype(np.int8)
    return Similarities(estimate.left.astype(np.int32), estimate.right.astype(np.int32), same, estimate.items)


# ---------------------------------------------------------------- Gold

I8 = npt.NDArray[np.int64]


def item_truth(truth: Any, what: str = "cluster") -> pl.DataFrame:
    """Read a mapping, or a table item (or task) and cluster (or label, or `what`), as a table item, label."""
    if not isinstance(truth, dict):
        frame = to_polars(truth)
        names = {"item": "task", what: "label"}
        truth = frame.rename(
            {old: new for old, new in names.items() if old in frame.columns and new not in frame.columns}
        )
    return truth_table(truth).rename({"task": "item"})


def item_gold(gold: Any, items: pl.Series) -> tuple[I8, list[str]]:
    """Return the gold cluster of each item (-1: not known) and the names of the clusters."""
    if gold is None:
        return np.full(len(items), -1, dtype=np.int64), []
    table = item_truth(gold)
    at, has_item = lookup(items.cast(pl.String), table["item"].cast(pl.String))
    if not has_item.any():
        raise DataError(
            f"none of the {len(table)} gold items is among the items of the answers ({quote(table['item'])})"
        )
    names = table["label"].cast(pl.String).unique().sort().to_list()
    code = {name: i for i, name in enumerate(names)}
    out = np.full(len(items), -1, dtype=np.int64)
    out[at[has_item]] = [code[name] for name in table["label"].cast(pl.String).filter(pl.Series(has_item)).to_list()]
    return out, names


# ----------------------------------------------------------------
# The base class of the methods.

F8 = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ClusterFit:
    """belief[item, cluster] and the trace of the fit."""

    belief: F8
    trace: F8 = field(default_factory=lambda: np.empty(0))
    n_iter: int = 0
    converged: bool = True
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class SimilarityAggregator(Method):
    """Base class of methods that cluster items.

    Args:
        k: Number of clusters (None: the number that best predicts answers of held-out workers; the smallest within
            one standard error of the best).
        most: Largest number of clusters that is tried.
        seed: Seed of random draws.
    """

    takes: ClassVar[str] = "similarities"
    k: Count | None = None
    most: Count = 12

    def fit(
        self,
        votes: Votes[Similarities] | Any,
        gold: Any = None,
        *,
        prior: Any = None,
        n_shards: int = 1,  # noqa: ARG002
        callback: Callback | None = None,  # noqa: ARG002
    ) -> Result:
        """Estimate the clusters of the items and the quality of the workers.

        Args:
            votes: Same-or-different answers, or a table left, right, same (and task, worker).
            gold: Known clusters of some items, as a mapping or a table item, cluster. They are held fixed and name the
                clusters.
            prior: Not supported by these methods.
            n_shards: Ignored.
            callback: Ignored.
        """
        if prior is not None:
            raise ParameterError(f"{self.name} cannot use prior=")
        votes = as_similarities(votes)
        cluster, names = item_gold(gold, votes.answers.items)
        pairs = pairs_of(votes)
        k = self.k
        if k is not None and k < len(names):
            raise ParameterError(f"k={k} clusters are fewer than the {len(names)} that gold names; raise k")
        scores: F8 | None = None
        if k is None:
            k, scores = choose_k(pairs, self.labels, self.most, self.seed)
            k = max(k, len(names), 1)
        fit = self.solve(pairs, k, cluster)
        self.warn_unless_settled(fit.converged, fit.n_iter)
        return self._result(votes, pairs, fit, cluster, names, scores)

    @abstractmethod
    def solve(self, pairs: Pairs, k: int, gold: I8) -> ClusterFit:
        """Fit the clusters. gold[item] is a cluster, or -1 where it is not known."""

    def labels(self, pairs: Pairs, k: int) -> I8:
        """Hard clusters, for the choice of their number."""
        no_gold = np.full(pairs.n_items, -1, dtype=np.int64)
        return np.asarray(self.solve(pairs, k, no_gold).belief.argmax(axis=1))

    def _result(
        self, votes: Votes[Similarities], pairs: Pairs, fit: ClusterFit, gold: I8, names: list[str], scores: F8 | None
    ) -> Result:
        belief = numbered(fit.belief, gold, len(names))
        left, right = items_of_tasks(votes)
        tasks = Pairs(left, right, np.zeros(len(left)), left, np.ones(len(left)), pairs.n_items, 1)
        extra = {**fit.extra, "k": belief.shape[1], "cluster_names": names}
        if scores is not None:
            extra["held_out_by_k"] = np.asarray(scores)
        return Result(
            method=self.name,
            params=self.params(),
            tasks=votes.tasks,
            workers=votes.workers,
            estimate=SimilarityEstimate(
                left,
                right,
                np.clip(together(tasks, belief), 0, 1),
                belief,
                pairs.degree,
                gold >= 0,
                votes.answers.items,
            ),
            worker_summary=summarize_workers(pairs, together(pairs, belief)),
            labels_per_task=votes.labels_per_task,
            labels_per_worker=votes.labels_per_worker,
            gold=None,
            trace=fit.trace,
            stage=np.zeros(len(fit.trace), dtype=np.int64),
            n_iter=fit.n_iter,
            converged=fit.converged,
            extra=extra,
            versions=versions(),
        )


def numbered(belief: F8, gold: I8, n_names: int) -> F8:
    """Reorder the clusters by the names in gold, or from the largest to the smallest."""
    if not n_names:
        return np.ascontiguousarray(belief[:, np.argsort(-belief.sum(axis=0), kind="stable")])
    from scipy.optimize import linear_sum_assignment

    k = belief.shape[1]
    is_gold = gold >= 0
    counts = np.zeros((n_names, k))
    np.add.at(counts, gold[is_gold], belief[is_gold])
    _, column = linear_sum_assignment(counts, maximize=True)
    others = [c for c in np.argsort(-belief.sum(axis=0), kind="stable").tolist() if c not in set(column.tolist())]
    out = np.ascontiguousarray(belief[:, [*column.tolist(), *others]])
    out[is_gold] = 0.0
    out[is_gold, gold[is_gold]] = 1.0
    return out


def summarize_workers(pairs: Pairs, same: F8) -> SimilarityWorkers:
    """Estimate hit, rejection and skill of each worker, given the probability same[row] of each row's pair."""
    m, same_answer = pairs.n_workers, pairs.same
    rates: dict[str, F8] = {}
    for name, weight, right in (
        ("skill", np.ones(len(same)), same * same_answer + (1 - same) * (1 - same_answer)),
        ("hit", same, same_answer),
        ("rejection", 1 - same, 1 - same_answer),
    ):
        n = np.bincount(pairs.worker, weights=weight, minlength=m)
        hits = np.bincount(pairs.worker, weights=weight * right, minlength=m)
        value, low, high = rate(np.minimum(hits, n), n)
        rates |= {name: value, f"{name}_low": low, f"{name}_high": high}
    return SimilarityWorkers(**{name: np.clip(values, 0.0, 1.0) for name, values in rates.items()})


def pairs_of(votes: Votes[Similarities]) -> Pairs:
    """Return the votes as arrays, without rows of weight 0."""
    answers = votes.answers
    weight = np.ones(len(votes)) if votes.weight is None else votes.weight
    use = np.flatnonzero(weight > 0)
    return Pairs(
        answers.left[use].astype(np.int64), answers.right[use].astype(np.int64), answers.same[use].astype(np.float64),
        votes.worker[use].astype(np.int64), weight[use], len(answers.items), votes.n_workers,
    )  # fmt: skip


def items_of_tasks(votes: Votes[Similarities]) -> tuple[I8, I8]:
    """Return the two items of each task; raise where a task has different pairs."""
    answers = votes.answers
    low, high = (
        np.minimum(answers.left, answers.right).astype(np.int64),
        np.maximum(answers.left, answers.right).astype(np.int64),
    )
    left, right = np.zeros(votes.n_tasks, dtype=np.int64), np.zeros(votes.n_tasks, dtype=np.int64)
    left[votes.task], right[votes.task] = low, high
    mismatched = np.flatnonzero((left[votes.task] != low) | (right[votes.task] != high))
    if len(mismatched):
        raise DataError(
            f"task {votes.tasks[int(votes.task[mismatched[0]])]!r} asks about two different pairs of items; leave the "
            "task column out, and each pair is a task"
        )
    return left, right


def as_similarities(votes: Any) -> Votes[Similarities]:
    """Return such votes unchanged and read a table left, right, same as votes; raise for anything else."""
    if isinstance(votes, Votes):
        if isinstance(votes.answers, Similarities):
            return votes
        raise DataError(
            f"same-or-different answers are needed, got {votes.kind.display_name}; read the file with "
            "kind='similarities' (--kind similarities), or take a method for these"
        )
    if isinstance(votes, str | np.ndarray | list | tuple) or not hasattr(votes, "__len__"):
        raise DataError(
            "votes are needed; columns go through cw.similarities.similarity_votes(left, right, same, worker=...)"
        )
    frame = to_polars(votes)
    roles = detect_columns(frame.columns)
    if roles is None or "same" not in roles:
        raise DataError(
            "a table of same-or-different answers needs the columns left, right and same; it has "
            f"{', '.join(frame.columns)}"
        )
    optional: dict[str, Any] = {name: frame[name] for name in ("task", "worker", "weight") if name in frame.columns}
    return similarity_votes(*(frame[roles[name]] for name in ("left", "right", "same")), **optional)


# ----------------------------------------------------------------
# Inference for other pairs, with clusters and workers held fixed.


def infer(result: Result, votes: Votes[Similarities], unknown_workers: Policy) -> Result:
    """Estimate P(same) of other pairs by the clusters of their items (cluster shares for new items) and the answers."""
    votes = as_similarities(votes)
    estimate, summary = result.estimate, result.worker_summary
    assert isinstance(estimate, SimilarityEstimate)
    assert isinstance(summary, SimilarityWorkers)
    fitted_worker, is_known = lookup(result.workers, votes.workers)
    refuse_strangers(result, votes.workers, is_known, unknown_workers)
    at, is_fitted = lookup(estimate.items, votes.answers.items)
    share = estimate.belief.mean(axis=0) if len(estimate.belief) else np.ones(1)
    belief = np.where(is_fitted[:, None], estimate.belief[at] if len(estimate.belief) else share, share)
    left, right = items_of_tasks(votes)
    prior = np.clip((belief[left] * belief[right]).sum(axis=1), 1e-6, 1 - 1e-6)
    coins = (summary.hit, summary.rejection)
    by_worker = [np.where(is_known, coin[fitted_worker], np.nan) for coin in coins]
    average = [float(np.nanmean(coin)) if np.isfinite(coin).any() else 0.5 for coin in coins]
    hit, rejection = (
        np.clip(np.where(np.isfinite(coin), coin, mean), 0.01, 0.99)
        for coin, mean in zip(by_worker, average, strict=True)
    )
    yes, a, b = votes.answers.same > 0, hit[votes.worker], rejection[votes.worker]
    evidence = np.where(yes, np.log(a / (1 - b)), np.log((1 - a) / b))
    odds = np.log(prior / (1 - prior)) + np.bincount(votes.task, weights=evidence, minlength=votes.n_tasks)
    items = np.concatenate([votes.answers.left, votes.answers.right])
    quality = {name: np.where(is_known, values[fitted_worker], np.nan) for name, values in summary.arrays().items()}
    return replace(
        result,
        tasks=votes.tasks,
        workers=votes.workers,
        estimate=SimilarityEstimate(
            left, right, 1 / (1 + np.exp(-odds)), belief,
            np.bincount(items, minlength=len(belief)).astype(np.float64), np.zeros(len(belief), dtype=bool),
            votes.answers.items,
        ),
        worker_summary=SimilarityWorkers(**quality),
        labels_per_task=votes.labels_per_task,
        labels_per_worker=votes.labels_per_worker,
        extra={},
    )  # fmt: skip
