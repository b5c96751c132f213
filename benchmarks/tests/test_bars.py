"""The bars of judges, guarantees and fairness, read off the pages: what is met stays met, what is missed is known."""

from __future__ import annotations

import pytest

from benchmarks.guarantee import bars

# Planted judges are fixed by two marginals each and differ from the expected figures; the pages say how.
MISSED = {"dependence, planted", "repeats, confidences"}


@pytest.mark.parametrize(("area", "read"), [pytest.param(area, read, id=area) for area, _, _, read in bars.BARS])
def test_a_bar_is_met_by_the_page(area, read):
    text, met = read()
    assert text
    assert met is (area not in MISSED), text


def test_the_table_on_the_page_is_that_of_the_figures():
    shown = {cells[0]: cells[2:4] for cells in bars.tables("guarantee", "bars")[0][1:]}
    for area, _, _, read in bars.BARS:
        text, met = read()
        assert shown[area] == [text, "yes" if met else "no"], area
