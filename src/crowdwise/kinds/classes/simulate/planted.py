"""Simulated crowds of class labels: workers from several groups, with the ground truth."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl

from ....core.arrays import F8, Mask
from ....core.errors import ParameterError, unwritable
from ....core.ledger import Ledger
from ....core.params import AtLeast, Count, NonNegative, Share, Whole, check_given
from ....core.vocabulary import Codes, as_series, sorted_vocabulary
from ....simulate.planted import Planted, worker_columns
from ..annotations import Annotations
from .assignment import Assignment, Pairs
from .groups import Colluder, Copier, Group, Setting

FEATURES = "features.npz"


class Crowd(Planted[Annotations]):
    """Simulated class labels together with the ground truth.

    Attributes:
        annotations: The labels of the simulated workers.
        truth: The true class of each task, as a code into annotations.classes.
        class_prior: How often each class occurs.
        confusion: confusion[worker, true, observed] on tasks that are not hard. For copiers and colluders it is the
            marginal: the answers of one worker without those of the others.
        kind: The group of each worker.
        copies: The worker that each worker copies, None for workers who answer for themselves.
        hard: Marks tasks that mislead all workers.
        features: features[task, dimension], or None.

    >>> from crowdwise import simulate
    >>> simulate.scenario("one_coin", tasks=20, workers=6, seed=1)
    Crowd(one_coin: Annotations(100 annotations, 20 tasks, 6 workers, 4 classes))
    """

    def __init__(
        self,
        annotations: Annotations,
        truth: Codes,
        class_prior: F8,
        confusion: F8 | None,
        kind: list[str],
        copies: list[str | None],
        hard: Mask,
        features: F8 | None = None,
    ) -> None:
        self.class_prior, self.confusion, self.hard, self.features = class_prior, confusion, hard, features
        self._truth = truth
        for array in (truth, class_prior, confusion, hard, features):
            if array is not None:
                array.setflags(write=False)
        parameters: dict[str, Any] = {"copies": pl.Series(copies, dtype=pl.String)}
        if confusion is not None:  # the expected accuracy on tasks that are not hard
            parameters["accuracy"] = pl.Series(np.einsum("k,wkk->w", class_prior, confusion))
        super().__init__(
            annotations,
            pl.DataFrame({"task": annotations.tasks, "label": annotations.classes.gather(truth)}),
            worker_columns(annotations.workers, kind, **parameters),
        )

    def __repr__(self) -> str:
        return f"Crowd({', '.join(dict.fromkeys(self.kind))}: {self.annotations})"

    @property
    def truth(self) -> Codes:
        """The true class of each task, as a code into annotations.classes."""
        return self._truth

    def tables(self) -> dict[str, pl.DataFrame]:
        """The tables that `save` writes, by file name."""
        return {
            "labels.csv": self.votes.to_frame(),
            "truth.csv": self.truth_table(),
            "workers.csv": self.worker_table(),
        }

    def save(self, folder: str | Path, force: bool = False) -> list[str]:
        """Write labels.csv, truth.csv, workers.csv and, with features, features.npz.

        Args:
            folder: Where to write; it is created where it does not exist.
            force: Overwrite existing files.

        Returns:
            The names of the files.
        """
        from ....io.atomic import refuse_to_overwrite

        refuse_to_overwrite(Path(folder), (*self.tables(), FEATURES), force)
        names = super().save(folder, force)
        path = Path(folder) / FEATURES
        try:
            if self.features is None:
                # Features of an earlier crowd must not stay beside the labels of this one.
                path.unlink(missing_ok=True)
                return names
            np.savez_compressed(path, task=np.array(self.annotations.tasks.to_list()), x=self.features)
        except OSError as error:
            raise unwritable(folder, error) from error
        return [*names, FEATURES]


# ----------------------------------------------------------------
# The workers of all groups in one list.

# Cells worker × true × observed; more than this is a mistake in the sizes.
MAX_CELLS = 400_000_000


@dataclass(frozen=True)
class WorkerDraw:
    """All workers in the order of their groups.

    `confusion` holds the confusion matrices of independent answers, `marginal` those of the marginal distributions of
    single workers (both [worker, true, observed]). `source` is the worker that each worker copies. `rings` and
    `copiers` hold each such group with its first worker and its last worker + 1; copiers also the copied worker.
    """

    confusion: F8
    marginal: F8
    kind: list[str]
    source: list[int | None]
    rings: list[tuple[Colluder, int, int]]
    copiers: list[tuple[Copier, int, int, int]]

    @property
    def n_workers(self) -> int:
        """Number of workers of all groups."""
        return len(self.kind)


def draw_groups(groups: Sequence[Group], setting: Setting) -> WorkerDraw:
    """Draw the workers of all groups and the sources of the copiers."""
    n_workers, k = _count(groups), setting.n_classes
    if n_workers * k * k > MAX_CELLS:
        raise ParameterError(f"{n_workers:,} workers × {k:,}² classes are too many to simulate; lower one of them")
    start = np.concatenate([[0], np.cumsum([group.n for group in groups])]).tolist()
    confusion = np.concatenate([group.confusion(setting) for group in groups])
    marginal = confusion.copy()
    sources: list[int | None] = [None] * n_workers
    rings, copiers = [], []
    for group, lo, hi in zip(groups, start[:-1], start[1:], strict=True):
        if isinstance(group, Colluder):
            rings.append((group, lo, hi))
            marginal[lo:hi] = group.marginal(confusion[lo:hi])
        elif isinstance(group, Copier):
            member = _member(group, groups, setting.rng)
            copied = start[group.of] + member
            copiers.append((group, lo, hi, copied))
            marginal[lo:hi] = group.marginal(confusion[lo:hi], confusion[copied])
            sources[lo:hi] = [copied] * group.n
    return WorkerDraw(
        confusion, marginal, [kind for group in groups for kind in group.kinds()], sources, rings, copiers
    )


def _count(groups: Sequence[Group]) -> int:
    for group in groups:
        if not isinstance(group, Group):
            raise ParameterError(f"groups must hold groups such as OneCoin(20), got {group!r}")
    if not groups:
        raise ParameterError("groups is empty; a crowd needs at least one group, for instance [OneCoin(20)]")
    return sum(group.n for group in groups)


def _member(copier: Copier, groups: Sequence[Group], rng: np.random.Generator) -> int:
    """Index of the copied worker within its group."""
    if copier.of >= len(groups):
        raise ParameterError(f"a Copier copies of={copier.of} but the groups are numbered 0 to {len(groups) - 1}")
    group = groups[copier.of]
    if isinstance(group, Copier | Colluder):
        raise ParameterError(f"a Copier must copy workers who answer for themselves, but group {copier.of} is {group}")
    if copier.member is None:
        return int(rng.integers(group.n))
    if copier.member >= group.n:
        raise ParameterError(f"a Copier copies member={copier.member} but group {copier.of} has {group.n} workers")
    return copier.member


# ----------------------------------------------------------------
# The tasks of a simulated crowd: their classes, their features, and which of them mislead all workers.


@dataclass(frozen=True)
class TaskDraw:
    """truth[task], the class frequencies, the hard tasks, and misleading_class[task], used where the task is hard."""

    truth: Codes
    class_prior: F8
    hard: Mask
    misleading_class: Codes
    pull: float

    def mislead(self, task: Codes, label: Codes, rng: np.random.Generator) -> Codes:
        """Replace the labels of hard tasks by the misleading class with probability `pull`."""
        if not self.hard.any():
            return label
        is_misled = self.hard[task] & (rng.random(len(task)) < self.pull)
        return np.where(is_misled, self.misleading_class[task], label)


def draw_tasks(
    n_tasks: int,
    n_classes: int,
    rng: np.random.Generator,
    *,
    class_prior: Any,
    truth: Any,
    hard_share: float,
    hard_pull: float,
) -> TaskDraw:
    """Draw the classes (unless `truth` is given) and the hard tasks: exactly round(n_tasks · hard_share) of them."""
    prior = None if class_prior is None else _prior(class_prior, n_classes)
    if truth is not None:
        codes = _codes(truth, n_tasks, n_classes)
        if prior is None:
            prior = np.bincount(codes, minlength=n_classes) / n_tasks
    else:
        prior = np.full(n_classes, 1 / n_classes) if prior is None else prior
        codes = rng.choice(n_classes, size=n_tasks, p=prior).astype(np.int32)
    hard = np.zeros(n_tasks, dtype=bool)
    hard[rng.permutation(n_tasks)[: round(n_tasks * hard_share)]] = True
    return TaskDraw(codes, prior, hard, wrong_class(codes, n_classes, rng), hard_pull)


def wrong_class(truth: Codes, n_classes: int, rng: np.random.Generator) -> Codes:
    """Draw a wrong class for each task, all wrong classes equally likely."""
    return ((truth + rng.integers(1, n_classes, size=len(truth))) % n_classes).astype(np.int32)


def make_features(
    truth: Codes, n_classes: int, n_features: int, separation: float, rng: np.random.Generator
) -> F8 | None:
    """Gaussian clusters of unit variance, one per class; the two closest centres are `separation` apart."""
    if not n_features:
        return None
    centres = rng.normal(size=(n_classes, n_features))
    if n_features >= n_classes:
        centres = np.linalg.qr(centres.T)[0].T  # right angles: all centres equally far apart
    distance = np.linalg.norm(centres[:, None] - centres[None], axis=2)
    centres = centres * (separation / distance[np.triu_indices(n_classes, 1)].min())
    return np.asarray(centres[truth] + rng.normal(size=(len(truth), n_features)))


def given_features(features: Any, n_tasks: int) -> F8:
    """Check the user's features: one row per task, images already flattened."""
    x = np.array(features, dtype=np.float64)
    if x.ndim != 2 or len(x) != n_tasks:
        raise ParameterError(f"features must have shape ({n_tasks}, anything), one row per task, got {x.shape}")
    return x


