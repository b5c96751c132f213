"""Score methods by the likelihood of held-out annotations, which needs no truth."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ....core.arrays import F8, I4, I8
from ....core.errors import CrowdwiseWarning, DataError, ParameterError
from ....em.kernels import Workspace, stats_of
from ....em.rows import row_weights
from ....stats.ties import tie_shares
from ..annotations import Annotations

# ----------------------------------------------------------------
# Shrunk confusions without a table. With thousands of classes confusion[worker, observed, true] has billions of cells,
# nearly all of them the crowd's. Only the rows of labels in use are needed; they are computed on demand, a block at a
# time, from the labels behind them. The numbers are the same.

# Cells of a block of rows: 16 MB.
BLOCK = 1 << 21
# Tables of at most this size are computed as a whole, and so are those with fewer rows than there are labels.
FREE_CELLS = 2_000_000


def is_sparse(votes: Annotations) -> bool:
    """Whether a table of all confusions would be far larger than the data."""
    cells = votes.n_workers * votes.n_classes**2
    return cells > FREE_CELLS and cells > len(votes) * votes.n_classes


class SparseConfusion:
    """Rows of confusion[worker, observed, true]: expected counts, shrunk to the crowd's by `strength` per class."""

    def __init__(self, votes: Annotations, posterior: F8, strength: float) -> None:
        self.votes, self.posterior, self.strength = votes, posterior, strength
        mass = self._sums(votes.worker, votes.n_workers)
        self.worker_total = mass + strength  # worker, true
        self.crowd_total = mass.sum(axis=0) + 2.0

    def blocks(self, worker: npt.NDArray[Any], label: npt.NDArray[Any]) -> Iterator[tuple[I8, F8]]:
        """Yield (rows, confusion[worker[rows], label[rows]]) until all rows are covered, equal labels together."""
        k = self.votes.n_classes
        order = np.lexsort((worker, label))
        step = max(BLOCK // k, 1)
        for lo in range(0, len(order), step):
            rows = order[lo : lo + step]
            yield rows, self._rows(worker[rows].astype(np.int64), label[rows].astype(np.int64))

    def posterior_under(self, prior: F8, gold: I4 | None) -> F8:
        """Return posterior[task, class] of the votes under these confusions."""
        from scipy.sparse import csr_array

        votes, k = self.votes, self.votes.n_classes
        score = np.tile(np.log(prior), (votes.n_tasks, 1))
        for rows, likelihood in self.blocks(votes.worker, votes.label):
            tasks, at = np.unique(votes.task[rows], return_inverse=True)
            weight = row_weights(votes)[rows]
            sum_by_task = csr_array((weight, (at, np.arange(len(rows)))), shape=(len(tasks), len(rows)))
            score[tasks] += sum_by_task @ np.log(likelihood, out=likelihood)
        score -= score.max(axis=1, keepdims=True)
        np.exp(score, out=score)
        score /= score.sum(axis=1, keepdims=True)
        if gold is not None:
            gold_tasks = np.flatnonzero(gold < k)
            score[gold_tasks] = 0.0
            score[gold_tasks, gold[gold_tasks]] = 1.0
        return score

    def _rows(self, worker: I8, label: I8) -> F8:
        k = self.votes.n_classes
        cells, cell_of_row = np.unique(label * self.votes.n_workers + worker, return_inverse=True)
        labels, label_of_row = np.unique(label, return_inverse=True)
        crowd = self._counts(labels, self._by_label)
        crowd += 1.0 / k  # a class without labels is most likely labelled correctly
        crowd[np.arange(len(labels)), labels] += 1.0
        crowd *= self.strength / self.crowd_total
        out = self._counts(cells, self._by_cell)[cell_of_row]
        out += crowd[label_of_row]
        out /= self.worker_total[worker]
        return out

    def _counts(self, requested: I8, index: tuple[I8, Any]) -> F8:
        keys, sums = index
        at = np.searchsorted(keys, requested)
        at[np.append(keys, -1)[at] != requested] = len(keys)  # the last row is empty
        return np.asarray(sums[at] @ self.posterior)

    @cached_property
    def _by_label(self) -> tuple[I8, Any]:
        return self._index(self.votes.label.astype(np.int64))

    @cached_property
    def _by_cell(self) -> tuple[I8, Any]:
        return self._index(self.votes.label.astype(np.int64) * self.votes.n_workers + self.votes.worker)

    def _index(self, key: I8) -> tuple[I8, Any]:
        """Return the keys in use, and a sparse matrix [key, task] of their weights with an empty last row."""
        keys, at = np.unique(key, return_inverse=True)
        return keys, self._matrix(at, len(keys) + 1)

    def _sums(self, group: npt.NDArray[Any], n: int) -> F8:
        return np.asarray(self._matrix(group, n) @ self.posterior)

    def _matrix(self, group: npt.NDArray[Any], n: int) -> Any:
        from scipy.sparse import csr_array

        weight = row_weights(self.votes)
        return csr_array((weight, (group, self.votes.task)), shape=(n, self.votes.n_tasks))


# ----------------------------------------------------------------
# The likelihood of held-out annotations. Annotations are assigned to folds. A method is fitted on all folds but one,
# and every held-out label is predicted from the posterior of its task, given the task's other labels:
#
#     p(label | task, worker) = sum over classes k of posterior[task, k] · confusion[worker, k, label]
#
# The confusions are counted from the method's own posterior over the training labels, in the same way for every method,
# and shrunk to the crowd's, so votes, models and averages are scored on one scale, and only the posterior matters.
# Held-out likelihood does not detect classes that have drifted away from the meaning of the labels, as such a model may
# still predict well; `upheld` does.

# A worker's confusions are shrunk to the crowd's by this many labels per class.
STRENGTH = 10.0
# Folds have their own random stream: a simulated truth is drawn from the seed alone.
STREAM = 0xF01D
# Folds are fitted until they hold out this many annotations: the standard error is small by then.
ENOUGH = 50_000


class Fitted(Protocol):
    """Output of a fit that can be scored, such as a Result."""

    @property
    def posterior(self) -> F8:
        """posterior[task, class]."""


@dataclass(frozen=True)
class HeldOut:
    """Log-likelihoods of held-out annotations.

    Attributes:
        rows: Rows of the held-out annotations.
        task: Task of each of these rows.
        weight: Weight of each of these rows.
        log_likelihood: Log-likelihood of each of these rows, in nats.
    """

    rows: I8
    task: I8
    weight: F8
    log_likelihood: F8

    @property
    def score(self) -> float:
        """Mean log-likelihood of a held-out annotation; higher is better, random guessing has -log K."""
        return float(np.average(self.log_likelihood, weights=self.weight))

    @property
    def standard_error(self) -> float:
        """Standard error of the score; the annotations of one task count as one draw."""
        return _clustered_error(self.log_likelihood, self.task, self.weight)

    def lead(self, other: HeldOut) -> tuple[float, float]:
        """Return the mean and standard error of this score minus another's, over the same annotations."""
        if not np.array_equal(self.rows, other.rows):
            raise ParameterError("the two scores hold out different annotations; use the same folds and seed for both")
        gap = self.log_likelihood - other.log_likelihood
        return float(np.average(gap, weights=self.weight)), _clustered_error(gap, self.task, self.weight)


def held_out(
    fit: Callable[[Annotations], Fitted],
    annotations: Annotations,
    *,
    folds: int = 5,
    seed: int = 0,
    enough: int = ENOUGH,
) -> HeldOut:
    """Score a method by how well it predicts held-out annotations.

    The same `folds`, `seed` and `enough` hold out the same annotations, whatever the method, so that `HeldOut.lead`
    can compare two methods row by row.

    Args:
        fit: A method's `fit`, or a function that closes over gold and prior. It is given the same vocabularies with
            fewer rows.
        annotations: The votes. Only annotations whose task keeps another label are held out.
        folds: Number of folds.
        seed: Seed of the folds.
        enough: Folds are fitted until they hold out this many annotations.

    Raises:
        DataError: No task has labels of two workers.
    """
    parts = []
    for train, test in splits(annotations, folds=folds, seed=seed, enough=enough):
        votes = annotations.take(train)
        with warnings.catch_warnings():  # the fit of all annotations has given these warnings already
            warnings.simplefilter("ignore", CrowdwiseWarning)
            posterior = fit(votes).posterior
        parts.append((test, predict(annotations, test, votes, posterior)))
    if not parts:
        raise DataError("no task has labels of two workers, so there is nothing to predict a held-out label from")
    rows = np.concatenate([test for test, _ in parts])
    order = np.argsort(rows)
    rows = rows[order]
    weight = row_weights(annotations)[rows]
    task = annotations.task[rows].astype(np.int64)
    return HeldOut(rows, task, weight, np.log(np.concatenate([p for _, p in parts]))[order])


def splits(annotations: Annotations, *, folds: int = 5, seed: int = 0, enough: int = ENOUGH) -> list[tuple[I8, I8]]:
    """Return (training rows, held-out rows) of the folds to fit: at least one, together about `enough` held-out rows.

    The workers of a task are assigned to consecutive folds from a random one on, so that a fold takes as few labels as
    possible from any task; a worker's repeats on one task share a fold. Empty where no task has labels of two workers.
    """
    if isinstance(folds, bool) or folds < 2:
        raise ParameterError(f"folds must be a whole number of at least 2, got {folds!r}")
    rows = np.arange(len(annotations)) if annotations.weight is None else np.flatnonzero(annotations.weight > 0)
    task, worker = annotations.task[rows].astype(np.int64), annotations.worker[rows]
    first = np.ones(len(rows), dtype=bool)  # the first row of each (task, worker)
    first[1:] = (np.diff(task) != 0) | (np.diff(worker) != 0)
    voters = np.bincount(task[first], minlength=annotations.n_tasks)
    if not len(rows) or voters.max() < 2:
        return []
    position = np.cumsum(first) - 1 - (np.cumsum(voters) - voters)[task]  # 0, 1, 2... within the task
    begin = np.random.default_rng([seed, STREAM]).integers(folds, size=annotations.n_tasks)
    fold = np.where(voters[task] > 1, (position + begin[task]) % folds, folds)
    n_folds = int(np.clip(np.ceil(enough * folds / (fold < folds).sum()), 1, folds))
    test_rows = [rows[fold == f] for f in np.unique(fold[fold < folds])[:n_folds]]
    return [(np.delete(np.arange(len(annotations)), test), test) for test in test_rows]


def shrunk_confusion(votes: Annotations, posterior: F8) -> F8:
    """Return confusion[worker, observed, true] under posterior[task, class].

    Expected counts, shrunk to those of the whole crowd by STRENGTH labels per class.
    """
    return shrunk(stats_of(Workspace.of(votes), posterior).counts)


def shrunk(counts: F8) -> F8:
    """Return confusion[worker, observed, true] from expected counts, shrunk to those of the whole crowd."""
    k = counts.shape[1]
    crowd = counts.sum(axis=0) + np.eye(k) + 1.0 / k  # a class without labels is most likely labelled correctly
    crowd /= crowd.sum(axis=0)
    table = counts + STRENGTH * crowd
    return np.asarray(table / table.sum(axis=1, keepdims=True))


def label_likelihoods(votes: Annotations, posterior: F8, worker: I4, label: I4) -> Iterator[tuple[I8, F8]]:
    """Yield blocks of rows and confusion[worker, label] of these rows, [row, true class]."""
    if is_sparse(votes):
        yield from SparseConfusion(votes, posterior, STRENGTH).blocks(worker, label)
        return
    table, step = shrunk_confusion(votes, posterior), max(BLOCK // votes.n_classes, 1)
    for lo in range(0, len(worker), step):
        rows = np.arange(lo, min(lo + step, len(worker)))
        yield rows, table[worker[rows], label[rows]]


def predict(annotations: Annotations, rows: I8, votes: Annotations, posterior: F8) -> F8:
    """Return the probability of the labels in `rows`, given other votes and the posterior that they give."""
    out = np.empty(len(rows))
    for at, likelihood in label_likelihoods(votes, posterior, annotations.worker[rows], annotations.label[rows]):
        out[at] = np.einsum("rk,rk->r", posterior[annotations.task[rows[at]]], likelihood)
    return np.maximum(out, 1e-12)


def upheld(annotations: Annotations, posterior: F8, *, clear: float = 2 / 3) -> float:
    """Return the share of the tasks with a clear majority on which a posterior agrees with the majority.

    A majority is clear when at least two workers and `clear` of the votes agree. A model should overturn a few of
    them; overturning many is a sign of drift. 1 where there is no clear majority.
    """
    votes = annotations.votes
    total = votes.sum(axis=1)
    top = votes.max(axis=1, initial=0.0)
    tasks = np.flatnonzero((annotations.labels_per_task > 1) & (top >= clear * total - 1e-9) & (top > total / 2))
    if not len(tasks):
        return 1.0
    return float((tie_shares(votes[tasks]) * tie_shares(posterior[tasks])).sum(axis=1).mean())


def _clustered_error(values: F8, task: I8, weight: F8) -> float:
    """Return the standard error of a weighted mean whose draws are tasks."""
    total = weight.sum()
    mean = float(values @ weight) / total
    sums = np.bincount(task, weights=weight * (values - mean))
    n = len(np.unique(task))
    return float(np.sqrt((sums**2).sum() * n / max(n - 1, 1)) / total)
