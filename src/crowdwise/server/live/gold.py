"""Known answers of a project as the library's fits take them, and what they can measure of each kind."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

from ..pair_sides import SIDES, item_of

Payload = Mapping[str, Any]


@dataclass(frozen=True)
class Use:
    """What gold does for a kind of answers.

    `read(answer, payload)` writes an answer of the project as gold of a fit; None where fits take no gold of tasks.
    `unmeasured` is why random gold measures nothing ("" where it does), `random_only` why other gold is not used ("":
    it is, and teaches the fit).
    """

    read: Callable[[Any, Payload], Any] | None = lambda answer, _: answer
    unmeasured: str = ""
    random_only: str = ""


def _winner(answer: str, payload: Payload) -> str:
    """The item that won, or tie: an item may be called like the other side."""
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
    """What gold does for answers of this kind."""
    return _USES.get(kind, Use())


def usable(
    kind: str, gold: Mapping[str, Any], drawn: Collection[str], shown: Mapping[str, Payload]
) -> tuple[dict[str, Any], list[str]]:
    """The gold of answered tasks as a fit takes it, and in one line each what of it is not used; `drawn` are tasks that
    were drawn at random, `shown` is what answered tasks show."""
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
