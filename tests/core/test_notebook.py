"""What a newcomer types first: fit on a frame, and look at what came out."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

import crowdwise as cw

from ..conftest import planted
from ..report.payloads import PAYLOADS

COLUMNS = {"task": [1, 1, 2, 2], "worker": ["a", "b", "a", "b"], "label": ["x", "x", "y", "y"]}


@pytest.mark.parametrize(
    "frame", [pd.DataFrame(COLUMNS), pl.DataFrame(COLUMNS), COLUMNS], ids=["pandas", "polars", "dict"]
)
def test_a_method_fits_a_frame(frame):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = cw.MajorityVote().fit(frame)
    assert result.to_table()["label"].to_list() == ["x", "y"]
    assert cw.classes.Committee().fit(frame, gold={1: "x"}).gold.tolist() == [True, False]


def test_what_was_left_out_of_a_frame_is_said():
    frame = pd.DataFrame({"item": [1, 1, 2], "rater": ["a", "b", "a"], "label": ["x", None, "NA"]})
    with pytest.warns(cw.errors.LedgerWarning) as told:
        assert len(cw.MajorityVote().fit(frame).tasks) == 2
    said = [str(each.message) for each in told]
    assert "the frame: 1 rows are left out: no label" in said
    assert any("class 'NA' (1 label) reads like a missing value" in each for each in said)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("votes.csv", r"got the path 'votes\.csv'; read the file first: cw\.read\(path\)"),
        (np.eye(3), r"got a ndarray; a matrix .* cw\.Annotations\.from_matrix"),
        ([["x", "y"]], "got a list; a matrix"),
        (7, "a table was expected .* got int"),
        (pd.DataFrame({"a": [1]}), "no column for the task"),
        (pd.Series([1]), "got a Series"),
    ],
)
def test_what_cannot_be_fitted_says_what_to_call(given, said):
    with pytest.raises(cw.DataError, match=said):
        cw.classes.Committee().fit(given)


def test_an_evaluation_is_readable():
    votes, truth, _ = planted(n=60, m=6, k=3, labels=4)
    answers = dict(enumerate(truth.tolist()))
    scores = cw.evaluate(cw.DawidSkene().fit(votes, gold={0: answers[0]}), answers, resamples=100)
    text = repr(scores)
    assert text.startswith(
        f"Evaluation(59 tasks: accuracy {scores.accuracy:.3f} ({scores.intervals['accuracy'][0]:.3f}"
    )
    assert "log-loss" in text
    assert len(text) < 400
    html = scores._repr_html_()
    assert "1 were gold in the fit" in html
    assert f"<td>{scores.accuracy:.4f}</td>" in html
    assert f"<td>{scores.confusion[0][1]}</td>" in html
    plain = cw.evaluate(pl.DataFrame({"task": [1], "label": ["x"]}), {1: "x"})
    assert repr(plain) == "Evaluation(1 task: accuracy 1.000; macro F1 1.000)"


def test_annotations_show_themselves_in_a_notebook():
    votes, _, _ = planted(n=60, m=6, k=3, labels=4)
    html = votes._repr_html_()
    assert "<b>240 annotations</b> of 60 tasks by 6 workers, 3 classes" in html
    assert html.count("<tr>") == 1 + 3 + 1 + 8 + 1
    many = cw.Annotations.from_arrays(range(30), [0] * 30, range(30))
    assert "… 18 more" in many._repr_html_()
    assert "0 annotations" in cw.Annotations.from_arrays([], [], [])._repr_html_()


def test_names_from_strangers_are_only_text():
    names = [p for p in PAYLOADS if "<" in p][:20]
    votes = cw.Annotations.from_arrays(names, names, names)
    scores = cw.evaluate(cw.MajorityVote().fit(votes), dict(zip(names, names, strict=True)))
    for html in (votes._repr_html_(), scores._repr_html_()):
        for tag in ("<script", "<img", "<svg", "<iframe", "<b onmouseover"):
            assert tag not in html.lower()
