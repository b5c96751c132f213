"""Build votes from the parsed content of a file, with a complete ledger and the file's tables of tasks and workers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..core.answers import Coder
from ..core.errors import DataError
from ..core.intake.coding import encode
from ..core.intake.repeats import Duplicates
from ..core.kind import Kind
from ..core.ledger import Ledger
from .about import facts_of_items
from .formats import FORMATS as EXPORTS
from .formats.base import TASK_COLUMNS, ParsedFile


def build_votes(
    record: Kind,
    coder: Callable[[dict[str, Any]], Coder],
    content: ParsedFile,
    file_and_format: tuple[str, str],
    duplicates: Duplicates,
    missing: Sequence[str],
) -> Any:
    """Encode the content of a file as votes; the ledger includes rows that the format dropped.

    `file_and_format` is the name of the file for messages, and its format.
    """
    where, name = file_and_format
    try:
        coded = encode(
            content.columns,
            coder,
            tasks=content.tasks,
            workers=content.all_workers,
            duplicates="keep" if content.repeats_allowed and duplicates == "error" else duplicates,
            notes=content.notes,
            missing=missing if name != "wide" else (),
        )
    except DataError as error:
        raise DataError(f"{where}: {error}") from None
    ledger = _with(coded.ledger, content.dropped)
    _refuse_empty(ledger, where, name)
    return record.votes._of(replace(coded, ledger=ledger))


def attach_file_tables(votes: Any, content: ParsedFile, where: str, columns: Mapping[str, str] | None) -> Any:
    """Attach the tables about workers and tasks that the file itself holds."""
    if content.items is not None:
        named_facts = facts_of_items(content.items(), _of_tasks(columns), where)
        content.about_tasks = content.about_tasks if named_facts is None else named_facts
    if content.workers is not None and content.workers.width > 1:
        votes = votes.about(workers=content.workers)
    return votes if content.about_tasks is None else votes.about(tasks=content.about_tasks)


def _of_tasks(columns: Mapping[str, str] | None) -> dict[str, str]:
    return {role: column for role, column in (columns or {}).items() if role in TASK_COLUMNS}


def _with(ledger: Ledger, dropped: Mapping[str, int]) -> Ledger:
    reasons = {r: dropped.get(r, 0) + ledger.dropped.get(r, 0) for r in dict.fromkeys([*dropped, *ledger.dropped])}
    return Ledger(ledger.rows_in + sum(dropped.values()), ledger.rows_used, reasons, ledger.notes)


def _refuse_empty(ledger: Ledger, where: str, kind: str) -> None:
    if ledger.rows_used:
        return
    if ledger.rows_in:
        why = "; ".join(f"{n:,} {reason}" for reason, n in ledger.dropped.items())
        hint = "are these the right columns?" if kind not in EXPORTS else "is it the right file?"
        raise DataError(f"{where}: none of its {ledger.rows_in:,} rows can be used ({why}); {hint}")
    raise DataError(
        f"{where} has a header but no rows with labels; is it the right file?"
        if kind not in EXPORTS
        else f"{where} has no annotations; is it the right file?"
    )
