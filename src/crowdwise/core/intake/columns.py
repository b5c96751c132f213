"""Map a file's columns to roles: exact names first, then well-known synonyms; ambiguity is an error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ..errors import DataError, ParameterError
from ..vocabulary import quote
from .repeats import PREDICTED, ROW_COLUMNS, from_logprob, is_row_column, row_facts

# ----------------------------------------------------------------
# Times as seconds: numbers, dates and ISO timestamps.


def seconds(series: pl.Series, where: str) -> npt.NDArray[np.float64]:
    """Convert numbers or ISO dates to seconds; a missing time becomes NaN."""
    if series.dtype.is_numeric():
        return series.cast(pl.Float64).fill_null(float("nan")).to_numpy()
    if isinstance(series.dtype, pl.Categorical | pl.Enum | pl.Null):
        series = series.cast(pl.String)
    if series.dtype == pl.String:
        series = series.str.strip_chars()
        series = series.set((series == "").fill_null(False), None)
        numbers = series.cast(pl.Float64, strict=False)
        if numbers.null_count() == series.null_count():
            return numbers.fill_null(float("nan")).to_numpy()
        dates = _dates(series)
        if dates.null_count() > series.null_count():
            wrong = dates.is_null() & series.is_not_null()
            neither = wrong & numbers.is_null()
            row = int((neither if neither.any() else wrong).arg_true()[0])
            raise DataError(
                f"{where}, row {row + 1}: {series[row]!r} in column {series.name!r} is not a date like "
                "2024-12-31T23:59:59Z, and not all are numbers; correct it or name another column"
            )
        series = dates
    if series.dtype in (pl.Date, pl.Datetime):
        micro = (series.cast(pl.Datetime("us")) if series.dtype == pl.Date else series).dt.timestamp("us")
        return (micro.cast(pl.Float64) / 1e6).fill_null(float("nan")).to_numpy()
    raise DataError(f"{where}: column {series.name!r} of type {series.dtype} is not a time; name another column")


def _dates(series: pl.Series) -> pl.Series:
    plain = series.str.replace(r"\s*(Z|[+-]\d\d:?\d\d)$", "").str.replace("T", " ", literal=True)
    full = plain.str.to_datetime("%Y-%m-%d %H:%M:%S%.f", strict=False, time_unit="us")
    for shape in ("%Y-%m-%d %H:%M", "%Y-%m-%d"):
        if full.null_count() > series.null_count():
            full = full.fill_null(plain.str.to_datetime(shape, strict=False, time_unit="us"))
    offset = series.str.extract(r"\d:\d\d(?::\d\d)?(?:\.\d+)?\s*([+-]\d\d:?\d\d)$")
    offset = offset.str.replace(":", "", literal=True).cast(pl.Int64, strict=False)
    minutes = (offset.abs() // 100 * 60 + offset.abs() % 100) * offset.sign()
    return full - (minutes.fill_null(0) * 60_000_000).cast(pl.Duration("us"))


KNOWN_AS = {
    "task": "task task_id item item_id question question_id example example_id instance instance_id unit unit_id "
    "doc doc_id document document_id prompt_id",
    "worker": "worker worker_id workerid annotator annotator_id performer rater rater_id coder coder_id judge "
    "judge_id judge_model judge_name user user_id labeler labeller",
    "label": "label response answer annotation vote judgment judgement category verdict choice",
}
# Synonyms that are used only if none of those above occurs: a score may also be a confidence or a number.
ALSO_KNOWN_AS = {
    "label": "rating score grade code value winner ranking",
    "task": "prompt_id image_id img_id sample_id record_id sentence_id text_id tweet_id post_id case_id",
    "worker": "reader reader_id judge_id reviewer reviewer_id grader grader_id expert expert_id assessor assessor_id "
    "participant participant_id evaluator",
}
TRUTH_KNOWN_AS = "truth true true_label gold gold_label ground_truth correct cluster"
TIME_NAMES = (
    *("time", "timestamp", "ts", "created_at", "submitted_at", "submitted", "answered_at"),
    *("datetime", "completed_at", "labelled_at", "labeled_at", "annotated_at", "finished_at"),
)
VOTE = ("task", "worker", "label")
TRUTH = ("task", "label")
TRUTH_OPTION = "--truth-columns (or --gold-columns)"
# Roles that are read if a column has exactly this name, and roles that are read only if they are named.
TAKEN, NAMED = ("duration", "confidence", "logprob"), ("weight", "gold", "source", "group", "text", "url")
ROLES = (*VOTE, "time", *TAKEN, *NAMED, *ROW_COLUMNS, f"{PREDICTED}_*")


def plain_name(column: str) -> str:
    """Return the spelling in which names of columns are compared."""
    return column.strip().lower().replace(" ", "_")


def by_plain_name(header: Sequence[str]) -> dict[str, str]:
    """Return the columns of a header by their names in lower case, with underscores for blanks."""
    return {plain_name(name): name for name in header}


def first_named(header: Sequence[str], names: str) -> str | None:
    """Return the column with the first of these names that occurs, or None."""
    columns = by_plain_name(header)
    return next((columns[name] for name in names.split() if name in columns), None)


def parse_columns(text: str | None, option: str = "--columns", answer: Sequence[str] = ("label",)) -> dict[str, str]:
    """Parse `task=item,worker=rater` as a mapping from our column names to the file's.

    Args:
        text: Pairs separated by commas.
        option: The command-line option, for messages.
        answer: Columns of the answers; a name that ends in * matches any suffix.
    """
    roles = TRUTH if option == TRUTH_OPTION else (*ROLES, *(role for role in answer if role not in ROLES))
    mapping: dict[str, str] = {}
    for part in (text or "").split(","):
        if not part.strip():
            continue
        role, equals, column = (piece.strip() for piece in part.partition("="))
        is_wildcard = any(allowed.endswith("*") and role.startswith(allowed[:-1]) for allowed in roles)
        if not equals or not column or not (role in roles or is_wildcard):
            raise ParameterError(f"{option} takes name=column pairs with names among {', '.join(roles)}, got {part!r}")
        if role in mapping:
            raise ParameterError(f"{option} names {role} twice: {mapping[role]!r} and {column!r}; keep one of them")
        mapping[role] = column
    return mapping


def choose(
    header: Sequence[str],
    mapping: Mapping[str, str] | None,
    where: str,
    required: Sequence[str] = VOTE,
    option: str = "--columns",
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the column of each role, and notes.

    Args:
        header: Columns of the file.
        mapping: Columns that the user named.
        where: Name of the file, for messages.
        required: Roles that must have a column.
        option: The command-line option that names columns, for messages.
    """
    roles = (*ROLES, *required)
    for role in mapping or {}:
        if role not in roles and not is_row_column(role):
            raise ParameterError(f"columns accepts the names {', '.join(dict.fromkeys(roles))}, got {role!r}")
    named = {role: _given(role, column, header, where) for role, column in (mapping or {}).items()}
    chosen = {
        role: named[role] if role in named else _detected(role, header, where, required, option) for role in required
    }
    notes: tuple[str, ...] = ()
    chosen |= {role: column for role, column in named.items() if role not in chosen}
    for role, column in chosen.items():
        other = next(r for r, c in chosen.items() if c == column)
        if other != role:
            raise ParameterError(f"{where}: {other} and {role} both point at {column!r}; name two columns")
    if "worker" in required:
        free = [c for c in header if c not in chosen.values()]
        times = [c for c in free if c.strip().lower() in TIME_NAMES]
        if "time" not in chosen and len(times) == 1:
            chosen["time"] = times[0]
        elif "time" not in chosen and times:
            notes += (f"columns {quote(times)} could each be the time; choose one with --columns time=NAME",)
        chosen |= {role: role for role in TAKEN if role in free and role not in chosen}
        chosen |= {column: column for column in free if is_row_column(column) and column not in chosen}
        for role in ("weight", "gold"):
            if role not in chosen and role in free:
                notes += (f"column {role!r} is ignored; --columns {role}={role} takes it",)
    renamed = tuple(f"{role} is read from column {column!r}" for role, column in chosen.items() if role != column)
    return chosen, renamed + notes


