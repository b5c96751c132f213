"""Requirements of a method: what the votes must have, and what a fit may cost. Checked before the fit begins."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Protocol

from ....core import method_registry as registry
from ....core.card import Card
from ....core.errors import CostWarning, DataError, IdentifiabilityWarning, ParameterError
from ..answers import Classes
from .partitioned import VotesSize

# ----------------------------------------------------------------
# The cost of a fit, estimated before it begins: one that needs too much fails at once and names cheaper methods.
# A posterior has tasks × classes cells. Methods with confusion matrices also keep several tables of workers × classes²
# cells and go through them in every step; with thousands of classes these tables, not the labels, are the cost of a
# fit.

# A larger posterior almost always means a wrong label column.
MAX_CELLS = 400_000_000
# A table of this size takes 400 MB; a fit keeps half a dozen of them and needs seconds per step.
MAX_TABLE_CELLS = 50_000_000
# Ensembles fit many times: tables beyond FREE_CELLS with over MAX_CELLS_PER_LABEL cells per label cost minutes and
# cannot be learnt.
FREE_CELLS, MAX_CELLS_PER_LABEL = 2_000_000, 100
CHEAP_METHODS = ("majority_vote", "wawa", "zero_based_skill")


def table_cells(votes: VotesSize) -> int:
    """Return the number of cells of all workers' confusion matrices."""
    return votes.n_workers * votes.n_classes**2


def too_sparse(votes: VotesSize, min_workers: int = 1) -> bool:
    """Whether confusion matrices (of at least `min_workers` workers) would be far larger than the data."""
    cells = max(votes.n_workers, min_workers) * votes.n_classes**2
    return cells > FREE_CELLS and cells > min(MAX_CELLS_PER_LABEL * len(votes), MAX_TABLE_CELLS)


def check_size(name: str, votes: VotesSize) -> None:
    """Raise where the votes are empty or too large for a method."""
    n, k = votes.n_tasks, votes.n_classes
    if n == 0 or k == 0:
        raise DataError("there are no annotations to aggregate: every row was dropped or the input is empty")
    if n * k > MAX_CELLS:
        raise DataError(
            f"{k:,} distinct labels make {n * k:,} cells (tasks × classes), over the limit of {MAX_CELLS:,}; "
            "is the label column the right one?"
        )
    check_tables(name, votes)


def check_tables(name: str, votes: VotesSize) -> None:
    """Raise where a method's confusion matrices would be too large."""
    m, k = votes.n_workers, votes.n_classes
    if keeps_confusion_matrices(name) and table_cells(votes) > MAX_TABLE_CELLS:
        raise DataError(
            f"{name} would keep {table_cells(votes):,} cells ({m:,} workers × {k:,}² classes), over the limit of "
            f"{MAX_TABLE_CELLS:,}; take {', '.join(CHEAP_METHODS)}, or is the label column the right one?"
        )


def is_wide(votes: VotesSize) -> bool:
    """Whether the posterior is far larger than the data, so that every step of a method costs as much as a vote."""
    return votes.n_tasks * votes.n_classes > max(FREE_CELLS, MAX_CELLS_PER_LABEL * len(votes))


def reason_to_skip(name: str, votes: VotesSize) -> str | None:
    """Return why a comparison of all methods leaves this one out for its cost; None where it runs or refuses itself."""
    frugal = name in CHEAP_METHODS or registry.card(name).family == "ensemble"
    refuses = keeps_confusion_matrices(name) and table_cells(votes) > MAX_TABLE_CELLS
    if frugal or not is_wide(votes) or refuses:
        return None
    cells = votes.n_tasks * votes.n_classes
    return (
        f"left out: every step would go through {cells:,} cells ({votes.n_tasks:,} tasks × "
        f"{votes.n_classes:,} classes) for {len(votes):,} labels; -m {name} runs it"
    )


def keeps_confusion_matrices(name: str) -> bool:
    """Whether a method keeps a confusion matrix per worker; ensembles do not, they leave out members that are too
    large."""
    card = registry.METHODS.get(name)
    return card is not None and "confusion" in card.can and card.family != "ensemble"


def affordable(names: Sequence[str], votes: VotesSize, plain_name: Callable[[str], str]) -> list[str]:
    """Return the methods of an ensemble that these votes justify, with a warning where some are left out.

    Args:
        names: Methods or variants of methods.
        votes: The votes. Where confusion matrices would be far larger than they are, methods that keep them are left
            out; a majority vote is the fallback.
        plain_name: Returns the method that a name is a variant of.
    """
    if not too_sparse(votes):
        return list(names)
    chosen = [name for name in names if not keeps_confusion_matrices(plain_name(name))]
    if is_wide(votes):
        chosen = [name for name in chosen if name == "majority_vote"]  # the others go through the posterior repeatedly
    if len(chosen) < len(names):
        dropped = ", ".join(name for name in names if name not in chosen)
        warnings.warn(
            f"{votes.n_classes:,} classes make confusion matrices of {table_cells(votes):,} cells for {len(votes):,} "
            f"labels; the methods that would take too long are left out ({dropped})",
            CostWarning,
            stacklevel=5,
        )
    return chosen or ["majority_vote"]


# ----------------------------------------------------------------
# What the votes must have.


class VoteTraits(Protocol):
    """The traits of votes that methods require; a part of them can state the traits of all."""

    @property
    def n_classes(self) -> int: ...  # noqa: D102
    @property
    def answers(self) -> Classes: ...  # noqa: D102
    @property
    def single_label(self) -> bool: ...  # noqa: D102


def check_requirements(
    card: Card, votes: VoteTraits, has_links: bool, has_gold: bool, has_prior: bool, stacklevel: int = 3
) -> None:
    """Raise where a method cannot work on these votes; warn where it can but has nothing to learn from."""
    name = card.name
    if "gold" in card.needs and not has_gold:
        raise DataError(f"{name} needs gold labels; pass gold= (on the command line --gold FILE)")
    if "binary" in card.needs and votes.n_classes != 2:
        raise DataError(f"{name} is for two classes, these data have {votes.n_classes}; hierarchical takes any")
    if "order" in card.needs and votes.answers.order is None:
        raise DataError(
            f"{name} needs the order of the classes; name them from the lowest to the highest with order= (on "
            "the command line --order low,mid,high), or pass --order numbers where they are numbers"
        )
    if "links" in card.needs and not has_links:
        raise DataError(
            f"{name} needs links between tasks; give them with votes.linked(table) (on the command line "
            "--links FILE, a table of two columns of tasks)"
        )
    if has_prior and "prior" not in card.can:
        raise ParameterError(f"{name} cannot use prior=; methods that can include hierarchical and dawid_skene")
    if votes.single_label and "single" not in card.can and not has_gold and not has_prior:
        warnings.warn(
            f"every task has one label, so {name} cannot tell worker errors from the truth and may "
            "overturn labels arbitrarily; hierarchical and majority_vote keep them",
            IdentifiabilityWarning,
            stacklevel=stacklevel,
        )
