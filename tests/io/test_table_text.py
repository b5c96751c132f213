"""Tables as LaTeX, Markdown, HTML and CSV: the cells that come out are those that went in."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import polars as pl
import pytest

import crowdwise as cw
from crowdwise.io import table_text

FRAME = pl.DataFrame(
    {
        "worker & co": ["a_b", "50 % <b>", "x|y", "=1+1"],
        "n": [1, 20, 300, 1_000_000],
        "score": [0.5, None, float("nan"), -0.12345],
    }
)
SHOWN = [["a_b", "1", "0.500"], ["50 % <b>", "20", "–"], ["x|y", "300", "–"], ["=1+1", "1000000", "-0.123"]]


class Cells(HTMLParser):
    def __init__(self):
        super().__init__()
        self.rows: list[list[str]] = []

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data):
        if self.rows and data.strip():
            self.rows[-1][-1] += data


def test_html_reads_back():
    parser = Cells()
    parser.feed(table_text.html(FRAME, caption="a < b"))
    assert parser.rows == [FRAME.columns, *SHOWN]


def test_markdown_has_a_cell_for_each_value():
    lines = table_text.markdown(FRAME).splitlines()
    cells = [[re.sub(r"\\(.)", r"\1", cell.strip()) for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    assert cells[0] == FRAME.columns
    assert cells[1] == [":---", "---:", "---:"]
    assert cells[2:] == SHOWN


def test_latex_escapes_what_latex_would_read():
    lines = table_text.latex(FRAME, caption="100 %").splitlines()
    assert r"\caption{100 \%}" in lines
    body = [line for line in lines if line.endswith(r"\\")]
    assert body[0] == r"worker \& co & n & score \\"
    assert body[1] == r"a\_b & 1 & 0.500 \\"
    assert body[2] == r"50 \% <b> & 20 & -- \\"
    assert [len(re.split(r"(?<!\\)&", line)) for line in body] == [3] * 5
    assert r"\begin{tabular}{lrr}" in lines


def test_the_ending_of_the_name_decides(tmp_path):
    for ending, mark in {"csv": "worker & co,", "tex": r"\toprule", "md": "|:---|", "html": "<table>"}.items():
        table_text.write(FRAME, tmp_path / f"table.{ending}")
        assert mark in (tmp_path / f"table.{ending}").read_text()
    with pytest.raises(cw.ParameterError, match=r"written as .csv, .tex, .md, .html"):
        table_text.write(FRAME, tmp_path / "table.docx")