def _given(role: str, column: str, header: Sequence[str], where: str) -> str:
    if column in header:
        return column
    matches = [c for c in header if c.strip() == column]
    if len(matches) == 1:
        return matches[0]
    raise DataError(f"{where} has no column {column!r} for the {role}; it has {quote(header, 12)}")


def _detected(role: str, header: Sequence[str], where: str, required: Sequence[str], option: str) -> str:
    if role in header:
        return role
    matches = candidates(role, header, required)
    if len(matches) == 1:
        return matches[0]
    how = f"{option} {role}=NAME"
    if matches:
        raise DataError(f"columns {quote(matches)} of {where} could each be the {role}; choose one: {how}")
    if "worker" in required:
        how += ", or --format wide (or --workers 'Coder*') for a table with one column per worker"
    raise DataError(f"{where} has no column for the {role} (columns: {quote(header, 8)}); name it: {how}")


def candidates(role: str, header: Sequence[str], required: Sequence[str]) -> list[str]:
    """Return the columns that may have a role: by our name, else by well-known synonyms, else by lesser-known ones."""
    tiers = [role, KNOWN_AS.get(role, role), ALSO_KNOWN_AS.get(role, "")]
    if role == "label" and "worker" not in required:
        tiers.insert(1, TRUTH_KNOWN_AS)
    for tier in tiers:
        names = tier.split()
        matches = [c for c in header if plain_name(c) in names]
        if matches:
            return matches
    return []


