"""Detect the kind of answers in a table from its columns and values."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence

import polars as pl

from ..core import kind as kinds
from ..core.intake.columns import ALSO_KNOWN_AS, KNOWN_AS, plain_name
from ..core.kind import Kind, KindHooks

FALLBACK = "classes"


def detect_kind(
    header: Sequence[str], mapping: Mapping[str, str], kind_name: str | None, excluded: Collection[str] = ()
) -> tuple[Kind, dict[str, str], tuple[str, ...]]:
    """Return the kind, the mapping with the columns that determined it, and notes.

    A requested kind comes first, then named roles, then a column of labels (unless it is part of another kind's
    answers), then the columns of other kinds. Kinds in `excluded` are not considered.
    """
    if kind_name is not None:
        kind = kinds.get(kind_name)
        return kind, _add_optional_columns(_add_answer_columns(mapping, kind, header), kind, header), ()
    for name in kinds.names():
        if name != FALLBACK and any(_has_role(kinds.get(name), role) for role in mapping):
            return kinds.get(name), _add_optional_columns(mapping, kinds.get(name), header), ()
    labels = {c for c in header if plain_name(c) in KNOWN_AS["label"].split()}
    if "label" not in mapping:
        best: tuple[Kind, Mapping[str, str]] | None = None
        for name in kinds.names():
            columns = None if name == FALLBACK or name in excluded else columns_of_kind(kinds.get(name), header)
            if columns is None or (labels and not _holds_answers(columns, labels)):
                continue
            if best is None or len(columns) > len(best[1]):  # head, left, right is more specific than left, right
                best = kinds.get(name), columns
        if best is not None:
            note = f"read as {best[0].display_name}, detected by its columns; --kind {FALLBACK} reads classes"
            return best[0], {**best[1], **mapping}, (note,)
    return kinds.get(FALLBACK), dict(mapping), ()


def _holds_answers(columns: Mapping[str, str], labels: Collection[str]) -> bool:
    """Whether these columns of a kind are the answers although others are named like labels.

    A column `winner` beside two items is the answer; what is called a judgment beside it is the reason for it.
    """
    answers = set(columns.values())
    return len(columns) > 1 and (bool(set(labels) & answers) or "winner" in map(plain_name, answers))


def kind_from_values(labels: pl.Series) -> tuple[Kind | None, tuple[str, ...]]:
    """Detect the kind from a table's labels: lists, or values that only one kind can have; None: classes."""
    kind, notes = kind_from_lists(labels)
    return (kind, notes) if kind is not None else kind_from_labels(labels)


def kind_from_labels(labels: pl.Series) -> tuple[Kind | None, tuple[str, ...]]:
    """Return the only kind that a table's labels can be, and a note; None if they are classes."""
    for name in kinds.names():
        kind = kinds.get(name)
        if kind.from_labels and (why := _explanation(kind, labels.unique())):
            return kind, _note(kind, why)
    return None, ()


def kind_from_lists(answers: pl.Series) -> tuple[Kind | None, tuple[str, ...]]:
    """Return the kind of answers that are lists (in JSON or native), and a note; None if they are not lists."""
    sample = answers.drop_nulls().head(100)
    is_list = isinstance(sample.dtype, pl.List) or (
        sample.dtype == pl.String
        and len(sample) > 0
        and bool(sample.str.strip_chars_start().str.starts_with("[").all())
    )
    if isinstance(answers.dtype, pl.List):
        values = answers.drop_nulls().head(200).to_list()
        answers = pl.Series([json.dumps(value, ensure_ascii=False, default=str) for value in values], dtype=pl.String)
    for name in kinds.names() if is_list else ():
        kind = kinds.get(name)
        if len(kind.columns) == 1 and (why := _explanation(kind, answers)):
            return kind, _note(kind, why)
    return None, ()


def _explanation(kind: Kind, answers: pl.Series) -> str:
    """Why the answers can hardly be of another kind; "" where they can."""
    return "" if kind.explain_detection is None else kind.explain_detection(answers)


def _note(kind: Kind, why: str) -> tuple[str, ...]:
    return (f"read as {kind.display_name} ({why}); --kind {FALLBACK} reads classes",)


