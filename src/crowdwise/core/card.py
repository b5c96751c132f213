"""A card: what a method is, where its class lives, what it needs and can."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Card:
    """What a method is.

    `needs`: "gold", "binary" (two classes), "overlap" (workers who share tasks), "predictions" (of what others will
    say). `can`: "confusion" (gives confusion
    matrices), "monotone" (its objective never falls within a stage), "single" (keeps every label when each task has
    only one), "infer" (inferring its own tasks gives its own posterior: it judges a task by its workers alone), "prior"
    (takes what earlier projects say of its workers), "shard" (it works on parts of the tasks that
    need not be in memory together), "interval" (estimates
    come with an interval). `takes`: the kind of answers that it is for.
    """

    name: str
    where: str
    family: str
    summary: str
    paper: str
    needs: frozenset[str] = frozenset()
    can: frozenset[str] = frozenset()
    takes: str = "classes"


def card(
    name: str,
    where: str,
    family: str,
    summary: str,
    paper: str,
    *,
    needs: str = "",
    can: str = "",
    takes: str = "classes",
) -> tuple[str, Card]:
    """A row of a table; `where` is "module:Class", the module below crowdwise.kinds."""
    return name, Card(
        name,
        f"crowdwise.kinds.{where}",
        family,
        summary,
        paper,
        frozenset(needs.split()),
        frozenset(can.split()),
        takes,
    )
