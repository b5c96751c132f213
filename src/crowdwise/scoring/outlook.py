"""How right a result is, in words: the one sentence that terminal and report begin with, for every kind of answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from .trust import error_of

if TYPE_CHECKING:
    from ..core.result import Result


class Statement(Protocol):
    """What the door "trust" of a kind gives."""

    def sentence(self, written: str = "") -> str:
        """The statement, without a full stop; `written` names a file with tasks to check."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""


def statement(result: Result, error: float | None = None) -> Statement | None:
    """What is known of how right a result is; None where its kind has no such statement."""
    if not result.kind.can("trust"):
        return None
    made: Statement = result.kind.door("trust")(result, error_of(result, error))
    return made


def outlook(result: Result, error: float | None = None, written: str = "") -> str:
    """One sentence without a full stop: what was measured on checked tasks, or that nothing was."""
    made = statement(result, error)
    if made is None:
        return f"how right {result.kind.people} are, only known answers can show (crowdwise evaluate)"
    return made.sentence(written)
