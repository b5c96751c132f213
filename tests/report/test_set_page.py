"""The page of label sets: classes and least certain tasks as the tables have them, strangers' text stays text."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from crowdwise import simulate

from .payloads import PAYLOADS
from .reading import Page


@pytest.fixture(scope="module")
def crowd():
    made = simulate.scenario("sets_plain", tasks=50, workers=10, classes=6, labels=4, seed=3)
    return made.annotations, made.truth_table()


def titled(page: Page, start: str) -> list[list[str]]:
    return next(rows for title, rows in page.tables.items() if title.startswith(start))


def test_classes_and_least_certain_tasks(crowd):
    votes, truth = crowd
    result = cw.sets.SetCoin().fit(votes)
    page = Page(cw.report.render(votes, result, truth=truth, title="Sets", made="2026-01-01"))
    header, *rows = titled(page, "Classes")
    scores = {str(row["label"]): row for row in cw.evaluate(result, truth).classes}
    counts = votes.describe()["class_counts"]
    assert [row[0] for row in rows] == sorted(counts, key=lambda name: (-counts[name], name))
    for row in rows:
        assert int(row[header.index("named")].replace(",", "")) == counts[row[0]]
        f1 = scores[row[0]]["f1"]
        assert row[header.index("F1")] == (f"{f1:.3f}" if f1 is not None and np.isfinite(f1) else "–")
    assert sum(row[header.index("F1")] != "–" for row in rows) >= 4
    least = [row[0] for row in titled(page, "The 25 least certain sets")[1:]]
    order = result.to_table().sort("confidence", maintain_order=True)["task"].cast(pl.String).to_list()
    assert least == order[:25]


def test_without_truth_there_is_no_f1(crowd):
    votes, _ = crowd
    page = Page(cw.report.render(votes, cw.sets.SetCoin().fit(votes), title="Sets", made="2026-01-01"))
    assert "F1" not in titled(page, "Classes")[0]


def test_strangers_names_stay_text(crowd):
    rng = np.random.default_rng(0)
    rows = [(f"{PAYLOADS[t % len(PAYLOADS)]}{t}", f"{PAYLOADS[w % len(PAYLOADS)]}{w}",
             [name for name in PAYLOADS if rng.random() < 0.4]) for t in range(12) for w in range(4)]  # fmt: skip
    tasks, workers, sets = zip(*rows, strict=True)
    votes = cw.sets.set_votes(list(tasks), list(workers), list(sets))
    hostile = Page(cw.report.render(votes, cw.sets.SetCoin().fit(votes), title="Sets", made="2026-01-01"))
    plain, _ = crowd
    harmless = Page(cw.report.render(plain, cw.sets.SetCoin().fit(plain), title="Sets", made="2026-01-01"))
    assert len(hostile.scripts) == len(harmless.scripts)
    assert {tag for tag, _ in hostile.tags} == {tag for tag, _ in harmless.tags}
    assert not [name for _, found in hostile.tags for name in found if name.startswith("on")]
    assert any("<script>" in cell for row in titled(hostile, "Classes") for cell in row)