def _prior(class_prior: Any, n_classes: int) -> F8:
    prior = np.array(class_prior, dtype=np.float64)
    if prior.shape != (n_classes,):
        raise ParameterError(f"class_prior must hold {n_classes} numbers, got shape {prior.shape}")
    if not ((prior >= 0).all() and abs(prior.sum() - 1) < 1e-6):
        raise ParameterError(f"class_prior must be non-negative and sum to 1, got {prior.tolist()}")
    return np.asarray(prior / prior.sum(), dtype=np.float64)


def _codes(truth: Any, n_tasks: int, n_classes: int) -> Codes:
    codes = np.array(truth)
    if codes.shape != (n_tasks,) or codes.dtype.kind not in "iu":
        raise ParameterError(
            f"truth must be {n_tasks} whole numbers, one class number per task, "
            f"got {codes.dtype} of shape {codes.shape}"
        )
    if n_tasks and not (codes.min() >= 0 and codes.max() < n_classes):
        raise ParameterError(
            f"truth must hold class numbers from 0 to {n_classes - 1}, got {codes.min()} to {codes.max()}"
        )
    return codes.astype(np.int32)


# ----------------------------------------------------------------
# Draw a crowd: tasks, workers, the assignment, and then the labels.


def crowd(
    n_tasks: Count,
    n_classes: Annotated[int, AtLeast(2)],
    groups: Sequence[Group],
    assignment: Assignment,
    *,
    class_prior: Any = None,
    hard_share: Share = 0.0,
    hard_pull: Share = 0.8,
    n_features: Whole = 0,
    separation: NonNegative = 2.0,
    truth: Any = None,
    features: Any = None,
    classes: Any = None,
    seed: Whole = 0,
) -> Crowd:
    """Draw a simulated crowd of class labels. The same arguments give the same rows.

    Args:
        n_tasks: Number of tasks.
        n_classes: Number of classes.
        groups: Groups of workers, such as [OneCoin(20), Constant(5)].
        assignment: Which worker labels which task, such as PerTask(5).
        class_prior: Probability of each class (default: uniform, or the frequencies in `truth`).
        hard_share: Share of hard tasks. Each has one wrong class that misleads all workers.
        hard_pull: Probability that a worker gives that class on a hard task. The agreed answers of colluders and the
            answers that copiers take over are not changed.
        n_features: Number of feature dimensions, drawn from one Gaussian cluster per class.
        separation: Distance of the two closest cluster centres, in standard deviations.
        truth: Class numbers of the tasks from existing data (default: drawn from `class_prior`).
        features: Features of the tasks from existing data, one row per task.
        classes: Names of the classes, in sorted order.
        seed: Seed of the draws.

    >>> from crowdwise.simulate import OneCoin, PerTask, crowd
    >>> crowd(100, 3, [OneCoin(10, low=0.6, high=0.9)], PerTask(4), seed=7).annotations
    Annotations(400 annotations, 100 tasks, 10 workers, 3 classes)
    """
    hard_options = {"hard_share": hard_share, "hard_pull": hard_pull}
    feature_options = {"n_features": n_features, "separation": separation}
    check_given(crowd, {"n_tasks": n_tasks, "n_classes": n_classes, **hard_options, **feature_options, "seed": seed})
    names = _class_names(classes, n_classes)
    rng = np.random.default_rng(seed)
    task_draw = draw_tasks(n_tasks, n_classes, rng, class_prior=class_prior, truth=truth, **hard_options)
    if features is None:
        x = make_features(task_draw.truth, n_classes, n_features, separation, rng)
    else:
        x = given_features(features, n_tasks)
    worker_draw = draw_groups(groups, Setting(n_classes, task_draw.class_prior, rng))
    pairs = assignment.draw(n_tasks, worker_draw.n_workers, rng)
    label = answers(task_draw, worker_draw, pairs, rng)
    workers = _ids("worker", worker_draw.n_workers)
    return Crowd(
        annotations=Annotations(*pairs, label, _ids("task", n_tasks), workers, names, ledger=_ledger(label)),
        truth=task_draw.truth,
        class_prior=task_draw.class_prior,
        confusion=worker_draw.marginal,
        kind=worker_draw.kind,
        copies=[None if source is None else workers[source] for source in worker_draw.source],
        hard=task_draw.hard,
        features=x,
    )