def pick(
    frame: pl.DataFrame,
    mapping: Mapping[str, str] | None,
    where: str,
    missing: Sequence[Any] = (),
    required: Sequence[str] = VOTE,
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the columns of a frame under our names, time and weight as numbers, and notes."""
    chosen, notes = choose(frame.columns, mapping, where, required)
    columns, more = values(frame, chosen, where, strict=mapping or {}, missing=missing, required=required)
    return columns, notes + more


def values(
    frame: pl.DataFrame,
    chosen: Mapping[str, str],
    where: str,
    *,
    strict: Mapping[str, str],
    missing: Sequence[Any] = (),
    required: Sequence[str] = VOTE,
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the chosen columns under our names, and notes.

    Columns of numbers that cannot be parsed are ignored with a note, unless the user named them (`strict`). Values in
    `missing` count as missing numbers.
    """
    columns: dict[str, Any] = {role: frame[chosen[role]] for role in required}
    notes: tuple[str, ...] = ()
    for role in ("time", *TAKEN):
        if role not in chosen:
            continue
        try:
            column = _without(frame[chosen[role]], missing)
            columns[role] = seconds(column, where) if role == "time" else _numbers(column, where)
        except DataError as error:
            if role in strict:
                raise
            what = "time" if role == "time" else "number"
            notes += (f"column {chosen[role]!r} cannot be read as a {what} and is ignored ({error})",)
    if "logprob" in columns:
        confidence = from_logprob(columns.pop("logprob"), where)
        columns.setdefault("confidence", confidence)
    facts = row_facts(frame, chosen)
    if facts is not None and "worker" in columns:
        columns["about_rows"] = facts
    if "weight" in chosen:
        columns["weight"] = _weights(frame[chosen["weight"]], [frame[chosen[role]] for role in required], where)
    return columns, notes


def _without(series: pl.Series, missing: Sequence[Any]) -> pl.Series:
    if not missing or series.dtype != pl.String:
        return series
    return series.set(series.str.strip_chars().is_in([str(value) for value in missing]).fill_null(False), None)


def _numbers(series: pl.Series, where: str) -> npt.NDArray[np.float64]:
    """Parse numbers; an empty cell is NaN."""
    text = series if series.dtype.is_numeric() else series.cast(pl.String).str.strip_chars()
    numbers = text.cast(pl.Float64, strict=False)
    wrong = numbers.is_null() & text.is_not_null() & (text.cast(pl.String) != "").fill_null(False)
    if wrong.any():
        row = int(wrong.arg_true()[0])
        raise DataError(f"{where}, row {row + 1}: {series[row]!r} in column {series.name!r} is not a number")
    return numbers.fill_null(float("nan")).to_numpy()


def _weights(series: pl.Series, votes: Sequence[pl.Series], where: str) -> npt.NDArray[np.float64]:
    """Parse weights; rows that are dropped for lack of a task, worker or label need none."""
    text = series if series.dtype.is_numeric() else series.cast(pl.String).str.strip_chars()
    numbers = text.cast(pl.Float64, strict=False)
    good = (numbers.is_finite() & (numbers >= 0)).fill_null(False)
    bad = (~good).arg_true()
    for vote in votes:
        answer = vote.gather(bad).cast(pl.String).str.strip_chars().fill_null("")
        bad = bad.filter(answer != "")
    if len(bad):
        row = int(bad[0])
        raise DataError(
            f"{where}, row {row + 1}: weight {series[row]!r} in column {series.name!r} is not a number from 0 up; "
            "correct it or leave weight out of --columns"
        )
    return numbers.set(~good, 0.0).to_numpy()
