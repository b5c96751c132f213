"""What every method for same or different shares: checks, gold, the number of clusters, workers' coins, the Result."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ...core.errors import DataError, ParameterError
from ...core.intake.frames import to_polars
from ...core.params import Count
from ...core.result import Result, versions
from ...core.votes import Votes
from ...engine.em import Callback
from ...kinds.similarities.answers import Similarities, similarity_votes
from ...kinds.similarities.columns import told_by
from ...kinds.similarities.estimate import SimilarityEstimate, SimilarityWorkers
from ...maths.boxes.tally import rate
from ...maths.similarities.held_out import choose_k
from ...maths.similarities.mean_field import together
from ...maths.similarities.pairs import Pairs
from ..method import Method
from .gold import item_gold

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]


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