def answers(task_draw: TaskDraw, worker_draw: WorkerDraw, pairs: Pairs, rng: np.random.Generator) -> Codes:
    """Draw the label of every pair: first independent answers, then those of rings, then those of copiers."""
    task, worker = pairs
    label = task_draw.mislead(task, draw_labels(worker_draw.confusion, worker, task_draw.truth[task], rng), rng)
    for ring, lo, hi in worker_draw.rings:
        agreed = wrong_class(task_draw.truth, worker_draw.confusion.shape[1], rng)
        rows = np.flatnonzero((worker >= lo) & (worker < hi))
        rows = rows[rng.random(len(rows)) < ring.p_corr]
        label[rows] = agreed[task[rows]]
    answers_of: dict[int, Codes] = {}
    for copier, lo, hi, source in worker_draw.copiers:
        if source not in answers_of:
            answers_of[source] = _every_answer(source, task_draw, worker_draw, pairs, label, rng)
        rows = np.flatnonzero((worker >= lo) & (worker < hi))
        rows = rows[rng.random(len(rows)) < copier.fidelity]
        label[rows] = answers_of[source][task[rows]]
    return label


def draw_labels(confusion: F8, worker: Codes, truth: Codes, rng: np.random.Generator) -> Codes:
    """Draw a label from the row confusion[worker, truth] for each pair."""
    k = confusion.shape[2]
    edges = np.cumsum(confusion, axis=2).reshape(-1, k).T.copy()  # observed, (worker, true)
    row = worker.astype(np.int64) * k + truth
    dice = rng.random(len(worker))
    label = np.zeros(len(worker), dtype=np.int32)
    for edge in edges[:-1]:
        label += dice >= edge[row]
    return label


