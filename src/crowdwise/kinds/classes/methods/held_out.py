"""What workers say of which class, where a table for it would be far larger than what it is learnt from.

With thousands of classes the table reading[worker, observed, true] of `selection.reading` has billions of cells, nearly
all of them the crowd's. Only the rows of labels that somebody gave are ever asked for; here they are made when they are
asked for, a block at a time, from the labels behind them. The numbers are the same.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ....core.errors import CrowdwiseWarning, DataError, ParameterError
from ....em.kernels import Workspace, stats_of
from ....stats.ties import tie_shares
from ..annotations import Annotations

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]

# Cells of a block of rows: 16 MB.
BLOCK = 1 << 21
# A table of this size is made at once; so is one that has fewer rows than there are labels.
FREE = 2_000_000


def is_thin(votes: Annotations) -> bool:
    """Whether a table of all readings would be far larger than what it is learnt from."""
    cells = votes.n_workers * votes.n_classes**2
    return cells > FREE and cells > len(votes) * votes.n_classes


class ThinReading:
    """reading[worker, observed, true] by rows: expected counts, shrunk to the crowd's by `strength` labels a class."""

    def __init__(self, votes: Annotations, posterior: F8, strength: float) -> None:
        self.votes, self.posterior, self.strength = votes, posterior, strength
        heard = self._sums(votes.worker, votes.n_workers)
        self.of_worker = heard + strength  # worker, true
        self.of_crowd = heard.sum(axis=0) + 2.0

    def blocks(self, worker: npt.NDArray[Any], label: npt.NDArray[Any]) -> Iterator[tuple[I8, F8]]:
        """(rows, reading[worker[rows], label[rows]]) until all rows were given, those of one label together."""
        k = self.votes.n_classes
        order = np.lexsort((worker, label))
        step = max(BLOCK // k, 1)
        for lo in range(0, len(order), step):
            rows = order[lo : lo + step]
            yield rows, self._rows(worker[rows].astype(np.int64), label[rows].astype(np.int64))

    def posterior_under(self, prior: F8, gold: npt.NDArray[np.int32] | None) -> F8:
        """posterior[task, class] of the votes themselves, by these readings."""
        from scipy.sparse import csr_array

        votes, k = self.votes, self.votes.n_classes
        score = np.tile(np.log(prior), (votes.n_tasks, 1))
        for rows, said in self.blocks(votes.worker, votes.label):
            tasks, at = np.unique(votes.task[rows], return_inverse=True)
            weight = np.ones(len(rows)) if votes.weight is None else votes.weight[rows]
            of = csr_array((weight, (at, np.arange(len(rows)))), shape=(len(tasks), len(rows)))
            score[tasks] += of @ np.log(said, out=said)
        score -= score.max(axis=1, keepdims=True)
        np.exp(score, out=score)
        score /= score.sum(axis=1, keepdims=True)
        if gold is not None:
            known = np.flatnonzero(gold < k)
            score[known] = 0.0
            score[known, gold[known]] = 1.0
        return score

    def _rows(self, worker: I8, label: I8) -> F8:
        k = self.votes.n_classes
        cells, own = np.unique(label * self.votes.n_workers + worker, return_inverse=True)
        labels, theirs = np.unique(label, return_inverse=True)
        crowd = self._counts(labels, self._by_label)
        crowd += 1.0 / k  # a class that nobody has seen is at best called by its name
        crowd[np.arange(len(labels)), labels] += 1.0
        crowd *= self.strength / self.of_crowd
        out = self._counts(cells, self._by_cell)[own]
        out += crowd[theirs]
        out /= self.of_worker[worker]
        return out

    def _counts(self, wanted: I8, index: tuple[I8, Any]) -> F8:
        keys, sums = index
        at = np.searchsorted(keys, wanted)
        at[np.append(keys, -1)[at] != wanted] = len(keys)  # the last row is empty
        return np.asarray(sums[at] @ self.posterior)

    @cached_property
    def _by_label(self) -> tuple[I8, Any]:
        return self._index(self.votes.label.astype(np.int64))

    @cached_property
    def _by_cell(self) -> tuple[I8, Any]:
        return self._index(self.votes.label.astype(np.int64) * self.votes.n_workers + self.votes.worker)

    def _index(self, key: I8) -> tuple[I8, Any]:
        """The keys in use, and a sparse matrix [key, task] of the weights behind them, with an empty row at its end."""
        keys, at = np.unique(key, return_inverse=True)
        return keys, self._matrix(at, len(keys) + 1)

    def _sums(self, group: npt.NDArray[Any], n: int) -> F8:
        return np.asarray(self._matrix(group, n) @ self.posterior)

    def _matrix(self, group: npt.NDArray[Any], n: int) -> Any:
        from scipy.sparse import csr_array

        weight = np.ones(len(self.votes)) if self.votes.weight is None else self.votes.weight
        return csr_array((weight, (group, self.votes.task)), shape=(n, self.votes.n_tasks))


# ----------------------------------------------------------------
# Which method explains these labels best? The likelihood of held-out annotations, which needs no truth.
# Annotations are dealt into folds. A method is fitted on all folds but one, and every held-out label is predicted
# from the posterior of its task, which the task's other labels gave:
#
#     p(label | task, worker) = sum over classes k of posterior[task, k] · reading[worker, k, label]
#
# The reading (what a worker says when the class is k) is counted from the method's own posterior over the kept
# labels, the same way for every method and shrunk to the crowd's: so votes, models and averages are scored on one
# scale, and what is scored is the posterior. Held-out likelihood is blind in one place: where the classes of a model
# have drifted away from what the labels mean, it may still predict well. `upheld` is the guard against that.

# A worker's reading is held to the crowd's by so many labels per class.
STRENGTH = 10.0
# Folds are drawn from a stream of their own: a simulated truth is drawn from the seed alone.
STREAM = 0xF01D
# No more folds are fitted than hold out so many annotations: their standard error is small by then.
ENOUGH = 50_000


class Fitted(Protocol):
    """What a fit must give to be scored: a Result is one."""

    @property
    def posterior(self) -> F8:
        """posterior[task, class]."""


@dataclass(frozen=True)
class HeldOut:
    """log_likelihood[i] (nats) is that of annotation rows[i], held out; task[i] is its task, weight[i] its weight."""

    rows: I8
    task: I8
    weight: F8
    log_likelihood: F8

    @property
    def score(self) -> float:
        """Mean log-likelihood of a held-out annotation; higher is better, a guess among K classes has -log K."""
        return float(np.average(self.log_likelihood, weights=self.weight))

    @property
    def standard_error(self) -> float:
        """Standard error of the score; the annotations of one task count as one draw."""
        return _clustered_error(self.log_likelihood, self.task, self.weight)

    def lead(self, other: HeldOut) -> tuple[float, float]:
        """(mean, standard error) of this score minus another's, annotation by annotation: same folds, same rows."""
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
    """Score a method by how well it predicts annotations that it has not seen.

    `fit(votes) -> Result` is a method's `fit`, or a function that closes over gold and prior; it sees the same
    vocabularies with fewer rows. Only annotations whose task keeps another label are held out. The fit runs `folds`
    times, fewer on large data: no more folds than hold out `enough` annotations. The same `folds`, `seed` and `enough`
    hold out the same annotations, whatever the method, so that `HeldOut.lead` can compare two methods row by row.
    Raises DataError where no task has two labels by different workers.
    """
    parts = []
    for kept, out in splits(annotations, folds=folds, seed=seed, enough=enough):
        votes = annotations.take(kept)
        with warnings.catch_warnings():  # whatever is to be said of all annotations was said when they were fitted
            warnings.simplefilter("ignore", CrowdwiseWarning)
            posterior = fit(votes).posterior
        parts.append((out, predict(annotations, out, votes, posterior)))
    if not parts:
        raise DataError("no task has labels of two workers, so there is nothing to predict a held-out label from")
    rows = np.concatenate([out for out, _ in parts])
    order = np.argsort(rows)
    rows = rows[order]
    weight = np.ones(len(rows)) if annotations.weight is None else annotations.weight[rows]
    task = annotations.task[rows].astype(np.int64)
    return HeldOut(rows, task, weight, np.log(np.concatenate([p for _, p in parts]))[order])


def splits(annotations: Annotations, *, folds: int = 5, seed: int = 0, enough: int = ENOUGH) -> list[tuple[I8, I8]]:
    """(kept rows, held-out rows) of each fold that is to be fitted: at least one, all together about `enough` rows.

    The workers of a task are dealt out one after the other from a random fold on, so that a fold takes as few labels
    as can be from any task; a worker's repeats on one task share a fold. Empty where no task has labels of two workers.
    """
    if isinstance(folds, bool) or folds < 2:
        raise ParameterError(f"folds must be a whole number of at least 2, got {folds!r}")
    heard = np.arange(len(annotations)) if annotations.weight is None else np.flatnonzero(annotations.weight > 0)
    task, worker = annotations.task[heard].astype(np.int64), annotations.worker[heard]
    first = np.ones(len(heard), dtype=bool)  # the first row of each (task, worker)
    first[1:] = (np.diff(task) != 0) | (np.diff(worker) != 0)
    voters = np.bincount(task[first], minlength=annotations.n_tasks)
    if not len(heard) or voters.max() < 2:
        return []
    seat = np.cumsum(first) - 1 - (np.cumsum(voters) - voters)[task]  # 0, 1, 2... within the task
    begin = np.random.default_rng([seed, STREAM]).integers(folds, size=annotations.n_tasks)
    fold = np.where(voters[task] > 1, (seat + begin[task]) % folds, folds)
    wanted = int(np.clip(np.ceil(enough * folds / (fold < folds).sum()), 1, folds))
    held = [heard[fold == f] for f in np.unique(fold[fold < folds])[:wanted]]
    return [(np.delete(np.arange(len(annotations)), out), out) for out in held]


def reading(votes: Annotations, posterior: F8) -> F8:
    """reading[worker, observed, true]: what each worker says of which class, if posterior[task, class] is right.

    Expected counts, shrunk to the whole crowd's by STRENGTH labels per class.
    """
    return shrunk(stats_of(Workspace.of(votes), posterior).counts)


def shrunk(counts: F8) -> F8:
    """The reading that counts[worker, observed, true] make."""
    k = counts.shape[1]
    crowd = counts.sum(axis=0) + np.eye(k) + 1.0 / k  # a class that nobody has seen is at best called by its name
    crowd /= crowd.sum(axis=0)
    table = counts + STRENGTH * crowd
    return np.asarray(table / table.sum(axis=1, keepdims=True))


def readings(
    votes: Annotations, posterior: F8, worker: npt.NDArray[np.int32], label: npt.NDArray[np.int32]
) -> Iterator[tuple[I8, F8]]:
    """In blocks: rows, and reading[worker, label] of these rows, with the table or without."""
    if is_thin(votes):
        yield from ThinReading(votes, posterior, STRENGTH).blocks(worker, label)
        return
    table, step = reading(votes, posterior), max(BLOCK // votes.n_classes, 1)
    for lo in range(0, len(worker), step):
        rows = np.arange(lo, min(lo + step, len(worker)))
        yield rows, table[worker[rows], label[rows]]


def predict(annotations: Annotations, rows: I8, votes: Annotations, posterior: F8) -> F8:
    """Probability of the labels in `rows`, given the other votes and what they say of the tasks."""
    out = np.empty(len(rows))
    for at, said in readings(votes, posterior, annotations.worker[rows], annotations.label[rows]):
        out[at] = np.einsum("rk,rk->r", posterior[annotations.task[rows[at]]], said)
    return np.maximum(out, 1e-12)


def upheld(annotations: Annotations, posterior: F8, *, clear: float = 2 / 3) -> float:
    """Share of the tasks with a clear majority that a posterior decides as the majority did.

    A majority is clear when at least two workers and `clear` of the votes agree. Overturning a few of them is what
    models are for; overturning them wholesale is how drift looks. 1 where there is no clear majority.
    """
    votes = annotations.votes
    total = votes.sum(axis=1)
    top = votes.max(axis=1, initial=0.0)
    sure = np.flatnonzero((annotations.labels_per_task > 1) & (top >= clear * total - 1e-9) & (top > total / 2))
    if not len(sure):
        return 1.0
    return float((tie_shares(votes[sure]) * tie_shares(posterior[sure])).sum(axis=1).mean())


def _clustered_error(values: F8, task: I8, weight: F8) -> float:
    """Standard error of a weighted mean whose draws are tasks."""
    total = weight.sum()
    mean = float(values @ weight) / total
    sums = np.bincount(task, weights=weight * (values - mean))
    n = len(np.unique(task))
    return float(np.sqrt((sums**2).sum() * n / max(n - 1, 1)) / total)
