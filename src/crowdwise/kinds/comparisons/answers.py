"""Comparisons as answers: which of two items wins, or a tie."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.answers import Answers
from ...core.arrays import Mask
from ...core.errors import DataError
from ...core.intake.columns import by_plain_name
from ...core.intake.frames import to_polars
from ...core.item_answers import EVERYONE, ItemAnswers, ItemCoder, item_votes
from ...core.vocabulary import Codes, as_series, lookup, quote
from ...core.votes import Votes
from .maths.models import LEFT, RIGHT, TIE, PairRows
from .occasions import UNUSABLE, WORDS, add_order, judge_columns, take_order

# ----------------------------------------------------------------
# Detection of comparisons in the columns of a file, and defaults where it has no task or no worker.

# Names of the columns of the two sides, and of the column of the outcome beside them.
SIDES = (
    ("left", "right"),
    ("model_a", "model_b"),
    ("item_left", "item_right"),
    ("item_a", "item_b"),
    ("option_a", "option_b"),
    ("response_a", "response_b"),
    ("answer_a", "answer_b"),
    ("system_a", "system_b"),
    ("assistant_a", "assistant_b"),
    ("model_1", "model_2"),
)
WINNER = ("winner", "label", "preference", "preferred", "outcome", "verdict", "choice", "vote", "judgment", "decision")
CHOSEN = (("chosen", "rejected"), ("winner", "loser"))
# The winner in one column per outcome: 1 in one of them and 0 in the others.
ONE_HOT = {"won_left": "winner_model_a", "won_right": "winner_model_b", "won_tie": "winner_tie"}
# Columns of other kinds.
OTHER = ("head", "anchor", "same", "reference_item")
CONTEXT = ("prompt", "topic")
# A pair is named after its items; names longer than this are replaced by a hash.
LONGEST = 120


def detect_columns(header: Sequence[str]) -> Mapping[str, str] | None:
    """Find the columns of comparisons in a header: left, right, winner by any of their names, or chosen, rejected."""
    by_name = by_plain_name(header)
    if any(name in by_name for name in OTHER):
        return None
    roles: dict[str, str] | None = None
    for one, two in SIDES:
        winner = next((name for name in WINNER if name in by_name), None)
        if one in by_name and two in by_name and winner is not None:
            roles = {"left": by_name[one], "right": by_name[two], "winner": by_name[winner]}
            break
        if one in by_name and two in by_name and {"winner_model_a", "winner_model_b"} <= set(by_name):
            roles = {"left": by_name[one], "right": by_name[two]}
            roles |= {role: by_name[name] for role, name in ONE_HOT.items() if name in by_name}
            break
    if roles is None:
        for one, two in CHOSEN:
            if one in by_name and two in by_name:
                roles = {"chosen": by_name[one], "rejected": by_name[two]}
                break
    if roles is None:
        return None
    return {**roles, **{name: by_name[name] for name in CONTEXT if name in by_name}, **judge_columns(header)}


def fill_columns(columns: dict[str, Any]) -> tuple[tuple[str, ...], pl.DataFrame | None, bool]:
    """Fill in missing columns of tasks and workers.

    A task is one pair of items, with the prompt where there is one. A task with several pairs becomes several tasks.

    Returns:
        Notes for the ledger, a table about the tasks, and whether a worker may answer a task more than once (where the
        file has no workers).
    """
    notes: tuple[str, ...] = ()
    order = take_order(columns)
    if "won_left" in columns:
        columns["winner"] = winner_of(columns)
    if "label" in columns and "left" not in columns and "chosen" not in columns:
        # Exports of tasks with two sides: the items belong to this task only.
        task = as_series(plain_text(columns["task"], "task"), "task").cast(pl.String)
        columns |= {"winner": columns.pop("label"), "left": task + " left", "right": task + " right"}
        notes += ("the file does not name the items; they are named after their task and side",)
    sides = ("chosen", "rejected") if "chosen" in columns else ("left", "right")
    context = {name: plain_text(columns[name], name).cast(pl.String) for name in CONTEXT if name in columns}
    if "chosen" in columns and "prompt" in context:
        notes += _answers_of_prompts(columns, context["prompt"])
    one, two = (plain_text(columns[side], side).cast(pl.String).str.strip_chars() for side in sides)
    prompt = context.get("prompt")
    notes += _name_tasks(columns, prompt, _pair_names(one, two))
    no_worker = "worker" not in columns
    if no_worker:
        columns["worker"] = pl.Series("worker", [EVERYONE] * len(one))
        notes += (f"no column names the worker; all rows are answers of one worker, {EVERYONE!r}, without quality",)
    notes += add_order(columns, (one, two), order, named_workers=not no_worker)
    about = None
    if context:
        table = pl.DataFrame({"task": as_series(columns["task"], "task").cast(pl.String), **context})
        about = table.drop_nulls("task").unique("task", keep="first", maintain_order=True)
    return notes, about, no_worker


def _name_tasks(columns: dict[str, Any], prompt: pl.Series | None, pair: pl.Series) -> tuple[str, ...]:
    """Name the tasks after their pairs where the file does not name them, or a task has several; return notes."""
    if "task" not in columns:
        columns["task"] = pair if prompt is None else _short(prompt.fill_null("") + ": " + pair)
        task_is = "pair of items" if prompt is None else "prompt and pair of items"
        return (f"no column names the task; each {task_is} is a task",)
    task = as_series(plain_text(columns["task"], "task"), "task")
    table = pl.DataFrame({"task": task.cast(pl.String), "pair": pair})
    multiple = table.drop_nulls().unique().group_by("task").len().filter(pl.col("len") > 1)["task"]
    if not len(multiple):
        return ()
    is_split = table["task"].is_in(multiple.implode()).fill_null(False)
    split = _short(table["task"] + ": " + pair)
    columns["task"] = pl.select(pl.when(is_split).then(split).otherwise(table["task"])).to_series().alias("task")
    return (f"{len(multiple):,} tasks have several pairs; each pair becomes a task, named after its items",)


def winner_of(columns: dict[str, Any]) -> pl.Series:
    """Merge columns with a 1 in one of them into one of left, right, tie; null where all are empty."""
    columns_by_role = {role: columns.pop(role) for role in ONE_HOT if role in columns}
    frame = pl.DataFrame(
        {role: plain_text(values, role).cast(pl.Float64, strict=False) for role, values in columns_by_role.items()}
    )
    empty = frame.select(pl.all_horizontal(pl.all().is_null())).to_series()
    one = frame.select((pl.sum_horizontal(pl.all() == 1) == 1) & (pl.sum_horizontal(pl.all().fill_null(0) != 0) == 1))
    is_bad = (~(one.to_series() | empty)).to_numpy()
    if is_bad.any():
        row = int(is_bad.argmax())
        cells = ", ".join(f"{ONE_HOT[role]} {frame[role][row]}" for role in columns_by_role)
        raise DataError(f"row {row + 1}: {cells}; one of these columns must be 1 and the others 0")
    names = {"won_left": "left", "won_right": "right", "won_tie": "tie"}
    chosen = pl.coalesce(pl.when(pl.col(role) == 1).then(pl.lit(names[role])) for role in columns_by_role)
    return frame.select(chosen.alias("winner"))["winner"]


def plain_text(values: Any, name: str) -> pl.Series:
    """Return a column of names; lists and objects (chats) become JSON text."""
    series = values.rename(name) if isinstance(values, pl.Series) else to_polars({name: values})[name]
    if isinstance(series.dtype, pl.Categorical | pl.Enum):
        return series.cast(pl.String)
    if series.dtype.is_nested():
        texts = [None if v is None else json.dumps(v, ensure_ascii=False) for v in series.to_list()]
        return pl.Series(name, texts, dtype=pl.String)
    return series


def _answers_of_prompts(columns: dict[str, Any], prompt: pl.Series) -> tuple[str, ...]:
    """Rename answers with the same text to different prompts: they are different items."""
    one, two = (plain_text(columns[side], side).cast(pl.String) for side in ("chosen", "rejected"))
    texts = pl.DataFrame({"text": pl.concat([one, two.rename(one.name)]), "prompt": pl.concat([prompt, prompt])})
    repeated = texts.drop_nulls().unique().group_by("text").len().filter(pl.col("len") > 1)["text"]
    if not len(repeated):
        return ()
    for side, text in (("chosen", one), ("rejected", two)):
        text_with_prompt = text + " (" + prompt + ")"
        is_repeated = text.is_in(repeated.implode()).fill_null(False)
        columns[side] = pl.select(pl.when(is_repeated).then(text_with_prompt).otherwise(text)).to_series().alias(side)
    return (f"{len(repeated):,} answers occur under several prompts; each is a separate item under each prompt",)


def _pair_names(one: pl.Series, two: pl.Series) -> pl.Series:
    frame = pl.DataFrame({"a": one, "b": two})
    low, high = pl.min_horizontal("a", "b"), pl.max_horizontal("a", "b")
    pair = pl.when(pl.col("a").is_null() | pl.col("b").is_null()).then(None).otherwise(low + " | " + high)
    return _short(frame.select(pair.alias("task"))["task"])


def _short(names: pl.Series) -> pl.Series:
    """Replace long names by a hash of the name."""
    long = names.filter((names.str.len_chars() > LONGEST).fill_null(False)).unique()
    if not len(long):
        return names
    marks = [f"pair {hashlib.sha256(name.encode()).hexdigest()[:12]}" for name in long.to_list()]
    return names.replace(long, pl.Series(marks))


OUTCOMES = ("left", "right", "tie")
# Outcome when the sides are swapped.
SWAPPED = np.array([RIGHT, LEFT, TIE], dtype=np.int8)
# From this many answers without ties on, a side that always wins is the column in which the file lists the winner.
LISTED = 10


@dataclass(frozen=True, eq=False)
class Comparisons(ItemAnswers):
    """left[row] and right[row] as codes into `items`; outcome[row] is 0 (left wins), 1 (right wins) or 2 (a tie)."""

    kind: ClassVar[str] = "comparisons"
    SIDES: ClassVar[tuple[str, ...]] = ("left", "right")
    OUTCOME: ClassVar[str] = "outcome"

    left: Codes
    right: Codes
    outcome: npt.NDArray[np.int8]
    items: pl.Series

    @property
    def winner(self) -> Codes:
        """The winning item of each row, -1 for a tie."""
        return np.where(self.outcome == LEFT, self.left, np.where(self.outcome == RIGHT, self.right, -1)).astype(
            np.int32
        )

    def columns(self) -> dict[str, pl.Series]:
        """Return the columns left, right and winner (a side or a tie)."""
        winner = pl.Series("winner", OUTCOMES, dtype=pl.String).gather(self.outcome.astype(np.int64))
        return {**self.item_columns(), "winner": winner}

    def keys(self) -> tuple[npt.NDArray[Any], ...]:
        """The two items in a fixed order and the winner: answers that differ in the sides only are equal."""
        return np.minimum(self.left, self.right), np.maximum(self.left, self.right), self.winner


class ComparisonCoder(ItemCoder):
    """Read the columns left, right, winner (a side, a tie, or the winner's name), or chosen, rejected."""

    def __init__(self, columns: dict[str, Any], *, items: Any = None) -> None:
        columns.pop("prompt", None)
        columns.pop("topic", None)
        won: pl.Series | None = None
        if "chosen" in columns:
            sides = [columns.pop("chosen"), columns.pop("rejected", None)]
        else:
            missing = [name for name in ("left", "right", "winner") if name not in columns]
            if missing:
                raise DataError(f"comparisons need the columns left, right and winner; {missing[0]} is missing")
            sides = [columns.pop("left"), columns.pop("right")]
            won = plain_text(columns.pop("winner"), "winner")
        if sides[1] is None:
            raise DataError("a column `chosen` needs a column `rejected` beside it")
        one, two = (plain_text(side, name) for side, name in zip(sides, ("left", "right"), strict=True))
        if len(one) != len(two) or (won is not None and len(won) != len(one)):
            raise DataError("the columns of the comparisons do not have the same length")
        super().__init__((one, two), won, items)
        self.listed = False  # whether the file always lists the winner on the same side

    @property
    def null(self) -> Mask | None:  # type: ignore[override]
        """Rows in which an item or the outcome is missing, or the outcome says that there is none."""
        missing = super().null
        if self.outcome is None:
            return missing
        text = self.outcome_text.str.to_lowercase()
        names = self.items.vocabulary.cast(pl.String).str.to_lowercase()
        words = [word for word in UNUSABLE if word not in names]
        unusable = text.is_in(words).fill_null(False).to_numpy()
        if not unusable.any():
            return missing
        return unusable if missing is None else missing | unusable

    def admit(self, keep: Mask, dropped: dict[str, int]) -> Mask | None:
        """Mark rows with two different items; raise where the winner is neither of them, nor a side or a tie."""
        outcome = self.read_outcome(keep)
        decided = outcome[keep & (outcome != TIE)]
        self.listed = self.outcome is not None and len(decided) >= LISTED and len(np.unique(decided)) == 1
        return self.different_items(keep, dropped)

    def finish(self) -> Comparisons:
        """Return the answers. Without sides (chosen, rejected) the left item is arbitrary."""
        items, (left, right) = self.coded_items()
        outcome = self.read_outcome(np.zeros(self.size, dtype=bool))
        if self.outcome is None or self.listed:
            # No sides: give each pair one that depends neither on the order of the names nor on the winner.
            swap = (left > right) != ((left + right) % 2 == 1)
            outcome = np.where(swap, SWAPPED[outcome], outcome)
            left, right = np.where(swap, right, left), np.where(swap, left, right)
        return Comparisons(left, right, outcome.astype(np.int8), items)

    def notes(self, answers: Answers) -> tuple[str, ...]:  # noqa: ARG002
        """Note that sides are not positions, where the file always lists the winner on the same side."""
        if not self.listed:
            return ()
        return ("the same side wins every answer, so the file lists the winner there; sides are not used as positions",)

    def read_outcome(self, keep: Mask) -> npt.NDArray[np.int8]:
        """Return the outcome of each row; raise where the winner of one of the rows in `keep` cannot be read."""
        left, right = self.by_side(self.items.codes)
        if self.outcome is None:
            return np.full(self.size, LEFT, dtype=np.int8)
        text = self.outcome_text
        names = self.items.vocabulary.cast(pl.String)
        distinct = text.drop_nulls().unique()
        words = {word: code for code, synonyms in WORDS.items() for word in synonyms}
        as_item, is_item = lookup(names, distinct) if len(names) else (np.zeros(len(distinct), np.int32),) * 2
        at, _ = lookup(distinct, text) if len(distinct) else (np.zeros(self.size, np.int32), None)
        by_word = np.array([words.get(str(w).lower(), -1) for w in distinct.to_list()] or [-1], dtype=np.int8)
        item = np.where(np.asarray(is_item, bool), as_item, -1)[at] if len(distinct) else np.full(self.size, -1)
        outcome = np.where(item == left, LEFT, np.where(item == right, RIGHT, by_word[at])).astype(np.int8)
        is_bad = keep & (outcome < 0)
        if is_bad.any():
            row = int(np.flatnonzero(is_bad)[0])
            others = f" (and {int(is_bad.sum()) - 1:,} more rows)" if is_bad.sum() > 1 else ""
            raise DataError(
                f"row {row + 1}: the winner is {quote([text[row]])}, neither left, right or tie nor one of the two "
                f"items{others}; correct it, name it with --missing, or read classes with --kind classes"
            )
        return np.maximum(outcome, 0).astype(np.int8)


def accepts(columns: dict[str, pl.Series]) -> bool:
    """Whether the columns hold comparisons: most winners are a side, a tie or one of the two items.

    A column named winner needs no further check.
    """
    if "winner" not in columns or columns["winner"].name.strip().lower() == "winner":
        return any(name in columns for name in ("winner", "chosen", "won_left"))
    frame = pl.DataFrame({name: as_text(columns[name]) for name in ("left", "right", "winner")}).drop_nulls().head(5000)
    if not len(frame):
        return False
    words = [*UNUSABLE, *(word for synonyms in WORDS.values() for word in synonyms)]
    is_winner = frame["winner"].str.to_lowercase().is_in(words) | (frame["winner"] == frame["left"])
    return bool((is_winner | (frame["winner"] == frame["right"])).mean() >= 0.8)  # type: ignore[operator]


def as_text(values: Any) -> pl.Series:
    """Return a column as stripped text."""
    series = plain_text(values, "column")
    return as_series(series, series.name).cast(pl.String).str.strip_chars()


# ---------------------------------------------------------------- Distance of two answers


def distance(answers: Comparisons, i: npt.NDArray[Any], j: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """0 where the same item wins (or both are ties), 1 where another item wins, a half where one is a tie.

    Sides do not matter within a pair. Answers about different pairs have nothing but the winning side in common.
    """
    one, two = answers.outcome[i], answers.outcome[j]
    is_swapped = (answers.left[i] == answers.right[j]) & (answers.right[i] == answers.left[j])
    two = np.where(is_swapped, SWAPPED[two], two)
    return np.where(one == two, 0.0, np.where((one == 2) | (two == 2), 0.5, 1.0))


# ---------------------------------------------------------------- Votes from columns


def comparison_votes(
    left: Any,
    right: Any,
    winner: Any,
    *,
    worker: Any = None,
    task: Any = None,
    prompt: Any = None,
    duplicates: Any = "error",
    tasks: Any = None,
    workers: Any = None,
    items: Any = None,
    missing: Sequence[Any] = (),
    **numbers: Any,
) -> Votes[Comparisons]:
    """Build votes from equally long columns.

    Args:
        left: The item on the left of each row.
        right: The item on the right of each row.
        winner: left, right or tie, or the name of the winning item.
        worker: The worker of each row (default: one worker, "everyone").
        task: The task of each row (default: each pair of items, with its prompt, is a task).
        prompt: The prompt that the two items answer.
        duplicates: What to do where a worker answered a task more than once.
        tasks: All tasks, where some have no rows.
        workers: All workers, where some have no rows.
        items: All items, where some have no rows.
        missing: Values that stand for a missing entry.
        **numbers: Further columns, such as weight.

    >>> comparison_votes(["a", "a", "b"], ["b", "c", "c"], ["left", "tie", "c"], worker=["ann", "bob", "ann"])
    Votes(3 comparisons, 3 tasks, 2 workers)
    """
    columns = {"left": left, "right": right, "winner": winner}
    optional = {"task": task, "worker": worker, "prompt": prompt}
    return item_votes(
        columns, optional, fill_columns, ComparisonCoder, items=items, numbers=numbers, duplicates=duplicates,
        tasks=tasks, workers=workers, missing=missing,
    )  # fmt: skip


# ---------------------------------------------------------------- Votes of comparisons as arrays


def rows_of(votes: Votes[Comparisons]) -> PairRows:
    """Return the votes as arrays."""
    answers = votes.answers
    return PairRows(
        answers.left, answers.right, answers.outcome, votes.worker, votes.weight, len(answers.items), votes.n_workers
    )


def sides_of_tasks(votes: Votes[Comparisons]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Items of each task, on the sides of most of its rows (else the first by name on the left); -1 without rows."""
    answers = votes.answers
    low, high = np.full(votes.n_tasks, -1, dtype=np.int64), np.full(votes.n_tasks, -1, dtype=np.int64)
    low[votes.task], high[votes.task] = np.minimum(answers.left, answers.right), np.maximum(answers.left, answers.right)
    is_swapped = np.bincount(votes.task, np.where(answers.left > answers.right, 1.0, -1.0), votes.n_tasks) > 0
    return np.where(is_swapped, high, low), np.where(is_swapped, low, high)
