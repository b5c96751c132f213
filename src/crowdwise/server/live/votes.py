"""From the answers of a project to votes of the library's kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...core.errors import DataError
from ...core.votes import Votes
from ...kinds.classes.annotations import Annotations
from ...kinds.comparisons.votes import comparison_votes
from ...kinds.numbers.votes import number_votes
from ...kinds.rankings.votes import ranking_votes
from ...kinds.sets.votes import set_votes
from ...kinds.similarities.answers import similarity_votes
from ...kinds.spans.votes import span_votes
from ..config import Config

# (task, worker, answer, payload of the task, when it came, how many seconds it took)
Row = tuple[str, str, Any, dict[str, Any], float, float | None]


def votes_of(config: Config, rows: Sequence[Row]) -> Votes[Any]:
    """The votes of these answers."""
    if not rows:
        raise DataError("there is no answer yet")
    task, worker, answer, shown, time, took = (list(column) for column in zip(*rows, strict=True))
    numbers = {"time": time} | ({"duration": took} if any(each is not None for each in took) else {})
    return _MAKE[config.kind](config, task, worker, answer, shown, numbers)


def _classes(config: Config, task: Any, worker: Any, answer: Any, _: Any, numbers: Any) -> Votes[Any]:
    order = config.classes if config.kind == "ordered" else None
    return Annotations.from_arrays(task, worker, answer, classes=list(config.classes), order=order, **numbers)


def _sets(config: Config, task: Any, worker: Any, answer: Any, _: Any, numbers: Any) -> Votes[Any]:
    return set_votes(task, worker, answer, classes=list(config.classes), **numbers)


def _numbers(_: Config, task: Any, worker: Any, answer: Any, __: Any, numbers: Any) -> Votes[Any]:
    return number_votes(task, worker, answer, **numbers)


def _sides(shown: list[dict[str, Any]]) -> tuple[list[str], list[str]]:
    """The items of the tasks' two sides: their names where they have some, else what they show."""
    return tuple([each.get(f"{side}_id") or each[side] for each in shown] for side in ("left", "right"))  # type: ignore[return-value]


def _comparisons(_: Config, task: Any, worker: Any, answer: Any, shown: Any, numbers: Any) -> Votes[Any]:
    left, right = _sides(shown)
    return comparison_votes(left, right, answer, worker=worker, task=task, **numbers)


def _same(_: Config, task: Any, worker: Any, answer: Any, shown: Any, numbers: Any) -> Votes[Any]:
    left, right = _sides(shown)
    return similarity_votes(left, right, answer, worker=worker, task=task, **numbers)


def _rankings(_: Config, task: Any, worker: Any, answer: Any, __: Any, numbers: Any) -> Votes[Any]:
    return ranking_votes(task, worker, answer, **numbers)


def _spans(_: Config, task: Any, worker: Any, answer: Any, shown: Any, numbers: Any) -> Votes[Any]:
    marks = [[[each["start"], each["end"], each["label"]] for each in some] for some in answer]
    texts = {name: each["text"] for name, each in zip(task, shown, strict=True)}
    return span_votes(task, worker, marks, texts=texts, **numbers)


_MAKE: dict[str, Callable[..., Votes[Any]]] = {
    "classes": _classes,
    "ordered": _classes,
    "sets": _sets,
    "numbers": _numbers,
    "comparisons": _comparisons,
    "same": _same,
    "ranking": _rankings,
    "spans": _spans,
}
