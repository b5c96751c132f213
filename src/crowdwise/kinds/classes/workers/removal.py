"""Removal of flagged workers, with a record of everything that changes, so that nothing is dropped silently."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import polars as pl

from ....core import method_registry as registry
from ....core.arrays import I8
from ....core.ledger import Ledger
from ....core.result import Result
from ....core.votes import Votes
from ....evaluation.fitting import fit, measurable
from ....workers.flags import REMOVED, Flag
from ..annotations import Annotations
from ..methods.dependence import find_groups

# ----------------------------------------------------------------
# The blind fit: the same method fitted without the gold, so that it can be evaluated on the gold.


def blind_fit(method: Any, votes: Any, gold: Any, *, sampling: Any = None, **how: Any) -> tuple[Result, Result | None]:
    """Return the fit with gold, calibrated on it (`cw.fit`), and the blind fit.

    The blind fit is None without gold, or if the method requires gold.
    """
    result = fit(votes, method, gold, sampling=sampling, **how)
    if gold is None or not measurable(method.name):
        return result, None
    return result, method.fit(votes, **how)


def blind_to(result: Result, votes: Votes[Any], gold_in_fit: bool) -> Result | None:
    """Return the fit to evaluate on gold, given a result.

    Args:
        result: The result.
        votes: Its votes.
        gold_in_fit: Whether the result was fitted with the gold. Then the same method is fitted without it; None if the
            method requires gold.
    """
    if not gold_in_fit:
        return result
    if not measurable(result.method):
        return None
    refitted: Result = registry.method(result.method, **result.params).fit(votes)
    return refitted


# ----------------------------------------------------------------
# Groups of dependent workers, in the format expected by `group_aware`.


# Most workers for the search, which holds worker × worker tables.
MAX_WORKERS = 3_000


def dependence_groups(
    annotations: Annotations, *, level: float = 0.001, excess: float = 0.1
) -> tuple[tuple[Any, ...], ...]:
    """Find groups of workers who agree more than independent errors explain, largest first.

    `cw.classes.GroupAware(groups=dependence_groups(votes))` gives every group the weight of one worker.

    Args:
        annotations: The votes.
        level: False discovery rate of the pairs.
        excess: Least agreement of a pair beyond the fit.

    >>> votes = Annotations.from_arrays([1, 1, 2, 2], [*"abab"], [*"xyxx"])
    >>> dependence_groups(votes)
    ()
    """
    return group_names(annotations, group_numbers(annotations, level, excess))


def group_numbers(annotations: Annotations, level: float, excess: float) -> I8:
    """Return the group number of each worker; in crowds too large for the search, each worker is a group."""
    if annotations.n_workers > MAX_WORKERS:
        return np.arange(annotations.n_workers)
    return find_groups(annotations, level, excess)


def group_names(annotations: Annotations, group: I8) -> tuple[tuple[Any, ...], ...]:
    """Return the worker names of groups with several members."""
    sizes = np.bincount(group)
    order = sorted(np.flatnonzero(sizes > 1).tolist(), key=lambda g: (-sizes[g], g))
    return tuple(tuple(annotations.workers.gather(np.flatnonzero(group == g)).to_list()) for g in order)


REASON = "given by a worker who was flagged and left out"


@dataclass(frozen=True)
class Removal:
    """Annotations without the labels of some workers.

    Attributes:
        annotations: The remaining votes, with unchanged vocabularies.
        workers: The removed workers.
        n_labels: Number of removed labels.
        orphans: Tasks with labels of flagged workers only.
        kept_orphans: Whether the labels of orphans were kept (orphans="keep") or dropped.
        reasons: The flags of each removed worker.
    """

    annotations: Any
    workers: tuple[Any, ...]
    n_labels: int
    orphans: tuple[Any, ...]
    kept_orphans: bool
    reasons: dict[Any, tuple[str, ...]]

    def sentences(self) -> list[str]:
        """Describe the changes in sentences."""
        workers = "no worker is" if not self.workers else f"{len(self.workers)} workers are"
        lines = [f"{workers} left out, with {self.n_labels:,} labels"]
        if self.orphans:
            fate = "those labels are kept" if self.kept_orphans else "they are now without any label"
            lines.append(f"{len(self.orphans):,} tasks have labels of flagged workers only: {fate}")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
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
    """Remove the labels of flagged workers.

    Args:
        annotations: The votes.
        flags: Flags of the workers.
        names: Names of the flags that lead to removal.
        orphans: Whether to "keep" or "drop" the labels of tasks that would lose all labels.

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
    is_flagged = np.array([name in reasons for name in annotations.workers.to_list()], dtype=bool)
    is_removed = is_flagged[annotations.worker]
    n_left = np.bincount(annotations.task[~is_removed], minlength=annotations.n_tasks)
    is_orphan = (annotations.labels_per_task > 0) & (n_left == 0)
    if orphans == "keep":
        is_removed = is_removed & ~is_orphan[annotations.task]
    n = int(is_removed.sum())
    remaining = annotations.take(~is_removed)
    ledger_before = annotations.ledger
    if ledger_before.rows_used != len(annotations):  # a subset of the rows that were read: start a new ledger
        ledger_before = Ledger(len(annotations), len(annotations))
    dropped = {**ledger_before.dropped, REASON: ledger_before.dropped.get(REASON, 0) + n}
    ledger = Ledger(ledger_before.rows_in, len(remaining), dropped, ledger_before.notes)
    return Removal(
        replace(remaining, ledger=ledger),
        tuple(annotations.workers.filter(pl.Series(is_flagged)).to_list()),
        n,
        tuple(annotations.tasks.filter(pl.Series(is_orphan)).to_list()),
        orphans == "keep",
        reasons,
    )


@dataclass(frozen=True)
class Refit:
    """A fit without flagged workers: the result, the votes it was fitted on, the removed workers, their flags, and the
    number of changed labels (None if answers are not classes)."""

    result: Result
    annotations: Any
    removal: Removal
    flags: tuple[Flag, ...]
    n_changed: int | None

    def sentences(self) -> list[str]:
        """Describe the changes in sentences."""
        removed = [
            f"left out: {flag.worker} ({flag.name}): {flag.evidence}"
            for flag in self.flags
            if flag.name in self.removal.reasons.get(flag.worker, ())
        ]
        changes = [] if self.n_changed is None else [f"{self.n_changed:,} labels differ from those with all votes"]
        return [*removed, *self.removal.sentences(), *changes]


def fit_without_flagged(method: Any, annotations: Any, **how: Any) -> Refit:
    """Fit, remove workers flagged as guessing or colluding, and fit again; `how` is passed to both fits (`cw.fit`)."""
    before = fit(annotations, method, **how)
    flags = annotations.kind.hooks.flags(annotations, before)
    removal = drop_flagged(annotations, flags)
    result = fit(removal.annotations, method, **how)
    changed = int((result.labels != before.labels).sum()) if hasattr(result, "labels") else None
    return Refit(result, removal.annotations, removal, tuple(flags), changed)
