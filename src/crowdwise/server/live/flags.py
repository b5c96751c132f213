"""Flags of workers for the lead's page, for all kinds of answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.errors import CrowdwiseError
from ...core.kind import KindHooks
from ...core.result import Result
from ...core.votes import Votes
from ...workers.flags import Flag


def flagged(votes: Votes[Any], result: Result, names: Sequence[str]) -> dict[str, Any]:
    """The flags by the hooks of the kind: `flags` by the code of the worker in the project, and `groups` of names of
    workers with dependent answers. Empty if there are too few answers."""
    if not result.kind.hooks.supports(KindHooks.flags):
        return {}
    try:
        all_flags: list[Flag] = result.kind.hooks.flags(votes, result)
    except CrowdwiseError:
        return {}
    code = {name: str(i) for i, name in enumerate(names)}
    flags: dict[str, list[dict[str, str]]] = {}
    for flag in all_flags:
        flags.setdefault(code[flag.worker], []).append({"flag": flag.name, "evidence": flag.evidence})
    return {"flags": flags, "groups": groups_of(all_flags)}


def groups_of(flags: Sequence[Flag]) -> list[list[Any]]:
    """The groups of workers with dependent answers, sorted; a group has a flag for every member."""
    groups: list[set[Any]] = []
    for flag in flags:
        if not flag.partners:
            continue
        members = {flag.worker, *flag.partners}
        apart = [group for group in groups if not group & members]
        groups = [*apart, members.union(*(group for group in groups if group & members))]
    return [sorted(group) for group in groups]
