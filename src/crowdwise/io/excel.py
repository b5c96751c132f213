"""Excel workbooks (.xlsx, .xlsm): the first sheet as a table of text, read by fastexcel (the extra `excel`).

Numbers are written as Excel shows them: 3, not 3.0. Workbooks that would fill the memory are refused beforehand.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl

from ..core.errors import DataError, MissingDependencyError
from ..core.faults import first_line
from .archives import member_names, members
from .sources import FileTable, Source, starts_with

# A sheet becomes a full rectangle in memory, from its first cell to its last: about 32 bytes per cell.
MOST_CELLS = 20_000_000
_CELL = re.compile(rb"""\br\s*=\s*["']([A-Za-z]{0,3})([0-9]{1,7})["']""")
_SHEETS = "xl/worksheets/"
HOW = "or save the sheet as CSV UTF-8 in Excel (File, Save As) and name that file"


def open_excel(source: Source, where: str) -> FileTable:
    """Open the first sheet of a workbook, whose first row names the columns."""
    try:
        import fastexcel
    except ImportError:
        raise MissingDependencyError(
            f"{where} is an Excel workbook, for which fastexcel is needed: pip install 'crowdwise[excel]'; {HOW}"
        ) from None
    if not starts_with(source, b"PK"):
        raise DataError(f"{where} is not an Excel workbook; use --format csv, or the format that it has")
    _refuse_far_cells(source, where)
    try:
        book = fastexcel.read_excel(source)
        names = book.sheet_names
        frame: pl.DataFrame = book.load_sheet(0, dtypes="string").to_polars()
    except (fastexcel.FastExcelError, pl.exceptions.PolarsError, ValueError, TypeError, OSError) as error:
        raise DataError(f"{where}: the workbook cannot be read ({first_line(error)}); save it again, {HOW}") from None
    frame = frame.select(name for name in frame.columns if not _unnamed(frame, name))
    if not frame.width:
        raise DataError(f"{where}: the first sheet, {names[0]!r}, is empty; a header task, worker, label is needed")
    notes = [f"the workbook has {len(names)} sheets; the first, {names[0]!r}, is read"] if len(names) > 1 else []

    def read(columns: Sequence[str]) -> pl.DataFrame:
        return frame.select(columns)

    return FileTable(where, "excel", frame.columns, read, notes)


def _unnamed(frame: pl.DataFrame, name: str) -> bool:
    """Whether a column has neither a name nor cells, as spreadsheets may leave behind."""
    return name.startswith("__UNNAMED__") and frame[name].null_count() == frame.height


def _refuse_far_cells(source: Source, where: str) -> None:
    """Raise if a sheet's rectangle is too large, or the archive would unpack to far too much."""
    if not any(name.startswith(_SHEETS) for name in member_names(source, where)):
        raise DataError(f"{where} holds no sheets; is it an Excel workbook (.xlsx)?")
    for name, content in members(source, where, (".xml",)):
        if not name.startswith(_SHEETS):
            continue
        row = column = 1
        for letters, digits in _CELL.findall(content if isinstance(content, bytes) else content.read_bytes()):
            row, column = max(row, int(digits)), max(column, _number(letters))
        if row * column > MOST_CELLS:
            raise DataError(
                f"{where}: its cells reach to row {row:,} and column {column:,}, too far for a table; delete the "
                f"stray cells, {HOW}"
            )


def _number(letters: bytes) -> int:
    """Convert a column's letters to its number: C is 3."""
    out = 0
    for letter in letters.upper():
        out = out * 26 + letter - 64
    return out
