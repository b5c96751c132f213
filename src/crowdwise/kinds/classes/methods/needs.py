"""What the votes must have for a method, checked at the door; one sentence where they do not."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Protocol

from ....core import method_registry as registry
from ....core.errors import CostWarning, DataError, IdentifiabilityWarning, ParameterError
from ....core.method_registry import card
from ..answers import Classes
from .spread import Size

# ----------------------------------------------------------------
# What a fit would cost, estimated before it begins: one that needs too much fails at once and says what would do.
# A posterior has tasks × classes cells. Methods with confusion matrices keep several tables of workers × classes²
# cells besides, and go through them in every step; with thousands of classes these, not the labels, are what a fit
# costs.

# A posterior larger than this is almost always a wrong column, not a wish.
MAX_CELLS = 400_000_000
# A table of this size takes 400 MB, a fit half a dozen of them and seconds a step.
MAX_TABLE = 50_000_000
# A committee fits many times over: tables beyond FREE with over THIN cells a label cost minutes and can learn nothing.
FREE, THIN = 2_000_000, 100
CHEAP = ("majority_vote", "wawa", "zero_based_skill")


def table_cells(annotations: Size) -> int:
    """Cells of all workers' confusion matrices."""
    return annotations.n_workers * annotations.n_classes**2


def too_thin(annotations: Size, fewest: int = 1) -> bool:
    """Whether confusion matrices (of `fewest` workers at least) would be far larger than what they are learnt from."""
    cells = max(annotations.n_workers, fewest) * annotations.n_classes**2
    return cells > FREE and cells > min(THIN * len(annotations), MAX_TABLE)


def check_size(name: str, annotations: Size) -> None:
    """Raise where these data are too large for a method."""
    n, k = annotations.n_tasks, annotations.n_classes
    if n == 0 or k == 0:
        raise DataError("there are no annotations to aggregate: every row was dropped or the input is empty")
    if n * k > MAX_CELLS:
        raise DataError(
            f"{k:,} distinct labels make {n * k:,} cells (tasks × classes), over the limit of {MAX_CELLS:,}; "
            "is the label column the right one?"
        )
    check_tables(name, annotations)


def check_tables(name: str, annotations: Size) -> None:
    """Raise where a method's tables of workers would be too large."""
    m, k = annotations.n_workers, annotations.n_classes
    if keeps_tables(name) and table_cells(annotations) > MAX_TABLE:
        raise DataError(
            f"{name} would keep {table_cells(annotations):,} cells ({m:,} workers × {k:,}² classes), over the limit of "
            f"{MAX_TABLE:,}; take {', '.join(CHEAP)}, or is the label column the right one?"
        )


def wide(annotations: Size) -> bool:
    """Whether a posterior is far larger than what it is learnt from: every step of a method costs as much as a vote."""
    return annotations.n_tasks * annotations.n_classes > max(FREE, THIN * len(annotations))


def too_dear(name: str, annotations: Size) -> str | None:
    """Why a comparison that nobody asked this method into leaves it out; None where it need not, or will refuse."""
    frugal = name in CHEAP or registry.card(name).family == "ensemble"
    if frugal or not wide(annotations) or (keeps_tables(name) and table_cells(annotations) > MAX_TABLE):
        return None
    cells = annotations.n_tasks * annotations.n_classes
    return (
        f"left out: every step would go through {cells:,} cells ({annotations.n_tasks:,} tasks × "
        f"{annotations.n_classes:,} classes) for {len(annotations):,} labels; -m {name} runs it"
    )


def keeps_tables(name: str) -> bool:
    """Whether a method has a confusion matrix for every worker; ensembles leave out those members who would not fit."""
    card = registry.METHODS.get(name)
    return card is not None and "confusion" in card.can and card.family != "ensemble"


def worthwhile(names: Sequence[str], annotations: Size, plain: Callable[[str], str]) -> list[str]:
    """Those of an ensemble's methods that these data are worth: all of them, or, said so, those without tables.

    `plain` gives the method that a name is a variant of. Where all have tables, a vote stands in for them.
    """
    cells = table_cells(annotations)
    if not too_thin(annotations):
        return list(names)
    kept = [name for name in names if not keeps_tables(plain(name))]
    if wide(annotations):
        kept = [name for name in kept if name == "majority_vote"]  # the others go through the posterior again and again
    if len(kept) < len(names):
        left = ", ".join(name for name in names if name not in kept)
        warnings.warn(
            f"{annotations.n_classes:,} classes make confusion matrices of {cells:,} cells for {len(annotations):,} "
            f"labels; the methods that would take too long are left out ({left})",
            CostWarning,
            stacklevel=5,
        )
    return kept or ["majority_vote"]


class Seen(Protocol):
    """What is looked at: the votes, or one part of them that knows how many labels a task has at most."""

    @property
    def n_classes(self) -> int: ...  # noqa: D102
    @property
    def answers(self) -> Classes: ...  # noqa: D102
    @property
    def single_label(self) -> bool: ...  # noqa: D102


def check_needs(name: str, votes: Seen, links: bool, gold: bool, prior: bool, level: int = 3) -> None:
    """Raise where a method cannot work on these votes, warn where it can but has nothing to learn from."""
    me = card(name)
    if "gold" in me.needs and not gold:
        raise DataError(f"{name} needs gold labels; pass gold= (on the command line --gold FILE)")
    if "binary" in me.needs and votes.n_classes != 2:
        raise DataError(f"{name} is for two classes, these data have {votes.n_classes}; hierarchical takes any")
    if "order" in me.needs and votes.answers.order is None:
        raise DataError(
            f"{name} needs the order of the classes; name them from the lowest to the highest with order= (on "
            "the command line --order low,mid,high), or say --order numbers where they are numbers"
        )
    if "links" in me.needs and not links:
        raise DataError(
            f"{name} needs links between tasks; give them with votes.linked(table) (on the command line "
            "--links FILE, a table of two columns of tasks)"
        )
    if prior and "prior" not in me.can:
        raise ParameterError(f"{name} cannot use prior=; hierarchical and dawid_skene are among those who can")
    if votes.single_label and "single" not in me.can and not gold and not prior:
        warnings.warn(
            f"every task has one label, so {name} cannot tell workers' errors from the truth and may "
            "overturn labels at will; hierarchical and majority_vote keep them",
            IdentifiabilityWarning,
            stacklevel=level,
        )
