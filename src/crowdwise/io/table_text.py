"""Tables as text for papers and pages: LaTeX (booktabs), Markdown, HTML and CSV."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from html import escape
from pathlib import Path
from typing import Any

import polars as pl

from ..core.errors import ParameterError
from .csv.cells import to_csv

_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "–": "--", "±": r"$\pm$",
}  # fmt: skip
_MARKDOWN = re.compile(r"([\\`*_|<>\[\]])")


def latex(frame: pl.DataFrame, *, digits: int = 3, caption: str = "") -> str:
    """Return a table in LaTeX with the rules of booktabs; columns of numbers are aligned right.

    Args:
        frame: The table.
        digits: Digits after the point; whole numbers stay whole.
        caption: Caption; with one, the tabular stands in a table environment.

    >>> print(latex(pl.DataFrame({"method": ["a_b"], "score": [0.5]})))
    \\begin{tabular}{lr}
    \\toprule
    method & score \\\\
    \\midrule
    a\\_b & 0.500 \\\\
    \\bottomrule
    \\end{tabular}
    """
    columns = "".join("r" if dtype.is_numeric() else "l" for dtype in frame.dtypes)
    lines = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", _latex_row(frame.columns), r"\midrule"]
    lines += [_latex_row(row) for row in _cells(frame, digits)]
    lines += [r"\bottomrule", r"\end{tabular}"]
    if caption:
        lines = [r"\begin{table}", r"\centering", rf"\caption{{{_in_latex(caption)}}}", *lines, r"\end{table}"]
    return "\n".join(lines)


def markdown(frame: pl.DataFrame, *, digits: int = 3) -> str:
    """Return a table in Markdown, as GitHub and Quarto read it.

    >>> print(markdown(pl.DataFrame({"method": ["vote"], "score": [0.5]})))
    | method | score |
    |:---|---:|
    | vote | 0.500 |
    """
    rule = "|".join("---:" if dtype.is_numeric() else ":---" for dtype in frame.dtypes)
    rows = [[_MARKDOWN.sub(r"\\\1", cell) for cell in row] for row in ([*frame.columns], *_cells(frame, digits))]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], f"|{rule}|", *lines[1:]])


def html(frame: pl.DataFrame, *, digits: int = 3, caption: str = "") -> str:
    """Return a table in HTML without styles.

    >>> html(pl.DataFrame({"n": [1]})).replace(chr(10), "")
    '<table><thead><tr><th>n</th></tr></thead><tbody><tr><td>1</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{escape(name)}</th>" for name in frame.columns)
    rows = ["<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in _cells(frame, digits)]
    title = [f"<caption>{escape(caption)}</caption>"] if caption else []
    body = ["<tbody>", *rows, "</tbody>"]
    return "\n".join(["<table>", *title, f"<thead><tr>{head}</tr></thead>", *body, "</table>"])


# How a table is written, by the ending of its file.
WRITERS: Mapping[str, Callable[[pl.DataFrame], str]] = {
    "csv": to_csv,
    "tex": lambda frame: latex(frame) + "\n",
    "md": lambda frame: markdown(frame) + "\n",
    "html": lambda frame: html(frame) + "\n",
}


def write(frame: pl.DataFrame, path: str | Path) -> None:
    """Write a table as .csv, .tex, .md or .html, by the ending of the file's name."""
    path = Path(path)
    form = path.suffix.removeprefix(".").lower()
    if form not in WRITERS:
        raise ParameterError(f"{path.name}: a table is written as .{', .'.join(WRITERS)}; name such a file")
    path.write_text(WRITERS[form](frame), encoding="utf-8", newline="\n")


def _cells(frame: pl.DataFrame, digits: int) -> list[list[str]]:
    return [[_cell(value, digits) for value in row] for row in frame.iter_rows()]


def _cell(value: Any, digits: int) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, float):
        return f"{value:.{digits}f}" if value != round(value) or abs(value) < 1e6 else f"{value:.0f}"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return " ".join(str(value).split())


def _latex_row(cells: list[str]) -> str:
    return " & ".join(_in_latex(cell) for cell in cells) + r" \\"


def _in_latex(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in text)
