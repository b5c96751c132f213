"""Moment methods: confusion matrices from how pairs or triples of workers label the same tasks.

They need no start and have no local optima, but require much overlap. Workers that the moments do not reach are
estimated from the labels of the others. The posterior is one E-step under the estimates, then `em_steps` steps of
Dawid-Skene's EM.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from typing import Annotated, Any, ClassVar

import numpy as np

from ....core.arrays import F8, I4, I8, Mask
from ....core.errors import DataError, IdentifiabilityWarning
from ....core.params import AtLeast, Count, NonNegative, Positive, Whole
from ....em.kernels import Workspace, accumulate, transposed
from ....em.passes import Passes, run
from ....em.rows import row_weights
from ..annotations import Annotations
from ..maths.factors import align, best_order, common_order, impute_blocks, orthogonal_components
from ..maths.messages import VoteEdges
from ..maths.moments import PairTables, complete_rank_one, pairs
from .base import Aggregator, SolveOptions
from .confusion.base import ConfusionModel, Matrices, Params
from .gold import ClassOrder, GoldLabels
from .partitioned import Solution


@dataclass(frozen=True)
class MomentEstimate:
    """confusion[worker, true, observed], class_prior, and the mask of the workers with an estimate."""

    confusion: F8
    class_prior: F8
    good: Mask
    trace: F8 = field(default_factory=lambda: np.empty(0))
    n_iter: int = 1
    converged: bool = True


@dataclass(frozen=True, kw_only=True)
class MomentAggregator(Aggregator):
    """Base class of the moment methods.

    `em_steps` (≥ 0) EM steps follow the estimate; pairs with `min_overlap` common tasks are used (default 5 · classes);
    `smoothing` (> 0) pseudo-counts keep estimated zeros from excluding classes.

    Args:
        em_steps: Maximum number of steps of Dawid-Skene's EM after the estimate; 0 keeps the estimate.
        min_overlap: Number of common tasks from which a pair of workers is used; None is 5 times the number of classes.
            Larger values leave out noisy pairs, but more workers are then estimated from the labels of the others.
        smoothing: Pseudo-count of every cell of a matrix and of every class; larger values make both more uniform.
    """

    max_workers: ClassVar[int] = 1_000
    em_steps: Whole = 0
    min_overlap: Count | None = None
    smoothing: Positive = 0.1

    @abstractmethod
    def estimate(self, annotations: Annotations, pair_tables: PairTables) -> MomentEstimate:
        """Estimate the workers that the moments reach."""

    def solve(self, annotations: Annotations, gold: GoldLabels | None, options: SolveOptions) -> Solution:  # noqa: ARG002
        """Compute moments and estimates, then run the E-step and EM steps, with classes in order of appearance."""
        if annotations.n_workers > self.max_workers:
            raise DataError(
                f"{self.name} compares all pairs of workers and takes at most {self.max_workers:,}, these data have "
                f"{annotations.n_workers:,}; dawid_skene and hierarchical take any number"
            )
        if annotations.n_classes == 1:
            return _certain(annotations)
        order = ClassOrder.of(annotations, gold)
        votes, ranked_gold = order.apply(annotations, gold)
        estimate = self.estimate(votes, self.overlap(votes))
        self._warn(estimate)
        return _reordered(self._finish(votes, ranked_gold, estimate), order.rank)

    def overlap(self, annotations: Annotations) -> PairTables:
        """Return the label tables of the pairs that share enough tasks."""
        least = 5 * annotations.n_classes if self.min_overlap is None else self.min_overlap
        pair_tables = pairs(annotations, least)
        if len(pair_tables.first) == 0:
            raise DataError(
                f"{self.name} needs workers who label the same tasks, and no two of them share {least} or more; lower "
                "min_overlap or take hierarchical"
            )
        return pair_tables

    def _warn(self, estimate: MomentEstimate) -> None:
        if not estimate.good.all():
            warnings.warn(
                f"{int((~estimate.good).sum())} of {len(estimate.good)} workers share too few tasks with others for "
                f"{self.name}; they are estimated from the labels of the others",
                IdentifiabilityWarning,
                stacklevel=4,
            )

    def _finish(self, votes: Annotations, gold: GoldLabels | None, estimate: MomentEstimate) -> Solution:
        k = votes.n_classes
        model = ConfusionModel(np.full((k, k), self.smoothing), self.smoothing)
        data: Matrices = Passes(model, SolveOptions().partition(votes, gold))
        params = self._params(votes, estimate, gold)
        stats, _ = data.accumulate(params)
        if not estimate.good.all():
            theta = np.where(estimate.good[:, None, None], params.theta, model.maximise(stats).theta)
            params = Params(theta, params.class_prior)
            stats, _ = data.accumulate(params)
        stage, trace = np.zeros(len(estimate.trace), dtype=np.int64), estimate.trace
        if self.em_steps:
            fit = run(data, stats, max_iter=self.em_steps, tol=1e-8)
            params, stats = fit.params, fit.stats
            trace = np.concatenate([trace, fit.trace])
            stage = np.append(stage, np.ones(len(fit.trace), dtype=np.int64))
        confusion, counts = (transposed(a) for a in (params.theta, stats.counts))
        posterior = data.posterior(params)
        n_iter, converged = estimate.n_iter, estimate.converged
        return Solution(
            posterior,
            params.class_prior,
            confusion,
            counts,
            trace=trace,
            stage=stage,
            n_iter=n_iter,
            converged=converged,
        )

    def _params(self, votes: Annotations, estimate: MomentEstimate, gold: GoldLabels | None = None) -> Params:
        """Return the estimates with pseudo-counts, as if each worker's tasks had the class frequencies.

        Labels of gold tasks are counted directly, the estimate covers the other labels.
        """
        k = votes.n_classes
        n = np.bincount(votes.worker, weights=votes.weight, minlength=votes.n_workers).astype(np.float64)
        gold_counts = np.zeros((votes.n_workers, k, k)) if gold is None else gold.counts(votes)
        n -= gold_counts.sum(axis=(1, 2))
        prior = (estimate.class_prior * votes.n_tasks + self.smoothing) / (votes.n_tasks + k * self.smoothing)
        expected = n[:, None, None] * prior[None, :, None]
        expected = np.where(estimate.good[:, None, None], expected, 0.0)
        confusion = estimate.confusion * expected + gold_counts + self.smoothing
        confusion /= expected + gold_counts.sum(axis=2, keepdims=True) + k * self.smoothing
        return Params(transposed(confusion), prior)


def _reordered(solution: Solution, rank: I4) -> Solution:
    tables: dict[str, Any] = {
        name: None if (table := getattr(solution, name)) is None else table[:, rank][:, :, rank]
        for name in ("confusion", "counts")
    }
    return replace(solution, posterior=solution.posterior[:, rank], class_prior=solution.class_prior[rank], **tables)


def _certain(annotations: Annotations) -> Solution:
    sure = np.ones((annotations.n_workers, 1, 1))
    return Solution(
        np.ones((annotations.n_tasks, 1)), np.ones(1), sure, sure * annotations.labels_per_worker[:, None, None]
    )


# Cells of pair tables that are worked on at a time.
CHUNK = 2_000_000


@dataclass(frozen=True, kw_only=True)
class CNMF(MomentAggregator):
    """CNMF: confusion matrices whose products explain the labels of all pairs of workers (coupled non-negative
    factors, KL).

        maximise  sum_pairs sum_{l, l'} count[l, l'] log (A_m^T diag(d) A_m')[l, l']

    The log-likelihood of a latent class model for pairs (a composite likelihood), maximised by its own EM: it never
    falls. Ibrahim, Fu, Kargas & Huang (2019), Crowdsourcing via pairwise co-occurrences, NeurIPS 32,
    arXiv:1909.12325; the authors descend by mirror steps, the maximum is the same. Unlike MultiSPA it needs no pure
    experts and weighs every pair by its labels. Fails where few workers share tasks; converges slowly (the last
    digits take thousands of sweeps).

    Runs at most `max_iter` sweeps, until the objective's relative change falls below `tol`.

    Args:
        max_iter: Maximum number of sweeps over the pairs.
        tol: Relative change of the objective at which the sweeps end.

    >>> votes = Annotations.from_arrays([1, 1, 1, 2, 2, 2], list("abcabc"), list("xxyyyy"))
    >>> CNMF(min_overlap=1).fit(votes).to_table()["label"].to_list()
    ['x', 'y']
    """

    name: ClassVar[str] = "cnmf"
    max_iter: Count = 1_000
    tol: NonNegative = 1e-7

    def estimate(self, annotations: Annotations, pair_tables: PairTables) -> MomentEstimate:
        """Run EM on the pair tables from diagonally dominant matrices."""
        k, m = annotations.n_classes, annotations.n_workers
        return composite_em(partial(pair_sweep, pair_tables), pair_tables, k, m, self.max_iter, self.tol)


def composite_em(
    sweep: Callable[[F8, F8], tuple[F8, float]], pair_tables: PairTables, k: int, m: int, max_iter: int, tol: float
) -> MomentEstimate:
    """Maximise a composite likelihood of m workers and k classes by EM from diagonally dominant matrices.

    sweep(a, d) returns the expected counts [worker, true, observed] under the matrices a and the class prior d, and the
    objective there.
    """
    a, d = np.tile(0.6 * np.eye(k) + 0.4 / k, (m, 1, 1)), np.full(k, 1 / k)
    trace: list[float] = []
    converged = False
    for _ in range(max_iter):
        mass, objective = sweep(a, d)
        trace.append(objective)
        converged = len(trace) > 1 and abs(trace[-1] - trace[-2]) <= tol * max(1.0, abs(trace[-1]))
        if converged:
            break
        a, d = factors(mass, a)
    order = common_order(a, pair_tables.overlap())
    return MomentEstimate(a[:, order], d[order], pair_tables.has_pairs(), np.array(trace), len(trace), converged)


def pair_sweep(pair_tables: PairTables, a: F8, d: F8) -> tuple[F8, float]:
    """Return the expected counts [worker, true, observed] of all pairs under (a, d), and the objective there."""
    k = len(d)
    mass, objective = np.zeros_like(a), 0.0
    step = max(1, CHUNK // k**2)
    for lo in range(0, len(pair_tables.first), step):
        i, j = pair_tables.first[lo : lo + step], pair_tables.second[lo : lo + step]
        count = pair_tables.count[lo : lo + step]
        ai, aj = d[:, None] * a[i], a[j]  # pair, true, observed
        model = np.maximum(ai.transpose(0, 2, 1) @ aj, 1e-300)
        objective += float((count * np.log(model)).sum())
        ratio = count / model
        np.add.at(mass, i, ai * (aj @ ratio.transpose(0, 2, 1)))
        np.add.at(mass, j, aj * (ai @ ratio))
    return mass, objective


def factors(mass: F8, a: F8) -> tuple[F8, F8]:
    """Run the M-step: rows in proportion to their expected counts; a row without any is kept."""
    row = mass.sum(axis=2, keepdims=True)
    new = np.where(row > 0, mass / np.where(row > 0, row, 1.0), a)
    d = row.sum(axis=(0, 2))
    return new, np.asarray(d / d.sum())


@dataclass(frozen=True, kw_only=True)
class MultiSPA(MomentAggregator):
    """MultiSPA: the rows of a worker's confusion matrix are the corners of their labels given the others' labels.

        P(label_m = · | label_m' = l) = sum_k P(y = k | label_m' = l) confusion[m, k]

    Each column of pairwise frequencies is a mixture of these rows; if for every class some partner almost surely
    gives it only when it is true, the rows are among the columns, and successive projection (SPA) finds them.
    Ibrahim, Fu, Kargas & Huang (2019), Crowdsourcing via pairwise co-occurrences, NeurIPS 32, arXiv:1909.12325.
    Algebra only: no start, no iterations. Fails without such experts and where pairs share few tasks (noisy columns
    are extreme columns). A good start for EM: `DawidSkene(init="multi_spa")`, or `em_steps`.

    A column is used when it is based on `min_overlap` / classes labels (see MomentAggregator for the parameters).

    >>> votes = Annotations.from_arrays([1, 1, 1, 2, 2, 2], list("abcabc"), list("xxxyyy"))
    >>> MultiSPA(min_overlap=1).fit(votes).to_table()["label"].to_list()
    ['x', 'y']
    """

    name: ClassVar[str] = "multi_spa"
    em_steps: Whole = 10

    def estimate(self, annotations: Annotations, pair_tables: PairTables) -> MomentEstimate:
        """Run SPA for each worker, find a common order of the classes, then the class prior by least squares."""
        k = annotations.n_classes
        least = 5.0 if self.min_overlap is None else self.min_overlap / k
        confusion, good = corners(pair_tables, k, least)
        confusion = align(confusion, pair_tables, good) if good.any() else confusion
        return MomentEstimate(confusion, class_frequencies(confusion, pair_tables, good), good)


def corners(pair_tables: PairTables, k: int, least: float) -> tuple[F8, Mask]:
    """Return K columns per worker by successive projection (matrix rows in any order), and whether they exist."""
    worker, _, count = pair_tables.symmetric()
    confusion = np.full((pair_tables.n_workers, k, k), 1 / k)
    good = np.zeros(pair_tables.n_workers, dtype=bool)
    order = np.argsort(worker, kind="stable")
    start = np.searchsorted(worker[order], np.arange(pair_tables.n_workers + 1))
    for m in range(pair_tables.n_workers):
        columns = count[order[start[m] : start[m + 1]]].transpose(0, 2, 1).reshape(-1, k)  # (partner, label), own label
        total = columns.sum(axis=1)
        # Columns based on few labels are noisy, and SPA selects extremes.
        usable = total >= max(least, 1e-12)
        columns = columns[usable] / total[usable, None]
        chosen = successive_projection(columns, k)
        if chosen is not None:
            confusion[m], good[m] = columns[chosen], True
    return confusion, good


def successive_projection(points: F8, k: int) -> I8 | None:
    """Return the k most extreme rows of `points`, each after projecting out the earlier ones; None if rank < k."""
    if len(points) < k:
        return None
    residual, chosen = points.copy(), np.empty(k, dtype=np.int64)
    size = (points**2).sum(axis=1)
    for i in range(k):
        norm = (residual**2).sum(axis=1)
        top = norm.max()
        if top < 1e-9:
            return None
        # Among nearly equal ones, take the one that was longest initially.
        chosen[i] = np.where(norm >= top * (1 - 1e-6), size, -1.0).argmax()
        axis = residual[chosen[i]] / np.sqrt(norm[chosen[i]])
        residual = residual - np.outer(residual @ axis, axis)
    return chosen


def class_frequencies(confusion: F8, pair_tables: PairTables, good: Mask) -> F8:
    """Return the d that minimises sum n ||R - A_m^T diag(d) A_m'||² over pairs of estimated workers."""
    from scipy.optimize import nnls

    k = confusion.shape[1]
    usable = good[pair_tables.first] & good[pair_tables.second]
    a, b = confusion[pair_tables.first[usable]], confusion[pair_tables.second[usable]]
    count, n = pair_tables.count[usable], pair_tables.n[usable]
    gram = np.einsum("p,pkl,pjl,pkm,pjm->kj", n, a, a, b, b, optimize=True)
    rhs = np.einsum("pkl,plm,pkm->k", a, count, b, optimize=True)
    ridge = 1e-9 * max(float(np.trace(gram)), 1e-12)
    d = nnls(gram + ridge * np.eye(k), rhs + ridge / k)[0]
    return np.asarray(d / d.sum()) if d.sum() > 0 else np.full(k, 1 / k)