def _every_answer(
    source: int, task_draw: TaskDraw, worker_draw: WorkerDraw, pairs: Pairs, label: Codes, rng: np.random.Generator
) -> Codes:
    """Labels of a worker for every task, including those they did not do."""
    task, worker = pairs
    tasks = np.arange(len(task_draw.truth), dtype=np.int32)
    confusion = worker_draw.confusion[source : source + 1]
    labels = task_draw.mislead(tasks, draw_labels(confusion, np.zeros_like(tasks), task_draw.truth, rng), rng)
    rows = np.flatnonzero(worker == source)
    labels[task[rows]] = label[rows]
    return labels


def _ids(name: str, n: int) -> pl.Series:
    """Names such as t0000, t0001, ..., padded so that their sorted order is the order of the numbers."""
    number = pl.int_range(n, eager=True).cast(pl.String).str.zfill(len(str(n - 1)))
    return (name[0] + number).rename(name)


def _class_names(classes: Any, n_classes: int) -> pl.Series:
    if classes is None:
        return pl.int_range(n_classes, eager=True).cast(pl.String).str.zfill(len(str(n_classes - 1))).rename("label")
    series = as_series(classes, "label")
    names = sorted_vocabulary(series, "label")
    if len(names) != n_classes or len(series) != n_classes:
        raise ParameterError(f"classes must hold {n_classes} different names, got {series.to_list()}")
    if series.to_list() != names.to_list():
        # Codes are positions in a sorted vocabulary: another order would silently relabel truth and prior.
        raise ParameterError(f"classes must be in sorted order, {names.to_list()}, got {series.to_list()}")
    return names


def _ledger(label: Codes) -> Ledger:
    return Ledger(rows_in=len(label), rows_used=len(label))
