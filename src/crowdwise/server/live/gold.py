"""Gold of a project in the form that fits take, and what it can measure for each kind of answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from ..pair_sides import SIDES, item_of

Payload = Mapping[str, Any]


@dataclass(frozen=True)
class Use:
    """The use of gold for a kind of answers.

    `read(answer, payload)` converts an answer of the project to gold of a fit; None if fits take no gold of tasks.
    `unmeasured` is the reason why random gold measures nothing (empty if it does), `random_only` the reason why other
    gold is not used (empty if it is used in fits).
    """

    read: Callable[[Any, Payload], Any] | None = lambda answer, _: answer
    unmeasured: str = ""
    random_only: str = ""


def _winner(answer: str, payload: Payload) -> str:
    """The item that won, or tie; by side, because an item may have the name of the other side."""
    return item_of(payload, answer) if answer in SIDES else answer


_USES = {
    "numbers": Use(random_only="gold sets the intervals of numbers, so it must be a random sample"),
    "comparisons": Use(_winner),
    "rankings": Use(
        lambda answer, _: json.dumps(answer),
        unmeasured="an order is not right or wrong as a whole; `crowdwise evaluate` scores it by known orders",
    ),
    "similarities": Use(
        None,
        unmeasured="a pair is not judged by itself; `crowdwise evaluate` scores clusters by known clusters of items",
    ),
}


def use_of(kind: str) -> Use:
    """The use of gold for this kind."""
    return _USES.get(kind, Use())


def usable(
    kind: str, gold: Mapping[str, Any], drawn: Collection[str], shown: Mapping[str, Payload]
) -> tuple[dict[str, Any], list[str]]:
    """The gold of answered tasks for a fit, and one line each on gold that is not used. `drawn` are randomly drawn
    tasks, `shown` the payloads of answered tasks."""
    use = use_of(kind)
    answered = {task: answer for task, answer in gold.items() if task in shown}
    if use.read is None:
        lines = [f"{_count(len(answered))} not used: {use.unmeasured}"] if answered else []
        return {}, lines
    kept = {t: use.read(a, shown[t]) for t, a in answered.items() if t in drawn or not use.random_only}
    left = len(answered) - len(kept)
    return kept, [f"{_count(left)} not drawn at random and not used: {use.random_only}"] if left else []


def _count(n: int) -> str:
    return "1 gold answer is" if n == 1 else f"{n:,} gold answers are"