def kind_from_answers(question: str | None, answers: pl.Series) -> tuple[str, tuple[str, ...]]:
    """Detect the kind of the distinct answers of an export, and return it with notes.

    The question's name determines it, or values that only one kind can have.
    """
    for name in kinds.names():
        kind = kinds.get(name)
        if name == FALLBACK or kind.accepts is None or not len(answers):
            continue
        names = [] if question is None else [question, question.removesuffix("s")]  # a list of `ratings`
        # A name indicates numbers; for answers in text the values decide.
        if kind.dtypes and columns_of_kind(kind, names) is not None and kind.accepts(answers):
            return name, _note(kind, f"detected by the name {question!r}")
        if why := _explanation(kind, answers):
            return name, _note(kind, why)
    return FALLBACK, ()


def kind_of_header(header: Sequence[str]) -> Kind | None:
    """Return the kind, other than classes, whose columns a table of results has; None if it has a column of labels."""
    if set(KNOWN_AS["label"].split()) & set(header):
        return None
    candidates = (kinds.get(name) for name in kinds.names() if name != FALLBACK)
    return next(
        (kind for kind in candidates if kind.hooks.supports(KindHooks.evaluate) and set(kind.columns) <= set(header)),
        None,
    )


def may_be_classes(header: Sequence[str]) -> bool:
    """Whether a column has a name that labels may have."""
    names = {*KNOWN_AS["label"].split(), *ALSO_KNOWN_AS["label"].split()}
    return any(plain_name(column) in names for column in header)


def roles(kind: Kind, mapping: Mapping[str, str]) -> tuple[str, ...]:
    """Return the roles of a vote of this kind: task, worker and those of its answer."""
    named = tuple(role for role in mapping if _has_role(kind, role))
    return ("task", "worker", *(named or kind.columns))


def accepts_columns(kind: Kind, frame: pl.DataFrame, chosen: Mapping[str, str]) -> bool:
    """Whether the values in the answer columns can be of this kind."""
    answer_columns = {
        role: frame[column] for role, column in chosen.items() if role in kind.roles or role.startswith("value_")
    }
    if kind.accepts_table is not None and not kind.accepts_table(answer_columns):
        return False
    return kind.accepts is None or all(kind.accepts(column) for column in answer_columns.values())


def answer_of(roles: Sequence[str]) -> list[str]:
    """Return the roles of the answer among those of a vote."""
    return [role for role in roles if role not in ("task", "worker")]


def answer_roles() -> tuple[str, ...]:
    """Return the roles of answers of all kinds; `value_*` stands for answers of several parts."""
    return tuple(dict.fromkeys(role for name in kinds.names() for role in kinds.get(name).roles))


def _add_optional_columns(mapping: Mapping[str, str], kind: Kind, header: Sequence[str]) -> dict[str, str]:
    """Add optional columns of an answer that the header has under their own names."""
    more = {role: role for role in kind.more_roles if role in header and role not in mapping.values()}
    return {**more, **mapping} if any(_has_role(kind, role) for role in mapping) else dict(mapping)


def _has_role(kind: Kind, role: str) -> bool:
    return _is_among(role, kind.roles)


def columns_of_kind(kind: Kind, header: Sequence[str]) -> Mapping[str, str] | None:
    """Return the columns of a header that hold an answer of this kind, or None.

    An answer of one column is looked for only where the header has one of the column's names.
    """
    if kind.detect_columns is None:
        return None
    if len(kind.columns) == 1:
        names = {*next(iter(kind.columns.values())).split(), *kind.more_roles}
        if not any(_is_among(plain_name(column), names) for column in header):
            return None
    return kind.detect_columns(header)


def _is_among(name: str, patterns: Collection[str]) -> bool:
    """Whether a name is one of these, of which `value_*` stands for all that begin with `value_`."""
    return name in patterns or any(pattern.endswith("*") and name.startswith(pattern[:-1]) for pattern in patterns)


def _add_answer_columns(mapping: Mapping[str, str], kind: Kind, header: Sequence[str]) -> dict[str, str]:
    """Add the columns of a requested kind, found by its known names or as `label`."""
    if any(_has_role(kind, role) for role in mapping):
        return dict(mapping)
    if kind.name == FALLBACK:
        return dict(mapping)
    if "label" in mapping and len(kind.columns) == 1:
        others = {role: column for role, column in mapping.items() if role != "label"}
        return {next(iter(kind.columns)): mapping["label"], **others}
    columns = columns_of_kind(kind, header)
    if columns is None and len(kind.columns) == 1:
        names = [c for c in header if plain_name(c) in KNOWN_AS["label"].split()]
        columns = {next(iter(kind.columns)): names[0]} if len(names) == 1 else {}
    return {**(columns or {}), **mapping}
