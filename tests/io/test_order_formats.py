"""Comparisons and rankings in the exports of labelling tools and in tables."""

from __future__ import annotations

import json

import polars as pl
import pytest

import crowdwise as cw


def write(path, what):
    path.write_text(json.dumps(what), encoding="utf-8")
    return path


def label_studio(kind, values):
    result = [{"type": kind, "from_name": "q", "to_name": "t"}]
    annotations = [
        {"id": i, "completed_by": i, "result": [{**result[0], "value": value}]} for i, value in enumerate(values)
    ]
    return [{"id": 7, "data": {"text": "x"}, "annotations": annotations}]


def test_label_studio_pairs(tmp_path):
    votes = cw.read(write(tmp_path / "a.json", label_studio("pairwise", [{"selected": "left"}, {"selected": "right"}])))
    assert votes.kind.name == "comparisons"
    assert votes.to_frame()["winner"].to_list() == ["left", "right"]
    assert votes.to_frame()["left"].to_list() == ["7 left", "7 left"]


def test_label_studio_rankings(tmp_path):
    said = [{"ranker": {"rank": ["a", "b"]}}, {"ranker": ["b", "a"]}]
    votes = cw.read(write(tmp_path / "a.json", label_studio("ranker", said)))
    assert votes.to_frame()["ranking"].to_list() == ["a>b", "b>a"]


def test_argilla_rankings(tmp_path):
    value = [{"value": "a", "rank": 2}, {"value": "b", "rank": 1}, {"value": "c", "rank": 2}]
    record = {"id": "r", "fields": {}, "responses": {"q": [{"value": value, "user_id": "u", "status": "submitted"}]}}
    votes = cw.read(write(tmp_path / "a.jsonl", record))
    assert votes.to_frame()["ranking"].to_list() == ["b>a=c"]


@pytest.mark.parametrize(
    ("header", "row", "kind"),
    [
        ("task,worker,left,right,label", "1,w,a,b,left", "comparisons"),
        ("task,worker,left,right,label", "1,w,a,b,b", "comparisons"),
        ("task,worker,left,right,label", "1,w,a,b,1", "similarities"),
        ("task,worker,label", "1,w,a>b>c", "rankings"),
        ("task,worker,label", "1,w,a->b", "classes"),
        ("task,worker,label", "1,w,<b>", "classes"),
        ("task,worker,ranking", "1,w,a=b>c", "rankings"),
        ("task,worker,winner", "1,w,a", "classes"),
    ],
)
def test_the_columns_and_what_stands_in_them_tell(tmp_path, header, row, kind):
    (tmp_path / "votes.csv").write_text(f"{header}\n{row}\n")
    assert cw.read(tmp_path / "votes.csv").kind.name == kind


def test_sides_and_names_say_the_same(tmp_path):
    frame = pl.DataFrame({"left": ["a", "b"], "right": ["b", "a"], "worker": ["x", "x"]})
    one = cw.comparisons.comparison_votes(frame["left"], frame["right"], ["left", "right"], worker=frame["worker"])
    two = cw.comparisons.comparison_votes(frame["left"], frame["right"], ["a", "a"], worker=frame["worker"])
    assert len(one) == len(two) == 2  # the pair was shown in both orders: one answer, of weight 1
    assert one.weight is not None
    assert one.weight.tolist() == [0.5, 0.5]
    assert one.answers.winner.tolist() == two.answers.winner.tolist()
    assert one.ledger.dropped == two.ledger.dropped


def test_appending_widens_the_items():
    one = cw.comparisons.comparison_votes(["a"], ["b"], ["left"], worker=["x"])
    both = one.append(cw.comparisons.comparison_votes(["c"], ["a"], ["left"], worker=["y"]))
    assert both.answers.items.to_list() == ["a", "b", "c"]
    assert sorted(both.to_frame().select("left", "right", "winner").iter_rows()) == [
        ("a", "b", "left"),
        ("c", "a", "left"),
    ]
    first = cw.rankings.ranking_votes([1], ["x"], ["a>c"])
    more = first.append(cw.rankings.ranking_votes([2], ["y"], ["b>a>..."]))
    assert sorted(more.to_frame()["ranking"]) == ["a>c", "b>a>..."]


def test_names_with_signs_are_written_as_json():
    votes = cw.rankings.ranking_votes([1], ["x"], [["a>b", "c", ["d", "e"]]])
    assert votes.to_frame()["ranking"].to_list() == ['["a>b", "c", ["d", "e"]]']
    again = cw.rankings.ranking_votes([1], ["x"], votes.to_frame()["ranking"])
    assert again.to_frame().equals(votes.to_frame())


def test_a_file_that_lists_the_winner_first_tells_nothing_of_sides():
    crowd = cw.simulate.scenario("comparisons_plain", tasks=80, workers=8, labels=4, seed=1)
    frame = crowd.votes.to_frame()
    won = pl.when(pl.col("winner") == "left")
    first = frame.select(
        "task",
        "worker",
        won.then("left").otherwise("right").alias("left"),
        won.then("right").otherwise("left").alias("right"),
    )
    votes = cw.comparisons.comparison_votes(first["left"], first["right"], ["left"] * len(first), task=first["task"],
                                worker=first["worker"])  # fmt: skip
    assert any("lists the winner" in note for note in votes.ledger.notes)
    assert 0.2 < (votes.answers.outcome == 0).mean() < 0.8
    truth = crowd.truth_table()
    for name in ("davidson", "tournament"):
        one, other = (cw.evaluate(cw.method(name).fit(v), truth).kendall for v in (votes, crowd.votes))
        assert abs(one - other) < 0.05
