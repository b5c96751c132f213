"""Rows in order (by task, then worker), and what becomes of a second answer of one worker to one task."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from .. import ledger as reasons
from ..errors import DataError
from ..vocabulary import quote

# ----------------------------------------------------------------
# Verdict rows: what a row may say of its occasion (repeat, prompt, order), its judge's version, its cost.
# A judge asked several times about one task (again, with another prompt, with the options the other way round) is one
# voice, not several. Such rows are no duplicates: all are kept, and together they weigh as much as one. Another
# version of a judge is another judge.

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]

# Rows of one worker and task that differ in one of these are different occasions.
OCCASION = ("repeat", "prompt", "order")
PREDICTED = "predicted_share"
# What is kept of rows where a column has just this name.
OF_ROWS = (*OCCASION, "version", "cost", PREDICTED)


def is_of_rows(name: str) -> bool:
    """Whether a column of this name is kept; predicted_share_<class> are the shares of several classes."""
    return name in OF_ROWS or name.startswith(f"{PREDICTED}_")


def row_facts(frame: pl.DataFrame, chosen: Mapping[str, str]) -> pl.DataFrame | None:
    """The columns of a file that tell of single rows, under our names."""
    roles = [role for role in chosen if is_of_rows(role)]
    return frame.select(pl.col(chosen[role]).alias(role) for role in roles) if roles else None


def by_version(worker: Any, version: pl.Series) -> tuple[Any, tuple[str, ...]]:
    """Workers of whom several versions spoke, as one worker each version (name@version), and a note."""
    names = worker if isinstance(worker, pl.Series) else pl.Series("worker", worker)
    named = pl.DataFrame({"w": names.cast(pl.String), "v": version.cast(pl.String).str.strip_chars()})
    said = named.filter(pl.col("v").is_not_null() & (pl.col("v") != ""))
    many = said.group_by("w").agg(pl.col("v").n_unique()).filter(pl.col("v") > 1)["w"]
    if not len(many):
        return worker, ()
    split = pl.col("w").is_in(many.implode()) & pl.col("v").is_not_null() & (pl.col("v") != "")
    names = named.select(pl.when(split).then(pl.col("w") + "@" + pl.col("v")).otherwise(pl.col("w")))["w"]
    note = f"{len(many)} {'worker has' if len(many) == 1 else 'workers have'} several versions; each version is a judge"
    return names, (note,)


def from_logprob(values: F8, where: str) -> F8:
    """Confidences from the log-probability of the label's token; what is above 0 is none."""
    above = np.flatnonzero(values > 1e-9)
    if len(above):
        raise DataError(
            f"{where}, row {int(above[0]) + 1}: a logprob of {values[above[0]]:g} is above 0, so no log-probability"
        )
    return np.asarray(np.exp(np.minimum(values, 0.0)))


def occasions(facts: pl.DataFrame | None) -> tuple[I8 | None, int]:
    """Code of each row's occasion, in the order of their names, and how many there are; None without such columns."""
    names = [] if facts is None else [name for name in OCCASION if name in facts.columns]
    if facts is None or not names:
        return None, 1
    text = facts.select(
        pl.concat_str([pl.col(n).cast(pl.String).fill_null("") for n in names], separator="\x1f").alias("o")
    )["o"]
    if not len(text):
        return np.zeros(0, dtype=np.int64), 1
    code = text.rank("dense").to_numpy().astype(np.int64) - 1
    return code, int(code.max()) + 1


def one_voice(task: npt.NDArray[np.int32], worker: npt.NDArray[np.int32]) -> tuple[F8 | None, tuple[str, ...]]:
    """Weights that make all rows of a worker on a task weigh one together (rows sorted), and a note; None if single."""
    again = (np.diff(task) == 0) & (np.diff(worker) == 0)
    if not again.any():
        return None, ()
    group = np.concatenate([[0], np.cumsum(~again)])
    size = np.bincount(group)
    note = (
        f"{int((size > 1).sum()):,} workers' answers to a task come in up to {int(size.max())} repeats, prompts or "
        "orders; each worker counts as one voice"
    )
    return 1.0 / size[group], (note,)


def unusable(worker: npt.NDArray[np.int32], null: npt.NDArray[np.bool_], names: pl.Series) -> pl.DataFrame | None:
    """How many rows without an answer each worker has: worker, unusable; None where nobody has."""
    codes = worker[null]
    codes = codes[(codes >= 0) & (codes < len(names))]
    if not len(codes):
        return None
    n = np.bincount(codes, minlength=len(names))
    who = np.flatnonzero(n)
    return pl.DataFrame({"worker": names.gather(who), "unusable": n[who]})


Duplicates = Literal["error", "first", "last", "keep"]
Numbers = Mapping[str, npt.NDArray[np.float64] | None]
# (first row of a pair that contradicts itself, all its rows) -> what to tell people of it
Tell = Callable[[I8], str]


def resolve(
    task: npt.NDArray[Any],
    worker: npt.NDArray[Any],
    keys: tuple[npt.NDArray[Any], ...],
    numbers: Numbers,
    policy: Duplicates,
    tell: Tell,
    occasion: I8 | None = None,
) -> tuple[I8 | None, dict[str, int]]:
    """The rows to keep of sorted rows, in order (None: all as they are), and how many went for which reason.

    Rows of different occasions do not repeat each other.
    """
    again = (np.diff(task) == 0) & (np.diff(worker) == 0)
    if occasion is not None:
        again &= np.diff(occasion) == 0
    if not again.any():
        return None, {}
    group = np.concatenate([[0], np.cumsum(~again)])
    position = np.arange(len(task))
    if policy == "keep":
        return np.lexsort((*(v for v in numbers.values() if v is not None), *keys[::-1], group)), {}
    if policy == "error":
        order = np.lexsort((position, *keys[::-1], group))
        clash = again & np.any([np.diff(key[order]) != 0 for key in keys], axis=0)
        if clash.any():
            raise _contradiction(np.unique(group[1:][clash]), group, tell)
        kept = np.sort(order[np.concatenate([[True], ~(again & ~clash)])])
        return kept, {reasons.EXACT_REPEAT: int(len(task) - len(kept))}
    time = numbers.get("time")
    rank = position if time is None else np.nan_to_num(time, nan=-np.inf)
    order = np.lexsort((position, rank, group))
    kept = order[np.concatenate([[True], ~again]) if policy == "first" else np.concatenate([~again, [True]])]
    same = np.all([key == key[kept][group] for key in keys], axis=0)
    exact = int(same.sum()) - len(kept)
    return kept, {reasons.EXACT_REPEAT: exact, reasons.CONTRADICTION: len(task) - len(kept) - exact}


def _contradiction(pairs: I8, group: I8, tell: Tell) -> DataError:
    first = tell(np.flatnonzero(group == pairs[0]))
    return DataError(
        f"{len(pairs)} (task, worker) {'pair carries' if len(pairs) == 1 else 'pairs carry'} contradictory labels "
        f"(first: {first}); choose --duplicates first, last or keep (in Python: duplicates='first', 'last' or 'keep')"
    )


def told(task: Any, worker: Any, said: list[Any]) -> str:
    """A pair and what its worker said of it, for a message."""
    return f"task {quote([task])}, worker {quote([worker])}: {quote(said)}"
