"""Position bias of judges who compare two options: does the one shown first win too often?"""

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
    """A row each judge with a known order of options; none where the votes have no column `order`."""
    if votes.about_rows is None or "order" not in votes.about_rows.columns:
        return []
    first = shown_first(votes)
    if first is None:
        return []
    said = np.asarray(votes.label, dtype=np.int64)
    win = np.where(first < 0, 0, np.where(said == first, 1, np.where(is_option(votes)[said], -1, 0)))
    return [_judge(votes, judge, first, said, win) for judge in range(votes.n_workers)]


def options(votes: Annotations) -> list[int] | None:
    """The two classes that name the options a and b, in the order of their names; None where they are not two."""
    names = [str(name).strip().lower() for name in votes.classes.cast(pl.String)]
    two = [i for i, name in enumerate(names) if name not in TIES] if len(names) > 2 else list(range(len(names)))
    return two if len(two) == 2 else None


def is_option(votes: Annotations) -> npt.NDArray[np.bool_]:
    """Whether each class names an option (and no tie)."""
    out = np.zeros(votes.n_classes, dtype=bool)
    out[options(votes) or []] = True
    return out


def shown_first(votes: Annotations) -> I8 | None:
    """The class of the option that each row's judge saw first, -1 where nobody says; None where it cannot be told."""
    two = options(votes)
    assert votes.about_rows is not None
    order = votes.about_rows["order"].cast(pl.String).str.strip_chars().str.to_lowercase()
    if two is None or not order.drop_nulls().len():
        return None
    names = {str(votes.classes[two[i]]).strip().lower(): two[i] for i in (0, 1)} | dict(zip(ORDERS, two, strict=True))
    strange = order.drop_nulls().filter(~order.drop_nulls().is_in(list(names)) & (order.drop_nulls() != ""))
    if len(strange):
        raise DataError(
            f"the order of a pair is {quote(strange.unique(maintain_order=True))}; write ab or ba (a is "
            f"{votes.classes[two[0]]}, b is {votes.classes[two[1]]}), or the class that was shown first"
        )
    return np.array([names.get(each, -1) if each is not None else -1 for each in order], dtype=np.int64)


def _judge(votes: Annotations, judge: int, first: I8, said: I8, win: I8) -> dict[str, Any]:
    rows = np.flatnonzero((votes.worker == judge) & (first >= 0))
    base = {"check": "position", "judge": str(votes.workers[judge]), "n": 0, "note": ""}
    if not len(rows):
        return base | {"note": "no verdict says which option was first"}
    won, flips, n_both = _by_task(votes, rows, first, said, win)
    if n_both:
        ff, ss = int((won > 0).sum()), int((won < 0).sum())
        found = position_both(ff, ss)
        values = {"effect": found.value, "se": found.se, "low": found.low, "high": found.high, "p": found.p}
        note = f"first won twice {ff}, second won twice {ss}"
        return base | values | {"n": n_both, "flips": flips, "smallest_visible": smallest_visible(ff, ss), "note": note}
    if len(np.unique(first[rows])) < 2:
        return base | {"n": len(rows), "note": "one order only: nothing can be said"}
    decided = rows[win[rows] != 0]
    found = position_once(int((win[decided] > 0).sum()), len(decided))
    values = {"effect": found.value, "se": found.se, "low": found.low, "high": found.high, "p": found.p}
    note = "one order a pair, taken as random: share won by the first, less a half"
    return base | values | {"n": len(decided), "note": note}


def _by_task(votes: Annotations, rows: I8, first: I8, said: I8, win: I8) -> tuple[I8, float, int]:
    """Of tasks seen in both orders: who won twice (+1 first, -1 second, 0 neither), the share of flips, how many."""
    occasion = votes.about_rows
    assert occasion is not None
    other = [name for name in ("prompt", "repeat") if name in occasion.columns]
    parts = [pl.col(n).cast(pl.String).fill_null("") for n in other]
    text = occasion[rows].select(pl.concat_str(parts, separator="\x1f")).to_series() if other else [""] * len(rows)
    columns = {"task": votes.task[rows], "other": text, "first": first[rows]}
    frame = pl.DataFrame({**columns, "said": said[rows], "win": win[rows]})
    shown = np.unique(first[rows])
    one, two = (
        frame.filter(pl.col("first") == x).unique(["task", "other"], maintain_order=True) for x in (shown[0], shown[-1])
    )
    both = one.join(two, on=["task", "other"], suffix="_swapped") if len(shown) > 1 else one.clear()
    if not len(both):
        return np.empty(0, dtype=np.int64), float("nan"), 0
    twice = both.with_columns(
        twice=pl.when(pl.col("win") == pl.col("win_swapped")).then(pl.col("win")).otherwise(0),
        flip=(pl.col("said") != pl.col("said_swapped")).cast(pl.Float64),
    )
    # Prompts and repeats of one task are no separate pairs: the task counts once, for whoever won more of them.
    task = twice.group_by("task").agg(pl.col("twice").sum().sign(), pl.col("flip").mean())
    return task["twice"].to_numpy().astype(np.int64), float(task["flip"].mean()), len(task)  # type: ignore[arg-type]
