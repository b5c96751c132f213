"""What a fit comes to, in a sentence or two for people."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..aggregate.ensemble.verdict import KEY, Independence
from ..core.result import Result
from ..core.votes import Votes
from ..kinds.classes.annotations import Annotations
from ..kinds.numbers.estimate import NumberEstimate
from .needs import Needs, needs


def sentences(annotations: Annotations, result: Result, error: float | None = None) -> list[str]:
    """What the labels need that cannot ship, and whether workers err together."""
    return [in_need(annotations, result, error), *err_together(result)]


def in_need(annotations: Annotations, result: Result, error: float | None = None) -> str:
    """What the labels need that cannot ship."""
    return need_in_words(needs(annotations, result, error))


def need_in_words(need: Needs) -> str:
    """How many tasks need another vote or an expert."""
    if not need.n_vote + need.n_expert:
        return "no task needs another vote or an expert"
    votes = f"{_tasks(need.n_vote)} another vote" if need.n_vote else ""
    who = f"{need.n_expert:,} {_verb(need.n_expert)}" if need.n_vote else _tasks(need.n_expert)
    expert = f"{who} an expert: more votes of this crowd would hardly help" if need.n_expert else ""
    return ", ".join(part for part in (votes, expert) if part)


def _tasks(n: int) -> str:
    return f"{n:,} {'task' if n == 1 else 'tasks'} {_verb(n)}"


def _verb(n: int) -> str:
    return "needs" if n == 1 else "need"


def err_together(result: Result) -> list[str]:
    """What the default's test of fit found, where it found something."""
    out = []
    for group in result.extra.get("copying") or []:
        names = ", ".join(str(name) for name in group[:5]) + (", ..." if len(group) > 5 else "")
        out.append(f"{len(group)} workers repeat each other's labels and count as one ({names})")
    test = result.extra.get(KEY)
    if test and Independence.of(test).together:
        out.append(Independence.of(test).sentence())
    return out


def number_sentences(votes: Votes[Any], result: Result) -> list[str]:
    """The range of the estimates; how wide their intervals are stands in the statement on top."""
    estimate = result.estimate
    assert isinstance(estimate, NumberEstimate)
    out = []
    spread = votes.answers.value.std(axis=0) if len(votes) else np.zeros(len(estimate.parts))
    for j, part in enumerate(estimate.parts.to_list()):
        name = f"{part}: " if part else ""
        value = estimate.value[:, j]
        line = f"{name}estimates from {value.min():.4g} to {value.max():.4g}, mean {value.mean():.4g}"
        out.append(line + (f" (answers spread by {spread[j]:.3g})" if spread[j] > 0 else ""))
    return out
