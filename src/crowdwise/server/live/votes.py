"""From the answers of a project to votes of the library's kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from ...core.errors import DataError
from ...core.side_tables import as_share
from ...core.votes import Votes
from ...kinds.classes.annotations import Annotations
from ...kinds.comparisons.kind import comparison_votes
from ...kinds.numbers.kind import number_votes
from ...kinds.rankings.kind import ranking_votes
from ...kinds.sets.kind import set_votes
from ...kinds.similarities.answers import similarity_votes
from ...kinds.spans.kind import span_votes
from ..config import Config
from ..sides import item_of

# (task, worker, answer, payload of the task, when it came, how many seconds it took, what was said about the answer)
Row = tuple[str, str, Any, dict[str, Any], float, float | None, dict[str, Any]]
# What is said about answers and votes know of: how sure a judge is (a number of theirs), and facts of rows.
SURE, FACTS = "confidence", {"cost": pl.Float64, "order": pl.String}
# What a pair is about, by the name of the field that says so.
CONTEXT = ("prompt", "context", "text")


def votes_of(config: Config, rows: Sequence[Row]) -> Votes[Any]:
    """The votes of these answers."""
    if not rows:
        raise DataError("there is no answer yet")
    task, worker, answer, shown, time, took, about = (list(column) for column in zip(*rows, strict=True))
    numbers: dict[str, Any] = {"time": time} | _some({"duration": took, SURE: [as_share(x.get(SURE)) for x in about]})
    votes = _MAKE[config.kind](config, task, worker, answer, shown, numbers)
    facts = _some({name: [x.get(name) for x in about] for name in FACTS})
    if not facts:
        return votes
    who = {"task": task, "worker": worker}
    known = pl.DataFrame({**who, **facts}, schema_overrides=FACTS, strict=False)
    # In the order of the votes, without the rows that they left out.
    kept = votes.to_frame().select(pl.col(*who).cast(pl.String))
    return replace(votes, about_rows=kept.join(known, on=list(who), how="left", maintain_order="left").drop(*who))


def _some(columns: dict[str, list[Any]]) -> dict[str, Any]:
    """Columns in which something stands."""
    return {name: values for name, values in columns.items() if any(each is not None for each in values)}


def _about_pairs(shown: list[dict[str, Any]]) -> dict[str, list[str | None]]:
    found = [next((str(each[name]) for name in CONTEXT if each.get(name)), None) for each in shown]
    return _some({"prompt": found})


def _classes(config: Config, task: Any, worker: Any, answer: Any, _: Any, numbers: Any) -> Votes[Any]:
    order = config.classes if config.kind == "ordered" else None
    return Annotations.from_arrays(task, worker, answer, classes=list(config.classes), order=order, **numbers)


def _sets(config: Config, task: Any, worker: Any, answer: Any, _: Any, numbers: Any) -> Votes[Any]:
    return set_votes(task, worker, answer, classes=list(config.classes), **numbers)


def _numbers(_: Config, task: Any, worker: Any, answer: Any, __: Any, numbers: Any) -> Votes[Any]:
    return number_votes(task, worker, answer, **numbers)


def _sides(shown: list[dict[str, Any]]) -> tuple[list[str], list[str]]:
    """The items of the tasks' two sides: their names where they have some, else what they show."""
    return [item_of(each, "left") for each in shown], [item_of(each, "right") for each in shown]


def _comparisons(_: Config, task: Any, worker: Any, answer: Any, shown: Any, numbers: Any) -> Votes[Any]:
    left, right = _sides(shown)
    return comparison_votes(left, right, answer, worker=worker, task=task, **_about_pairs(shown), **numbers)


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
