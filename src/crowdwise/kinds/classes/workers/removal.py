"""Leaving flagged workers out, with a list of everything that changes: nothing is dropped silently."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from ....core import method_registry as registry
from ....core.ledger import Ledger
from ....core.result import Result
from ....core.votes import Votes
from ....evaluation.fitting import fit, measurable
from ....workers.flags import REMOVED, Flag
from ..annotations import Annotations
from ..methods.dependence import find_groups

# ----------------------------------------------------------------
# The blind fit: the same method without the gold, so that the gold can judge it.


def blind_fit(method: Any, votes: Any, gold: Any, *, sampling: Any = None, **how: Any) -> tuple[Result, Result | None]:
    """The fit with gold, calibrated on it (`cw.fit`), and the one without it: None where there is no gold, or where the
    method cannot do without."""
    result = fit(votes, method, gold, sampling=sampling, **how)
    if gold is None or not measurable(method.name):
        return result, None
    return result, method.fit(votes, **how)


def blind_to(result: Result, votes: Votes[Any], given: bool) -> Result | None:
    """What gold may judge of a result that was fitted before: the result itself, or where its fit was `given` the gold,
    a fit of the same method without it; None where the method cannot do without."""
    if not given:
        return result
    if not measurable(result.method):
        return None
    again: Result = registry.method(result.method, **result.params).fit(votes)
    return again


# ----------------------------------------------------------------
# Who depends on whom? Groups of workers who err together, in the form that `group_aware` takes.

I8 = npt.NDArray[np.int64]

# The search holds worker × worker tables.
MAX_WORKERS = 3_000


def dependence_groups(
    annotations: Annotations, *, level: float = 0.001, excess: float = 0.1
) -> tuple[tuple[Any, ...], ...]:
    """Groups of two workers or more who agree beyond what independent errors explain, the largest first.

    `cw.GroupAware(groups=dependence_groups(votes))` gives each group one voice. `level` is the share of false
    discoveries among pairs, `excess` the agreement beyond the fit that a pair must show.

    >>> votes = Annotations.from_arrays([1, 1, 2, 2], [*"abab"], [*"xyxx"])
    >>> dependence_groups(votes)
    ()
    """
    return named(annotations, group_numbers(annotations, level, excess))


def group_numbers(annotations: Annotations, level: float, excess: float) -> I8:
    """Group number of each worker; crowds too large for the search stay single."""
    if annotations.n_workers > MAX_WORKERS:
        return np.arange(annotations.n_workers)
    return find_groups(annotations, level, excess)


def named(annotations: Annotations, group: I8) -> tuple[tuple[Any, ...], ...]:
    """Groups of several by the workers' names."""
    sizes = np.bincount(group)
    order = sorted(np.flatnonzero(sizes > 1).tolist(), key=lambda g: (-sizes[g], g))
    return tuple(tuple(annotations.workers.gather(np.flatnonzero(group == g)).to_list()) for g in order)


REASON = "given by a worker who was flagged and left out"


@dataclass(frozen=True)
class Removal:
    """`annotations` without the labels of `workers`; the vocabularies stay, so tasks keep their places.

    `n_labels` were left out. `orphans` are the tasks that had labels of flagged workers only: with orphans="keep" those
    labels stayed, with "drop" these tasks are now without any. `reasons[worker]` names their flags.
    """

    annotations: Any
    workers: tuple[Any, ...]
    n_labels: int
    orphans: tuple[Any, ...]
    kept_orphans: bool
    reasons: dict[Any, tuple[str, ...]]

    def sentences(self) -> list[str]:
        """What changed, for people."""
        who = "no worker is" if not self.workers else f"{len(self.workers)} workers are"
        lines = [f"{who} left out, with {self.n_labels:,} labels"]
        if self.orphans:
            fate = "those labels are kept" if self.kept_orphans else "they are now without any label"
            lines.append(f"{len(self.orphans):,} tasks have labels of flagged workers only: {fate}")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "workers": list(self.workers),
            "labels": self.n_labels,
            "orphan_tasks": list(self.orphans),
            "orphan_labels_kept": self.kept_orphans,
            "reasons": {str(name): list(flags) for name, flags in self.reasons.items()},
        }


def drop_flagged(
    annotations: Any,
    flags: Iterable[Flag],
    *,
    names: Collection[str] = REMOVED,
    orphans: Literal["keep", "drop"] = "keep",
) -> Removal:
    """Leave out the workers who have a flag of these `names`.

    A task whose every label would go is an orphan: its labels are kept (default) or dropped, and it is listed.

    >>> import crowdwise as cw
    >>> votes = cw.Annotations.from_arrays([1, 1, 2], [*"aba"], [*"xyx"])
    >>> out = drop_flagged(votes, [Flag("a", "random")])
    >>> out.workers, out.n_labels, out.orphans
    (('a',), 1, (2,))
    """
    reasons: dict[Any, tuple[str, ...]] = {}
    for flag in flags:
        if flag.name in names:
            reasons[flag.worker] = (*reasons.get(flag.worker, ()), flag.name)
    bad = np.array([name in reasons for name in annotations.workers.to_list()], dtype=bool)
    gone = bad[annotations.worker]
    left = np.bincount(annotations.task[~gone], minlength=annotations.n_tasks)
    lonely = (annotations.labels_per_task > 0) & (left == 0)
    if orphans == "keep":
        gone = gone & ~lonely[annotations.task]
    n = int(gone.sum())
    kept = annotations.take(~gone)
    before = annotations.ledger
    if before.rows_used != len(annotations):  # a part of what was read: the ledger starts from zero
        before = Ledger(len(annotations), len(annotations))
    dropped = {**before.dropped, REASON: before.dropped.get(REASON, 0) + n}
    ledger = Ledger(before.rows_in, len(kept), dropped, before.notes)
    return Removal(
        replace(kept, ledger=ledger),
        tuple(annotations.workers.filter(pl.Series(bad)).to_list()),
        n,
        tuple(annotations.tasks.filter(pl.Series(lonely)).to_list()),
        orphans == "keep",
        reasons,
    )


@dataclass(frozen=True)
class Refit:
    """A fit without flagged workers: the `result`, the votes that it rests on (`annotations`), who left, and how many
    labels differ (None where answers are no classes)."""

    result: Result
    annotations: Any
    removal: Removal
    flags: tuple[Flag, ...]
    n_changed: int | None

    def sentences(self) -> list[str]:
        """What changed, for people."""
        left = [
            f"left out: {flag.worker} ({flag.name}): {flag.evidence}"
            for flag in self.flags
            if flag.name in self.removal.reasons.get(flag.worker, ())
        ]
        more = [] if self.n_changed is None else [f"{self.n_changed:,} labels differ from those with everybody's votes"]
        return [*left, *self.removal.sentences(), *more]


def fit_without_flagged(method: Any, annotations: Any, **how: Any) -> Refit:
    """Fit, leave out the workers who are flagged as guessing or colluding, and fit again; `how` goes to both fits
    (`cw.fit`)."""
    before = fit(annotations, method, **how)
    flags = annotations.kind.hooks.flags(annotations, before)
    removal = drop_flagged(annotations, flags)
    result = fit(removal.annotations, method, **how)
    changed = int((result.labels != before.labels).sum()) if hasattr(result, "labels") else None
    return Refit(result, removal.annotations, removal, tuple(flags), changed)