@dataclass(frozen=True, kw_only=True)
class SML(MomentAggregator):
    """SML: two classes; the workers' covariance is of rank one off its diagonal and gives their accuracies.

        Q[i, j] = (1 - b²) (ψ_i + η_i - 1) (ψ_j + η_j - 1),   i ≠ j

    b = E[truth in ±1], ψ and η are the accuracies on the two classes. The rank-one fit gives v = √(1 - b²) (ψ + η -
    1), the workers' means the difference ψ - η, and b is the imbalance under which the labels are likeliest. Parisi,
    Strino, Nadler & Kluger (2014), Ranking and combining multiple predictors without labeled data, PNAS 111(4),
    doi:10.1073/pnas.1219097111; Jaffe, Nadler & Kluger (2015), AISTATS. Fails with dependent workers and little
    overlap.

    For two classes only. `n_grid` values of the imbalance b between -0.95 and 0.95 are tried; the rank-one fit takes
    at most `max_iter` gradient steps, until no coordinate moves by more than `tol`.

    Args:
        n_grid: Number of values of the imbalance b that are tried, equally spaced from -0.95 to 0.95; more are finer.
        max_iter: Maximum number of gradient steps of the rank-one fit.
        tol: Largest change of any coordinate at which the rank-one fit ends.

    >>> votes = Annotations.from_arrays([1, 1, 1, 2, 2, 2] , list("abcabc"), list("xxyyyy"))
    >>> SML(min_overlap=1).fit(votes).to_table()["label"].to_list()
    ['x', 'y']
    """

    name: ClassVar[str] = "sml"
    n_grid: Count = 39
    max_iter: Count = 10_000
    tol: NonNegative = 1e-7

    def estimate(self, annotations: Annotations, pair_tables: PairTables) -> MomentEstimate:
        """Fit the rank-one covariance, then choose the imbalance of highest likelihood."""
        sign = np.array([-1.0, 1.0])
        n, share = pair_tables.n, pair_tables.share
        mean_i, mean_j = share.sum(axis=2) @ sign, share.sum(axis=1) @ sign
        # The means are over the same tasks, which requires the factor n / (n - 1).
        q = (np.einsum("plm,l,m->p", share, sign, sign) - mean_i * mean_j) * n / np.maximum(n - 1, 1)
        start = np.full(pair_tables.n_workers, 0.5)
        v, n_iter, converged = complete_rank_one(
            pair_tables.first, pair_tables.second, n, q, start, -1, 1, self.max_iter, self.tol
        )
        v = -v if float(pair_tables.overlap() @ v) < 0 else v
        w = row_weights(annotations)
        total = np.bincount(annotations.worker, weights=w, minlength=annotations.n_workers).astype(np.float64)
        signed = np.bincount(annotations.worker, weights=w * sign[annotations.label], minlength=annotations.n_workers)
        mean = signed / np.maximum(total, 1e-12)
        edge = 1 / (total + 2)
        grid = [_accuracies(v, mean, b, edge) for b in np.linspace(-0.95, 0.95, self.n_grid)]
        space = Workspace.of(annotations)
        good = pair_tables.has_pairs()
        fits = []
        for confusion, prior in grid:
            confusion[~good] = 0.5
            theta = transposed(confusion)
            fits.append(accumulate(space, theta, prior)[1])
        confusion, prior = grid[int(np.argmax(fits))]
        return MomentEstimate(confusion, prior, good, n_iter=n_iter, converged=converged)


