"""A study of the workers, whatever the kind of answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, overload

from ..core.errors import DataError
from ..core.result import Result
from ..core.votes import Votes
from .studied import Studied

if TYPE_CHECKING:
    from ..kinds.classes.annotations import Annotations
    from ..kinds.classes.workers.study import Study


@overload
def study(votes: Annotations, result: Result, *, gold: Any = None, **options: Any) -> Study: ...


@overload
def study(votes: Votes[Any], result: Result, *, gold: Any = None, **options: Any) -> Studied: ...


def study(votes: Votes[Any], result: Result, *, gold: Any = None, **options: Any) -> Studied:
    """Quality, agreement and flags, for any kind of answers: what `Studied` has, and what the kind adds (see `Study`).

    `gold` adds how well workers do on known tasks; `options` are the kind's own (see `study_classes`).
    """
    if votes.kind is not result.kind:
        raise DataError(f"the result is of {result.kind.people}, the votes are {votes.kind.people}")
    found: Studied = result.kind.hooks.study(votes, result, gold=gold, **options)
    return found
