"""Which columns of a file are comparisons, and what to do where it names no task or no worker."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from ...core.errors import DataError
from ...core.intake.frames import to_polars
from ...core.vocabulary import as_series

# The two sides by the names that tools give them, best first, and what the outcome may be called beside them.
SIDES = (
    ("left", "right"),
    ("model_a", "model_b"),
    ("item_left", "item_right"),
    ("item_a", "item_b"),
    ("option_a", "option_b"),
    ("response_a", "response_b"),
    ("answer_a", "answer_b"),
)
WINNER = ("winner", "label", "preference", "preferred", "outcome", "verdict", "choice", "vote")
CHOSEN = (("chosen", "rejected"), ("winner", "loser"))
# The winner as a column each, 1 in one of them and 0 in the others.
ONE_HOT = {"won_left": "winner_model_a", "won_right": "winner_model_b", "won_tie": "winner_tie"}
# Columns that make it another kind.
OTHER = ("head", "anchor", "same", "reference_item")
CONTEXT = ("prompt", "topic")
EVERYONE = "everyone"
# A pair is called by its items' names as long as that can be read; beyond, by a short mark of them.
LONGEST = 120


def told_by(header: Sequence[str]) -> Mapping[str, str] | None:
    """The columns of comparisons in a header: left, right, winner by one of their names, or chosen, rejected."""
    plain = {name.strip().lower().replace(" ", "_"): name for name in header}
    if any(name in plain for name in OTHER):
        return None
    found: dict[str, str] | None = None
    for one, two in SIDES:
        won = next((name for name in WINNER if name in plain), None)
        if one in plain and two in plain and won is not None:
            found = {"left": plain[one], "right": plain[two], "winner": plain[won]}
            break
        if one in plain and two in plain and {"winner_model_a", "winner_model_b"} <= set(plain):
            found = {"left": plain[one], "right": plain[two]}
            found |= {role: plain[name] for role, name in ONE_HOT.items() if name in plain}
            break
    if found is None:
        for one, two in CHOSEN:
            if one in plain and two in plain:
                found = {"chosen": plain[one], "rejected": plain[two]}
                break
    if found is None:
        return None
    return {**found, **{name: plain[name] for name in CONTEXT if name in plain}}


def complete(columns: dict[str, Any]) -> tuple[tuple[str, ...], pl.DataFrame | None, bool]:
    """Fill in task and worker where a file has none; returns notes, what is known of the tasks, and whether one worker
    may answer a task again (where nobody knows who answered).

    A task is one pair of items, and the prompt it is about where there is one: a task that holds several pairs becomes
    several tasks.
    """
    notes: tuple[str, ...] = ()
    if "won_left" in columns:
        columns["winner"] = winner_of(columns)
    if "label" in columns and "left" not in columns and "chosen" not in columns:
        # What an export says of a task with two sides: these are its items, and nobody else's.
        task = as_series(plain_text(columns["task"], "task"), "task").cast(pl.String)
        columns |= {"winner": columns.pop("label"), "left": task + " left", "right": task + " right"}
        notes += ("the file does not name the items; they are called after their task and side",)
    sides = ("chosen", "rejected") if "chosen" in columns else ("left", "right")
    context = {name: plain_text(columns[name], name).cast(pl.String) for name in CONTEXT if name in columns}
    if "chosen" in columns and "prompt" in context:
        notes += _answers_of_prompts(columns, context["prompt"])
    one, two = (plain_text(columns[side], side).cast(pl.String).str.strip_chars() for side in sides)
    prompt = context.get("prompt")
    pair = _pair_names(one, two)
    if "task" not in columns:
        columns["task"] = pair if prompt is None else _short(prompt.fill_null("") + ": " + pair)
        what = "pair of items" if prompt is None else "prompt and pair of items"
        notes += (f"no column names the task; each {what} is one",)
    else:
        task = as_series(plain_text(columns["task"], "task"), "task")
        table = pl.DataFrame({"task": task.cast(pl.String), "pair": pair})
        several = table.drop_nulls().unique().group_by("task").len().filter(pl.col("len") > 1)["task"]
        if len(several):
            hit = table["task"].is_in(several.implode()).fill_null(False)
            split = _short(table["task"] + ": " + pair)
            columns["task"] = pl.select(pl.when(hit).then(split).otherwise(table["task"])).to_series().alias("task")
            notes += (f"{len(several):,} tasks hold several pairs; each pair is a task of its own, named after both",)
    nobody = "worker" not in columns
    if nobody:
        columns["worker"] = pl.Series("worker", [EVERYONE] * len(one))
        notes += (f"no column names the worker; all rows count as answers of one, {EVERYONE!r}, whom nobody can judge",)
    about = None
    if context:
        table = pl.DataFrame({"task": as_series(columns["task"], "task").cast(pl.String), **context})
        about = table.drop_nulls("task").unique("task", keep="first", maintain_order=True)
    return notes, about, nobody


def winner_of(columns: dict[str, Any]) -> pl.Series:
    """left, right or tie from columns with a 1 in one of them, which are taken out; null where all are empty."""
    parts = {role: columns.pop(role) for role in ONE_HOT if role in columns}
    frame = pl.DataFrame(
        {role: plain_text(values, role).cast(pl.Float64, strict=False) for role, values in parts.items()}
    )
    empty = frame.select(pl.all_horizontal(pl.all().is_null())).to_series()
    one = frame.select((pl.sum_horizontal(pl.all() == 1) == 1) & (pl.sum_horizontal(pl.all().fill_null(0) != 0) == 1))
    bad = (~(one.to_series() | empty)).to_numpy()
    if bad.any():
        row = int(bad.argmax())
        said = ", ".join(f"{ONE_HOT[role]} {frame[role][row]}" for role in parts)
        raise DataError(f"row {row + 1}: {said}; of these columns one must be 1 and the others 0")
    names = {"won_left": "left", "won_right": "right", "won_tie": "tie"}
    chosen = pl.coalesce(pl.when(pl.col(role) == 1).then(pl.lit(names[role])) for role in parts)
    return frame.select(chosen.alias("winner"))["winner"]


def plain_text(values: Any, name: str) -> pl.Series:
    """A column of names; lists and objects (chats) as JSON text."""
    series = values.rename(name) if isinstance(values, pl.Series) else to_polars({name: values})[name]
    if isinstance(series.dtype, pl.Categorical | pl.Enum):
        return series.cast(pl.String)
    if series.dtype.is_nested():
        texts = [None if v is None else json.dumps(v, ensure_ascii=False) for v in series.to_list()]
        return pl.Series(name, texts, dtype=pl.String)
    return series


def _answers_of_prompts(columns: dict[str, Any], prompt: pl.Series) -> tuple[str, ...]:
    """Answers to different prompts are different items, even where their text is the same."""
    one, two = (plain_text(columns[side], side).cast(pl.String) for side in ("chosen", "rejected"))
    both = pl.DataFrame({"text": pl.concat([one, two.rename(one.name)]), "prompt": pl.concat([prompt, prompt])})
    again = both.drop_nulls().unique().group_by("text").len().filter(pl.col("len") > 1)["text"]
    if not len(again):
        return ()
    for side, text in (("chosen", one), ("rejected", two)):
        named = text + " (" + prompt + ")"
        hit = text.is_in(again.implode()).fill_null(False)
        columns[side] = pl.select(pl.when(hit).then(named).otherwise(text)).to_series().alias(side)
    return (f"{len(again):,} answers stand under several prompts; each counts as an item of its own under each",)


def _pair_names(one: pl.Series, two: pl.Series) -> pl.Series:
    frame = pl.DataFrame({"a": one, "b": two})
    low, high = pl.min_horizontal("a", "b"), pl.max_horizontal("a", "b")
    both = pl.when(pl.col("a").is_null() | pl.col("b").is_null()).then(None).otherwise(low + " | " + high)
    return _short(frame.select(both.alias("task"))["task"])


def _short(names: pl.Series) -> pl.Series:
    """Long names by a mark that depends on nothing but themselves."""
    long = names.filter((names.str.len_chars() > LONGEST).fill_null(False)).unique()
    if not len(long):
        return names
    marks = [f"pair {hashlib.sha256(name.encode()).hexdigest()[:12]}" for name in long.to_list()]
    return names.replace(long, pl.Series(marks))
