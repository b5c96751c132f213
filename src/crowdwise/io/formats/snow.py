"""Tables in the format of Snow et al. 2008: !amt_worker_ids, orig_id, response, gold."""

from __future__ import annotations

from ...core.errors import DataError
from ...core.ledger import BLANK
from ...core.options import ReadOptions
from ..csv.file import open_csv
from ..sources import Source
from .base import NO_ANSWER, SURE, FileHead, FormatMatch, ParsedFile, RowBuilder

TASK, LABEL, GOLD = "orig_id", "response", "gold"
WORKERS = ("!amt_worker_ids", "!amt_worker_id", "amt_worker_ids")


def sniff(head: FileHead) -> FormatMatch | None:
    """Match the columns !amt_worker_ids and orig_id."""
    if set(WORKERS) & set(head.header) and TASK in head.header:
        return FormatMatch(SURE, "it has the columns `!amt_worker_ids` and `orig_id`")
    return None


def read(source: Source, where: str, options: ReadOptions) -> ParsedFile:
    """Read one row per response."""
    options.allow_columns(where)
    table = open_csv(source, where, "tsv")
    worker = next((name for name in WORKERS if name in table.header), WORKERS[0])
    missing = [name for name in (worker, TASK, LABEL) if name not in table.header]
    if missing:
        raise DataError(f"{where} has no column {missing[0]!r}; name the columns: --format tsv --columns task=..")
    rows = RowBuilder()
    for number, row in enumerate(table.read(table.header).iter_rows(named=True), 1):
        if not any(row.values()):
            rows.drop(BLANK)
            continue
        rows.mention(row[TASK])
        if row.get(GOLD):
            rows.truth(row[TASK], row[GOLD], f"{where}, row {number}")
        if row[LABEL]:
            rows.add(row[TASK], row[worker], [row[LABEL]])
        else:
            rows.drop(NO_ANSWER)
    return rows.finish(where, options, LABEL, table.notes)
