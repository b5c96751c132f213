"""Repeated answers of one worker to one task: occasions, judge versions, and policies for duplicates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from .. import ledger as reasons
from ..arrays import F8, I8
from ..errors import DataError, ParameterError
from ..vocabulary import quote

# ----------------------------------------------------------------
# Rows of LLM judges may state their occasion (repeat, prompt, order), the judge's version and the cost.
# A judge that answers one task several times (again, with another prompt, with the options swapped) counts as one vote.
# Such rows are not duplicates: all are kept, with a total weight of one. Another version of a judge is another judge.


# Rows of one worker and task that differ in one of these are different occasions.
OCCASION_COLUMNS = ("repeat", "prompt", "order")
PREDICTED = "predicted_share"
# Columns about rows that are kept if a column has exactly this name.
ROW_COLUMNS = (*OCCASION_COLUMNS, "version", "cost", PREDICTED)


def is_row_column(name: str) -> bool:
    """Whether a column about rows with this name is kept; predicted_share_<class> are shares of several classes."""
    return name in ROW_COLUMNS or name.startswith(f"{PREDICTED}_")


def row_facts(frame: pl.DataFrame, chosen: Mapping[str, str]) -> pl.DataFrame | None:
    """Return the columns of a file about single rows, under our names."""
    roles = [role for role in chosen if is_row_column(role)]
    return frame.select(pl.col(chosen[role]).alias(role) for role in roles) if roles else None


def split_versions(worker: Any, version: pl.Series) -> tuple[Any, tuple[str, ...]]:
    """Rename workers with several versions to name@version, one worker per version; returns the workers and notes."""
    names = worker if isinstance(worker, pl.Series) else pl.Series("worker", worker)
    named = pl.DataFrame({"w": names.cast(pl.String), "v": version.cast(pl.String).str.strip_chars()})
    versioned = named.filter(pl.col("v").is_not_null() & (pl.col("v") != ""))
    multiple = versioned.group_by("w").agg(pl.col("v").n_unique()).filter(pl.col("v") > 1)["w"]
    if not len(multiple):
        return worker, ()
    split = pl.col("w").is_in(multiple.implode()) & pl.col("v").is_not_null() & (pl.col("v") != "")
    names = named.select(pl.when(split).then(pl.col("w") + "@" + pl.col("v")).otherwise(pl.col("w")))["w"]
    n = len(multiple)
    note = f"{n} {'worker has' if n == 1 else 'workers have'} several versions; each version is a judge"
    return names, (note,)


def from_logprob(values: F8, where: str) -> F8:
    """Return confidences from the log-probabilities of the label's token; values above 0 are invalid."""
    above = np.flatnonzero(values > 1e-9)
    if len(above):
        raise DataError(
            f"{where}, row {int(above[0]) + 1}: a logprob of {values[above[0]]:g} is above 0, so no log-probability"
        )
    return np.asarray(np.exp(np.minimum(values, 0.0)))


def occasion_codes(facts: pl.DataFrame | None) -> tuple[I8 | None, int]:
    """Return the code of each row's occasion, ordered by name, and their number; None without such columns."""
    names = [] if facts is None else [name for name in OCCASION_COLUMNS if name in facts.columns]
    if facts is None or not names:
        return None, 1
    text = facts.select(
        pl.concat_str([pl.col(n).cast(pl.String).fill_null("") for n in names], separator="\x1f").alias("o")
    )["o"]
    if not len(text):
        return np.zeros(0, dtype=np.int64), 1
    code = text.rank("dense").to_numpy().astype(np.int64) - 1
    return code, int(code.max()) + 1


def repeat_weights(task: npt.NDArray[np.int32], worker: npt.NDArray[np.int32]) -> tuple[F8 | None, tuple[str, ...]]:
    """Return weights that sum to one over the (sorted) rows of a worker on a task, and notes; None if none repeat."""
    is_repeat = (np.diff(task) == 0) & (np.diff(worker) == 0)
    if not is_repeat.any():
        return None, ()
    group = np.concatenate([[0], np.cumsum(~is_repeat)])
    size = np.bincount(group)
    note = (
        f"{int((size > 1).sum()):,} workers' answers to a task come in up to {int(size.max())} repeats, prompts or "
        "orders; each worker counts as one vote"
    )
    return 1.0 / size[group], (note,)


