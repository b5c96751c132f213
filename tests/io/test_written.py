"""Files that the tools' own packages wrote (python -m benchmarks.formats.writers --freeze tests/written)."""

from __future__ import annotations

import json

import pytest

import crowdwise as cw
from crowdwise.io.formats import FORMATS
from tests.data import ROOT

FOLDER = ROOT / "tests" / "written"
FILES = [
    (folder.name, file)
    for folder in sorted(FOLDER.iterdir())
    for file in json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
]


@pytest.mark.parametrize(("tool", "file"), FILES, ids=[f"{tool} {file['name']}" for tool, file in FILES])
def test_what_a_tool_wrote(tool, file):
    reading = cw.read_all(FOLDER / tool / file["name"], **file["options"])
    votes, ledger = reading.annotations, reading.annotations.ledger
    found = [tuple(map(str, row)) for row in votes.to_frame().select("task", "worker", "label").iter_rows()]
    assert reading.format == file["format"]
    assert sorted(found) == sorted(map(tuple, file["rows"]))
    assert ledger.rows_in == ledger.rows_used + sum(ledger.dropped.values())


def test_every_format_was_written_by_somebody_else():
    # What many write, by no one package; see test_span_formats.py and the tests of shapes.
    of_no_tool = {"conll", "tokens", "coco"}
    assert {file["format"] for _, file in FILES} >= set(FORMATS) - of_no_tool
