"""Result: what a method found. Arrays and names; tables, inference on new tasks, saving and loading."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from ..maths.ties import break_ties

if TYPE_CHECKING:
    from ..kinds.classes import Annotations
    from ..plots import Plots

F8 = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """Posterior, labels, class prior, confusion and skill of one fit.

    `confusion[worker, true, observed]` has rows that sum to one; `counts` holds the (expected) numbers of labels
    behind it. `gold[task]` marks the tasks whose truth the fit was given (None: it was given none); nothing that judges
    the result counts them. `trace` is the objective of each iteration; it never falls within a `stage`.

    >>> import crowdwise as cw
    >>> votes = cw.Annotations.from_arrays([1, 1, 2], ["ann", "bob", "ann"], ["cat", "cat", "dog"])
    >>> cw.MajorityVote().fit(votes).to_table()["label"].to_list()
    ['cat', 'dog']
    """

    method: str
    params: Mapping[str, Any]
    tasks: pl.Series
    workers: pl.Series
    classes: pl.Series
    posterior: F8
    class_prior: F8
    skill: F8
    skill_low: F8
    skill_high: F8
    labels_per_task: npt.NDArray[np.int64]
    labels_per_worker: npt.NDArray[np.int64]
    confusion: F8 | None = None
    counts: F8 | None = None
    difficulty: F8 | None = None
    gold: npt.NDArray[np.bool_] | None = None
    trace: F8 = field(default_factory=lambda: np.empty(0))
    stage: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    n_iter: int = 0
    converged: bool = True
    extra: Mapping[str, Any] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for value in [*vars(self).values(), *self.extra.values()]:
            if isinstance(value, np.ndarray):
                value.setflags(write=False)

    def __repr__(self) -> str:
        return (
            f"Result({self.method}: {len(self.tasks):,} tasks, {len(self.workers):,} workers, "
            f"{len(self.classes):,} classes, mean confidence {self.mean_confidence:.3f})"
        )

    def _repr_html_(self) -> str:
        from ..plots import html

        return html(self)

    @property
    def plot(self) -> Plots:
        """Plots on matplotlib: `.workers()`, `.confusion(worker)`, `.calibration(truth)`, `.contested()`."""
        from ..plots import Plots

        return Plots(self)

    # ---------------------------------------------------------------- what follows from the arrays
    @cached_property
    def labels(self) -> npt.NDArray[np.int32]:
        """Code of the most probable class of each task; ties are broken by the method's seed."""
        return break_ties(self.posterior, int(self.params.get("seed", 0)))

    @cached_property
    def confidence(self) -> F8:
        """Probability of the most probable class."""
        return np.asarray(self.posterior.max(axis=1))

    @property
    def mean_confidence(self) -> float:
        """Mean confidence over tasks: the accuracy that the method expects of itself."""
        return float(self.confidence.mean()) if len(self.confidence) else float("nan")

    @property
    def expected_accuracy(self) -> tuple[float, float, float] | None:
        """(mean, low, high): share of right labels, gold apart, with a 90 % interval; None where nobody learnt it.

        The default method learns it over many crowds with known truth. The mean confidence of other methods is their
        own reckoning, mostly too high.
        """
        found = self.extra.get("expected_accuracy")
        return None if found is None else (float(found["mean"]), float(found["low"]), float(found["high"]))

    @cached_property
    def entropy(self) -> F8:
        """Entropy of each task's posterior in nats."""
        p = np.where(self.posterior > 0, self.posterior, 1.0)
        return np.asarray(np.abs((self.posterior * np.log(p)).sum(axis=1)))

    # ---------------------------------------------------------------- tables
    def to_table(self) -> pl.DataFrame:
        """One row a task: task, label, confidence, entropy, n_labels, p_<class>..."""
        columns: dict[str, Any] = {
            "task": self.tasks,
            "label": self.classes.gather(self.labels),
            "confidence": self.confidence,
            "entropy": self.entropy,
            "n_labels": self.labels_per_task,
        }
        if self.difficulty is not None:
            columns["difficulty"] = self.difficulty
        for code, name in enumerate(self.classes.cast(pl.String).to_list()):
            columns[f"p_{name}"] = self.posterior[:, code]
        return pl.DataFrame(columns)

    def worker_table(self) -> pl.DataFrame:
        """One row a worker: worker, n_labels, skill with its 95 % interval."""
        return pl.DataFrame(
            {
                "worker": self.workers,
                "n_labels": self.labels_per_worker,
                "skill": self.skill,
                "skill_low": self.skill_low,
                "skill_high": self.skill_high,
            }
        )

    def confusion_table(self) -> pl.DataFrame:
        """One row a cell: worker, true, observed, p, n (expected number of labels); empty without a confusion."""
        m, k = len(self.workers), len(self.classes)
        if self.confusion is None:
            m = 0
        cells = np.indices((m, k, k)).reshape(3, -1)
        flat = np.empty(0) if self.confusion is None else self.confusion.ravel()
        n = np.full(len(flat), np.nan) if self.counts is None else self.counts.ravel()[: len(flat)]
        return pl.DataFrame(
            {
                "worker": self.workers.gather(cells[0]),
                "true": self.classes.gather(cells[1]),
                "observed": self.classes.gather(cells[2]),
                "p": flat,
                "n": n,
            }
        )

    # ---------------------------------------------------------------- new tasks, saving, loading
    def infer(self, annotations: Annotations, *, unknown_workers: Literal["error", "average"] = "error") -> Result:
        """Posteriors of new tasks labelled by known workers, with everything learnt held fixed.

        `unknown_workers="average"` treats workers never seen before as the crowd's average worker.
        """
        from ..aggregate.infer import infer

        return infer(self, annotations, unknown_workers)

    def save(self, folder: str | Path, *, force: bool = False) -> None:
        """Write result.json, arrays.npz and the vocabularies; never over existing files without `force`."""
        from ..io.store import save

        save(self, Path(folder), force=force)

    @staticmethod
    def load(folder: str | Path) -> Result:
        """Read what `save` (or `crowdwise aggregate -o`) wrote."""
        from ..io.store import load

        return load(Path(folder))


def versions() -> dict[str, str]:
    """What a result was made with."""
    from .. import __version__

    return {
        "crowdwise": __version__,
        "numpy": np.__version__,
        "python": ".".join(map(str, sys.version_info[:3])),
    }
