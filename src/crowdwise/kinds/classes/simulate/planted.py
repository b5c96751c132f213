"""Crowd: simulated annotations together with everything that is true about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ....core.errors import ParameterError, unwritable
from ....core.ledger import Ledger
from ....core.params import AtLeast, Count, NonNegative, Share, Whole, check_given
from ....core.vocabulary import Codes, as_series, sorted_vocabulary
from ..annotations import Annotations
from .assignment import Assignment, Pairs
from .groups import F8, Colluder, Copier, Group, Setting

PLANTED_F8 = npt.NDArray[np.float64]
FILES = ("labels.csv", "truth.csv", "workers.csv", "features.npz")


@dataclass(frozen=True, eq=False, repr=False)
class Crowd:
    """What the workers said, and what nobody but a simulator knows.

    `truth[task]` and `confusion[worker, true, observed]` are in the order of annotations.tasks, .workers and
    .classes. `confusion` is how a worker answers tasks that are not hard; of a copier or a colluder it is the
    marginal: one worker's answers as seen without the others'. `kind[worker]` names the group, `copies[worker]` the
    worker copied from, `hard[task]` marks tasks that mislead everybody, `features[task]` describes them.

    >>> from crowdwise import simulate
    >>> simulate.scenario("one_coin", tasks=20, workers=6, seed=1)
    Crowd(one_coin: Annotations(100 annotations, 20 tasks, 6 workers, 4 classes))
    """

    annotations: Annotations
    truth: Codes
    class_prior: PLANTED_F8
    confusion: PLANTED_F8 | None
    kind: list[str]
    copies: list[str | None]
    hard: npt.NDArray[np.bool_]
    features: PLANTED_F8 | None = None

    def __post_init__(self) -> None:
        for array in (self.truth, self.class_prior, self.confusion, self.hard, self.features):
            if array is not None:
                array.setflags(write=False)

    def __repr__(self) -> str:
        return f"Crowd({', '.join(dict.fromkeys(self.kind))}: {self.annotations})"

    def truth_table(self) -> pl.DataFrame:
        """The table task, label of the true classes."""
        votes = self.annotations
        return pl.DataFrame({"task": votes.tasks, "label": votes.classes.gather(self.truth)})

    def worker_table(self) -> pl.DataFrame:
        """The table worker, kind, copies, accuracy: the share of right answers to expect on tasks that are not hard."""
        columns = {
            "worker": self.annotations.workers,
            "kind": pl.Series(self.kind, dtype=pl.String),
            "copies": pl.Series(self.copies, dtype=pl.String),
        }
        if self.confusion is not None:
            columns["accuracy"] = pl.Series(np.einsum("k,wkk->w", self.class_prior, self.confusion))
        return pl.DataFrame(columns)

    def save(self, folder: str | Path, force: bool = False) -> list[str]:
        """Write labels.csv, truth.csv, workers.csv and, with features, features.npz; returns the names written.

        Files that are there already are only overwritten with `force`.
        """
        from ....io.beside import refuse_to_overwrite
        from ....io.csv.cells import to_csv

        folder = Path(folder)
        refuse_to_overwrite(folder, FILES, force)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            to_csv(self.annotations.to_frame(), folder / "labels.csv")
            to_csv(self.truth_table(), folder / "truth.csv")
            to_csv(self.worker_table(), folder / "workers.csv")
            if self.features is None:
                # Features of an earlier crowd must not lie beside the labels of this one.
                (folder / "features.npz").unlink(missing_ok=True)
                return list(FILES[:3])
            tasks = np.array(self.annotations.tasks.to_list())
            np.savez_compressed(folder / "features.npz", task=tasks, x=self.features)
        except OSError as error:
            raise unwritable(folder, error) from error
        return list(FILES)


# ----------------------------------------------------------------
# The workers of a simulated crowd, all groups in one list.

# worker × true × observed cells; more is a slip of the sizes, not a wish.
MAX_CELLS = 400_000_000


@dataclass(frozen=True)
class Roster:
    """Every worker in order of the groups.

    `own` is how they answer when left alone, `marginal` how they look from outside (both [worker, true,
    observed]); `rings` and `copiers` hold the first and the last + 1 worker of each such group, and whom they copy.
    """

    own: F8
    marginal: F8
    kind: list[str]
    source: list[int | None]
    rings: list[tuple[Colluder, int, int]]
    copiers: list[tuple[Copier, int, int, int]]

    @property
    def n_workers(self) -> int:
        """All groups together."""
        return len(self.kind)


def enrol(groups: Sequence[Group], setting: Setting) -> Roster:
    """Draw every group's workers and find the sources of the copiers."""
    n_workers, k = _count(groups), setting.n_classes
    if n_workers * k * k > MAX_CELLS:
        raise ParameterError(f"{n_workers:,} workers × {k:,}² classes are too many to simulate; lower one of them")
    start = np.concatenate([[0], np.cumsum([group.n for group in groups])]).tolist()
    own = np.concatenate([group.confusion(setting) for group in groups])
    marginal = own.copy()
    source: list[int | None] = [None] * n_workers
    rings, copiers = [], []
    for group, lo, hi in zip(groups, start[:-1], start[1:], strict=True):
        if isinstance(group, Colluder):
            rings.append((group, lo, hi))
            marginal[lo:hi] = group.marginal(own[lo:hi])
        elif isinstance(group, Copier):
            member = _member(group, groups, setting.rng)
            whom = start[group.of] + member
            copiers.append((group, lo, hi, whom))
            marginal[lo:hi] = group.marginal(own[lo:hi], own[whom])
            source[lo:hi] = [whom] * group.n
    return Roster(own, marginal, [kind for group in groups for kind in group.kinds()], source, rings, copiers)


