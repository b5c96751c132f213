"""Plots for notebooks: they show the result's numbers, take strangers' names, and say what is missing."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import crowdwise as cw

from ..report.payloads import PAYLOADS


@pytest.fixture(autouse=True)
def closed():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    yield
    from matplotlib import pyplot

    pyplot.close("all")


def test_workers_stand_in_the_order_of_their_skill(plain_crowd):
    _, result, _ = plain_crowd
    ax = result.plot.workers(limit=10)
    drawn = ax.lines[0].get_xdata()
    busiest = np.argsort(-result.labels_per_worker, kind="stable")[:10]
    np.testing.assert_allclose(drawn, np.sort(result.skill[busiest]))
    with pytest.raises(cw.ParameterError, match="limit"):
        result.plot.workers(limit=0)


def test_confusion_shows_the_matrix_and_refuses_strangers(plain_crowd):
    _, result, _ = plain_crowd
    ax = result.plot.confusion("w03")
    np.testing.assert_allclose(ax.images[0].get_array(), result.confusion[3])
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("true", "says")
    with pytest.raises(cw.ParameterError, match="no worker 'nobody'"):
        result.plot.confusion("nobody")
    votes = cw.Annotations.from_arrays([1, 1], [*"ab"], [*"xy"])
    with pytest.raises(cw.DataError, match="no confusion"):
        cw.MajorityVote().fit(votes).plot.confusion("a")


def test_calibration_and_contested_draw_into_given_axes(plain_crowd):
    from matplotlib import pyplot

    _, result, truth = plain_crowd
    axes = pyplot.subplots(1, 2)[1]
    assert result.plot.calibration(truth, ax=axes[0]) is axes[0]
    heights = np.array(axes[0].collections[-1].get_offsets())[:, 1]
    assert ((heights >= 0) & (heights <= 1)).all()
    assert result.plot.contested(limit=5, ax=axes[1]) is axes[1]
    most = result.tasks.gather(np.argsort(-result.entropy, kind="stable")[:5]).to_list()
    assert [t.get_text() for t in axes[1].get_yticklabels()][::-1] == most
    with pytest.raises(cw.DataError, match="do the task ids match"):
        result.plot.calibration({"elsewhere": "c1"})


def test_calibration_leaves_gold_out(plain_crowd):
    votes, _, truth = plain_crowd
    told = cw.DawidSkene().fit(votes, gold=dict(list(truth.items())[:150]))
    assert told.plot.calibration(truth).get_title() == "Calibration on 250 tasks"
    with pytest.raises(cw.DataError, match="gold in the fit"):
        cw.DawidSkene().fit(votes, gold=truth).plot.calibration(truth)


def test_a_true_class_that_nobody_said_is_not_class_0():
    votes = cw.Annotations.from_arrays([1, 1, 2, 2], [*"abab"], [*"xxyy"])
    result = cw.MajorityVote().fit(votes)
    ax = result.plot.calibration({1: "zebra", 2: "y"})  # of the labels x and y, both sure, one is right
    assert ax.collections[1].get_offsets()[:, 1].tolist() == [0.5]
    ax = result.plot.calibration({1: "zebra"})
    assert ax.collections[1].get_offsets()[:, 1].tolist() == [0.0]


@pytest.mark.slow
def test_names_that_look_like_formulas_are_drawn(tmp_path):
    votes = cw.Annotations.from_arrays([1, 1, 2, 2], ["$x_$", "\\frac{", "$x_$", "\\frac{"], ["$a^$", "b$", "b$", "b$"])
    result = cw.DawidSkene().fit(votes)
    for draw in (result.plot.workers, result.plot.contested, lambda: result.plot.confusion("$x_$")):
        draw().figure.savefig(tmp_path / "plot.png")


def test_without_matplotlib_the_extra_is_named(monkeypatch, plain_crowd):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(cw.errors.MissingDependencyError, match=r"crowdwise\[plot\]"):
        plain_crowd[1].plot.workers()


def test_a_result_in_a_notebook_is_a_small_escaped_table():
    votes = cw.Annotations.from_arrays(PAYLOADS[:40], ["w"] * 40, [PAYLOADS[0], PAYLOADS[1]] * 20)
    page = cw.MajorityVote().fit(votes)._repr_html_()
    assert "<script" not in page
    assert "<img" not in page
    assert "&lt;script&gt;" in page
    assert page.count("<tr>") == 11
    assert "40 tasks" in page
