"""The section about the cost of the default runs, and judges seconds against its bars."""

from __future__ import annotations

from benchmarks.speed import __main__ as speed
from benchmarks.speed import default
from benchmarks.speed.plan import Plan


def test_the_section_runs_small(tmp_path):
    section = default.default(Plan(tmp_path, quick=True))
    [row] = section.rows
    assert row[1] == "10,000"
    assert float(row[2]) >= 0
    assert float(row[3]) >= 0  # rounded to milliseconds
    assert [bar.met for bar in section.bars] == [None]
    assert speed.SECTIONS["default"] is default.default


def test_seconds_are_judged(tmp_path, monkeypatch):
    monkeypatch.setattr(default, "SIZES", ((default.Size(100, 3, 5, 2), 5.0), (default.Size(100, 3, 6, 2), 2.0)))
    monkeypatch.setattr(
        default.child, "run", lambda job, **_: {"cpu": 3.0 if job == "whole:fit" else 0.1, "peak_mb": 1}
    )
    section = default.default(Plan(tmp_path))
    assert [bar.met for bar in section.bars] == [True, False]
    assert [row[4] for row in section.rows] == ["30", "30"]
