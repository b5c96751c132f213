"""Small odd files of every kind: a result, or one line that says what is wrong."""

from __future__ import annotations

import json

import pytest


def test_sets_that_are_all_empty_can_be_saved_and_read(tmp_path, crowdwise_cli):
    (tmp_path / "votes.csv").write_text("task,worker,labels\nt,ann,[]\nt,bob,[]\n", encoding="utf-8")
    run = tmp_path / "run"
    for command in (("aggregate", tmp_path / "votes.csv", "--kind", "sets", "-o", run), ("show", run), ("workers", run),
                    ("report", run, "-o", tmp_path / "page.html")):  # fmt: skip
        code, _, err = crowdwise_cli(*command)
        assert code == 0, (command, err)


def test_a_truth_of_texts_may_be_called_as_the_answers_are(tmp_path, crowdwise_cli):
    (tmp_path / "votes.csv").write_text("task,worker,text\nt,ann,a cat\nt,bob,a cat\nu,ann,dog\n", encoding="utf-8")
    (tmp_path / "truth.csv").write_text("task,text\nt,a cat\nu,the dog\n", encoding="utf-8")
    run = tmp_path / "run"
    code, _, err = crowdwise_cli("aggregate", tmp_path / "votes.csv", "--kind", "texts", "-o", run)
    assert code == 0, err
    code, out, err = crowdwise_cli("evaluate", run, "--truth", tmp_path / "truth.csv", "--json")
    assert code == 0, err
    assert json.loads(out)["n"] == 2


@pytest.mark.parametrize(
    ("votes", "wanted"),
    [
        ("left,right,winner,worker\na,b,left,w\nb,c,left,w\n", "known pairs: left, right, winner"),
        ("head,left,right,closer,worker\na,b,c,left,w\nb,a,c,left,w\n", "known triplets: head, left, right, closer"),
    ],
)
def test_gold_that_names_items_is_told_what_gold_is(tmp_path, crowdwise_cli, votes, wanted):
    (tmp_path / "votes.csv").write_text(votes, encoding="utf-8")
    (tmp_path / "gold.csv").write_text("item,score\na,1\nb,2\n", encoding="utf-8")
    code, _, err = crowdwise_cli("aggregate", tmp_path / "votes.csv", "--gold", tmp_path / "gold.csv")
    assert code == 2
    assert f"gold names items ('a', 'b'), but it must be {wanted}" in err.splitlines()[-1]


def test_spans_and_boxes_take_numbers_of_numpy():
    import numpy as np

    import crowdwise as cw

    start, end = np.int64(2), np.int32(5)
    votes = cw.spans.span_votes(["t"], ["ann"], [[[start, end, "A"]]])
    assert votes.to_frame()["spans"].to_list() == ['[[2, 5, "A"]]']
    boxes = cw.boxes.box_votes(["t"], ["ann"], [[[start, end, np.float32(7), np.int64(9)]]])
    assert boxes.answers.corner.tolist() == [[2.0, 5.0, 7.0, 9.0]]


@pytest.mark.slow
@pytest.mark.parametrize("columns", ["value_x,value_y", "value_start,value_end"])
def test_numbers_of_several_columns_go_through_every_command(tmp_path, crowdwise_cli, columns):
    rows = [f"{t},{w},{t + w / 10},{t + 1 + w / 5}" for t in range(12) for w in range(3)]
    (tmp_path / "votes.csv").write_text(f"task,worker,{columns}\n" + "\n".join(rows) + "\n", encoding="utf-8")
    truth = [f"{t},{t},{t + 1}" for t in range(12)]
    (tmp_path / "truth.csv").write_text(f"task,{columns}\n" + "\n".join(truth) + "\n", encoding="utf-8")
    run = tmp_path / "run"
    votes, truth = tmp_path / "votes.csv", tmp_path / "truth.csv"
    for command in (("inspect", votes), ("aggregate", votes, "-o", run), ("show", run), ("workers", run),
                    ("compare", votes, "--truth", truth), ("evaluate", run, "--truth", truth),
                    ("report", run, "--truth", truth, "-o", tmp_path / "p.html"),
                    ("aggregate", votes, "--gold", truth)):  # fmt: skip
        code, _, err = crowdwise_cli(*command)
        assert code == 0, (command, err)
    page = (tmp_path / "p.html").read_text(encoding="utf-8")
    assert all(name.removeprefix("value_") in page for name in columns.split(","))
