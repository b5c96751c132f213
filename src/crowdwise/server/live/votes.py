"""Conversion of the answers of a project to votes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from ...core.errors import DataError
from ...core.side_tables import as_share
from ...core.votes import Votes
from ...kinds.classes.annotations import Annotations
from ...kinds.comparisons.answers import comparison_votes
from ...kinds.numbers.answers import number_votes
from ...kinds.rankings.answers import ranking_votes
from ...kinds.sets.answers import set_votes
from ...kinds.similarities.answers import similarity_votes
from ...kinds.spans.answers import span_votes
from ..config import Config
from ..pair_sides import item_of

# (task, worker, answer, payload of the task, time, seconds, metadata of the answer)
Row = tuple[str, str, Any, dict[str, Any], float, float | None, dict[str, Any]]
# Metadata of answers that votes have: the stated confidence of a judge, and further columns of rows.
SURE, FACTS = "confidence", {"cost": pl.Float64, "order": pl.String}
# Fields of a payload that hold the prompt of a pair.
CONTEXT = ("prompt", "context", "text")


def votes_of(config: Config, rows: Sequence[Row]) -> Votes[Any]:
    """The votes of these answers."""
    if not rows:
        raise DataError("there is no answer yet")
    task, worker, answer, shown, time, took, about = (list(column) for column in zip(*rows, strict=True))
    numbers: dict[str, Any] = {"time": time} | _nonempty(
        {"duration": took, SURE: [as_share(x.get(SURE)) for x in about]}
    )
    votes = _MAKE[config.kind](config, task, worker, answer, shown, numbers)
    facts = _nonempty({name: [x.get(name) for x in about] for name in FACTS})
    if not facts:
        return votes
    who = {"task": task, "worker": worker}
    known_facts = pl.DataFrame({**who, **facts}, schema_overrides=FACTS, strict=False)
    # In the order of the votes, without rows that are not in them.
    kept = votes.to_frame().select(pl.col(*who).cast(pl.String))
    return replace(votes, about_rows=kept.join(known_facts, on=list(who), how="left", maintain_order="left").drop(*who))


def _nonempty(columns: dict[str, list[Any]]) -> dict[str, Any]:
    """The columns that are not empty."""
    return {name: values for name, values in columns.items() if any(value is not None for value in values)}


def _about_pairs(shown: list[dict[str, Any]]) -> dict[str, list[str | None]]:
    context = [next((str(payload[name]) for name in CONTEXT if payload.get(name)), None) for payload in shown]
    return _nonempty({"prompt": context})


def _classes(config: Config, task: Any, worker: Any, answer: Any, _: Any, numbers: Any) -> Votes[Any]:
    order = config.classes if config.kind == "ordered" else None
    return Annotations.from_arrays(task, worker, answer, classes=list(config.classes), order=order, **numbers)


def _sets(config: Config, task: Any, worker: Any, answer: Any, _: Any, numbers: Any) -> Votes[Any]:
    return set_votes(task, worker, answer, classes=list(config.classes), **numbers)


def _numbers(_: Config, task: Any, worker: Any, answer: Any, __: Any, numbers: Any) -> Votes[Any]:
    return number_votes(task, worker, answer, **numbers)


def _sides(shown: list[dict[str, Any]]) -> tuple[list[str], list[str]]:
    """The names of the items of both sides of the tasks."""
    return [item_of(payload, "left") for payload in shown], [item_of(payload, "right") for payload in shown]


def _comparisons(_: Config, task: Any, worker: Any, answer: Any, shown: Any, numbers: Any) -> Votes[Any]:
    left, right = _sides(shown)
    return comparison_votes(left, right, answer, worker=worker, task=task, **_about_pairs(shown), **numbers)


def _similarities(_: Config, task: Any, worker: Any, answer: Any, shown: Any, numbers: Any) -> Votes[Any]:
    left, right = _sides(shown)
    return similarity_votes(left, right, answer, worker=worker, task=task, **numbers)


def _rankings(_: Config, task: Any, worker: Any, answer: Any, __: Any, numbers: Any) -> Votes[Any]:
    return ranking_votes(task, worker, answer, **numbers)


def _spans(_: Config, task: Any, worker: Any, answer: Any, shown: Any, numbers: Any) -> Votes[Any]:
    marks = [[[span["start"], span["end"], span["label"]] for span in some] for some in answer]
    texts = {name: payload["text"] for name, payload in zip(task, shown, strict=True)}
    return span_votes(task, worker, marks, texts=texts, **numbers)


_MAKE: dict[str, Callable[..., Votes[Any]]] = {
    "classes": _classes,
    "ordered": _classes,
    "sets": _sets,
    "numbers": _numbers,
    "comparisons": _comparisons,
    "similarities": _similarities,
    "rankings": _rankings,
    "spans": _spans,
}
