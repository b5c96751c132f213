"""Laws that every registered method for spans obeys."""

from __future__ import annotations

import json
import warnings

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from crowdwise import simulate
from crowdwise.core import method_registry as registry
from crowdwise.kinds.spans.cards import METHODS as SPANS

every = pytest.mark.parametrize("name", sorted(SPANS))


def planted(scenario="spans_mixed", **size):
    return simulate.scenario(scenario, **{"tasks": 25, "workers": 10, "labels": 4, "seed": 1, **size})


def fit(name, votes, gold=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cw.method(name).fit(votes, gold=gold)


def said(result):
    return result.to_table()["spans"].to_list()


@every
def test_the_card_the_class_and_the_public_name_agree(name):
    cls = registry.get(name)
    assert (cls.name, cls.takes) == (name, "spans")
    assert getattr(cw.spans, cls.__name__) is cls
    assert cls.__doc__


@every
@pytest.mark.parametrize("scenario", ["spans_plain", "spans_mixed"])
def test_row_order_does_not_matter(name, scenario):
    crowd = planted(scenario)
    frame = crowd.votes.to_frame()
    order = np.random.default_rng(1).permutation(len(frame))
    texts = crowd.votes.about_tasks
    one, two = (
        cw.spans.span_votes(part["task"], part["worker"], part["spans"], texts=texts)
        for part in (frame, frame[order.tolist()])
    )
    a, b = fit(name, one), fit(name, two)
    assert said(a) == said(b)
    np.testing.assert_allclose(a.marginal, b.marginal, atol=1e-12)


@every
def test_renaming_tags_renames_the_answer(name):
    crowd = planted("spans_plain")
    frame = crowd.votes.to_frame()
    new = frame["spans"].str.replace_all('"LOC"', '"Z"')
    other = cw.spans.span_votes(frame["task"], frame["worker"], new, texts=crowd.votes.about_tasks)
    one, two = fit(name, crowd.votes), fit(name, other)
    assert two.tags.to_list() == ["ORG", "PER", "Z"]
    np.testing.assert_allclose(two.marginal, one.marginal[:, [1, 2, 0]], atol=0.02 if name == "span_combined" else 1e-6)


@every
def test_unanimous_tasks_are_as_everybody_says(name):
    spans = [[[0, 3, "A"], [10, 14, "B"]], [[4, 8, "A"]], []]
    task = [t for t in range(30) for _ in range(3)]
    votes = cw.spans.span_votes(task, [0, 1, 2] * 30, [spans[t % 3] for t in task])
    assert [json.loads(text) for text in said(fit(name, votes))] == [spans[t % 3] for t in range(30)]


@every
def test_gold_stays_put_and_a_fit_with_it_is_saved_and_loaded(name, tmp_path):
    crowd = planted("spans_plain")
    gold = crowd.truth_table().head(8)
    result = fit(name, crowd.votes, gold)
    assert said(result)[:8] == gold["spans"].to_list()
    assert result.gold.sum() == 8
    result.save(tmp_path)
    back = cw.Result.load(tmp_path)
    assert back.to_table().equals(result.to_table())
    assert back.worker_table().equals(result.worker_table())
    assert cw.evaluate(back, crowd.truth_table()).n == 17


@every
def test_inferring_its_own_tasks_gives_its_own_answer(name):
    crowd = planted()
    result = fit(name, crowd.votes)
    assert said(result.infer(crowd.votes)) == said(result)
    known = crowd.votes.select(workers=crowd.votes.workers[:5].to_list())
    with pytest.raises(cw.DataError, match="unknown_workers"):
        fit(name, known).infer(crowd.votes)
    assert len(fit(name, known).infer(crowd.votes, unknown_workers="average").tasks) == 25


@every
def test_tags_that_overlap_are_judged_one_by_one(name):
    spans = [[[0, 8, "A"], [2, 5, "B"]], [[0, 8, "A"], [2, 5, "B"]], [[0, 8, "A"]]]
    votes = cw.spans.span_votes([1] * 3 + [2] * 3, list("abc") * 2, spans * 2)
    result = fit(name, votes)
    assert json.loads(said(result)[0]) == [[0, 8, "A"], [2, 5, "B"]]
    assert said(result.infer(votes)) == said(result)


@every
@pytest.mark.parametrize("spans", [[[[0, 3]]], [[]], [[[0, 1, "é🙂"]]], [[[0, 2], [5, 9]], [[1, 3]], []]])
def test_degenerate_sizes(name, spans):
    votes = cw.spans.span_votes([1] * len(spans), list(range(len(spans))), spans)
    result = fit(name, votes)
    assert len(said(result)) == 1
    assert np.isfinite(result.confidence).all()
    assert ((result.marginal >= 0) & (result.marginal <= 1)).all()
    assert result.worker_table().height == len(spans)


@every
def test_a_silent_task_changes_nobodys_answer(name):
    crowd = planted("spans_plain")
    frame = crowd.votes.to_frame()
    more = [*crowd.votes.tasks.to_list(), "zz"]
    wide = cw.spans.span_votes(
        frame["task"], frame["worker"], frame["spans"], tasks=more, texts=crowd.votes.about_tasks
    )
    assert said(fit(name, wide))[:-1] == said(fit(name, crowd.votes))
    assert said(fit(name, wide))[-1] == "[]"


@pytest.mark.parametrize("name", sorted(n for n, c in SPANS.items() if "monotone" in c.can))
def test_objectives_never_fall(name):
    trace = fit(name, planted().votes).trace
    assert len(trace) > 1
    assert np.diff(trace).min() >= -1e-8 * np.abs(trace).max()


@pytest.mark.parametrize("name", ["hmm_crowd", "bsc", "span_combined"])
def test_every_span_begins(name):
    """No chain emits an inside without a beginning: found spans are whole units and never touch a forbidden path."""
    result = fit(name, planted("spans_plain", tasks=60).votes)
    assert all(s < e for spans in result.spans for s, e, _ in spans)
    rows = result.estimate.rows
    inner = np.diff(rows.row) == 0
    assert (rows.start[1:][inner] >= rows.end[:-1][inner]).all()


def test_a_place_beyond_the_text_and_units_by_words():
    votes = cw.spans.span_votes([1, 1], ["a", "b"], [[[0, 99]], [[0, 3]]], texts={1: "Ann sings"})
    for name in SPANS:
        assert len(fit(name, votes).spans) == 1
    bare = cw.spans.span_votes([1], ["a"], [[[0, 3]]])
    with pytest.raises(cw.DataError, match="units=words needs the text of every task"):
        cw.spans.BSC(units="words").fit(bare)


def test_other_kinds_are_refused_in_one_line():
    numbers = cw.numbers.number_votes([1], ["a"], [2.0])
    with pytest.raises(cw.DataError, match="spans are needed, got numbers"):
        cw.spans.SpanVote().fit(numbers)
    assert cw.spans.SpanVote().fit(pl.DataFrame({"task": [1], "worker": ["a"], "spans": ["[[0, 2]]"]})).spans == [
        [(0, 2, "")]
    ]


def test_votes_and_results_in_a_notebook():
    votes = cw.spans.span_votes(["<b>"], ["a"], [[[0, 2, "<i>"]]])
    for shown in (votes._repr_html_(), cw.spans.SpanMajority().fit(votes)._repr_html_()):
        assert "<b>" not in shown.replace("<p><b>", "").replace("</b>", "")
        assert "&lt;b&gt;" in shown