def _accuracies(v: F8, mean: F8, b: float, edge: F8) -> tuple[F8, F8]:
    """Return confusion[worker, true, observed] and class prior at imbalance b: E[s | y] = (ψ - η) + y (ψ + η - 1)."""
    delta = v / np.sqrt(1 - b * b)
    psi = np.clip((1 + delta + mean - b * delta) / 2, edge, 1 - edge)
    eta = np.clip((1 + delta - mean + b * delta) / 2, edge, 1 - edge)
    confusion = np.stack([np.stack([eta, 1 - eta], axis=1), np.stack([1 - psi, psi], axis=1)], axis=1)
    return confusion, np.array([(1 - b) / 2, (1 + b) / 2])


RIDGE = 1e-6


@dataclass(frozen=True, kw_only=True)
class SpectralDS(MomentAggregator):
    """Spectral Dawid-Skene: confusion matrices from third moments of three groups of workers, then EM.

        M2 = sum_k w_k μ_k μ_k^T,   M3 = sum_k w_k μ_k ⊗ μ_k ⊗ μ_k

    Workers are split into three groups; the mean answers of two groups are mapped into the space of the third, where
    their second and third moments are symmetric. Whitening by M2 makes M3 orthogonal, and the tensor power method
    finds μ_k, the third group's mean answers for class k; single workers follow by regression on the other groups.
    Zhang, Chen, Zhou & Jordan (2016), Spectral methods meet EM, JMLR 17(102), arXiv:1406.3824 (Opt-D&S). Fails with
    few labels per task (a task counts only where all groups have labels) and where two classes look alike.

    `n_splits` random splits into three groups are tried and the most likely estimate is kept; `em_steps` (10) as in
    the paper's experiments.

    Args:
        n_splits: Number of random splits into three groups, of which the most likely estimate is used; more take
            longer.

    >>> votes = Annotations.from_arrays([1, 1, 1, 2, 2, 2], list("abcabc"), list("xxyyyy"))
    >>> SpectralDS(min_overlap=1).fit(votes).to_table()["label"].to_list()
    ['x', 'y']
    """

    name: ClassVar[str] = "spectral_ds"
    em_steps: Whole = 10
    n_splits: Count = 5

    def estimate(self, annotations: Annotations, pair_tables: PairTables) -> MomentEstimate:
        """Return the most likely estimate of several random splits."""
        rng = np.random.default_rng(self.seed)
        space, good = Workspace.of(annotations), pair_tables.has_pairs()
        best, best_estimate = -np.inf, None
        for _ in range(self.n_splits):
            group = rng.permutation(annotations.n_workers) % 3
            estimate = MomentEstimate(*_split(annotations, group, rng), good)
            params = self._params(annotations, estimate)
            _, fit = accumulate(space, params.theta, params.class_prior)
            if fit > best:
                best, best_estimate = fit, estimate
        assert best_estimate is not None
        return best_estimate