def _count(groups: Sequence[Group]) -> int:
    for group in groups:
        if not isinstance(group, Group):
            raise ParameterError(f"groups must hold groups such as OneCoin(20), got {group!r}")
    if not groups:
        raise ParameterError("groups is empty; a crowd needs at least one group, for instance [OneCoin(20)]")
    return sum(group.n for group in groups)


def _member(copier: Copier, groups: Sequence[Group], rng: np.random.Generator) -> int:
    """The copied worker's place in their group."""
    if copier.of >= len(groups):
        raise ParameterError(f"a Copier copies of={copier.of} but the groups are numbered 0 to {len(groups) - 1}")
    copied = groups[copier.of]
    if isinstance(copied, Copier | Colluder):
        raise ParameterError(f"a Copier must copy workers who answer for themselves, but group {copier.of} is {copied}")
    if copier.member is None:
        return int(rng.integers(copied.n))
    if copier.member >= copied.n:
        raise ParameterError(f"a Copier copies member={copier.member} but group {copier.of} has {copied.n} workers")
    return copier.member


# ----------------------------------------------------------------
# The tasks of a simulated crowd: their classes, their features, and which of them mislead everybody.


@dataclass(frozen=True)
class World:
    """truth[task], how often each class occurs, and for hard[task] the class that everybody takes it for."""

    truth: Codes
    class_prior: F8
    hard: npt.NDArray[np.bool_]
    decoy: Codes
    pull: float

    def mislead(self, task: Codes, label: Codes, rng: np.random.Generator) -> Codes:
        """On a hard task a worker says its decoy with probability `pull`, else what they were about to say."""
        if not self.hard.any():
            return label
        fooled = self.hard[task] & (rng.random(len(task)) < self.pull)
        return np.where(fooled, self.decoy[task], label)


def make_world(
    n_tasks: int,
    n_classes: int,
    rng: np.random.Generator,
    *,
    class_prior: Any,
    truth: Any,
    hard_share: float,
    hard_pull: float,
) -> World:
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
    return World(codes, prior, hard, wrong_class(codes, n_classes, rng), hard_pull)


def wrong_class(truth: Codes, n_classes: int, rng: np.random.Generator) -> Codes:
    """For each task one class that is not the true one, all of them equally likely."""
    return ((truth + rng.integers(1, n_classes, size=len(truth))) % n_classes).astype(np.int32)


def make_features(
    truth: Codes, n_classes: int, n_features: int, separation: float, rng: np.random.Generator
) -> F8 | None:
    """Gaussian clusters of unit variance, one per class; the two closest centres are `separation` apart."""
    if not n_features:
        return None
    centre = rng.normal(size=(n_classes, n_features))
    if n_features >= n_classes:
        centre = np.linalg.qr(centre.T)[0].T  # right angles: all centres equally far apart
    apart = np.linalg.norm(centre[:, None] - centre[None], axis=2)
    centre = centre * (separation / apart[np.triu_indices(n_classes, 1)].min())
    return np.asarray(centre[truth] + rng.normal(size=(len(truth), n_features)))


def given_features(features: Any, n_tasks: int) -> F8:
    """The user's features, one row a task; images are flattened by the user, not here."""
    x = np.array(features, dtype=np.float64)
    if x.ndim != 2 or len(x) != n_tasks:
        raise ParameterError(f"features must have shape ({n_tasks}, anything), one row a task, got {x.shape}")
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
            f"truth must be {n_tasks} whole numbers, one class number a task, got {codes.dtype} of shape {codes.shape}"
        )
    if n_tasks and not (codes.min() >= 0 and codes.max() < n_classes):
        raise ParameterError(
            f"truth must hold class numbers from 0 to {n_classes - 1}, got {codes.min()} to {codes.max()}"
        )
    return codes.astype(np.int32)


