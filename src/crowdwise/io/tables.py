"""Table files (CSV, TSV, JSONL, Parquet, Excel, plain or compressed) as polars tables, with nothing guessed.

polars reads fast but forgives much; what it would pass over is looked for in csvcheck and jsonl, and refused with the
line it stands in.
"""

from __future__ import annotations

from pathlib import Path

from ..core.errors import DataError
from .csv.file import open_csv
from .excel import open_excel
from .json.lines import open_jsonl
from .parquet import open_parquet
from .sources import Source, Table, open_source, printable

__all__ = ["FORMATS", "Table", "format_of", "open_table", "table_of"]

FORMATS = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet",
           ".pq": "parquet", ".xlsx": "excel", ".xlsm": "excel"}  # fmt: skip
# Tables that are not read as they are, and what to do with them.
_OTHERS = {".xls": "an old Excel workbook", ".xlsb": "a binary Excel workbook", ".ods": "a LibreOffice table",
           ".numbers": "a Numbers table", ".rds": "R's own format", ".sav": "an SPSS file",
           ".dta": "a Stata file"}  # fmt: skip
COMPRESSED = (".gz", ".zst")


def open_table(path: str | Path, format: str | None = None) -> Table:
    """Look at a file (`-` is CSV on standard input) and say what it is, without reading it all."""
    source, where = open_source(path)
    return table_of(source, where, format or ("csv" if str(path) == "-" else format_of(Path(path))))


def table_of(source: Source, where: str, kind: str) -> Table:
    """`open_table` for what is open already."""
    if kind == "parquet":
        return open_parquet(source, where)
    if kind == "jsonl":
        return open_jsonl(source, where)
    if kind == "excel":
        return open_excel(source, where)
    return open_csv(source, where, kind)


def format_of(path: Path) -> str:
    """The format that a file's name promises."""
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
            "say --format NAME"
        )
    return kind
