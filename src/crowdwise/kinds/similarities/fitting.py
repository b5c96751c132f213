"""Estimates as answers, for what is measured between answers."""

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
from .answers import Similarities, similarity_votes, told_by
from .estimate import SimilarityEstimate, SimilarityWorkers
from .maths import Pairs, choose_k, together


def said(votes: Votes[Similarities], result: Result) -> Similarities:  # noqa: ARG001
    """What the clusters say of every task's pair."""
    own = result.estimate
    assert isinstance(own, SimilarityEstimate)
    same = (own.same > 0.5).astype(np.int8)
    return Similarities(own.left.astype(np.int32), own.right.astype(np.int32), same, own.items)


# ---------------------------------------------------------------- Known clusters of some items

I8 = npt.NDArray[np.int64]


def item_truth(truth: Any, what: str = "cluster") -> pl.DataFrame:
    """A mapping, or a table item (or task) and cluster (or label, or `what`), as a table item, label as text."""
    if not isinstance(truth, dict):
        frame = to_polars(truth)
        names = {"item": "task", what: "label"}
        truth = frame.rename(
            {old: new for old, new in names.items() if old in frame.columns and new not in frame.columns}
        )
    return truth_table(truth).rename({"task": "item"})


def item_gold(gold: Any, items: pl.Series) -> tuple[I8, list[str]]:
    """(cluster of each item, -1 where it is not known; the names of the clusters)."""
    if gold is None:
        return np.full(len(items), -1, dtype=np.int64), []
    table = item_truth(gold)
    at, known = lookup(items.cast(pl.String), table["item"].cast(pl.String))
    if not known.any():
        raise DataError(
            f"none of the {len(table)} gold items is among the items of the answers ({quote(table['item'])})"
        )
    names = table["label"].cast(pl.String).unique().sort().to_list()
    code = {name: i for i, name in enumerate(names)}
    out = np.full(len(items), -1, dtype=np.int64)
    out[at[known]] = [code[name] for name in table["label"].cast(pl.String).filter(pl.Series(known)).to_list()]
    return out, names


# ----------------------------------------------------------------
# What every method for same or different shares: checks, gold, the number of clusters, workers' coins, the Result.

F8 = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Found:
    """belief[item, cluster], and what the fit went through."""

    belief: F8
    trace: F8 = field(default_factory=lambda: np.empty(0))
    n_iter: int = 0
    converged: bool = True
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class SimilarityAggregator(Method):
    """A method that clusters items. `k` is the number of clusters; without it that number, up to `most`, is taken which
    predicts answers of workers held out best (the smallest within one standard error)."""

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
        """Clusters of the items in these votes, or in a table left, right, same (task and worker, if there are).

        `gold` is the known cluster of some items (a mapping or a table item, cluster): it stays put and names clusters.
        """
        if prior is not None:
            raise ParameterError(f"{self.name} cannot use prior=")
        votes = as_similarities(votes)
        known, names = item_gold(gold, votes.answers.items)
        pairs = pairs_of(votes)
        k = self.k
        if k is not None and k < len(names):
            raise ParameterError(f"k={k} clusters are fewer than the {len(names)} that gold names; raise k")
        scores: F8 | None = None
        if k is None:
            k, scores = choose_k(pairs, self.labels, self.most, self.seed)
            k = max(k, len(names), 1)
        found = self.solve(pairs, k, known)
        self.warn_unless_settled(found.converged, found.n_iter)
        return self._result(votes, pairs, found, known, names, scores)

    @abstractmethod
    def solve(self, pairs: Pairs, k: int, known: I8) -> Found:
        """The clusters; known[item] is -1 where nothing is known."""

    def labels(self, pairs: Pairs, k: int) -> I8:
        """Hard clusters, for choosing their number."""
        nothing = np.full(pairs.n_items, -1, dtype=np.int64)
        return np.asarray(self.solve(pairs, k, nothing).belief.argmax(axis=1))

    def _result(
        self, votes: Votes[Similarities], pairs: Pairs, found: Found, known: I8, names: list[str], scores: F8 | None
    ) -> Result:
        belief = numbered(found.belief, known, len(names))
        left, right = items_of_tasks(votes)
        every = Pairs(left, right, np.zeros(len(left)), left, np.ones(len(left)), pairs.n_items, 1)
        extra = {**found.extra, "k": belief.shape[1], "cluster_names": names}
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
                np.clip(together(every, belief), 0, 1),
                belief,
                pairs.degree,
                known >= 0,
                votes.answers.items,
            ),
            picture=picture_of(pairs, together(pairs, belief)),
            labels_per_task=votes.labels_per_task,
            labels_per_worker=votes.labels_per_worker,
            gold=None,
            trace=found.trace,
            stage=np.zeros(len(found.trace), dtype=np.int64),
            n_iter=found.n_iter,
            converged=found.converged,
            extra=extra,
            versions=versions(),
        )


def numbered(belief: F8, known: I8, n_names: int) -> F8:
    """Clusters in the order of the gold's names, or from the largest to the smallest."""
    if not n_names:
        return np.ascontiguousarray(belief[:, np.argsort(-belief.sum(axis=0), kind="stable")])
    from scipy.optimize import linear_sum_assignment

    k = belief.shape[1]
    some = known >= 0
    counts = np.zeros((n_names, k))
    np.add.at(counts, known[some], belief[some])
    _, column = linear_sum_assignment(counts, maximize=True)
    rest = [c for c in np.argsort(-belief.sum(axis=0), kind="stable").tolist() if c not in set(column.tolist())]
    out = np.ascontiguousarray(belief[:, [*column.tolist(), *rest]])
    out[some] = 0.0
    out[some, known[some]] = 1.0
    return out


