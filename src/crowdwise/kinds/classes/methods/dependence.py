"""Groups of dependent workers: a search for them, and the group-aware model, exact EM on a tree.

    z_i ~ Cat(class_prior),  g_ij | z_i = k ~ Cat(between[j, k]),  y_iw | g_ij = c ~ Cat(within[w, c]),  w in group j

The tree is task -> group -> label. A group of one has between = I, so its g is z itself. Everything runs over the
(task, group) pairs that have labels.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, ClassVar, cast
from weakref import WeakKeyDictionary

import numpy as np
import polars as pl

from ....core.arrays import F8, I8, Mask
from ....core.errors import ParameterError
from ....core.order import offsets
from ....core.params import Count, NonNegative, Note, Positive, PositiveShare, Share
from ....core.result import Result
from ....core.vocabulary import as_series, lookup, quote
from ....em.kernels import Stats, Workspace, transposed
from ....em.loop import plus
from ....em.passes import Passes, run
from ....em.rows import LabelRows, row_weights
from ....em.sources import GoldCodes
from ....stats.discovery import adjusted
from ....stats.logspace import normalise_rows, segment_sum, shares
from ....stats.ties import tie_shares
from ..annotations import Annotations
from ..answers import Classes
from .base import PartitionedAggregator, SolveOptions
from .confusion.base import counted
from .confusion.matrices import DawidSkene
from .infer import ClassModel, worker_average
from .partitioned import (
    FitState,
    ModelPredictor,
    PartitionedVotes,
    Predictor,
    TransformedPredictor,
    apply_predictor,
    clamped,
    with_columns,
)


@dataclass(frozen=True)
class GroupStats(Stats):
    """counts[worker, observed, c], mass[class], and links[group, class, c]."""

    links: F8


@dataclass(frozen=True)
class GroupParams:
    """within[worker, observed, c], between[group, class, c], class_prior[class]."""

    within: F8
    between: F8
    class_prior: F8


class GroupPairs:
    """The (task, group) pairs of a shard that have labels, sorted by task, then group."""

    def __init__(self, shard: LabelRows, group: I8, many: Mask) -> None:
        key = shard.task.astype(np.int64) * len(many) + group[shard.worker]
        self.order = np.argsort(key, kind="stable")
        keys, first, self.of_row = np.unique(key[self.order], return_index=True, return_inverse=True)
        self.task, self.group = keys // len(many), keys % len(many)
        self.rows = np.append(first, len(key))
        self.tasks = offsets(self.task.astype(np.int32), shard.n_tasks)
        self.big = np.flatnonzero(many[self.group])
        self.cell = shard.cell[self.order]
        self.label = shard.label[self.order]
        self.weight = np.ones(len(key)) if shard.weight is None else shard.weight[self.order]


class GroupModel:
    """MAP estimation with `smoothing` pseudo-counts per cell of within and, for groups of several, of between."""

    def __init__(self, group: I8, n_classes: int, smoothing: float, prior_class: float) -> None:
        self.group, self.k = group, n_classes
        self.many = np.bincount(group) > 1
        self.smoothing, self.prior_class = smoothing, prior_class
        self._pairs: WeakKeyDictionary[Workspace, GroupPairs] = WeakKeyDictionary()

    def pairs(self, space: Workspace) -> GroupPairs:
        """Return the pairs of a shard, computed once."""
        if space not in self._pairs:
            self._pairs[space] = GroupPairs(space.shard, self.group, self.many)
        return self._pairs[space]

    def start(self, shard: Workspace) -> GroupStats:
        """Start from a vote in which a group of several has one vote, its winner; in the group, g is its own vote."""
        space, pairs = shard, self.pairs(shard)
        posterior = clamped(shard, self.one_vote_per_group(pairs))
        joint = posterior[pairs.task[pairs.big]][:, :, None] * self.shares(pairs)[pairs.big][:, None, :]
        return self.gather(space, pairs, posterior, joint)

    def shares(self, pairs: GroupPairs) -> F8:
        """Return the winners of the vote inside each pair."""
        votes = np.eye(self.k)[pairs.label] * pairs.weight[:, None]
        return tie_shares(segment_sum(votes, pairs.rows))

    def one_vote_per_group(self, pairs: GroupPairs) -> F8:
        """Return vote shares in which a group of several has one vote, that of its winner."""
        votes = segment_sum(np.eye(self.k)[pairs.label] * pairs.weight[:, None], pairs.rows)
        votes[pairs.big] = self.shares(pairs)[pairs.big]
        return shares(segment_sum(votes, pairs.tasks))

    def accumulate(self, params: GroupParams, shard: Workspace) -> tuple[GroupStats, float]:
        """Pass messages up the tree, compute the posterior, and the joint of class and g on the way down."""
        space, pairs, k = shard, self.pairs(shard), self.k
        logs = np.log(params.within).reshape(-1, k)[pairs.cell] * pairs.weight[:, None]
        up = segment_sum(logs, pairs.rows)  # pair, c
        through = np.log(params.between)[pairs.group[pairs.big]] + up[pairs.big][:, None, :]  # pair, class, c
        flat, norm = normalise_rows(through.reshape(-1, k))
        up[pairs.big] = norm.reshape(-1, k)
        score = np.log(np.maximum(params.class_prior, 1e-18)) + segment_sum(up, pairs.tasks)
        posterior, total = normalise_rows(score)
        if space.gold is not None:
            gold_tasks = np.flatnonzero(space.gold < k)
            total[gold_tasks] = score[gold_tasks, space.gold[gold_tasks]]
            posterior[gold_tasks] = np.eye(k)[space.gold[gold_tasks]]
        joint = flat.reshape(-1, k, k) * posterior[pairs.task[pairs.big]][:, :, None]
        space.memory.store(posterior)
        return self.gather(space, pairs, posterior, joint), float(total.sum())

    def posterior(self, params: GroupParams, shard: Workspace) -> F8:
        """Return posterior[task, class]."""
        self.accumulate(params, shard)
        return shard.memory.take()

    def gather(self, space: Workspace, pairs: GroupPairs, posterior: F8, joint: F8) -> GroupStats:
        """Return expected counts: of g for groups of several, of the class itself for groups of one."""
        k, n_groups, cells = self.k, len(self.many), space.shard.n_workers * self.k
        inner = posterior[pairs.task]
        inner[pairs.big] = joint.sum(axis=1)
        rows = inner[pairs.of_row] * pairs.weight[:, None]
        counts = np.stack([np.bincount(pairs.cell, weights=rows[:, c], minlength=cells) for c in range(k)], axis=1)
        group = pairs.group[pairs.big]
        links = [np.bincount(group, weights=column, minlength=n_groups) for column in joint.reshape(-1, k * k).T]
        return GroupStats(
            counts.astype(np.float64, copy=False).reshape(-1, k, k),
            posterior.sum(axis=0),
            np.stack(links, axis=1).astype(np.float64, copy=False).reshape(n_groups, k, k),
        )

    def maximise(self, stats: GroupStats) -> GroupParams:
        """Normalise counts plus pseudo-counts; groups of one are tied to the class."""
        within = stats.counts + self.smoothing
        between = stats.links + self.smoothing
        between /= between.sum(axis=2, keepdims=True)
        # The floor only keeps the logarithm finite: the table of groups of one is never used.
        between[~self.many] = np.maximum(np.eye(self.k), 1e-18)
        mass = stats.mass + self.prior_class
        return GroupParams(within / within.sum(axis=1, keepdims=True), between, mass / mass.sum())

    def log_prior(self, params: GroupParams) -> float:
        """Log density of the Dirichlet priors, whose mode the M-step takes."""
        density = np.log(params.within).sum() + np.log(params.between[self.many]).sum()
        classes = self.prior_class * np.log(params.class_prior).sum() if self.prior_class > 0 else 0.0
        return float(self.smoothing * density + classes)


# ----------------------------------------------------------------
# Detection of workers who copy each other, by agreement beyond that of independent errors.
# The fit of a model does not identify them: to it, thirty copies of a guesser are thirty accurate workers, and the
# experts among them are wrong. But copies agree more closely than accurate workers can. Therefore:
#
# 1. Workers are clustered by their agreement (average linkage), the closest first.
# 2. At each level every cluster gets one vote, Dawid-Skene is fitted to the clusters, and each pair's agreement is
#    tested against the fit: excess = agreement - sum_k p_k sum_l A[m, k, l] A[m', k, l], with false-discovery control.
#    The finest level without excess is taken. Independent workers have none at the first level and stay single.
# 3. Clusters that can be split again without excess are split, and of the other clusters only members whose own
#    agreement is in excess stay together.
#
# All steps are sums over tasks, so the votes may be in parts. After the agreement tests of Traganitis & Giannakis
# (2021) and the group search of Jaffe et al. (2016). Fails when copies are noisier than the honest workers, and when
# all workers are wrong on the same hard tasks.

# Pairs with fewer common tasks are not tested.
MIN_COMMON = 10
# Only the most active workers are searched, the others stay single: the search uses worker × worker tables.
MAX_WORKERS = 2_000
# The most levels that are tried.
LEVELS = 30


@dataclass(frozen=True)
class Overlap:
    """common[m, m'] tasks, agreed[m, m'] of them with the same answer, mix[class][m, m'] their summed posterior."""

    common: F8
    agreed: F8
    mix: list[F8]

    def add(self, other: Overlap) -> None:
        """Add the tables of another part in place."""
        tables, other_tables = ([overlap.common, overlap.agreed, *overlap.mix] for overlap in (self, other))
        for table, other_table in zip(tables, other_tables, strict=True):
            table += other_table


def find_groups(votes: Annotations | PartitionedVotes, level: float, excess: float) -> I8:
    """Return the group number of each worker; workers of one group depend on each other.

    Args:
        votes: The votes.
        level: False-discovery level of the tests.
        excess: The least agreement beyond the fit that counts as dependence.
    """
    data = votes if isinstance(votes, PartitionedVotes) else PartitionedVotes.of(votes, None)
    single, labels = np.arange(data.n_workers), data.sum(_labels, plus)
    active = np.argsort(-labels, kind="stable")[:MAX_WORKERS]
    active = np.sort(active[labels[active] >= MIN_COMMON])
    if len(active) < 3 or data.n_classes < 2:
        return single
    search = _GroupSearch(active, level, excess)
    group = _finest_without_excess(data, _tree(data, active), search)
    return single if group is None else _members_in_excess(data, _split_needless(data, group, search), search)


def _labels(space: Workspace) -> I8:
    return cast(Annotations, space.shard).labels_per_worker.astype(np.int64)


@dataclass(frozen=True)
class _GroupSearch:
    """The workers that are searched, and the thresholds of dependence."""

    active: I8
    level: float
    excess: float


def _tree(data: PartitionedVotes, active: I8) -> list[I8]:
    """Return partitions from single workers to coarse clusters, the closest workers joined first."""
    from scipy.cluster.hierarchy import cut_tree, linkage
    from scipy.spatial.distance import squareform

    overlap = overlapping(data, active, None)
    common, agreed = overlap.common, overlap.agreed
    distance = np.where(common >= MIN_COMMON, 1 - agreed / np.maximum(common, 1), 1.0)
    np.fill_diagonal(distance, 0.0)
    tree = linkage(squareform(distance, checks=False), method="average")
    m = len(active)
    mean_agreement = agreed[~np.eye(m, dtype=bool)].sum() / max(common[~np.eye(m, dtype=bool)].sum(), 1)
    # Pairs that agree less than the crowd are no copies; three clusters are the fewest that can be distinguished.
    joins = int((tree[:, 2] <= 1 - mean_agreement + 0.05).sum())
    fewest = max(3, m - joins)
    sizes = np.unique(np.round(np.geomspace(fewest, m, min(LEVELS, m - fewest + 1))).astype(int))[::-1]
    out = []
    for cut in cut_tree(tree, n_clusters=sizes).T:
        group = np.arange(data.n_workers)
        # A cluster has the number of its first member, so it does not clash with workers outside the search.
        first = {c: active[np.flatnonzero(cut == c)[0]] for c in np.unique(cut)}
        group[active] = [first[c] for c in cut]
        out.append(np.unique(group, return_inverse=True)[1])
    return out


def _finest_without_excess(data: PartitionedVotes, partitions: list[I8], search: _GroupSearch) -> I8 | None:
    """Return the first partition whose clusters are independent given the fit; None where single workers are."""
    for i, group in enumerate(partitions):
        if _independent(data, group, search):
            return None if i == 0 else group
    return None


def _independent(data: PartitionedVotes, group: I8, search: _GroupSearch) -> bool:
    """Whether no two clusters agree beyond the fit to the clusters."""
    units, active = in_units(data, group), np.unique(group[search.active])
    predictor, theta = fit_units(units)
    return not flagged(overlapping(units, active, predictor), theta[active], search.level, search.excess).any()


def _split_needless(data: PartitionedVotes, group: I8, search: _GroupSearch) -> I8:
    """Split clusters, the smallest first, wherever there is no excess without them."""
    sizes = np.bincount(group)
    for cluster in sorted(np.flatnonzero(sizes > 1).tolist(), key=lambda c: (sizes[c], c)):
        trial = group.copy()
        members = np.flatnonzero(group == cluster)
        trial[members[1:]] = group.max() + np.arange(1, len(members))
        if _independent(data, trial, search):
            group = trial
    return np.asarray(np.unique(group, return_inverse=True)[1], dtype=np.int64)


def _members_in_excess(data: PartitionedVotes, group: I8, search: _GroupSearch) -> I8:
    """Return the connected components, within clusters, of pairs in excess under the fit to the clusters."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    predictor = TransformedPredictor(_GroupVotes(group), fit_units(in_units(data, group))[0])
    active = search.active
    theta = worker_confusions(data, predictor)[active]
    pairs = flagged(overlapping(data, active, predictor), theta, search.level, search.excess)
    first, second = np.nonzero(pairs & (group[active][:, None] == group[active][None, :]))
    edges = csr_array((np.ones(len(first)), (active[first], active[second])), shape=(data.n_workers,) * 2)
    return np.asarray(connected_components(edges, directed=False)[1], dtype=np.int64)


def as_units(votes: Annotations, group: I8) -> Annotations:
    """Return one vote per task and group: its majority, split where it is tied."""
    pairs = GroupPairs(votes, group, np.ones(group.max() + 1, dtype=bool))
    won = tie_shares(segment_sum(np.eye(votes.n_classes)[pairs.label] * pairs.weight[:, None], pairs.rows))
    pair, label = np.nonzero(won)
    return replace(
        votes,
        task=pairs.task[pair].astype(np.int32),
        worker=pairs.group[pair].astype(np.int32),
        answers=Classes(label.astype(np.int32), votes.classes),
        weight=won[pair, label],
        time=None,
        duration=None,
        confidence=None,
        about_rows=None,
        workers=pl.Series("worker", np.arange(group.max() + 1)),
    )


@dataclass(frozen=True, eq=False)
class _GroupVotes:
    """A transform of parts: one vote per task and group."""

    group: I8

    def __call__(self, part: Annotations, gold: GoldCodes | None) -> tuple[Annotations, GoldCodes | None]:  # noqa: ARG002
        return as_units(with_columns(part), self.group), None


def in_units(data: PartitionedVotes, group: I8) -> PartitionedVotes:
    """Return the votes with groups as workers, one vote per task and group."""
    units = pl.Series("worker", np.arange(group.max() + 1))
    return replace(data.transformed(_GroupVotes(group)), workers=units, has_gold=False)


def fit_units(units: PartitionedVotes) -> tuple[Predictor, F8]:
    """Return the predictor and the confusions [worker, true, observed] of a smoothed Dawid-Skene."""
    state = DawidSkene(smoothing=0.5 / units.n_classes, max_iter=50, tol=1e-6).learn(units, SolveOptions())
    assert state.confusion is not None
    return state.predictor, state.confusion


def worker_confusions(data: PartitionedVotes, predictor: Predictor) -> F8:
    """Return confusions of single workers under a posterior that was not fitted to single workers."""
    k = data.n_classes
    counts = data.sum(partial(_worker_counts, predictor), plus)
    # Half a label per row: half a label per cell would turn good workers into guessers where there are many classes.
    table = counts.reshape(data.n_workers, k, k).transpose(0, 2, 1) + 0.5 / k
    return np.asarray(table / table.sum(axis=2, keepdims=True))


def _worker_counts(predictor: Predictor, space: Workspace) -> F8:
    votes, posterior = cast(Annotations, space.shard), apply_predictor(predictor, space, keep=True).posterior
    w = row_weights(votes)
    rows = posterior[votes.task] * w[:, None]
    cells = votes.n_workers * votes.n_classes
    return np.stack([np.bincount(votes.cell, weights=column, minlength=cells) for column in rows.T], axis=1)


def overlapping(data: PartitionedVotes, workers: I8, predictor: Predictor | None) -> Overlap:
    """Return `overlap` over all parts, added up in order: only two of these tables are in memory at a time."""
    overlaps = data.map(partial(_overlap, workers, predictor))
    total = next(overlaps)
    for part in overlaps:
        total.add(part)
    return total


def _overlap(workers: I8, predictor: Predictor | None, space: Workspace) -> Overlap:
    posterior = None if predictor is None else apply_predictor(predictor, space).posterior
    return overlap(cast(Annotations, space.shard), workers, posterior)


def overlap(votes: Annotations, workers: I8, posterior: F8 | None) -> Overlap:
    """Return common tasks, agreements and, given a posterior, class mixtures of all pairs of these workers."""
    from scipy.sparse import csr_array

    shape = (votes.n_workers, votes.n_tasks)
    _, pair, n_answers = np.unique(
        votes.task.astype(np.int64) * votes.n_workers + votes.worker, return_inverse=True, return_counts=True
    )
    share = 1 / n_answers[pair]  # several answers of one worker to one task share one vote
    once = csr_array((share, (votes.worker, votes.task)), shape=shape)[workers]
    agreed = np.zeros((len(workers), len(workers)))
    for label in range(votes.n_classes):
        rows = votes.label == label
        has_label = csr_array((share[rows], (votes.worker[rows], votes.task[rows])), shape=shape)[workers]
        agreed += (has_label @ has_label.T).toarray()
    mix = [] if posterior is None else [((once * column[None, :]) @ once.T).toarray() for column in posterior.T]
    return Overlap((once @ once.T).toarray(), agreed, mix)


def flagged(overlap: Overlap, theta: F8, level: float, excess: float) -> Mask:
    """Return the pairs that agree beyond the fit: significant after Benjamini-Hochberg, and by more than `excess`."""
    from scipy.special import betainc

    m = len(theta)
    expected = np.zeros((m, m))
    for k, mix in enumerate(overlap.mix):
        expected += mix * (theta[:, k] @ theta[:, k].T)
    test = np.triu(overlap.common >= MIN_COMMON, 1)
    n, agreed = overlap.common[test], overlap.agreed[test]
    share = np.clip(expected[test] / n, 1e-6, 1 - 1e-6)
    # Exact tails: common tasks are few.
    tail = np.where(agreed > 0, betainc(np.maximum(agreed, 1e-9), n - agreed + 1, share), 1.0)
    out = np.zeros((m, m), dtype=bool)
    out[test] = (adjusted(tail) <= level) & (agreed / n - share > excess)
    return out | out.T


@dataclass(frozen=True, kw_only=True)
class GroupAware(PartitionedAggregator):
    """Group-aware Dawid-Skene: workers who copy each other count as one, however many they are.

        z_i ~ Cat(class_prior), g_ij | z_i = k ~ Cat(between[j, k]), y_iw | g_ij = c ~ Cat(within[w, c]), w in group j

    Each group has one hidden answer g per task, which may be wrong, and its members report it with noise; groups of
    one have g = z, so without groups this is `dawid_skene`. Exact EM on the tree. After Jaffe, Fetaya, Nadler, Jiang
    & Kluger (2016), Unsupervised ensemble learning with dependent classifiers, AISTATS, pmlr v51/jaffe16. Fails
    where groups cannot be detected: copies noisier than the honest workers, or a crowd that is wrong as a whole.

    `groups` lists the workers of each group, (("ann", "bob"), ("eve", "dan")) or "ann,bob;eve,dan"; all other workers
    are independent. None searches for groups at the false-discovery `level` (0..1) among pairs whose agreement
    exceeds the fit by `excess` (0..1).

    Args:
        groups: Workers of each group, as tuples or as text "ann,bob;eve,dan"; None searches for groups.
        level: False-discovery level of the search; smaller values join fewer workers. Unused with given `groups`.
        excess: Agreement beyond the fit that the search requires; larger values join fewer workers. Unused with given
            `groups`.
        smoothing: Pseudo-count of every cell of the matrices of workers and of groups.
        prior_class: Pseudo-count of each class; larger values make the class prior more uniform.
        max_iter: Maximum number of EM iterations.
        tol: Relative change of the objective at which EM stops.

    >>> votes = Annotations.from_arrays([1, 1, 1, 2, 2, 2], [*"abcabc"], [*"xyyxyy"])
    >>> GroupAware(groups=(("b", "c"),)).fit(votes).extra["group"]
    array([0, 1, 1])
    """

    name: ClassVar[str] = "group_aware"
    worker_extra: ClassVar[tuple[str, ...] | None] = None
    groups: Annotated[tuple[tuple[Any, ...], ...] | str, Note("the workers of each group")] | None = None
    level: PositiveShare = 0.001
    excess: Share = 0.1
    smoothing: Positive = 0.1
    prior_class: NonNegative = 0.0
    max_iter: Count = 500
    tol: NonNegative = 1e-8

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.groups is not None:
            # The command line passes "ann,bob;eve,dan"; a frozen value holds tuples.
            groups = (
                [part.split(",") for part in self.groups.split(";")] if isinstance(self.groups, str) else self.groups
            )
            if any(isinstance(members, str) or not isinstance(members, Iterable) for members in groups):
                raise ParameterError(f"groups must list the workers of each group, got {self.groups!r}")
            object.__setattr__(self, "groups", tuple(tuple(members) for members in groups))

    def learn(self, votes: PartitionedVotes, options: SolveOptions) -> FitState:
        """Find the groups, unless they are given; then run EM from a vote in which each group has one vote."""
        k = votes.n_classes
        if self.groups is None:
            group = find_groups(votes, self.level, self.excess)
        else:
            assert not isinstance(self.groups, str)  # __post_init__ has parsed it
            group = given_groups(self.groups, votes.workers)
        model = GroupModel(group, k, self.smoothing, self.prior_class)
        data: Passes[Workspace, GroupParams, GroupStats] = Passes(model, votes)
        fit = run(data, data.start(), max_iter=self.max_iter, tol=self.tol, callback=options.callback)
        params, predictor = fit.params, ModelPredictor(model, fit.params)
        counts = counted(votes, predictor)
        tied = np.where(model.many[:, None, None], params.between, np.eye(k))
        return FitState(
            predictor=predictor,
            class_prior=params.class_prior,
            confusion=np.einsum("wkc,wlc->wkl", tied[group], params.within),
            counts=transposed(counts),
            trace=fit.trace,
            n_iter=fit.n_iter,
            converged=fit.converged,
            extra={"group": group, "between": tied, "within": transposed(params.within)},
        )

    @staticmethod
    def fitted(result: Result) -> GroupTree | None:
        """Return the tree of groups and their members."""
        extra = result.extra
        if "group" not in extra or result.confusion is None:
            return None
        return GroupTree(result, extra["group"], extra["between"], extra["within"])


def given_groups(groups: Iterable[Iterable[Any]], workers: pl.Series) -> I8:
    """Return the group number of each worker; workers that are not listed are a group of their own."""
    group = np.arange(len(workers))
    is_grouped = np.zeros(len(workers), dtype=bool)
    for members in groups:
        names = as_series(list(members), "worker").cast(workers.dtype, strict=False)
        codes, has_votes = lookup(workers, names)
        if not has_votes.all():
            missing = names.filter(pl.Series(~has_votes))
            raise ParameterError(f"groups name workers without annotations: {quote(missing)}")
        if is_grouped[codes].any() or len(np.unique(codes)) < len(codes):
            raise ParameterError(f"a worker can be in one group only; {quote(names)} name one twice")
        is_grouped[codes] = True
        if len(codes):
            group[codes] = codes.min()
    return np.unique(group, return_inverse=True)[1]


@dataclass(frozen=True, eq=False)
class GroupTree(ClassModel):
    """The fitted tree: group[worker], between[group, true, g] and within[worker, g, observed]."""

    group: I8
    between: F8
    within: F8

    def posterior(self, votes: Annotations) -> F8:
        """Posterior under the fitted tree; an unknown worker is independent and average."""
        result, k = self.result, votes.n_classes
        assert result.confusion is not None
        codes, is_known = lookup(result.workers, votes.workers)
        average = worker_average(result.confusion, result)
        within = np.where(is_known[:, None, None], self.within[codes], average).transpose(0, 2, 1)
        model = GroupModel(np.where(is_known, self.group[codes], len(self.between)), k, 1.0, 0.0)
        # Members of a group of several still are, even if no other member labelled these tasks.
        model.many = np.append(np.bincount(self.group, minlength=len(self.between)) > 1, False)
        table = np.maximum(np.append(self.between, np.eye(k)[None], axis=0), 1e-18)
        params = GroupParams(np.ascontiguousarray(within), table, result.class_prior)
        return model.posterior(params, Workspace.of(votes))
