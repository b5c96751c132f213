"""Comparisons: which of two items wins, or neither."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.answers import Answers, Coder
from ...core.errors import DataError
from ...core.intake.column import Column
from ...core.intake.frames import to_polars
from ...core.vocabulary import Codes, as_series, lookup, quote, sorted_vocabulary, widened
from ...core.votes import Votes, frozen
from .maths.models import LEFT, RIGHT, TIE, PairRows

# ----------------------------------------------------------------
# Which columns of a file are comparisons, and what to do where it names no task or no worker.

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


Mask = npt.NDArray[np.bool_]
OUTCOMES = ("left", "right", "tie")
# What tools write for an outcome; the name of the winning item will do as well.
WORDS = {
    LEFT: ("left", "a1", "a", "model_a", "first", "item_a", "option_a", "response_a", "answer_a"),
    RIGHT: ("right", "a2", "b", "model_b", "second", "item_b", "option_b", "response_b", "answer_b"),
    TIE: ("tie", "equal", "draw", "both", "neither", "tie (bothbad)", "tie (both bad)", "bothbad", "both_bad", "same"),
}
SELF = "an item compared with itself"
# Decided answers from which one side that always wins is where a file lists the winner.
LISTED = 10


@dataclass(frozen=True, eq=False)
class Comparisons(Answers):
    """left[row], right[row] as codes into `items`, outcome[row]: 0 left wins, 1 right wins, 2 a tie."""

    kind: ClassVar[str] = "comparisons"

    left: Codes
    right: Codes
    outcome: npt.NDArray[np.int8]
    items: pl.Series

    def __post_init__(self) -> None:
        for name in ("left", "right", "outcome"):
            object.__setattr__(self, name, frozen(getattr(self, name)))

    def __len__(self) -> int:
        return len(self.left)

    @property
    def winner(self) -> Codes:
        """The item that wins each row, -1 of a tie."""
        return np.where(self.outcome == LEFT, self.left, np.where(self.outcome == RIGHT, self.right, -1)).astype(
            np.int32
        )

    def take(self, rows: npt.NDArray[Any]) -> Self:
        """The answers of these rows."""
        return type(self)(self.left[rows], self.right[rows], self.outcome[rows], self.items)

    def join(self, other: Self) -> Self:
        """Both, over the items of both."""
        items, mine, theirs = widened(self.items, other.items)
        sides = [
            np.concatenate([_moved(a, mine), _moved(b, theirs)])
            for a, b in ((self.left, other.left), (self.right, other.right))
        ]
        return type(self)(sides[0], sides[1], np.concatenate([self.outcome, other.outcome]), items)

    def columns(self) -> dict[str, pl.Series]:
        """left, right, and which side won."""
        said = pl.Series("winner", OUTCOMES, dtype=pl.String).gather(self.outcome.astype(np.int64))
        return {
            "left": self.items.gather(self.left).rename("left"),
            "right": self.items.gather(self.right).rename("right"),
            "winner": said,
        }

    def keys(self) -> tuple[npt.NDArray[Any], ...]:
        """The two items whichever side they stood on, and the one that won: sides do not make another answer."""
        return np.minimum(self.left, self.right), np.maximum(self.left, self.right), self.winner


def _moved(codes: Codes, table: Codes | None) -> Codes:
    return codes if table is None or not len(table) else table[codes]


class ComparisonCoder(Coder):
    """Columns left, right, winner (a side, a tie, or the winner's name), or chosen, rejected."""

    def __init__(self, columns: dict[str, Any], *, items: Any = None) -> None:
        columns.pop("prompt", None)
        columns.pop("topic", None)
        self.won: pl.Series | None = None
        if "chosen" in columns:
            sides = [columns.pop("chosen"), columns.pop("rejected", None)]
        else:
            missing = [name for name in ("left", "right", "winner") if name not in columns]
            if missing:
                raise DataError(f"comparisons need the columns left, right and winner; {missing[0]} is missing")
            sides = [columns.pop("left"), columns.pop("right")]
            self.won = plain_text(columns.pop("winner"), "winner")
        if sides[1] is None:
            raise DataError("comparisons by chosen need a column `rejected` beside it")
        one, two = (plain_text(side, name) for side, name in zip(sides, ("left", "right"), strict=True))
        if len(one) != len(two) or (self.won is not None and len(self.won) != len(one)):
            raise DataError("the columns of the comparisons are not equally long")
        if one.dtype != two.dtype:
            one, two = one.cast(pl.String), two.cast(pl.String)
        self.size = len(one)
        self.listed = False  # whether the winner is always written on one side
        self.both = Column.of(pl.concat([one, two.rename(one.name)]), "item")
        self.given = None if items is None else sorted_vocabulary(items, "item")

    def __len__(self) -> int:
        return self.size

    @property
    def null(self) -> Mask | None:  # type: ignore[override]
        """Rows in which an item or the winner is missing."""
        gone = np.zeros(self.size, dtype=bool)
        if self.both.null is not None:
            gone |= self.both.null[: self.size] | self.both.null[self.size :]
        if self.won is not None:
            text = self.won.cast(pl.String).str.strip_chars()
            gone |= (text.is_null() | (text == "")).to_numpy()
        return gone if gone.any() else None

    def leave_out(self, names: Sequence[str]) -> set[str]:
        """Take these values for no item and no winner."""
        seen = self.both.leave_out(names)
        if self.won is not None:
            text = self.won.cast(pl.String)
            hit = text.str.strip_chars().is_in(list(names)).fill_null(False)
            seen |= set(text.filter(hit).str.strip_chars().to_list())
            self.won = text.set(hit, None)
        return seen

    def admit(self, keep: Mask, dropped: dict[str, int]) -> Mask | None:
        """Rows with two different items; a winner that is neither side is refused."""
        outcome = self._outcome(keep)
        decided = outcome[keep & (outcome != TIE)]
        self.listed = self.won is not None and len(decided) >= LISTED and len(np.unique(decided)) == 1
        alone = self.both.codes[: self.size] == self.both.codes[self.size :]
        dropped[SELF] = int((keep & alone).sum())
        return np.asarray(~alone)

    def finish(self) -> Comparisons:
        """The answers; without sides (chosen, rejected) which item stands left means nothing."""
        items, codes = self.both.vocabulary, self.both.codes.astype(np.int32)
        if self.given is not None:
            table, known = lookup(self.given, items)
            if not known.all():
                raise DataError(f"items {quote(items.filter(~pl.Series(known)))} are not among the given ones")
            items, codes = self.given, (table[codes] if len(table) else codes)
        left, right = codes[: self.size], codes[self.size :]
        outcome = self._outcome(np.zeros(self.size, dtype=bool))
        if self.won is None or self.listed:
            # No sides: each pair gets one that goes neither with the names of its items nor with who won.
            turned = (left > right) != ((left + right) % 2 == 1)
            outcome = np.where(turned, np.array([1, 0, 2])[outcome], outcome)
            left, right = np.where(turned, right, left), np.where(turned, left, right)
        return Comparisons(left, right, outcome.astype(np.int8), items.rename("item"))

    def notes(self, answers: Answers) -> tuple[str, ...]:  # noqa: ARG002
        """That sides were only a way of writing, where they were."""
        if not self.listed:
            return ()
        return ("one side wins every answer, so the file lists the winner there; sides are not taken for positions",)

    def _outcome(self, keep: Mask) -> npt.NDArray[np.int8]:
        left, right = self.both.codes[: self.size], self.both.codes[self.size :]
        if self.won is None:
            return np.full(self.size, LEFT, dtype=np.int8)
        text = self.won.cast(pl.String).str.strip_chars()
        names = self.both.vocabulary.cast(pl.String)
        distinct = text.drop_nulls().unique()
        words = {word: code for code, some in WORDS.items() for word in some}
        as_item, is_item = lookup(names, distinct) if len(names) else (np.zeros(len(distinct), np.int32),) * 2
        at, _ = lookup(distinct, text) if len(distinct) else (np.zeros(self.size, np.int32), None)
        by_word = np.array([words.get(str(w).lower(), -1) for w in distinct.to_list()] or [-1], dtype=np.int8)
        item = np.where(np.asarray(is_item, bool), as_item, -1)[at] if len(distinct) else np.full(self.size, -1)
        outcome = np.where(item == left, LEFT, np.where(item == right, RIGHT, by_word[at])).astype(np.int8)
        bad = keep & (outcome < 0)
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            more = f" (and {int(bad.sum()) - 1:,} rows more)" if bad.sum() > 1 else ""
            raise DataError(
                f"row {row + 1}: the winner is {quote([text[row]])}, neither left, right or tie nor one of the two "
                f"items{more}; correct it, name it with --missing, or read classes with --kind classes"
            )
        return np.maximum(outcome, 0).astype(np.int8)


def fits(columns: dict[str, pl.Series]) -> bool:
    """Whether what stands in the columns are comparisons: most winners are a side, a tie or one of the two items.

    A column that is called winner leaves no doubt."""
    if "winner" not in columns or columns["winner"].name.strip().lower() == "winner":
        return any(name in columns for name in ("winner", "chosen", "won_left"))
    frame = pl.DataFrame({name: as_text(columns[name]) for name in ("left", "right", "winner")}).drop_nulls().head(5000)
    if not len(frame):
        return False
    words = [word for some in WORDS.values() for word in some]
    own = frame["winner"].str.to_lowercase().is_in(words) | (frame["winner"] == frame["left"])
    return bool((own | (frame["winner"] == frame["right"])).mean() >= 0.8)  # type: ignore[operator]


def as_text(values: Any) -> pl.Series:
    """A column as stripped text."""
    series = plain_text(values, "column")
    return as_series(series, series.name).cast(pl.String).str.strip_chars()


# ---------------------------------------------------------------- How far two comparisons of the same items are apart


def distance(answers: Comparisons, i: npt.NDArray[Any], j: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """0 where the same item wins (or both are ties), 1 where the other one does, a half where one is a tie.

    Sides do not matter. Answers about different pairs are compared by the side that won: between tasks nothing else is
    alike in them.
    """
    one, two = answers.outcome[i], answers.outcome[j]
    turned = (answers.left[i] == answers.right[j]) & (answers.right[i] == answers.left[j])
    two = np.where(turned, np.array([1, 0, 2], dtype=two.dtype)[two], two)
    return np.where(one == two, 0.0, np.where((one == 2) | (two == 2), 0.5, 1.0))


# ---------------------------------------------------------------- Votes of comparisons as the maths takes them


def rows_of(votes: Votes[Comparisons]) -> PairRows:
    """All rows."""
    said = votes.answers
    return PairRows(said.left, said.right, said.outcome, votes.worker, votes.weight, len(said.items), votes.n_workers)


def sides_of_tasks(votes: Votes[Comparisons]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The items of each task, on the sides where most rows have them (else the first by name left); -1: no rows."""
    said = votes.answers
    low, high = np.full(votes.n_tasks, -1, dtype=np.int64), np.full(votes.n_tasks, -1, dtype=np.int64)
    low[votes.task], high[votes.task] = np.minimum(said.left, said.right), np.maximum(said.left, said.right)
    turned = np.bincount(votes.task, np.where(said.left > said.right, 1.0, -1.0), votes.n_tasks) > 0
    return np.where(turned, high, low), np.where(turned, low, high)
