"""Columns of judges' files: who judged, with which prompt, and which of the two items was shown first.

The same pair shown in both orders is not a contradiction: the copies are occasions of one answer. After reading, the
left item of a row is the one that was shown first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from ...core.intake.columns import by_plain_name, candidates
from .maths.models import LEFT, RIGHT, TIE

# Words for each outcome, beside the name of the winning item.
WORDS = {
    LEFT: ("left", "a1", "a", "model_a", "first", "item_a", "option_a", "response_a", "answer_a", "system_a",
           "assistant_a", "model_1", "[[a]]", "a>b", "a>>b", "[[a>b]]", "[[a>>b]]"),
    RIGHT: ("right", "a2", "b", "model_b", "second", "item_b", "option_b", "response_b", "answer_b", "system_b",
            "assistant_b", "model_2", "[[b]]", "b>a", "b>>a", "[[b>a]]", "[[b>>a]]"),
    TIE: ("tie", "equal", "draw", "both", "neither", "tie (bothbad)", "tie (both bad)", "bothbad", "both_bad", "same",
          "c", "[[c]]", "a=b", "[[a=b]]", "no preference"),
}  # fmt: skip
# What judges' tools write where a reply could not be read: no answer, which is counted, never a tie.
UNUSABLE = (
    "error",
    "$error$",
    "invalid",
    "parse_error",
    "parse error",
    "unparseable",
    "unparsable",
    "failed",
    "refused",
)
# Names of the column of tasks if none or several have usual names.
TASK = ("prompt_id", "question_id", "instruction_id", "item_id", "example_id", "sample_id", "pair_id", "id")
# Names of the column of judges if no column has a usual name of workers.
JUDGE = ("evaluator", "grader", "model", "model_name")
JUDGE_PROMPT = ("judge_prompt", "prompt_name", "prompt_version", "prompt_template", "template")
ORDER = ("presentation_order", "display_order", "swapped", "is_swapped", "flipped")
# Spellings of "the left item was shown first" and "the right item was shown first".
LEFT_FIRST = ("ab", "a", "a_first", "original", "normal", "forward", "first", "left", "model_a", "false", "no")
RIGHT_FIRST = ("ba", "b", "b_first", "swapped", "reversed", "reverse", "second", "right", "model_b", "true", "yes")
# Numbers are read only where all rows have them: 0 and 1, or 1 and 2.
# From this many pairs shown in both orders on, it is noted if most answers change with the order.
MANY = 20
NUMBERED = ({"0": 0, "1": 1}, {"1": 0, "2": 1})


def judge_columns(header: Sequence[str]) -> dict[str, str]:
    """Return the columns task, worker, order and judge_prompt where they have the names of judges' tools."""
    by_name = by_plain_name(header)
    roles: dict[str, str] = {}
    options: list[tuple[str, tuple[str, ...]]] = [("order", ORDER), ("judge_prompt", JUDGE_PROMPT)]
    if not candidates("worker", header, ("worker",)):
        options.append(("worker", JUDGE))
    if len(candidates("task", header, ("worker",))) != 1:
        options.append(("task", TASK))
    for role, names in options:
        name = next((by_name[name] for name in names if name in by_name), None)
        if name is not None and role not in header:
            roles[role] = name
    return roles


def take_order(columns: dict[str, Any]) -> pl.Series | None:
    """Return the order in which pairs were shown, if the file has it; make the judge's prompt a fact about the row.

    A column `prompt` holds the prompt of the task, unless there is a task column and its tasks have several prompts.
    """
    judge_prompt = columns.pop("judge_prompt", None)
    if "worker" not in columns:
        return None
    facts: pl.DataFrame | None = columns.pop("about_rows", None)
    if facts is not None and "prompt" in facts.columns and "prompt" in columns:
        pairs = pl.DataFrame({"task": columns["task"], "prompt": facts["prompt"]}) if "task" in columns else None
        if pairs is not None and pairs.drop_nulls().unique()["task"].is_duplicated().any():
            del columns["prompt"]
        else:
            facts = facts.drop("prompt")
    if judge_prompt is not None:
        facts = _with_fact(facts, "prompt", _text(judge_prompt))
    if facts is None or not facts.width:
        return None
    columns["about_rows"] = facts
    return facts["order"] if "order" in facts.columns else None


