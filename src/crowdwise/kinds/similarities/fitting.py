"""Fitting same-or-different answers: the base class of the methods, gold, results and inference for other pairs."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from ...core.arrays import F8, I8
from ...core.errors import DataError, ParameterError
from ...core.intake.frames import to_polars
from ...core.method import FitOptions, FitOutput, Method
from ...core.params import Count
from ...core.result import FitTrace, Result, UnknownWorkers
from ...core.truth import truth_table
from ...core.vocabulary import lookup, quote
from ...core.votes import Votes
from ..boxes.maths import rate
from .answers import Similarities, detect_columns, similarity_votes
from .estimate import SimilarityEstimate, SimilarityWorkers
from .maths import Pairs, choose_k, together


def estimated_answers(votes: Votes[Similarities], result: Result) -> Similarities:  # noqa: ARG001
    """Return the estimates as one answer per task."""
    estimate = result.estimate_as(SimilarityEstimate)
    same = (estimate.same > 0.5).astype(np.int8)
    return Similarities(estimate.left.astype(np.int32), estimate.right.astype(np.int32), same, estimate.items)


# ---------------------------------------------------------------- Gold


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


@dataclass(frozen=True, eq=False)
class ClusterFit(FitTrace):
    """belief[item, cluster] and the trace of the fit."""

    belief: F8


@dataclass(frozen=True, kw_only=True)
class SimilarityAggregator(Method):
    """Base class of methods that cluster items.

    `fit` takes votes or a table left, right, same (and task, worker). Gold are known clusters of some items, as a
    mapping or a table item, cluster; they are held fixed and name the clusters.

    Args:
        k: Number of clusters (None: the number that best predicts answers of held-out workers; the smallest within
            one standard error of the best).
        most: Largest number of clusters that is tried.
        seed: Seed of random draws.
    """

    takes: ClassVar[str] = "similarities"
    k: Count | None = None
    most: Count = 12

    def fit_votes(self, votes: Votes[Similarities], gold: Any, options: FitOptions) -> FitOutput:  # noqa: ARG002
        """Choose the number of clusters, fit them, and estimate the pairs and the workers."""
        cluster, names = item_gold(gold, votes.answers.items)
        pairs = pairs_of(votes)
        k = self.k
        if k is not None and k < len(names):
            raise ParameterError(f"k={k} clusters are fewer than the {len(names)} that gold names; raise k")
        chosen: dict[str, Any] = {}
        if k is None:
            k, scores = choose_k(pairs, self.labels, self.most, self.seed)
            k, chosen = max(k, len(names), 1), {"held_out_by_k": np.asarray(scores)}
        fit = self.solve(pairs, k, cluster)
        belief = numbered(fit.belief, cluster, len(names))
        left, right = items_of_tasks(votes)
        tasks = Pairs(left, right, np.zeros(len(left)), left, np.ones(len(left)), pairs.n_items, 1)
        same = np.clip(together(tasks, belief), 0, 1)
        extra = {**fit.extra, "k": belief.shape[1], "cluster_names": names, **chosen}
        return FitOutput(
            estimate=SimilarityEstimate(left, right, same, belief, pairs.degree, cluster >= 0, votes.answers.items),
            worker_summary=summarize_workers(pairs, together(pairs, belief)),
            **{**fit.trace_fields(), "extra": extra},
        )

    @abstractmethod
    def solve(self, pairs: Pairs, k: int, gold: I8) -> ClusterFit:
        """Fit the clusters. gold[item] is a cluster, or -1 where it is not known."""

    def labels(self, pairs: Pairs, k: int) -> I8:
        """Hard clusters, for the choice of their number."""
        no_gold = np.full(pairs.n_items, -1, dtype=np.int64)
        return np.asarray(self.solve(pairs, k, no_gold).belief.argmax(axis=1))


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


def from_table(table: pl.DataFrame) -> Votes[Similarities]:
    """Convert a table left, right, same (and task, worker) to votes."""
    roles = detect_columns(table.columns)
    if roles is None or "same" not in roles:
        raise DataError(
            "a table of same-or-different answers needs the columns left, right and same; it has "
            f"{', '.join(table.columns)}"
        )
    optional: dict[str, Any] = {name: table[name] for name in ("task", "worker", "weight") if name in table.columns}
    return similarity_votes(*(table[roles[name]] for name in ("left", "right", "same")), **optional)


# ----------------------------------------------------------------
# Inference for other pairs, with clusters and workers held fixed.


def infer(result: Result, votes: Votes[Similarities], unknown_workers: UnknownWorkers) -> Result:
    """Estimate P(same) of other pairs by the clusters of their items (cluster shares for new items) and the answers."""
    estimate, summary = result.estimate_as(SimilarityEstimate), result.worker_summary
    assert isinstance(summary, SimilarityWorkers)
    fitted_worker, is_known = result.worker_codes(votes.workers, unknown_workers)
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
    others = SimilarityEstimate(
        left, right, 1 / (1 + np.exp(-odds)), belief, np.bincount(items, minlength=len(belief)).astype(np.float64),
        np.zeros(len(belief), dtype=bool), votes.answers.items,
    )  # fmt: skip
    return result.for_votes(votes, others, summary.select(fitted_worker, is_known))
