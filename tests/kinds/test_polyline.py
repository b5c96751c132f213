"""A kind laid out as those of the package costs one folder and its registration, and goes through every command."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import crowdwise as cw
from crowdwise.core import method_registry
from crowdwise.core import registry as kind_registry
from tests.architecture.packages import SRC

from .polyline.answers import Lines
from .polyline.cards import METHODS
from .polyline.simulate import LINE_SCENARIOS

FOLDER = Path(__file__).parent / "polyline"


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    """One line of the registry of kinds is all that a kind needs outside its folder."""
    monkeypatch.setitem(kind_registry.BUILT_IN, "polyline", "tests.kinds.polyline.kind:KIND")
    monkeypatch.setattr(kind_registry, "_KINDS", dict(kind_registry._KINDS))
    monkeypatch.setattr(method_registry, "cards", cache(method_registry.cards.__wrapped__))


@pytest.fixture(scope="module")
def crowd():
    return LINE_SCENARIOS["lines_random"].make(40, 15, None, 6, seed=2)


@pytest.fixture
def folder(crowd, tmp_path):
    crowd.save(tmp_path)
    return tmp_path


def test_the_folder_is_laid_out_as_those_of_the_package():
    files = {path.name for path in FOLDER.glob("*.py")}
    names = {path.name for path in SRC.glob("kinds/*/*.py")}
    assert files <= names
    assert len(files) <= 12
    assert not any("polyline" in path.read_text(encoding="utf-8").lower().split() for path in SRC.rglob("*.py"))


@pytest.mark.parametrize("name", METHODS)
def test_from_a_file_to_scores_and_a_run(name, crowd, folder):
    votes = cw.read(folder / "votes.csv")
    assert isinstance(votes.answers, Lines)
    assert repr(votes) == "Votes(240 lines, 40 tasks, 15 workers)"
    result = cw.method(name).fit(votes)
    truth = cw.read_truth(folder / "truth.csv")
    scores = cw.evaluate(result, truth)
    assert scores.n == 40
    assert scores.similarity > (0.98 if name == "median_line" else 0.8)
    assert scores.pixels == pytest.approx(cw.evaluate(result.to_table(), truth).pixels, abs=1e-5)
    cw.Run(result, votes).save(folder / "run")
    again = cw.Run.load(folder / "run")
    np.testing.assert_array_equal(again.result.point, result.point)
    np.testing.assert_array_equal(again.votes.answers.point, votes.answers.point)
    np.testing.assert_allclose(result.infer(votes).point, result.point)


def test_the_default_is_not_moved_by_wild_lines(crowd):
    truth = crowd.truth_table()
    median, mean = (cw.evaluate(cw.method(name).fit(crowd.votes), truth).pixels for name in METHODS)
    assert median < 8 < mean


def test_gold_is_held_and_not_scored(crowd):
    gold = crowd.truth_table().head(5)
    result = cw.fit(crowd.votes, gold=gold)
    assert result.method == "median_line"
    assert result.gold.sum() == 5
    np.testing.assert_allclose(result.estimate.answers.take(np.arange(5)).resampled[0, 0], result.point[0, 0])
    assert cw.evaluate(result, crowd.truth_table()).n == 35


def test_workers_who_draw_anywhere_are_flagged_and_nobody_else(crowd):
    study = cw.workers.study(crowd.votes, cw.fit(crowd.votes))
    flagged = {flag.worker for flag in study.flags if flag.name == "random"}
    planted = {w for w, kind in zip(crowd.votes.workers, crowd.kind, strict=True) if kind == "random"}
    assert flagged == planted
    assert set(cw.fit(crowd.votes).worker_table().sort("off")["worker"].tail(3)) == planted


def test_the_commands_know_it(folder, crowdwise_cli):
    votes, truth, run = folder / "votes.csv", folder / "truth.csv", folder / "run"
    for command, words in (
        (("inspect", votes), "points per line"),
        (("aggregate", votes, "-o", run), "lines"),
        (("show", run), "Most disputed tasks"),
        (("evaluate", run, "--truth", truth), "mean distance in pixels"),
        (("workers", votes), "follows"),
        (("compare", votes, "--truth", truth), "mean_line"),
        (("report", votes, "--truth", truth, "-o", folder / "page.html"), ""),
    ):
        code, out, err = crowdwise_cli(*command)
        assert code == 0, err
        assert words in out + err, command
    page = (folder / "page.html").read_text(encoding="utf-8")
    for words in ("240 lines by 15 workers on 40 tasks", "Most disputed tasks", "Against the truth", "median_line"):
        assert words in page, words


def test_what_is_no_line_is_refused_in_one_line(folder, crowdwise_cli):
    (folder / "votes.csv").write_text('task,worker,line\nt1,w1,"[[0, 1]]"\n', encoding="utf-8")
    code, _, err = crowdwise_cli("aggregate", folder / "votes.csv")
    assert code == 2
    assert "is not a line" in err