def _split(annotations: Annotations, group: I8, rng: np.random.Generator) -> tuple[F8, F8]:
    """Return confusion[worker, true, observed] and class prior from one split into three groups."""
    answers = _answers(annotations, group)  # group, task, class
    n, k = annotations.n_tasks, annotations.n_classes
    cross = np.einsum("gna,hnb->ghab", answers, answers, optimize=True) / n
    means, weights = np.empty((3, k, k)), np.empty((3, k))
    for c in range(3):
        a, b = (c + 1) % 3, (c + 2) % 3
        to_a = answers[a] @ (cross[c, b] @ _inverse(cross[a, b])).T
        to_b = answers[b] @ (cross[c, a] @ _inverse(cross[b, a])).T
        m2 = to_a.T @ to_b / n
        m3 = np.einsum("na,nb,nc->abc", to_a, to_b, answers[c], optimize=True) / n
        means[c], weights[c] = _components((m2 + m2.T) / 2, m3, rng)
    prior = np.maximum(weights.mean(axis=0), 1e-6)
    prior /= prior.sum()
    return _individuals(annotations, group, answers, means, prior), prior


def _answers(annotations: Annotations, group: I8) -> F8:
    """Return x[group, task, class]: the mean of the one-hot labels of the group's workers on the task, or 0."""
    n, k = annotations.n_tasks, annotations.n_classes
    flat = (group[annotations.worker] * n + annotations.task) * k + annotations.label
    total = np.bincount(flat, weights=annotations.weight, minlength=3 * n * k).astype(np.float64).reshape(3, n, k)
    size = total.sum(axis=2, keepdims=True)
    return np.asarray(total / np.where(size > 0, size, 1.0))


