"""Which kind of answers a table holds: its columns tell, unless somebody says."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence

import polars as pl

from ..core import kind as kinds
from ..core.intake.columns import ALSO_KNOWN_AS, KNOWN_AS
from ..core.kind import Kind, KindHooks

FALLBACK = "classes"


def told(
    header: Sequence[str], mapping: Mapping[str, str], asked: str | None, but: Collection[str] = ()
) -> tuple[Kind, dict[str, str], tuple[str, ...]]:
    """The kind, the mapping with the columns that told it, and notes.

    What was asked for comes first, then the roles that were named, then a column for labels (unless it is itself part
    of another kind's answers), then other kinds' columns; kinds in `but` turned out not to fit.
    """
    if asked is not None:
        kind = kinds.get(asked)
        return kind, _with_more(_with(mapping, kind, header), kind, header), ()
    for name in kinds.names():
        if name != FALLBACK and any(_of(kinds.get(name), role) for role in mapping):
            return kinds.get(name), _with_more(mapping, kinds.get(name), header), ()
    labels = {c for c in header if c.strip().lower().replace(" ", "_") in KNOWN_AS["label"].split()}
    if "label" not in mapping:
        best: tuple[Kind, Mapping[str, str]] | None = None
        for name in kinds.names():
            found = None if name == FALLBACK or name in but else _told_by(kinds.get(name), header)
            if found is None or (labels and not (labels & set(found.values()) and len(found) > 1)):
                continue
            if best is None or len(found) > len(best[1]):  # head, left, right tell more than left, right
                best = kinds.get(name), found
        if best is not None:
            note = f"read as {best[0].people}, as the columns tell; --kind {FALLBACK} reads classes"
            return best[0], {**best[1], **mapping}, (note,)
    return kinds.get(FALLBACK), dict(mapping), ()


def told_by_values(labels: pl.Series) -> tuple[Kind | None, tuple[str, ...]]:
    """The kind that a table's column of labels tells: lists, or what only one kind can be; None: classes."""
    kind, notes = told_by_lists(labels)
    return (kind, notes) if kind is not None else told_by_labels(labels)


def told_by_labels(labels: pl.Series) -> tuple[Kind | None, tuple[str, ...]]:
    """The kind that a table's column of labels can only be, and a note; None where it holds classes."""
    for name in kinds.names():
        kind = kinds.get(name)
        why = kind.claims(labels.unique()) if kind.from_labels and kind.claims is not None else ""
        if why:
            return kind, (f"read as {kind.people} ({why}); --kind {FALLBACK} reads classes",)
    return None, ()


def told_by_lists(answers: pl.Series) -> tuple[Kind | None, tuple[str, ...]]:
    """The kind of a table's answers where these are lists, in JSON or as such, and a note; None where they are not."""
    some = answers.drop_nulls().head(100)
    listed = isinstance(some.dtype, pl.List) or (
        some.dtype == pl.String and len(some) > 0 and bool(some.str.strip_chars_start().str.starts_with("[").all())
    )
    if isinstance(answers.dtype, pl.List):
        values = answers.drop_nulls().head(200).to_list()
        answers = pl.Series([json.dumps(each, ensure_ascii=False, default=str) for each in values], dtype=pl.String)
    for name in kinds.names() if listed else ():
        kind = kinds.get(name)
        why = kind.claims(answers) if kind.claims is not None and len(kind.columns) == 1 else ""
        if why:
            return kind, (f"read as {kind.people} ({why}); --kind {FALLBACK} reads classes",)
    return None, ()


def told_by_answers(question: str | None, answers: pl.Series) -> tuple[str, tuple[str, ...]]:
    """The kind of an export's answers (each once) to a question, and notes: by the question's name, or by what only
    one kind can be."""
    for name in kinds.names():
        kind = kinds.get(name)
        if name == FALLBACK or kind.fits is None or not len(answers):
            continue
        names = [] if question is None else [question, question.removesuffix("s")]  # a list of `ratings`
        # A name tells of numbers; where answers are text, they must tell themselves.
        named = bool(kind.dtypes) and _told_by(kind, names) is not None and kind.fits(answers)
        why = f"as the name {question!r} tells" if named else kind.claims(answers) if kind.claims is not None else ""
        if why:
            return name, (f"read as {kind.people} ({why}); --kind {FALLBACK} reads classes",)
    return FALLBACK, ()


def kind_of_header(header: Sequence[str]) -> Kind | None:
    """The kind, other than classes, whose columns a table of results has by their own names; None where labels are."""
    if set(KNOWN_AS["label"].split()) & set(header):
        return None
    every = (kinds.get(name) for name in kinds.names() if name != FALLBACK)
    return next(
        (kind for kind in every if kind.hooks.supports(KindHooks.evaluate) and set(kind.columns) <= set(header)), None
    )


def may_be_classes(header: Sequence[str]) -> bool:
    """Whether some column has a name that labels have."""
    names = {*KNOWN_AS["label"].split(), *ALSO_KNOWN_AS["label"].split()}
    return any(column.strip().lower().replace(" ", "_") in names for column in header)


def roles(kind: Kind, mapping: Mapping[str, str]) -> tuple[str, ...]:
    """The columns that a vote of this kind has: task, worker and those of its answer."""
    own = tuple(role for role in mapping if _of(kind, role))
    return ("task", "worker", *(own or kind.columns))


def fitting(record: Kind, frame: pl.DataFrame, chosen: Mapping[str, str]) -> bool:
    """Whether what stands in the columns of the answers can be of this kind."""
    own = {role: frame[column] for role, column in chosen.items() if role in record.roles or role.startswith("value_")}
    if record.fits_table is not None and not record.fits_table(own):
        return False
    return record.fits is None or all(record.fits(column) for column in own.values())


def answer_of(wanted: Sequence[str]) -> list[str]:
    """The columns of the answer among those of a vote."""
    return [role for role in wanted if role not in ("task", "worker")]


def answer_roles() -> tuple[str, ...]:
    """What the columns of answers are called, over all kinds; `value_*` for parts."""
    return tuple(dict.fromkeys(role for name in kinds.names() for role in kinds.get(name).roles))


def _with_more(mapping: Mapping[str, str], kind: Kind, header: Sequence[str]) -> dict[str, str]:
    """With the further columns of an answer that are there by their own names."""
    more = {role: role for role in kind.more_roles if role in header and role not in mapping.values()}
    return {**more, **mapping} if any(_of(kind, role) for role in mapping) else dict(mapping)


def _of(kind: Kind, role: str) -> bool:
    return any(role == known or (known.endswith("*") and role.startswith(known[:-1])) for known in kind.roles)


def _told_by(kind: Kind, header: Sequence[str]) -> Mapping[str, str] | None:
    return None if kind.told_by is None else kind.told_by(header)


def _with(mapping: Mapping[str, str], kind: Kind, header: Sequence[str]) -> dict[str, str]:
    """Where a kind is asked for, its columns by the names it knows, or one that is called `label`."""
    if any(_of(kind, role) for role in mapping):
        return dict(mapping)
    if kind.name == FALLBACK:
        return dict(mapping)
    if "label" in mapping and len(kind.columns) == 1:
        rest = {role: column for role, column in mapping.items() if role != "label"}
        return {next(iter(kind.columns)): mapping["label"], **rest}
    found = _told_by(kind, header)
    if found is None and len(kind.columns) == 1:
        names = [c for c in header if c.strip().lower().replace(" ", "_") in KNOWN_AS["label"].split()]
        found = {next(iter(kind.columns)): names[0]} if len(names) == 1 else {}
    return {**(found or {}), **mapping}
