"""Known triplets: which of two items is truly more like a third."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.errors import DataError
from ...core.intake.frames import to_polars
from ...core.truth import place_gold, truth_table
from ...core.vocabulary import quote
from ...kinds.similarities.answers import series_of
from ...kinds.triplets.answers import SIDES, WORDS, complete, told_by
from ...maths.triplets.embedding import Triplets as Rows
from ..comparisons.gold import refuse_items

I8 = npt.NDArray[np.int64]
# Answers that a known triplet weighs as much as, in the places of its items.
GOLD_WEIGHT = 5.0


def read_truth(frame: pl.DataFrame) -> pl.DataFrame | None:
    """Columns head, left, right, closer as a table task, label: task is what the triplet is called where nobody names
    it, label the closer item's name. None where the columns are not these."""
    found = told_by(frame.columns)
    if found is None:
        return None
    columns = {role: series_of(frame[name], role).cast(pl.String).str.strip_chars() for role, name in found.items()}
    said = columns.pop("closer")
    word = said.str.to_lowercase().replace_strict(WORDS, default=-1, return_dtype=pl.Int8).fill_null(-1)
    left, right = columns["left"], columns["right"]
    side = (pl.when((said == left) | (said == right)).then(said).when(word == 0).then(left)
            .when(word == 1).then(right).otherwise(said))  # fmt: skip
    complete(columns)
    return pl.DataFrame({"task": columns["task"], "label": pl.select(side).to_series()})


def known_sides(truth: Any, tasks: pl.Series, three: tuple[I8, I8, I8], items: pl.Series) -> npt.NDArray[np.int8]:
    """side[task]: 0 where the truth is its left item, 1 where it is its right one, -1 where it is not known.

    `truth` is a mapping or a table of task and the closer item, or a table head, left, right, closer; `three` are
    head, left and right of each task.
    """
    if not isinstance(truth, dict):
        frame = to_polars(truth)
        told = read_truth(frame) if set(SIDES) <= set(frame.columns) else None
        truth = frame if told is None else told
    table = truth_table(truth, like=("closer",))
    refuse_items(table, tasks, items, "known triplets: head, left, right, closer")
    text, names = table.cast(pl.String), items.cast(pl.String)
    own: dict[str, Any] = {role: names.gather(side) for role, side in zip(SIDES, three, strict=True)}
    complete(own)
    places = pl.DataFrame({"at": np.arange(len(tasks)), "name": tasks.cast(pl.String), "called": own["task"]})
    by_name = text.join(places, left_on="task", right_on="name")
    rest = text.filter(~text["task"].is_in(by_name["task"].unique().to_list()))
    found = pl.concat([by_name.select("task", "label", "at"),
                       rest.join(places, left_on="task", right_on="called").select("task", "label", "at")])  # fmt: skip
    place_gold(text, found["task"].unique().sort())  # says what is not there
    at, said = found["at"].to_numpy(), found["label"]
    is_left, is_right = ((said == names.gather(side[at])).to_numpy() for side in three[1:])
    bad = ~(is_left | is_right)
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise DataError(
            f"the truth of task {quote([tasks[int(at[row])]])} is {quote([said[row]])}, neither of its two items; name "
            "the closer item, or give the columns head, left, right, closer"
        )
    out = np.full(len(tasks), -1, dtype=np.int8)
    out[at] = np.where(is_left, 0, 1)
    return out


def with_gold(rows: Rows, head: I8, left: I8, right: I8, side: npt.NDArray[np.int8]) -> Rows:
    """The rows, and one row more for each known triplet, of a worker who is always right."""
    at = np.flatnonzero(side >= 0)
    near, far = (np.where(side[at] == which, left[at], right[at]) for which in (0, 1))
    who = np.full(len(at), rows.n_workers)
    return Rows(
        np.concatenate([rows.head, head[at]]),
        np.concatenate([rows.near, near]),
        np.concatenate([rows.far, far]),
        np.concatenate([rows.worker, who]),
        np.concatenate([rows.weight, np.full(len(at), GOLD_WEIGHT)]),
        rows.n_items,
        rows.n_workers + 1,
    )