def _components(m2: F8, m3: F8, rng: np.random.Generator) -> tuple[F8, F8]:
    """Return columns μ[observed, class] and class weights; each component is assigned to its most frequent class."""
    value, vector = np.linalg.eigh(m2)
    value = np.maximum(value, RIDGE * max(float(value.max()), RIDGE))
    white = vector / np.sqrt(value)  # W^T M2 W = I
    size, direction = orthogonal_components(np.einsum("abc,ai,bj,ck->ijk", m3, white, white, white, optimize=True), rng)
    mean = size * ((vector * np.sqrt(value)) @ direction)
    order = best_order(mean)
    return mean[:, order], (1 / np.maximum(size, 1e-3) ** 2)[order]


def _individuals(annotations: Annotations, group: I8, answers: F8, means: F8, prior: F8) -> F8:
    """Return A_w^T = E[x_w x_g^T] (diag(prior) μ_g^T)^-1, averaged over the two groups g other than the worker's."""
    m, k = annotations.n_workers, annotations.n_classes
    weight = row_weights(annotations)
    out = np.zeros((m, k, k))
    for g in range(3):
        inverse = _inverse(prior[:, None] * means[g].T)  # observed by g, true
        joint = np.zeros((m * k, k))
        np.add.at(joint, annotations.cell, weight[:, None] * answers[g][annotations.task])
        confusion = (joint.reshape(m, k, k) @ inverse).transpose(0, 2, 1)  # worker, true, observed
        confusion = np.maximum(confusion, 1e-6)
        out += np.where((group != g)[:, None, None], confusion / confusion.sum(axis=2, keepdims=True), 0.0)
    return np.asarray(out / out.sum(axis=2, keepdims=True))


