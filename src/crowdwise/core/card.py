"""Metadata of a method: where its class is defined, what it needs and what it supports."""

from __future__ import annotations

from dataclasses import dataclass

# What a card may state as `needs` and `can`; the meaning of the words is in the docstring of Card.
NEEDS = ("gold", "binary", "overlap", "predictions", "order", "links", "confusion")
CAPABILITIES = ("confusion", "monotone", "single", "infer", "prior", "shard", "interval", "workers", "forecast")


@dataclass(frozen=True)
class Card:
    """Metadata of a method.

    Attributes:
        name: Name in the registry.
        where: "module:Class" of the method.
        family: Group in the list of methods.
        summary: One line for the list of methods.
        paper: Reference.
        needs: Requirements on the data: "gold", "binary" (two classes), "overlap" (workers who share tasks),
            "predictions" (workers' predictions of the answers of others).
        can: Capabilities: "confusion" (estimates confusion matrices), "monotone" (the objective never decreases within
            a stage), "single" (keeps every label when each task has only one), "infer" (inference on its own tasks
            reproduces its posterior, since a task depends on its workers alone), "prior" (accepts worker estimates of
            earlier projects), "shard" (works on partitions that need not be in memory together), "interval"
            (estimates have an interval).
        takes: Kind of answers that the method is for.
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
    """Return an entry of a table of methods; `where` is "module:Class" relative to crowdwise.kinds."""
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


def kind_card(
    kind: str, name: str, method: str, summary: str, paper: str, *, needs: str = "", can: str = "", takes: str = ""
) -> tuple[str, Card]:
    """Return an entry of the table of a kind, whose methods are classes of `methods.py`; `takes` is the kind itself."""
    return card(name, f"{kind}.methods:{method}", kind, summary, paper, needs=needs, can=can, takes=takes or kind)
