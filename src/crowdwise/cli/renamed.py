"""Former names of commands, options and option values, with a hint for each at the use of a former name."""

from __future__ import annotations

from ..core.errors import ParameterError
from ..core.registry import FORMER_KINDS

COMMANDS = {"fair": "fairness"}
# (command, former option) -> option.
OPTIONS = {
    ("estimate", "--of"): "--metric",
    ("estimate", "--for"): "--population",
    ("estimate", "--anyway"): "--force",
}


def command_hint(name: str) -> str | None:
    """Return a hint for a former command, or None."""
    new = COMMANDS.get(name)
    return None if new is None else f"crowdwise {name} was renamed: use crowdwise {new}"


def option_hint(command: str, option: str) -> str | None:
    """Return a hint for a former option of a command, or None."""
    new = OPTIONS.get((command, option))
    return None if new is None else f"crowdwise {command} {option} was renamed: use {new}"


def check_project_kind(kind: str) -> None:
    """Refuse a former name of a kind of project with a hint."""
    if kind in FORMER_KINDS:
        raise ParameterError(f"--kind {kind} was renamed: use --kind {FORMER_KINDS[kind]}")