def _inverse(matrix: F8) -> F8:
    return np.asarray(np.linalg.pinv(matrix + RIDGE * np.eye(len(matrix)), rcond=1e-3), dtype=np.float64)


@dataclass(frozen=True, kw_only=True)
class SymNMF(MomentAggregator):
    """SymNMF: all pairs of workers in one symmetric matrix, with gaps imputed, split into non-negative factors.

        R = H diag(d) H^T,   H = [A_1^T; ...; A_M^T],   R[i, j] = R[i, a] R[b, a]^+ R[b, j]

    Blocks of pairs that share too few tasks, and those of a worker with themselves, are imputed through pairs of
    anchors (a, b); the leading eigenvectors U of R are then rotated until U Q is non-negative. Ibrahim & Fu (2021),
    Crowdsourcing via annotator co-occurrence imputation and provable symmetric nonnegative matrix factorization,
    ICML (pmlr v139). Works without experts when there are many workers. Fails where most blocks are missing; and a
    perfect fit does not prove that the matrices are the true ones.

    Runs at most `max_iter` rotations of U, until they gain less than `tol` of its size; takes at most 200 workers.

    Args:
        max_iter: Maximum number of rotations of U.
        tol: Gain of a rotation, relative to the squared size of U, at which the rotations end.

    >>> votes = Annotations.from_arrays([1, 1, 1, 2, 2, 2], list("abcabc"), list("xxyyyy"))
    >>> SymNMF(min_overlap=1).fit(votes).to_table()["label"].to_list()
    ['x', 'y']
    """

    name: ClassVar[str] = "sym_nmf"
    em_steps: Whole = 10
    max_workers: ClassVar[int] = 200
    max_iter: Count = 500
    tol: NonNegative = 1e-8

    def estimate(self, annotations: Annotations, pair_tables: PairTables) -> MomentEstimate:
        """Impute the gaps, take the root, rotate it, and extract the matrices."""
        k, good = annotations.n_classes, pair_tables.has_pairs()
        m = int(good.sum())
        blocks = impute_blocks(pair_tables, good)  # worker, worker, label, label
        value, vector = np.linalg.eigh(blocks.transpose(0, 2, 1, 3).reshape(m * k, m * k))
        root = vector[:, -k:] * np.sqrt(np.maximum(value[-k:], 0.0))
        factor, n_iter, converged = self._rotate(root, k)
        h = factor.reshape(m, k, k).transpose(0, 2, 1)  # worker, true, observed: A[k, l] sqrt(d_k)
        size = h.sum(axis=2)
        confusion = np.full((len(good), k, k), 1 / k)
        confusion[good] = h / size[:, :, None]
        prior = size.mean(axis=0) ** 2
        order = common_order(confusion, pair_tables.overlap())
        return MomentEstimate(
            confusion[:, order], (prior / prior.sum())[order], good, n_iter=n_iter, converged=converged
        )

    def _rotate(self, root: F8, k: int) -> tuple[F8, int, bool]:
        """Return H ≥ 0 close to root @ Q, Q orthogonal, by alternating projection (Procrustes) from SPA's corners."""
        q = _first_rotation(root, k)
        size, last, converged = float((root**2).sum()), np.inf, False
        for iteration in range(1, self.max_iter + 1):  # noqa: B007
            rotated = root @ q
            h = np.maximum(rotated, 1e-6)
            residual = float(((h - rotated) ** 2).sum())
            converged = last - residual <= self.tol * size
            if converged:
                break
            last = residual
            left, _, right = np.linalg.svd(root.T @ h)
            q = left @ right
        return h, iteration, converged


