"""Position bias of judges who compare two options: does the option shown first win too often?"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..core.errors import DataError
from ..core.vocabulary import quote
from ..kinds.classes.annotations import Annotations
from .maths import position_both, position_once, smallest_visible

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]

TIES = ("tie", "draw", "both", "equal", "neither", "same", "c", "0", "0.5", "1.5")
ORDERS = ("ab", "ba")


def position_rows(votes: Annotations) -> list[dict[str, Any]]:
    """One row per judge; none where the votes have no column `order`."""
    if votes.about_rows is None or "order" not in votes.about_rows.columns:
        return []
    first = shown_first(votes)
    if first is None:
        return []
    label = np.asarray(votes.label, dtype=np.int64)
    win = np.where(first < 0, 0, np.where(label == first, 1, np.where(is_option(votes)[label], -1, 0)))
    return [_judge(votes, judge, first, label, win) for judge in range(votes.n_workers)]


def options(votes: Annotations) -> list[int] | None:
    """The two classes that name the options a and b, in the order of their names; None unless there are two."""
    names = [str(name).strip().lower() for name in votes.classes.cast(pl.String)]
    named = [i for i, name in enumerate(names) if name not in TIES] if len(names) > 2 else list(range(len(names)))
    return named if len(named) == 2 else None


def is_option(votes: Annotations) -> npt.NDArray[np.bool_]:
    """Mark the classes that name an option (not a tie)."""
    out = np.zeros(votes.n_classes, dtype=bool)
    out[options(votes) or []] = True
    return out


def shown_first(votes: Annotations) -> I8 | None:
    """Class of the option shown first in each row, -1 where it is not known; None where there are no orders."""
    pair = options(votes)
    assert votes.about_rows is not None
    order = votes.about_rows["order"].cast(pl.String).str.strip_chars().str.to_lowercase()
    if pair is None or not order.drop_nulls().len():
        return None
    names = {str(votes.classes[pair[i]]).strip().lower(): pair[i] for i in (0, 1)} | dict(
        zip(ORDERS, pair, strict=True)
    )
    unknown = order.drop_nulls().filter(~order.drop_nulls().is_in(list(names)) & (order.drop_nulls() != ""))
    if len(unknown):
        raise DataError(
            f"the order of a pair is {quote(unknown.unique(maintain_order=True))}; write ab or ba (a is "
            f"{votes.classes[pair[0]]}, b is {votes.classes[pair[1]]}), or the class that was shown first"
        )
    return np.array([names.get(value, -1) if value is not None else -1 for value in order], dtype=np.int64)


def _judge(votes: Annotations, judge: int, first: I8, label: I8, win: I8) -> dict[str, Any]:
    rows = np.flatnonzero((votes.worker == judge) & (first >= 0))
    base = {"check": "position", "judge": str(votes.workers[judge]), "n": 0, "note": ""}
    if not len(rows):
        return base | {"note": "no verdict has a known order"}
    won, flips, n_both = _by_task(votes, rows, first, label, win)
    if n_both:
        ff, ss = int((won > 0).sum()), int((won < 0).sum())
        effect = position_both(ff, ss)
        values = {"effect": effect.value, "se": effect.se, "low": effect.low, "high": effect.high, "p": effect.p}
        note = f"first won twice {ff}, second won twice {ss}"
        return base | values | {"n": n_both, "flips": flips, "smallest_visible": smallest_visible(ff, ss), "note": note}
    if len(np.unique(first[rows])) < 2:
        return base | {"n": len(rows), "note": "one order only: no estimate"}
    decided = rows[win[rows] != 0]
    effect = position_once(int((win[decided] > 0).sum()), len(decided))
    values = {"effect": effect.value, "se": effect.se, "low": effect.low, "high": effect.high, "p": effect.p}
    note = "one order per pair, assumed random: share won by the first option minus a half"
    return base | values | {"n": len(decided), "note": note}


def _by_task(votes: Annotations, rows: I8, first: I8, label: I8, win: I8) -> tuple[I8, float, int]:
    """For tasks seen in both orders: winner (+1 first twice, -1 second twice, 0 neither), share of flips, number."""
    occasion = votes.about_rows
    assert occasion is not None
    context = [name for name in ("prompt", "repeat") if name in occasion.columns]
    columns_of_pair = [pl.col(n).cast(pl.String).fill_null("") for n in context]
    text = (
        occasion[rows].select(pl.concat_str(columns_of_pair, separator="\x1f")).to_series()
        if context
        else [""] * len(rows)
    )
    columns = {"task": votes.task[rows], "other": text, "first": first[rows]}
    frame = pl.DataFrame({**columns, "said": label[rows], "win": win[rows]})
    shown = np.unique(first[rows])
    one, two = (
        frame.filter(pl.col("first") == x).unique(["task", "other"], maintain_order=True) for x in (shown[0], shown[-1])
    )
    paired = one.join(two, on=["task", "other"], suffix="_swapped") if len(shown) > 1 else one.clear()
    if not len(paired):
        return np.empty(0, dtype=np.int64), float("nan"), 0
    twice = paired.with_columns(
        twice=pl.when(pl.col("win") == pl.col("win_swapped")).then(pl.col("win")).otherwise(0),
        flip=(pl.col("said") != pl.col("said_swapped")).cast(pl.Float64),
    )
    # Prompts and repeats of a task are not separate pairs: the task counts once, for the position that won more often.
    task = twice.group_by("task").agg(pl.col("twice").sum().sign(), pl.col("flip").mean())
    return task["twice"].to_numpy().astype(np.int64), float(task["flip"].mean()), len(task)  # type: ignore[arg-type]