def unusable_counts(
    worker: npt.NDArray[np.int32], null: npt.NDArray[np.bool_], names: pl.Series
) -> pl.DataFrame | None:
    """Return the number of rows without an answer per worker (worker, unusable); None if there are none."""
    codes = worker[null]
    codes = codes[(codes >= 0) & (codes < len(names))]
    if not len(codes):
        return None
    n = np.bincount(codes, minlength=len(names))
    worker_codes = np.flatnonzero(n)
    return pl.DataFrame({"worker": names.gather(worker_codes), "unusable": n[worker_codes]})


Duplicates = Literal["error", "first", "last", "keep"]
POLICIES = ("error", "first", "last", "keep")
Numbers = Mapping[str, npt.NDArray[np.float64] | None]
# The rows of a contradictory pair -> their description for messages.
DescribeRows = Callable[[I8], str]


def check_duplicates(policy: str) -> None:
    """Raise unless this is a policy for repeated answers."""
    if policy not in POLICIES:
        raise ParameterError(f"duplicates must be error, first, last or keep, got {policy!r}")


def resolve(
    task: npt.NDArray[Any],
    worker: npt.NDArray[Any],
    keys: tuple[npt.NDArray[Any], ...],
    numbers: Numbers,
    policy: Duplicates,
    describe: DescribeRows,
    occasion: I8 | None = None,
) -> tuple[I8 | None, dict[str, int]]:
    """Return the rows to keep of sorted rows, in order (None: all, unchanged), and the number dropped per reason.

    Rows of different occasions are not repeats of each other.
    """
    is_repeat = (np.diff(task) == 0) & (np.diff(worker) == 0)
    if occasion is not None:
        is_repeat &= np.diff(occasion) == 0
    if not is_repeat.any():
        return None, {}
    group = np.concatenate([[0], np.cumsum(~is_repeat)])
    position = np.arange(len(task))
    if policy == "keep":
        return np.lexsort((*(v for v in numbers.values() if v is not None), *keys[::-1], group)), {}
    if policy == "error":
        order = np.lexsort((position, *keys[::-1], group))
        clash = is_repeat & np.any([np.diff(key[order]) != 0 for key in keys], axis=0)
        if clash.any():
            raise _contradiction(np.unique(group[1:][clash]), group, describe)
        rows = np.sort(order[np.concatenate([[True], ~(is_repeat & ~clash)])])
        return rows, {reasons.EXACT_REPEAT: int(len(task) - len(rows))}
    time = numbers.get("time")
    rank = position if time is None else np.nan_to_num(time, nan=-np.inf)
    order = np.lexsort((position, rank, group))
    rows = order[np.concatenate([[True], ~is_repeat]) if policy == "first" else np.concatenate([~is_repeat, [True]])]
    same = np.all([key == key[rows][group] for key in keys], axis=0)
    exact = int(same.sum()) - len(rows)
    return rows, {reasons.EXACT_REPEAT: exact, reasons.CONTRADICTION: len(task) - len(rows) - exact}


def _contradiction(pairs: I8, group: I8, describe: DescribeRows) -> DataError:
    first = describe(np.flatnonzero(group == pairs[0]))
    return DataError(
        f"{len(pairs)} (task, worker) {'pair carries' if len(pairs) == 1 else 'pairs carry'} contradictory labels "
        f"(first: {first}); choose --duplicates first, last or keep (in Python: duplicates='first', 'last' or 'keep')"
    )


def describe_answers(task: Any, worker: Any, answers: list[Any]) -> str:
    """Describe a task, a worker and the worker's answers, for a message."""
    return f"task {quote([task])}, worker {quote([worker])}: {quote(answers)}"