def _first_rotation(root: F8, k: int) -> F8:
    """Rotate the corners of the rows of the root onto the axes, as rows of H near an axis are such corners."""
    norm = np.linalg.norm(root, axis=1, keepdims=True)
    rows = root[norm[:, 0] > 0.1 * norm.max()]
    chosen = successive_projection(rows, k)
    if chosen is None:
        return np.eye(k)
    corner = rows[chosen] / np.linalg.norm(rows[chosen], axis=1, keepdims=True)
    left, _, right = np.linalg.svd(corner.T)
    return np.asarray(left @ right)


MAX_CLASSES = 10
LETTERS = "lmo"


@dataclass(frozen=True, kw_only=True)
class Tensor(MomentAggregator):
    """Tensor: confusion matrices that explain pairs and triples of workers (coupled non-negative tensors, KL).

        maximise  sum_triples sum count[l, l', l''] log sum_k d_k A_m[k, l] A_m'[k, l'] A_m''[k, l'']  +  (pairs)

    Triples identify the matrices, up to the order of classes, where pairs alone do not: three workers of full rank
    suffice. Traganitis, Pagès-Zamora & Giannakis (2018), Blind multiclass ensemble classification, IEEE TSP 66(18),
    doi:10.1109/TSP.2018.2860562, minimise squares by AO-ADMM; this is EM on the composite likelihood, which never
    falls. Fails where triples share few tasks: take `cnmf`. Cost: triples × classes⁴ per sweep.

    For each worker the triples with their `n_partners` most frequent partners are used (5 give 10 triples each);
    `max_iter` and `tol` as in `cnmf`. Takes at most 10 classes.

    Args:
        n_partners: Number of most frequent partners per worker whose pairs form triples with the worker; 5 give 10
            triples each. More take longer.
        max_iter: Maximum number of sweeps over the pairs and triples.
        tol: Relative change of the objective at which the sweeps end.

    >>> votes = Annotations.from_arrays([1, 1, 1, 2, 2, 2], list("abcabc"), list("xxyyyy"))
    >>> Tensor(min_overlap=1).fit(votes).to_table()["label"].to_list()
    ['x', 'y']
    """

    name: ClassVar[str] = "tensor"
    n_partners: Annotated[int, AtLeast(2)] = 5
    max_iter: Count = 500
    tol: NonNegative = 1e-7

    def estimate(self, annotations: Annotations, pair_tables: PairTables) -> MomentEstimate:
        """Run EM on the tables of pairs and triples from diagonally dominant matrices."""
        k, m = annotations.n_classes, annotations.n_workers
        if k > MAX_CLASSES:
            raise DataError(f"tensor takes at most {MAX_CLASSES} classes, these data have {k}; take cnmf")
        triple_workers, count = triples(annotations, pair_tables, self.n_partners)

        def sweep(a: F8, d: F8) -> tuple[F8, float]:
            mass, objective = pair_sweep(pair_tables, a, d)
            triple_mass, triple_objective = triple_sweep(triple_workers, count, a, d)
            return mass + triple_mass, objective + triple_objective

        return composite_em(sweep, pair_tables, k, m, self.max_iter, self.tol)


