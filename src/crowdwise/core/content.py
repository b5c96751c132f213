"""What was shown of a task, in one line: the columns of the table about the tasks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from .votes import Votes

# Columns that place marks on an image rather than tell what a task is about.
_SIZES = ("width", "height")
# Columns that hold the text or the image by their names, most telling first; others follow.
_FIRST = ("text", "prompt", "url", "image")


def contents(votes: Votes[Any], tasks: Sequence[Any]) -> list[str]:
    """Return what is known about the content of each of these tasks, "" where there is nothing.

    >>> import crowdwise as cw
    >>> votes = cw.Annotations.from_arrays([1, 2], ["ann", "ann"], ["cat", "dog"])
    >>> contents(votes.about(tasks={"task": [1], "text": ["a grey cat"], "page": [7]}), [1, 2])
    ['a grey cat · page: 7', '']
    """
    table = votes.about_tasks
    names = [] if table is None else sorted((n for n in table.columns[1:] if n not in _SIZES), key=_place)
    if table is None or not names:
        return [""] * len(tasks)
    wanted = [str(task) for task in tasks]
    shown = table.with_columns(pl.col("task").cast(pl.String)).filter(pl.col("task").is_in(wanted))
    lines = {row["task"]: _line(row, names) for row in shown.iter_rows(named=True)}
    return [lines.get(task, "") for task in wanted]


def _line(row: dict[str, Any], names: Sequence[str]) -> str:
    parts = [_in_words(name, row[name]) for name in names if row[name] not in (None, "")]
    return " · ".join(" ".join(part.split()) for part in parts)


def _place(name: str) -> int:
    return _FIRST.index(name) if name in _FIRST else len(_FIRST)


def _in_words(name: str, value: Any) -> str:
    """A text or an address stands for itself; a number, a word or JSON needs the name of its column."""
    is_text = isinstance(value, str) and not value.startswith(("{", "[")) and (" " in value or "/" in value)
    return value if is_text else f"{name}: {value}"
