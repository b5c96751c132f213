"""Label sets as answers: how they are read, joined and compared."""

from __future__ import annotations

from itertools import product

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from crowdwise.kinds.sets.answers import set_truth


def said(votes):
    return [(*row[:2], row[2]) for row in votes.to_frame().select("task", "worker", "labels").iter_rows()]


@pytest.mark.parametrize(
    "labels",
    [
        [["b", "a"], ["a"], []],
        [{"a", "b"}, ("a",), set()],
        ['["a", "b"]', '["a"]', "[]"],
        pl.Series([["a", "b"], ["a"], []]),
        np.array(['["b","a","a"]', "a", "[]"], dtype=object),
    ],
)
def test_every_way_to_write_a_set(labels):
    votes = cw.sets.set_votes([1, 1, 2], ["u", "v", "u"], labels)
    assert said(votes) == [(1, "u", '["a", "b"]'), (1, "v", '["a"]'), (2, "u", "[]")]
    assert repr(votes) == "Votes(3 label sets, 2 tasks, 2 workers)"


def test_bars_separate_and_doubled_bars_are_part_of_a_name():
    votes = cw.sets.set_votes([1, 2, 3], [*"uvw"], ["a|b", "a||b", " a | c "])
    assert [row[2] for row in said(votes)] == ['["a", "b"]', '["a|b"]', '["a", "c"]']


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (['["a"'], "starts like a JSON list but is not valid JSON"),
        (['[["a"]]'], "is not a list of names"),
        (['{"a": 1}'], None),
        ([[None]], "is not a list of names"),
        ([[""]], "is not a list of names"),
    ],
)
def test_what_is_no_set_is_refused_in_one_line(labels, words):
    if words is None:  # an object is text like any other: one class of that name
        assert cw.sets.set_votes([1], ["u"], labels).answers.classes.to_list() == labels
        return
    with pytest.raises(cw.DataError, match=words) as error:
        cw.sets.set_votes([1], ["u"], labels)
    assert "\n" not in str(error.value)


def test_an_empty_cell_is_no_answer_and_an_empty_list_is_one():
    votes = cw.sets.set_votes([1, 1, 2], [*"uvu"], ["a", "", "[]"])
    assert votes.ledger.dropped["no label"] == 1
    assert votes.answers.sizes.tolist() == [1, 0]


def test_given_classes_and_unknown_ones():
    with pytest.raises(cw.DataError, match="1 classes are not among the given ones: 'z'"):
        cw.sets.set_votes([1], ["u"], [["a", "z"]], classes=["a", "b"])
    votes = cw.sets.set_votes([1, 1], [*"uv"], [["a", "z"], ["b"]], classes=["a", "b"], unknown_classes="drop")
    assert said(votes) == [(1, "v", '["b"]')]


def test_what_was_offered_travels_with_the_rows():
    menus = {1: ["a", "b"], 2: ["c"]}
    votes = cw.sets.set_votes([1, 1, 2, 3], [*"uvuu"], [["a"], [], ["c"], ["a", "c"]], offered=menus)
    frame = votes.take(np.array([1, 2, 3])).to_frame()
    assert frame["offered"].to_list() == ['["a", "b"]', '["c"]', '["a", "b", "c"]']
    with pytest.raises(cw.DataError, match="row 1 names 'a', which was not offered"):
        cw.sets.set_votes([2], ["u"], [["a"]], offered=menus)


def test_appended_sets_share_their_classes():
    one = cw.sets.set_votes([1, 1], [*"uv"], [["b"], ["b", "d"]])
    both = one.append(cw.sets.set_votes([2], ["u"], [["a", "d"]]))
    assert both.answers.classes.to_list() == ["a", "b", "d"]
    assert [row[2] for row in said(both)] == ['["b"]', '["b", "d"]', '["a", "d"]']
    more = one.append(cw.sets.set_votes([2], ["u"], [["a"]], offered={2: ["a", "b"]}))
    assert more.to_frame()["offered"].to_list() == ['["a", "b", "d"]', '["a", "b", "d"]', '["a", "b"]']


def test_two_answers_are_the_same_whatever_the_order_of_their_classes():
    same = cw.sets.set_votes([1, 1], ["u", "u"], [["a", "b"], ["b", "a"]])
    assert len(same) == 1
    with pytest.raises(cw.DataError, match="worker 'u'"):
        cw.sets.set_votes([1, 1], ["u", "u"], [["a", "b"], ["b"]])


def test_masi_distance_is_that_of_the_paper():
    sets = [frozenset(s) for s in ("", "a", "b", "ab", "bc", "abc")]
    votes = cw.sets.set_votes(range(6), ["u"] * 6, [sorted(s) for s in sets])
    i, j = (np.array(each) for each in zip(*product(range(6), repeat=2), strict=True))
    found = votes.answers.distance(i, j)
    for a, b, d in zip(i, j, found, strict=True):
        x, y = sets[a], sets[b]
        jaccard = len(x & y) / len(x | y) if x | y else 1.0
        monotone = 1.0 if x == y else 0.0 if not x & y else 2 / 3 if x < y or y < x else 1 / 3
        assert d == pytest.approx(1 - jaccard * monotone)


def test_more_than_64_classes():
    names = [f"c{i:03d}" for i in range(150)]
    votes = cw.sets.set_votes([1, 1, 1], [*"uvw"], [names, names[:100], names[100:]])
    assert votes.answers.distance([0, 1], [1, 2]) == pytest.approx([1 - 100 / 150 * 2 / 3, 1.0])
    assert len(cw.sets.JointSets().fit(votes).sets[0]) >= 50


def test_notebooks_show_votes_and_results():
    votes = cw.sets.set_votes([1, 1], [*"uv"], [["<b>"], ["a", "<b>"]])
    for shown in (votes._repr_html_(), cw.sets.SetMajority().fit(votes)._repr_html_()):
        assert "&lt;b&gt;" in shown
        assert "<b>" not in shown.replace("<b>set_majority</b>", "").replace("<b>2 label sets</b>", "")


def test_truths_in_every_form():
    classes = pl.Series(["a", "b"])
    whole = set_truth({1: ["a"], 2: []}, classes)
    assert whole[2].tolist() == [[1, 0], [0, 0]]
    table = set_truth(pl.DataFrame({"task": [1, 2], "labels": ['["a"]', "[]"]}), classes)
    assert table[2].tolist() == whole[2].tolist()
    part = set_truth(pl.DataFrame({"task": [1, 1, 2], "label": ["a", "z", "b"], "value": [1, 0, 0]}), classes)
    assert part[1].to_list() == ["a", "b", "z"]
    assert part[2].tolist() == [[1, -1, 0], [-1, 0, -1]]
    with pytest.raises(cw.DataError, match="contradicting truths for 'a'"):
        set_truth(pl.DataFrame({"task": [1, 1], "label": ["a", "a"], "value": [1, 0]}), classes)
    with pytest.raises(cw.DataError, match="use 1 or 0"):
        set_truth(pl.DataFrame({"task": [1], "label": ["a"], "value": ["maybe"]}), classes)
    with pytest.raises(cw.DataError, match="contradicting true sets"):
        set_truth(pl.DataFrame({"task": [1, 1], "labels": ["a", "b"]}), classes)
