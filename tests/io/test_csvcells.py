"""Cells that a spreadsheet would take for formulas: behind an apostrophe in the file, unharmed when read again."""

from __future__ import annotations

import csv
import io

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdwise.io.csv.cells import to_csv
from crowdwise.io.tables import table_of

text = st.text(alphabet="'=+-@a1.,e \t\n\x02\"é", min_size=1, max_size=6).filter(lambda t: t.strip())


@given(cells=st.lists(text, min_size=1, max_size=5))
def test_what_is_written_is_read_again(cells):
    frame = pl.DataFrame({"a": cells, "b": ["x"] * len(cells)})
    for kind, separator in (("csv", ","), ("tsv", "\t")):
        back = table_of(to_csv(frame, separator=separator).encode(), "x", kind).read(["a", "b"])
        assert back.equals(frame)


@given(cells=st.lists(text, min_size=1, max_size=5))
def test_no_cell_begins_like_a_formula(cells):
    frame = pl.DataFrame({"a": cells})
    for (cell,) in list(csv.reader(io.StringIO(to_csv(frame), newline="")))[1:]:
        assert cell[0] not in "=@\t\n\x02"
        if cell[0] in "+-":
            float(cell.replace(",", "."))  # a number, which does no harm


@pytest.mark.parametrize("number", ["-1", "+1", "-1.5", "-.5", "+1e-5", "1e5", "007"])
def test_numbers_are_left_alone(number):
    assert to_csv(pl.DataFrame({"a": [number]})).splitlines() == ["a", number]
    assert to_csv(pl.DataFrame({"a": [-1.5]})).splitlines() == ["a", "-1.5"]


def test_names_of_columns_too():
    frame = pl.DataFrame({"task": ["1"], "=cmd": ["x"], "'-b": ["y"]})
    written = to_csv(frame)
    assert written.splitlines()[0] == "task,'=cmd,''-b"
    table = table_of(written.encode(), "x", "csv")
    assert table.read(table.header).equals(frame)