def triples(annotations: Annotations, pair_tables: PairTables, n_partners: int) -> tuple[I8, F8]:
    """Return workers[t, 3] and count[t, l, l', l''] of each worker's triples with the most frequent partners."""
    edges, k = VoteEdges.of(annotations), annotations.n_classes
    worker, other, count = pair_tables.symmetric()
    order = np.lexsort((other, -count.sum(axis=(1, 2)), worker))
    start = np.searchsorted(worker[order], np.arange(pair_tables.n_workers + 1))
    candidates = {
        tuple(sorted((w, *pair)))
        for w in range(pair_tables.n_workers)
        for pair in combinations(other[order[start[w] : start[w + 1]][:n_partners]].tolist(), 2)
    }
    rows = [edges.order[lo:hi] for lo, hi in zip(edges.worker_offsets[:-1], edges.worker_offsets[1:], strict=True)]
    members, tables = [], []
    for triple in sorted(candidates):
        shared = np.intersect1d(np.intersect1d(*(edges.task[rows[w]] for w in triple[:2])), edges.task[rows[triple[2]]])
        if not len(shared):
            continue
        patterns = [edges.pattern[edges.kind[rows[w][np.searchsorted(edges.task[rows[w]], shared)]]] for w in triple]
        members.append(triple)
        tables.append(np.einsum("nl,nm,no->lmo", *patterns, optimize=True))
    triple_workers = np.array(members, dtype=np.int64).reshape(-1, 3)
    return triple_workers, np.array(tables, dtype=np.float64).reshape(-1, k, k, k)


def triple_sweep(triple_workers: I8, count: F8, a: F8, d: F8) -> tuple[F8, float]:
    """Return the expected counts [worker, true, observed] of all triples under (a, d), and their log-likelihood."""
    mass, objective = np.zeros_like(a), 0.0
    step = max(1, CHUNK // len(d) ** 4)
    for lo in range(0, len(triple_workers), step):
        part, table = triple_workers[lo : lo + step], count[lo : lo + step]
        joint = np.einsum("k,tkl,tkm,tko->tklmo", d, *(a[part[:, i]] for i in range(3)), optimize=True)
        model = np.maximum(joint.sum(axis=1), 1e-300)
        objective += float((table * np.log(model)).sum())
        joint *= (table / model)[:, None]
        for i, letter in enumerate(LETTERS):
            np.add.at(mass, part[:, i], np.einsum(f"tklmo->tk{letter}", joint))
    return mass, objective
