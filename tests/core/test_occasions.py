"""Verdict rows: repeats, prompts and orders are one voice, versions are judges, what is unusable is counted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import crowdwise as cw


def frame(**more):
    rows = {
        "task": ["t1"] * 4 + ["t2"] * 2,
        "worker": ["a", "a", "a", "b", "a", "b"],
        "label": ["x", "y", "x", "y", "x", "y"],
        "repeat": [1, 2, 3, 1, 1, 1],
    }
    return pl.DataFrame(rows | more)


def test_repeats_weigh_one_together():
    votes = cw.Annotations.from_frame(frame())
    assert len(votes) == 6
    assert votes.weight.tolist() == pytest.approx([1 / 3] * 3 + [1, 1, 1])
    np.testing.assert_allclose(votes.votes, [[2 / 3, 4 / 3], [1, 1]])
    assert any("one vote" in note for note in votes.ledger.notes)


def test_two_rows_of_one_occasion_are_still_duplicates():
    with pytest.raises(cw.DataError, match="contradictory"):
        cw.Annotations.from_frame(frame(repeat=[1, 1, 3, 1, 1, 1]))
    kept = cw.Annotations.from_frame(frame(repeat=[1, 1, 3, 1, 1, 1]), duplicates="first")
    assert len(kept) == 5


def test_weights_that_somebody_gave_stay():
    weighed = frame(w=[1.0] * 6)
    votes = cw.Annotations.from_frame(weighed, columns={"weight": "w"})
    assert set(votes.weight) == {1.0}


def test_row_order_does_not_matter():
    one = cw.Annotations.from_frame(frame())
    other = cw.Annotations.from_frame(frame()[[5, 2, 0, 4, 1, 3]])
    assert one.to_frame().equals(other.to_frame())


def test_another_version_is_another_judge():
    votes = cw.Annotations.from_frame(frame(version=["1", "1", "2", "9", "1", "9"]))
    assert votes.workers.to_list() == ["a@1", "a@2", "b"]
    assert any("each version is a judge" in note for note in votes.ledger.notes)


def test_logprobs_are_confidences():
    votes = cw.Annotations.from_frame(frame(logprob=[0.0, -0.5, -1.0, -2.0, -0.1, 0.0]))
    assert votes.confidence.max() == 1
    assert votes.confidence.min() == pytest.approx(np.exp(-2))
    with pytest.raises(cw.DataError, match="above 0"):
        cw.Annotations.from_frame(frame(logprob=[0.5] * 6), columns={"logprob": "logprob"})


def test_unusable_verdicts_are_counted_for_each_judge():
    votes = cw.Annotations.from_frame(frame(label=["x", None, "x", None, "x", "y"]))
    assert votes.ledger.dropped == {"no label": 2}
    assert dict(votes.about_workers.iter_rows()) == {"a": 1, "b": 1}


def test_facts_of_rows_travel(tmp_path):
    votes = cw.Annotations.from_frame(frame(order=["ab", "ba", "ab", "ab", "ab", "ba"], cost=[0.1] * 6))
    part = votes.select(tasks=["t1"], workers=["a"])
    assert part.about_rows["order"].to_list() == ["ab", "ba", "ab"]
    run = cw.Run(cw.MajorityVote().fit(votes), votes)
    again = cw.Run.load(run.save(tmp_path / "run")).votes
    assert again.about_rows.equals(votes.about_rows)
    np.testing.assert_array_equal(again.weight, votes.weight)


def test_more_repeats_may_come_later():
    table = frame()
    first, later = (cw.Annotations.from_frame(table.filter(pl.col("repeat") <= 1)), table.filter(pl.col("repeat") > 1))
    both = first.append(cw.Annotations.from_frame(later))
    whole = cw.Annotations.from_frame(table)
    assert both.to_frame().equals(whole.to_frame().select(both.to_frame().columns))


def test_facts_must_be_as_many_as_rows():
    votes = cw.Annotations.from_frame(frame())
    with pytest.raises(cw.DataError, match="about_rows"):
        replace(votes, about_rows=votes.about_rows[:2])
