"""What the votes must have for a method, checked at the door; one sentence where they do not."""

from __future__ import annotations

import warnings
from typing import Protocol

from ..core.errors import DataError, IdentifiabilityWarning, ParameterError
from ..kinds.classes.answers import Classes
from .registry import card


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
