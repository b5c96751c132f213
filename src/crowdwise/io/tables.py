"""Open table files (CSV, TSV, JSONL, Parquet, Excel, plain or compressed) as polars tables, without guessing types.

polars reads fast but tolerates malformed files; csv/check.py and json/lines.py refuse them and name the line.
"""

from __future__ import annotations

from pathlib import Path

from ..core.errors import DataError
from .csv.file import open_csv
from .parquet import open_parquet
from .sources import FileTable, Source, open_source, printable

FORMATS = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet",
           ".pq": "parquet", ".xlsx": "excel", ".xlsm": "excel"}  # fmt: skip
# Formats that cannot be read directly.
_OTHERS = {".xls": "an old Excel workbook", ".xlsb": "a binary Excel workbook", ".ods": "a LibreOffice table",
           ".numbers": "a Numbers table", ".rds": "R's own format", ".sav": "an SPSS file",
           ".dta": "a Stata file"}  # fmt: skip
COMPRESSED = (".gz", ".zst")


def open_table(path: str | Path, format: str | None = None) -> FileTable:
    """Open a file (`-` is CSV on standard input) without reading all of it."""
    source, where = open_source(path)
    return table_of(source, where, format or format_of(path))


def table_of(source: Source, where: str, kind: str) -> FileTable:
    """`open_table` for an open source."""
    if kind == "parquet":
        return open_parquet(source, where)
    if kind == "jsonl":
        from .json.lines import open_jsonl

        return open_jsonl(source, where)
    if kind == "excel":
        from .excel import open_excel

        return open_excel(source, where)
    return open_csv(source, where, kind)


def format_of(path: str | Path) -> str:
    """Return the format that the file name implies; standard input (`-`) is CSV."""
    if str(path) == "-":
        return "csv"
    path = Path(path)
    suffixes = [s.lower() for s in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    kind = FORMATS.get(suffixes[-1]) if suffixes else None
    if suffixes and suffixes[-1] in _OTHERS:
        what = _OTHERS[suffixes[-1]]
        raise DataError(f"{printable(path.name)} is {what}; export it as CSV (UTF-8), from a spreadsheet also as .xlsx")
    if kind is None:
        raise DataError(
            f"{printable(path.name)}: the file's name ends in none of {', '.join(FORMATS)} (+ .gz, .zst); "
            "use --format NAME"
        )
    return kind