def picture_of(pairs: Pairs, same: F8) -> SimilarityWorkers:
    """Each worker's coins and share of right answers, by the chance that their pairs are the same."""
    m, said = pairs.n_workers, pairs.same
    parts: dict[str, F8] = {}
    for name, weight, right in (
        ("skill", np.ones(len(same)), same * said + (1 - same) * (1 - said)),
        ("hit", same, said),
        ("rejection", 1 - same, 1 - said),
    ):
        n = np.bincount(pairs.worker, weights=weight, minlength=m)
        hits = np.bincount(pairs.worker, weights=weight * right, minlength=m)
        value, low, high = rate(np.minimum(hits, n), n)
        parts |= {name: value, f"{name}_low": low, f"{name}_high": high}
    return SimilarityWorkers(**{name: np.clip(each, 0.0, 1.0) for name, each in parts.items()})


def pairs_of(votes: Votes[Similarities]) -> Pairs:
    """The rows for the maths; rows of weight 0 are absent."""
    own = votes.answers
    weight = np.ones(len(votes)) if votes.weight is None else votes.weight
    use = np.flatnonzero(weight > 0)
    return Pairs(
        own.left[use].astype(np.int64), own.right[use].astype(np.int64), own.same[use].astype(np.float64),
        votes.worker[use].astype(np.int64), weight[use], len(own.items), votes.n_workers,
    )  # fmt: skip


def items_of_tasks(votes: Votes[Similarities]) -> tuple[I8, I8]:
    """The two items of each task; a task about two different pairs is refused."""
    own = votes.answers
    low, high = np.minimum(own.left, own.right).astype(np.int64), np.maximum(own.left, own.right).astype(np.int64)
    left, right = np.zeros(votes.n_tasks, dtype=np.int64), np.zeros(votes.n_tasks, dtype=np.int64)
    left[votes.task], right[votes.task] = low, high
    bad = np.flatnonzero((left[votes.task] != low) | (right[votes.task] != high))
    if len(bad):
        raise DataError(
            f"task {votes.tasks[int(votes.task[bad[0]])]!r} asks about two different pairs of items; leave the task "
            "column out, and each pair is a task"
        )
    return left, right


def as_similarities(votes: Any) -> Votes[Similarities]:
    """Votes as they are, a table left, right, same as votes; anything else is told how to be read."""
    if isinstance(votes, Votes):
        if isinstance(votes.answers, Similarities):
            return votes
        raise DataError(
            f"answers same or different are needed, got {votes.kind.people}; read the file with kind='similarities' "
            "(--kind similarities), or take a method for these"
        )
    if isinstance(votes, str | np.ndarray | list | tuple) or not hasattr(votes, "__len__"):
        raise DataError("votes are needed; columns go through cw.similarity_votes(left, right, same, worker=...)")
    frame = to_polars(votes)
    found = told_by(frame.columns)
    if found is None or "same" not in found:
        raise DataError(
            f"same or different needs the columns left, right and same; there are {', '.join(frame.columns)}"
        )
    more: dict[str, Any] = {name: frame[name] for name in ("task", "worker", "weight") if name in frame.columns}
    return similarity_votes(*(frame[found[name]] for name in ("left", "right", "same")), **more)


# ----------------------------------------------------------------
# What the same workers' answers say of other pairs, with clusters and workers held fixed.


def infer(result: Result, votes: Votes[Similarities], unknown_workers: Policy) -> Result:
    """P(same) of each pair: by its items' clusters (of a new item the crowd's shares), times what was said of it."""
    votes = as_similarities(votes)
    own, picture = result.estimate, result.picture
    assert isinstance(own, SimilarityEstimate)
    assert isinstance(picture, SimilarityWorkers)
    old, known = lookup(result.workers, votes.workers)
    refuse_strangers(result, votes.workers, known, unknown_workers)
    at, there = lookup(own.items, votes.answers.items)
    share = own.belief.mean(axis=0) if len(own.belief) else np.ones(1)
    belief = np.where(there[:, None], own.belief[at] if len(own.belief) else share, share)
    left, right = items_of_tasks(votes)
    prior = np.clip((belief[left] * belief[right]).sum(axis=1), 1e-6, 1 - 1e-6)
    coin = [np.where(known, each[old], np.nan) for each in (picture.hit, picture.rejection)]
    usual = [float(np.nanmean(each)) if np.isfinite(each).any() else 0.5 for each in (picture.hit, picture.rejection)]
    hit, rejection = (
        np.clip(np.where(np.isfinite(each), each, mean), 0.01, 0.99) for each, mean in zip(coin, usual, strict=True)
    )
    yes, a, b = votes.answers.same > 0, hit[votes.worker], rejection[votes.worker]
    said = np.where(yes, np.log(a / (1 - b)), np.log((1 - a) / b))
    odds = np.log(prior / (1 - prior)) + np.bincount(votes.task, weights=said, minlength=votes.n_tasks)
    both = np.concatenate([votes.answers.left, votes.answers.right])
    return replace(
        result,
        tasks=votes.tasks,
        workers=votes.workers,
        estimate=SimilarityEstimate(
            left, right, 1 / (1 + np.exp(-odds)), belief,
            np.bincount(both, minlength=len(belief)).astype(np.float64), np.zeros(len(belief), dtype=bool),
            votes.answers.items,
        ),
        picture=SimilarityWorkers(**{n: np.where(known, v[old], np.nan) for n, v in picture.arrays().items()}),
        labels_per_task=votes.labels_per_task,
        labels_per_worker=votes.labels_per_worker,
        extra={},
    )  # fmt: skip
