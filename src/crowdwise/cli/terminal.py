"""Talking to people: tables and sentences on stderr, progress on long jobs."""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.errors import DataError

if TYPE_CHECKING:
    from rich.console import Console

    from ..core.ledger import Ledger
    from ..core.result import Result


# What a method says of its own outcome, where it does.
TOLD = (
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
# Seconds between two lines of progress where nobody watches: in a log.
SELDOM = 10.0


def console(stderr: bool = True) -> Console:
    """A rich console; ids from files are never read as markup."""
    from rich.console import Console

    out = Console(stderr=stderr, highlight=False, markup=False, emoji=False)
    if not out.is_terminal:
        out.width = 160  # a pipe or a file has no edge to fold at
    return out


def say(*parts: str) -> None:
    """A line of talk."""
    sys.stderr.write(" ".join(parts) + "\n")


def print_json(value: Any) -> None:
    """Data for machines, on stdout; a number that does not exist becomes null."""
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
    """A table for people; columns that hold numbers stand on the right."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    rows = [[clean(cell) for cell in row] for row in rows]
    table = Table(
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


_NUMBER_MARKS = str.maketrans("", "", ",.%+- ")


def clean(text: str) -> str:
    """Text from strangers without control characters, which could steer the terminal."""
    return "".join(c if c.isprintable() else "�" for c in text)


def _is_number(text: str) -> bool:
    return text in ("", "–") or text.translate(_NUMBER_MARKS).isdigit()


def tell_ledger(ledger: Ledger) -> None:
    """How many rows came in and what became of them; silence when all were used."""
    for note in ledger.notes:
        say("note:", clean(note))
    if ledger.rows_dropped:
        reasons = "; ".join(f"{n:,} {reason}" for reason, n in ledger.dropped.items())
        say(f"{ledger.rows_in:,} rows in, {ledger.rows_used:,} used, {ledger.rows_dropped:,} dropped: {reasons}")


def tell_choice(result: Result) -> None:
    """Which model was chosen among which, and why; at which temperature. Silence where there was no choice."""
    rows = [
        [row["method"], f"{row['score']:.4f}", f"{row['standard_error']:.4f}", "*" * (row["method"] == chosen)]
        for chosen in [result.extra.get("chosen")]
        for row in result.extra.get("scores", [])
    ]
    if rows:
        print_table("Held-out labels, mean log-likelihood", ["model", "score", "error", ""], rows)
    if "reason" in result.extra:
        say(f"chosen: {result.extra['reason']}")
    if "warning" in result.extra:
        say(clean(str(result.extra["warning"])))
    if "temperature" in result.extra:
        say(f"calibrated at temperature {result.extra['temperature']:.2f}")


@contextmanager
def naming(*files: str | Path | None) -> Iterator[None]:
    """Errors in the data say which file they are about, when they do not already."""
    try:
        yield
    except DataError as error:
        names = [Path(file).name for file in files if file is not None]
        if any(name in str(error) for name in names):
            raise
        raise DataError(f"{' and '.join(names)}: {error}") from error


@contextmanager
def progress(what: str) -> Iterator[Callable[[int, float], None]]:
    """A callback for fit() that shows a line on the terminal once a job has taken more than a second."""
    started, shown = time.monotonic(), False

    def callback(iteration: int, objective: float) -> None:
        nonlocal shown
        if sys.stderr.isatty() and time.monotonic() - started > 1:
            shown = True
            sys.stderr.write(f"\r{what}: iteration {iteration}, objective {objective:,.2f} \033[K")
            sys.stderr.flush()

    try:
        yield callback
    finally:
        if shown:
            sys.stderr.write("\r\033[K")


@contextmanager
def counting(what: str) -> Iterator[Callable[[int, int, str], None]]:
    """A callback (done, of, now) for long rounds: one line that changes on a terminal, else one now and then."""
    last, shown = time.monotonic(), False

    def callback(done: int, of: int, now: str) -> None:
        nonlocal last, shown
        terminal = sys.stderr.isatty()
        if time.monotonic() - last < (0.2 if terminal else SELDOM):
            return
        last, shown = time.monotonic(), shown or terminal
        line = f"{what}: {done} of {of} done, at {now}"
        sys.stderr.write(f"\r{line} \033[K" if terminal else line + "\n")
        sys.stderr.flush()

    try:
        yield callback
    finally:
        if shown:
            sys.stderr.write("\r\033[K")