# ----------------------------------------------------------------
# Draw a crowd: tasks, workers, who is asked what, and then what each of them says.


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
    """A planted crowd; same arguments, same rows.

    `truth` (class numbers) and `features` may come from existing data, such as scikit-learn's digits; else classes
    are drawn from `class_prior` (default: all alike) and, with `n_features`, features from Gaussian clusters whose
    centres are `separation` standard deviations apart. A share `hard_share` of the tasks is hard: each has one wrong
    class that every worker says with probability `hard_pull`, whatever they would have said; only the agreed answer of
    a ring and the answer that a copier takes over stay as they are. `classes` names the classes, in sorted order.

    >>> from crowdwise.simulate import OneCoin, PerTask, crowd
    >>> crowd(100, 3, [OneCoin(10, low=0.6, high=0.9)], PerTask(4), seed=7).annotations
    Annotations(400 annotations, 100 tasks, 10 workers, 3 classes)
    """
    hardness = {"hard_share": hard_share, "hard_pull": hard_pull}
    looks = {"n_features": n_features, "separation": separation}
    check_given(crowd, {"n_tasks": n_tasks, "n_classes": n_classes, **hardness, **looks, "seed": seed})
    names = _class_names(classes, n_classes)
    rng = np.random.default_rng(seed)
    world = make_world(n_tasks, n_classes, rng, class_prior=class_prior, truth=truth, **hardness)
    if features is None:
        x = make_features(world.truth, n_classes, n_features, separation, rng)
    else:
        x = given_features(features, n_tasks)
    roster = enrol(groups, Setting(n_classes, world.class_prior, rng))
    pairs = assignment.draw(n_tasks, roster.n_workers, rng)
    label = answers(world, roster, pairs, rng)
    workers = _ids("worker", roster.n_workers)
    return Crowd(
        annotations=Annotations(*pairs, label, _ids("task", n_tasks), workers, names, ledger=_ledger(label)),
        truth=world.truth,
        class_prior=world.class_prior,
        confusion=roster.marginal,
        kind=roster.kind,
        copies=[None if whom is None else workers[whom] for whom in roster.source],
        hard=world.hard,
        features=x,
    )


def answers(world: World, roster: Roster, pairs: Pairs, rng: np.random.Generator) -> Codes:
    """The label of every pair: first what each worker would say alone, then the rings, then the copiers."""
    task, worker = pairs
    label = world.mislead(task, said(roster.own, worker, world.truth[task], rng), rng)
    for ring, lo, hi in roster.rings:
        agreed = wrong_class(world.truth, roster.own.shape[1], rng)
        rows = np.flatnonzero((worker >= lo) & (worker < hi))
        rows = rows[rng.random(len(rows)) < ring.p_corr]
        label[rows] = agreed[task[rows]]
    heard: dict[int, Codes] = {}
    for copier, lo, hi, whom in roster.copiers:
        if whom not in heard:
            heard[whom] = _every_answer(whom, world, roster, pairs, label, rng)
        rows = np.flatnonzero((worker >= lo) & (worker < hi))
        rows = rows[rng.random(len(rows)) < copier.fidelity]
        label[rows] = heard[whom][task[rows]]
    return label


def said(confusion: F8, worker: Codes, truth: Codes, rng: np.random.Generator) -> Codes:
    """One draw from the row confusion[worker, truth] for each pair."""
    k = confusion.shape[2]
    edges = np.cumsum(confusion, axis=2).reshape(-1, k).T.copy()  # observed, (worker, true)
    row = worker.astype(np.int64) * k + truth
    dice = rng.random(len(worker))
    label = np.zeros(len(worker), dtype=np.int32)
    for edge in edges[:-1]:
        label += dice >= edge[row]
    return label


def _every_answer(
    whom: int, world: World, roster: Roster, pairs: Pairs, label: Codes, rng: np.random.Generator
) -> Codes:
    """What a worker said of every task, or would have said if asked."""
    task, worker = pairs
    every = np.arange(len(world.truth), dtype=np.int32)
    out = world.mislead(every, said(roster.own[whom : whom + 1], np.zeros_like(every), world.truth, rng), rng)
    rows = np.flatnonzero(worker == whom)
    out[task[rows]] = label[rows]
    return out


def _ids(name: str, n: int) -> pl.Series:
    """t0000, t0001, ...: padded, so that the sorted order of names is the order of numbers."""
    number = pl.int_range(n, eager=True).cast(pl.String).str.zfill(len(str(n - 1)))
    return (name[0] + number).rename(name)


def _class_names(classes: Any, n_classes: int) -> pl.Series:
    if classes is None:
        return pl.int_range(n_classes, eager=True).cast(pl.String).str.zfill(len(str(n_classes - 1))).rename("label")
    given = as_series(classes, "label")
    names = sorted_vocabulary(given, "label")
    if len(names) != n_classes or len(given) != n_classes:
        raise ParameterError(f"classes must hold {n_classes} different names, got {given.to_list()}")
    if given.to_list() != names.to_list():
        # Codes are places in a sorted vocabulary: another order would rename truth and prior behind the user's back.
        raise ParameterError(f"classes must be in sorted order, as {names.to_list()}, got {given.to_list()}")
    return names


def _ledger(label: Codes) -> Ledger:
    return Ledger(rows_in=len(label), rows_used=len(label))
