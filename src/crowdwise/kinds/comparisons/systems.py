"""Comparisons of two systems as classes: the winner of each prompt is a system or a tie.

With the sides translated to systems, judges, estimates and guarantees work on comparisons as on any classes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from ...core.errors import DataError, ParameterError
from ...core.intake.coding import NUMBERS, encode
from ...core.intake.frames import to_polars
from ...core.truth import truth_table
from ...core.vocabulary import quote
from ...core.votes import Votes
from ..classes.annotations import Annotations
from ..classes.answers import ClassCoder
from .answers import Comparisons
from .maths.models import LEFT, RIGHT, TIE
from .occasions import WORDS

TIE_CLASS = "tie"


def as_systems(
    votes: Votes[Comparisons], gold: Any = None, systems: Sequence[str] | None = None
) -> tuple[Annotations, Any]:
    """Return the votes as classes, the names of the two systems and "tie", and the gold with the same classes.

    The item that was shown first is the column `order` about the rows.

    Args:
        votes: The comparisons.
        gold: Table or mapping task, label with people's winners: the name of a system, a tie, or a side.
        systems: The two systems, if the votes are about more than two.
    """
    first, second = _pair(votes, systems)
    answers = votes.answers
    names = answers.items.cast(pl.String)
    low, high = (int(np.flatnonzero((names == name).to_numpy())[0]) for name in (first, second))
    ends = np.minimum(answers.left, answers.right), np.maximum(answers.left, answers.right)
    if len(names) > 2:
        votes = votes.take((ends[0] == min(low, high)) & (ends[1] == max(low, high)))
        votes = votes.select(tasks=votes.tasks.gather(np.unique(votes.task)))
        answers = votes.answers
    suffix = f": {first} | {second}"  # of the tasks whose prompt has several pairs
    tasks = votes.tasks.cast(pl.String).str.strip_suffix(suffix) if len(names) > 2 else votes.tasks
    classes = [first, second, TIE_CLASS] if (answers.outcome == TIE).any() else [first, second]
    label = pl.Series("label", [first, second, TIE_CLASS]).gather(_winners(answers, low))
    shown_first = names.gather(answers.left).alias("order")
    facts = votes.about_rows
    columns: dict[str, Any] = {"task": tasks.gather(votes.task), "worker": votes.workers.gather(votes.worker)}
    columns |= {"label": label, **{name: getattr(votes, name) for name in NUMBERS}}
    columns["about_rows"] = pl.DataFrame([shown_first]) if facts is None else facts.with_columns(shown_first)
    coded = encode(
        columns,
        lambda parts: ClassCoder(parts, classes=classes),
        duplicates="keep",
        tasks=tasks,
        workers=votes.workers,
    )
    annotations = Annotations._of(replace(coded, ledger=votes.ledger))
    about_tasks = None if votes.about_tasks is None else _renamed(votes.about_tasks, votes.tasks, tasks)
    annotations = annotations.about(tasks=about_tasks, workers=votes.about_workers)
    return annotations, None if gold is None else _gold(gold, annotations, (first, second))


def _pair(votes: Votes[Comparisons], systems: Sequence[str] | None) -> tuple[str, str]:
    """Return the two systems, in the order of their names."""
    names = votes.answers.items.cast(pl.String).to_list()
    if systems is None:
        if len(names) == 2:
            return names[0], names[1]
        what = "systems" if len(names) < votes.n_tasks else "items"
        raise DataError(
            f"these are comparisons of {len(names):,} {what} ({quote(names, 4)}), and a win rate is about two systems; "
            "choose two with --systems A,B, or name the columns of the systems with --columns left=NAME,right=NAME"
        )
    chosen = [str(name).strip() for name in systems]
    unknown = [name for name in chosen if name not in names]
    if unknown or len(set(chosen)) != 2:
        problem = f"{quote(unknown)} is not among them" if unknown else f"got {quote(chosen)}"
        raise ParameterError(f"systems must be two of {quote(names, 8)}; {problem}")
    return min(chosen), max(chosen)


def _winners(answers: Comparisons, first: int) -> np.ndarray[Any, Any]:
    """Return 0 where the first system wins, 1 where the second does, 2 for a tie."""
    won = answers.winner
    return np.where(answers.outcome == TIE, 2, np.where(won == first, 0, 1)).astype(np.int64)


def _renamed(table: pl.DataFrame, old: pl.Series, new: pl.Series) -> pl.DataFrame:
    """Return a table about the tasks with their new names."""
    names = table["task"].cast(pl.String).replace(old.cast(pl.String), new.cast(pl.String))
    return table.with_columns(names.alias("task"))


def _gold(gold: Any, annotations: Annotations, systems: tuple[str, str]) -> pl.DataFrame:
    """Return gold whose labels are systems or a tie."""
    table = truth_table(gold) if isinstance(gold, dict) else to_polars(gold)
    text = table["label"].cast(pl.String).str.strip_chars()
    given = [value for value in text.drop_nulls().unique(maintain_order=True) if value]
    by_name = {name.lower(): name for name in systems} | {name: name for name in systems}
    words = {word: code for code, synonyms in WORDS.items() for word in synonyms}
    codes = {value: None if value in by_name else words.get(value.lower()) for value in given}
    winners = {value: by_name.get(value, by_name.get(value.lower())) for value in given}
    unknown = [value for value in given if winners[value] is None and codes[value] is None]
    if unknown:
        raise DataError(
            f"the gold holds {quote(unknown)}, neither one of the two systems ({', '.join(systems)}) nor a tie; write "
            "the name of the winning system"
        )
    sided = [value for value in given if winners[value] is None and codes[value] != TIE]
    label = text.replace({value: winners[value] or TIE_CLASS for value in given if value not in sided})
    if sided:
        label = _from_sides(table["task"], label, {value: codes[value] for value in sided}, annotations, systems)
    return table.with_columns(label.alias("label"))


def _from_sides(
    tasks: pl.Series, label: pl.Series, sides: dict[str, int | None], votes: Annotations, systems: tuple[str, str]
) -> pl.Series:
    """Translate gold that names a side: it is known only where the verdicts show the task in one order."""
    assert votes.about_rows is not None
    shown = pl.DataFrame({"task": votes.tasks.cast(pl.String).gather(votes.task), "left": votes.about_rows["order"]})
    by_task = shown.group_by("task").agg(pl.col("left").first(), pl.col("left").n_unique().alias("orders"))
    frame = pl.DataFrame({"task": tasks.cast(pl.String), "label": label}).join(
        by_task, on="task", how="left", maintain_order="left"
    )
    is_side = frame["label"].is_in(list(sides))
    unclear = frame.filter(is_side & (frame["orders"] > 1))
    if len(unclear):
        word, task = (quote(unclear[name].head(1)) for name in ("label", "task"))
        raise DataError(
            f"the gold says {word}, but the verdicts show task {task} in both orders; write the name of the winning "
            f"system ({systems[0]} or {systems[1]}) in the gold, or give it the columns of the two systems"
        )
    left = pl.col("left")
    other = pl.when(left == systems[0]).then(pl.lit(systems[1])).otherwise(pl.lit(systems[0]))
    named = {side: [word for word, code in sides.items() if code == side] for side in (LEFT, RIGHT)}
    return frame.select(
        pl.when(pl.col("label").is_in(named[LEFT])).then(left)
        .when(pl.col("label").is_in(named[RIGHT])).then(other).otherwise(pl.col("label")).alias("label")
    )["label"]  # fmt: skip
