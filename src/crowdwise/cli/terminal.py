"""Terminal output: tables, messages and JSON."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.errors import DataError

if TYPE_CHECKING:
    from rich.console import Console

    from ..core.ledger import Ledger
    from ..core.result import Result
    from ..evaluation.scores import Table


# Fields of `result.extra` that --json includes, where a method sets them.
REPORTED_EXTRAS = (
    "expected_accuracy",
    "independence",
    "copying",
    "chosen",
    "reason",
    "scores",
    "temperature",
    "warning",
    "subjective",
    "strength",
)


def console(stderr: bool = True) -> Console:
    """Return a rich console that does not interpret ids from files as markup."""
    from rich.console import Console

    out = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    if not out.is_terminal:
        out.width = 160  # pipes and files have no width to wrap at
    return out


def info(*parts: str) -> None:
    """Print a line on stderr."""
    sys.stderr.write(" ".join(parts) + "\n")


def print_json(value: Any) -> None:
    """Print JSON on stdout; NaN and infinity become null."""
    sys.stdout.write(json.dumps(_finite(value), indent=2, ensure_ascii=False, default=str) + "\n")


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {str(k): _finite(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(v) for v in value]
    return value


def print_table(title: str, header: Sequence[str], rows: Iterable[Sequence[str]], *, stderr: bool = True) -> None:
    """Print a table; columns of numbers are right-aligned."""
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    rows = [[clean(cell) for cell in row] for row in rows]
    table = RichTable(
        title=Text(title, style="bold") if title else None,
        title_justify="left",
        box=box.SIMPLE_HEAD,
        show_header=any(header),
    )
    for j, name in enumerate(header):
        numeric = all(_is_number(row[j]) for row in rows) and bool(rows)
        table.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*[Text(cell) for cell in row])
    console(stderr).print(table)


def print_blocks(blocks: Iterable[str | Table]) -> None:
    """Print tables on stdout and sentences on stderr, in this order."""
    for block in blocks:
        if isinstance(block, str):
            for line in block.splitlines():
                info(clean(line))
        else:
            print_table(block.title, block.header, block.rows, stderr=False)


_NUMBER_MARKS = str.maketrans("", "", ",.%+- ")


def clean(text: str) -> str:
    """Replace control characters in untrusted text, which could control the terminal."""
    return "".join(c if c.isprintable() else "�" for c in text)


def _is_number(text: str) -> bool:
    return text in ("", "–") or text.translate(_NUMBER_MARKS).isdigit()


def print_ledger(ledger: Ledger) -> None:
    """Print how many rows were dropped and why; nothing if all were used."""
    for note in ledger.notes:
        info("note:", clean(note))
    if ledger.rows_dropped:
        reasons = "; ".join(f"{n:,} {reason}" for reason, n in ledger.dropped.items())
        info(f"{ledger.rows_in:,} rows in, {ledger.rows_used:,} used, {ledger.rows_dropped:,} dropped: {reasons}")


def print_choice(result: Result) -> None:
    """Print which model was chosen and why, and the temperature; nothing if there was no choice."""
    rows = [
        [row["method"], f"{row['score']:.4f}", f"{row['standard_error']:.4f}", "*" * (row["method"] == chosen)]
        for chosen in [result.extra.get("chosen")]
        for row in result.extra.get("scores", [])
    ]
    if rows:
        print_table("Held-out labels, mean log-likelihood", ["model", "score", "error", ""], rows)
    if "reason" in result.extra:
        info(f"chosen: {result.extra['reason']}")
    if "warning" in result.extra:
        info(clean(str(result.extra["warning"])))
    if "temperature" in result.extra:
        info(f"calibrated at temperature {result.extra['temperature']:.2f}")


@contextmanager
def error_context(*files: str | Path | None) -> Iterator[None]:
    """Prefix data errors with the names of these files, unless they contain one already."""
    try:
        yield
    except DataError as error:
        names = [Path(file).name for file in files if file is not None]
        if any(name in str(error) for name in names):
            raise
        raise DataError(f"{' and '.join(names)}: {error}") from error