def add_order(
    columns: dict[str, Any], sides: tuple[pl.Series, pl.Series], order: pl.Series | None, *, named_workers: bool
) -> tuple[str, ...]:
    """Put the item that was shown first on the left, and name it in `about_rows` where the orders differ; return notes.

    Args:
        columns: The columns of the votes.
        sides: The items on the left and on the right, as text.
        order: Which item was shown first, as `take_order` returned it.
        named_workers: Whether the file names the workers.
    """
    if "left" not in columns or "winner" not in columns:
        return ()
    notes: tuple[str, ...] = ()
    frame = pl.DataFrame({name: _text(columns[name]) for name in ("task", "worker", "winner")}).with_columns(
        left=sides[0], right=sides[1]
    )
    code = None if order is None else _order_codes(order, frame)
    if order is not None and code is None:
        notes = ("the column order says neither ab nor ba; the item on the left is taken as shown first",)
    if code is not None and not _sides_follow(code, frame):
        frame = _shown_in_order(frame, code)
        columns |= {name: frame[name] for name in ("left", "right", "winner")}
        notes = ("the column order tells which item was shown first; the winner names an item, not a place",)
        notes += _mostly_contradictory(frame)
    if code is not None or (named_workers and _in_both_orders(frame)):
        columns["about_rows"] = _with_fact(columns.get("about_rows"), "order", frame["left"])
    return notes


def _with_fact(facts: pl.DataFrame | None, name: str, values: pl.Series) -> pl.DataFrame:
    column = values.alias(name)
    return pl.DataFrame([column]) if facts is None else facts.with_columns(column)


def _text(values: Any) -> pl.Series:
    series = values if isinstance(values, pl.Series) else pl.Series(values, strict=False)
    return series.cast(pl.String).str.strip_chars()


def _order_codes(order: pl.Series, frame: pl.DataFrame) -> pl.Series | None:
    """Return 0 where the left item was shown first and 1 where the right one was; None if a value says neither."""
    text = order.cast(pl.String).str.strip_chars().str.to_lowercase()
    values = {value for value in text.drop_nulls().unique() if value}
    words = next((names for names in NUMBERED if values and values <= set(names)), None)
    words = words or dict.fromkeys(LEFT_FIRST, 0) | dict.fromkeys(RIGHT_FIRST, 1)
    codes = frame.select(
        pl.when(text == pl.col("left").str.to_lowercase()).then(0)
        .when(text == pl.col("right").str.to_lowercase()).then(1)
        .otherwise(text.replace_strict(words, default=None, return_dtype=pl.Int32)).alias("code")
    )["code"]  # fmt: skip
    is_given = (text.is_not_null() & (text != "")).fill_null(False)
    return None if not values or (codes.is_null() & is_given).any() else codes


def _sides_follow(code: pl.Series, frame: pl.DataFrame) -> bool:
    """Return whether the file exchanges the two columns with the order, so that the left item is always shown first."""
    rows = frame.select("task", "left", code=code).drop_nulls()
    by_side = rows.group_by("task", "left").agg(pl.col("code").n_unique())
    return bool((by_side["code"] == 1).all()) and bool(by_side["task"].is_duplicated().any())


def _shown_in_order(frame: pl.DataFrame, code: pl.Series) -> pl.DataFrame:
    """Put the item that was shown first on the left; a winner that names a side becomes the name of the item."""
    word, left, right = pl.col("winner").str.to_lowercase(), pl.col("left"), pl.col("right")
    is_item = (pl.col("winner") == left) | (pl.col("winner") == right)
    is_swapped = pl.lit((code == 1).fill_null(False))
    return frame.with_columns(
        left=pl.when(is_swapped).then(right).otherwise(left),
        right=pl.when(is_swapped).then(left).otherwise(right),
        winner=pl.when(is_item).then(pl.col("winner"))
        .when(word.is_in(WORDS[LEFT])).then(left)
        .when(word.is_in(WORDS[RIGHT])).then(right).otherwise(pl.col("winner")),
    )  # fmt: skip


def _mostly_contradictory(frame: pl.DataFrame) -> tuple[str, ...]:
    """Return a note if most answers change with the order, as they would if the file named places."""
    decided = frame.filter((pl.col("winner") == pl.col("left")) | (pl.col("winner") == pl.col("right")))
    both = decided.group_by("task", "worker").agg(
        orders=pl.col("left").n_unique(), winners=pl.col("winner").n_unique()
    ).filter(pl.col("orders") == 2)  # fmt: skip
    share = float((both["winners"] > 1).mean() or 0.0)  # type: ignore[arg-type]
    if len(both) < MANY or share <= 0.5:
        return ()
    return (
        f"{share:.0%} of the answers name the other item when the order changes: either the workers choose by place, "
        "or the file means places; in the second case exchange its columns of items where the second was shown first",
    )


def _in_both_orders(frame: pl.DataFrame) -> bool:
    """Return whether a worker answered a task with either item on the left."""
    rows = frame.select("task", "worker", "left").drop_nulls().unique()
    return bool(rows.select(pl.struct("task", "worker").is_duplicated()).to_series().any())
