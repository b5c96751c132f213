"""The public test of independence, and that terminal and report show its sentence only where workers err together."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

import crowdwise as cw
from crowdwise import simulate
from crowdwise.cli import app
from tests.conftest import planted

SENTENCE = "err together more than independent errors explain"


def dependent(n=600):
    """Half of the tasks are hard: on them workers tend to the same wrong class."""
    groups, labels = [simulate.OneCoin(25, low=0.55, high=0.9)], simulate.PerTask(8)
    return simulate.crowd(n, 5, groups, labels, hard_share=0.5, hard_pull=0.5, seed=1).annotations


def independent():
    return planted(n=600, m=12, k=3, labels=6)[0]


def test_a_dependent_crowd():
    test = cw.classes.independence(dependent())
    assert test.together
    assert not test.independent
    assert test.high < 0.7
    assert SENTENCE in test.sentence()
    told = test.to_dict()
    assert told["verdict"] == "together"
    assert cw.classes.Independence.of(told) == test


def test_an_independent_crowd():
    test = cw.classes.independence(independent())
    assert test.independent
    assert not test.together
    assert abs(test.dispersion) < 0.2
    assert test.to_dict()["verdict"] == "independent"
    assert test.sentence() == "the labels are consistent with independent errors"


@pytest.mark.parametrize("votes", [
    planted(n=4, m=3, k=2, labels=2)[0],
    cw.Annotations.from_arrays(range(30), [0, 1, 2] * 10, [0, 1, 1, 0, 2] * 6),  # one label a task
])  # fmt: skip
def test_few_labels_tell_nothing(votes):
    test = cw.classes.independence(votes)
    assert test.to_dict()["verdict"] == "unclear"
    assert "too few to tell" in test.sentence()


def test_the_result_of_any_method_will_do():
    votes = dependent()
    plain = cw.classes.independence(votes)
    assert cw.classes.independence(votes, cw.DawidSkene().fit(votes)) == plain
    model = cw.classes.independence(votes, cw.classes.Hierarchical().fit(votes))
    assert model.power == plain.power
    assert model.dispersion == pytest.approx(plain.dispersion, abs=1e-6)
    default = cw.Adaptive().fit(votes)
    assert default.extra["copying"] == []
    own = cw.classes.independence(votes, default)
    assert own.power == pytest.approx(plain.power)
    assert own.dispersion == pytest.approx(plain.dispersion)


def test_other_votes_are_refused():
    votes = independent()
    with pytest.raises(cw.errors.ParameterError, match="other tasks"):
        cw.classes.independence(votes, cw.DawidSkene().fit(planted(n=20)[0]))
    numbers = cw.numbers.number_votes([1, 1, 2], ["a", "b", "a"], [1.0, 2.0, 3.0])
    with pytest.raises(cw.errors.ParameterError, match="classes"):
        cw.classes.independence(numbers)


@pytest.mark.slow
@pytest.mark.parametrize(("votes", "shown"), [(dependent(), True), (independent(), False)])
def test_terminal_and_report_show_it_or_not(tmp_path, votes, shown):
    votes.to_frame().write_csv(tmp_path / "votes.csv")
    run, file = CliRunner(), str(tmp_path / "votes.csv")
    for command in (["aggregate", file, "-o", str(tmp_path / "run")], ["workers", str(tmp_path / "run")]):
        done = run.invoke(app, command)
        assert done.exit_code == 0, done.output
        assert (SENTENCE in " ".join(done.output.split())) is shown, command
    done = run.invoke(app, ["report", str(tmp_path / "run"), "-o", str(tmp_path / "report.html")])
    assert done.exit_code == 0, done.output
    assert (SENTENCE in " ".join((tmp_path / "report.html").read_text().split())) is shown


def test_numbers_are_finite_with_one_busy_task():
    votes = cw.Annotations.from_arrays([0] * 6 + [1, 2], range(8), [0, 1, 0, 1, 0, 0, 1, 0])
    told = cw.classes.independence(votes).to_dict()
    assert all(np.isfinite(value) for value in told.values() if isinstance(value, float))
