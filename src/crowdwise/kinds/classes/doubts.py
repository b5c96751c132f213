"""Doubts about votes on classes: a column that does not hold classes, or several questions at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from ...core.doubt import InputDoubt
from ...core.vocabulary import quote
from .annotations import Annotations

# Fewer rows than this may have any labels.
ENOUGH = 20
# Labels are ids if there are more than this many classes for every row, and at least ENOUGH classes.
DISTINCT = 0.5
MOST = 0.9
DATE = r"^\s*(\d{4}-\d\d?-\d\d?([ T]\d\d:\d\d.*)?|\d\d?[./]\d\d?[./]\d{4}.*|\d\d?:\d\d(:\d\d)?)\s*$"
# Seconds and milliseconds since 1970, from 2001 to 2033.
STAMPS = ((1_000_000_000, 2_000_000_000), (1_000_000_000_000, 2_000_000_000_000))
FEW_STAMPS = 5
UNIT = r"^\s*[-+]?\d[\d.,]*\s*([A-Za-z%°€$£]+)\.?\s*$"
NUMBER = r"^\s*[-+]?\d[\d.,]*\s*$"
# Codes of surveys and of programs for an answer that is not there, and the largest class of a scale beside them.
CODES, LARGEST = (-1, -9, -99, -999, -9999, 88, 99, 999, 9999), 20
# Rows that are searched for several questions; tasks on which labels differ that make a question.
SEARCHED, DISAGREEING = 200_000, 10


def doubts(votes: Annotations) -> list[InputDoubt]:
    """Return what is doubtful about these labels."""
    names, counts = votes.classes, np.bincount(votes.label, minlength=votes.n_classes)
    names, counts = names.filter(pl.Series(counts > 0)), counts[counts > 0]
    checks = (
        _own_workers(votes),
        _same_names(votes),
        _dates(names),
        _units(names),
        _ids(votes, names),
        _case(names),
        _codes(names),
    )
    first = [doubt for doubt in checks if doubt]
    if len(names) == 1 and len(votes) >= ENOUGH and votes.n_classes == 1:
        first.append(
            InputDoubt("one-class", f"every label is {names[0]!r}; name another column with --columns label=NAME")
        )
    questions = None if first else _questions(votes)
    return first if questions is None else [questions]


def _own_workers(votes: Annotations) -> InputDoubt | None:
    """A worker for each row: the column may hold the id of the row."""
    if len(votes) < ENOUGH or votes.n_workers < len(votes) or votes.n_tasks == len(votes):
        return None
    return InputDoubt(
        "own-worker",
        f"each of the {len(votes):,} rows has a worker of its own, so nothing can be learnt about them; is it the id "
        "of the row? --columns worker=NAME names another column",
    )


def _same_names(votes: Annotations) -> InputDoubt | None:
    """Labels that repeat the task or the worker of their row."""
    if len(votes) < ENOUGH or votes.n_classes < 3:
        return None
    labels = votes.classes.cast(pl.String).gather(votes.label)
    for what, names, codes in (("tasks", votes.tasks, votes.task), ("workers", votes.workers, votes.worker)):
        if not bool(votes.classes.cast(pl.String).is_in(names.cast(pl.String).implode()).any()):
            continue
        if int((labels == names.cast(pl.String).gather(codes)).sum()) > DISTINCT * len(votes):
            return InputDoubt(
                "ids", f"the labels are names of the {what}; name another column with --columns label=NAME"
            )
    return None


def _dates(names: pl.Series) -> InputDoubt | None:
    if len(names) < 2:
        return None
    if names.dtype == pl.String:
        numbers = names.cast(pl.Float64, strict=False)
        is_date = int(names.str.contains(DATE).sum()) >= MOST * len(names)
    else:
        numbers, is_date = names.cast(pl.Float64, strict=False), False
    is_stamp = len(names) >= FEW_STAMPS and any(
        bool(numbers.is_between(low, high).fill_null(False).all()) for low, high in STAMPS
    )
    if not (is_date or is_stamp):
        return None
    return InputDoubt(
        "dates", f"the labels are dates or times ({quote(names)}); name another column with --columns label=NAME"
    )


def _units(names: pl.Series) -> InputDoubt | None:
    """Numbers with different units, or some with a unit and some without."""
    if names.dtype != pl.String or len(names) < 5:
        return None
    units = names.str.extract(UNIT).str.to_lowercase()
    plain = names.str.contains(NUMBER)
    if int(units.is_not_null().sum()) + int(plain.sum()) < MOST * len(names) or not bool(units.is_not_null().any()):
        return None
    distinct = units.drop_nulls().unique().sort()
    if len(distinct) == 1 and not bool(plain.any()):
        return None
    return InputDoubt(
        "units",
        f"the labels are numbers with different units ({quote(distinct)}{', none' if plain.any() else ''}), such as "
        f"{quote(names)}; write all in one unit, without its name",
    )


def _ids(votes: Annotations, names: pl.Series) -> InputDoubt | None:
    if len(names) < ENOUGH or len(names) <= DISTINCT * len(votes):
        return None
    return InputDoubt(
        "ids",
        f"there are {len(names):,} different labels in {len(votes):,} rows, as of ids, numbers or texts; name another "
        "column with --columns label=NAME, or the kind of answers with --kind",
    )


def _case(names: pl.Series) -> InputDoubt | None:
    """Classes that become one without case and blanks."""
    if names.dtype != pl.String:
        return None
    plain = names.str.strip_chars().str.to_lowercase().str.replace_all(r"\s+", " ")
    if not bool(plain.is_duplicated().any()):
        return None
    same = names.filter(plain == plain.filter(plain.is_duplicated())[0])
    return InputDoubt("case", f"the classes {quote(same)} differ in case or blanks only; spell each class in one way")


def _codes(names: pl.Series) -> InputDoubt | None:
    """A number that stands apart from the other classes, which are those of a scale."""
    numbers = names.cast(pl.Int64, strict=False)
    if numbers.null_count() or len(names) < 3:
        return None
    values = sorted(numbers.to_list())
    for code in CODES:
        scale = [value for value in values if value not in CODES]
        if code not in values or len(scale) < 2 or not 0 <= scale[0] <= scale[-1] <= LARGEST:
            continue
        if code == -1 and len(scale) < 3:  # -1, 0 and 1 are a scale
            continue
        return InputDoubt(
            "code",
            f"the class '{code}' stands apart from the others ({quote([str(v) for v in scale])}), as a code for no "
            f"answer does; --missing {code} leaves it out",
        )
    return None


def _questions(votes: Annotations) -> InputDoubt | None:
    """Classes in groups that never meet on a task, although labels differ on many tasks of each group."""
    if votes.n_classes < 4 or len(votes) < 2 * ENOUGH:
        return None
    step = -(-len(votes) // SEARCHED)
    rows = np.flatnonzero(votes.task % step == 0)
    pair = np.unique(votes.task[rows].astype(np.int64) * votes.n_classes + votes.label[rows])
    task, label = pair // votes.n_classes, (pair % votes.n_classes).astype(np.int64)
    size = np.bincount(task, minlength=votes.n_tasks)
    first = np.zeros(votes.n_tasks, dtype=np.int64)
    first[task[::-1]] = label[::-1]
    links = coo_array((np.ones(len(pair)), (first[task], label)), shape=(votes.n_classes, votes.n_classes))
    _, group = connected_components(links, directed=False)
    disputed: npt.NDArray[np.int64] = np.bincount(group[first[size > 1]], minlength=int(group.max()) + 1)
    real = np.flatnonzero(disputed >= DISAGREEING)
    used = np.bincount(group[votes.label[rows]], minlength=len(disputed))
    if len(real) < 2 or used[real].sum() < MOST * len(rows):
        return None
    some = [votes.classes.filter(pl.Series(group == g)).cast(pl.String) for g in real[:2]]
    number = {2: "two", 3: "three"}.get(len(real), f"{len(real)}")
    return InputDoubt(
        "questions",
        f"the labels answer {number} questions: {quote(some[0])} and {quote(some[1])} are never given to one task; "
        "split the file by question",
    )
