"""Whole numbers without a stated order: alpha at three levels side by side, as krippendorff computes it."""

from __future__ import annotations

import krippendorff
import numpy as np
import pytest

import crowdwise as cw
from crowdwise.kinds.classes.workers.agreement import alpha_by_scale


def ratings(values=7, order=None, seed=1):
    rng = np.random.default_rng(seed)
    truth = rng.integers(1, values + 1, 60)
    table = np.clip(truth[:, None] + rng.integers(-1, 2, (60, 4)), 1, values).astype(float)
    table[rng.random(table.shape) < 0.1] = np.nan
    task, worker = np.nonzero(~np.isnan(table))
    labels = table[task, worker].astype(int)
    return cw.Annotations.from_arrays(task, worker, labels, order=order), table


def test_three_levels_are_those_of_krippendorff():
    votes, table = ratings()
    expected = {s: krippendorff.alpha(table.T, level_of_measurement=s) for s in ("nominal", "ordinal", "interval")}
    assert alpha_by_scale(votes) == pytest.approx(expected)
    study = cw.workers.study(votes, cw.MajorityVote().fit(votes))
    shown = {c.name: c.value for c in study.agreement}
    for level, value in expected.items():
        assert shown[f"Krippendorff's alpha, {level}"] == pytest.approx(value)
    assert "--order numbers" in next(c.note for c in study.agreement if c.name.endswith("nominal"))
    assert votes.describe()["alpha_by_level"] == pytest.approx(expected)


def test_a_stated_level_is_not_asked_for():
    votes, _ = ratings(order="numbers")
    assert alpha_by_scale(votes) == {}
    plain, _ = ratings()
    study = cw.workers.study(plain, cw.MajorityVote().fit(plain), level="nominal")
    assert sum("Krippendorff" in c.name for c in study.agreement) == 1
    assert alpha_by_scale(ratings(values=2)[0]) == {}
    assert alpha_by_scale(cw.Annotations.from_arrays([1, 1, 1], [1, 2, 3], ["a", "b", "c"])) == {}
    assert alpha_by_scale(cw.Annotations.from_arrays([1, 1, 1], [1, 2, 3], [10, 2000, 50])) == {}


def test_alpha_of_numbers_and_of_any_kind_with_a_distance():
    _, table = ratings()
    task, worker = np.nonzero(~np.isnan(table))
    numbers = cw.numbers.number_votes(task, worker, table[task, worker])
    expected = krippendorff.alpha(table.T, level_of_measurement="interval")
    assert cw.workers.krippendorff_alpha(numbers) == pytest.approx(expected)
    assert next(c.name for c in cw.workers.agreement(numbers)).startswith("ICC")


@pytest.mark.parametrize("scenario", ["sets_alike", "rankings_plain", "texts_mixed"])
def test_alpha_without_a_fit_is_that_of_the_study(scenario):
    votes = cw.simulate.scenario(scenario, tasks=12, workers=5, seed=1).votes
    study = cw.workers.study(votes, cw.fit(votes))
    alpha = next(c.value for c in study.agreement if "Krippendorff" in c.name)
    assert cw.workers.krippendorff_alpha(votes) == pytest.approx(alpha)


def test_alpha_of_a_table_and_of_several_parts():
    table = {"task": [1, 1, 2, 2, 3, 3], "worker": [*"ababab"], "label": [*"xxyyxy"]}
    assert cw.workers.krippendorff_alpha(table) == pytest.approx(0.444, abs=1e-3)
    values = np.array([[1.0, 2], [1, 3], [4, 5], [4, 4]])
    both = cw.numbers.number_votes([1, 1, 2, 2], [*"abab"], values, parts=("x", "y"))
    with pytest.raises(cw.ParameterError, match="each with an alpha of its own"):
        cw.workers.krippendorff_alpha(both)


def test_flagged_workers_are_on_top_of_the_plot():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    crowd = cw.simulate.scenario("class_constant", tasks=200, workers=15, seed=1)
    result = cw.DawidSkene().fit(crowd.annotations)
    flags = cw.workers.study(crowd.annotations, result).flags
    names = {flag.worker for flag in flags}
    assert names
    ax = result.plot.workers(limit=len(names) + 2, flags=flags)
    ticks = [tick.get_text() for tick in ax.get_yticklabels()]  # from below
    assert len(ticks) == len(names) + 2
    assert {tick.partition(" (")[0] for tick in ticks[2:]} == names
    assert not any("(" in tick for tick in ticks[:2])


@pytest.mark.parametrize(("form", "mark"), [("tex", r"\toprule"), ("md", "|:---|"), ("html", "<table>")])
def test_tables_for_papers(form, mark, tmp_path, crowdwise_cli):
    votes, _ = ratings()
    votes.to_frame().write_csv(tmp_path / "votes.csv")
    code, _, err = crowdwise_cli("workers", tmp_path / "votes.csv", "-m", "majority_vote", "-o", tmp_path / "out",
                                 "--as", form)  # fmt: skip
    assert code == 0, err
    text = (tmp_path / "out" / f"agreement.{form}").read_text()
    assert mark in text
    assert "alpha, interval" in text
    assert not list((tmp_path / "out").glob("*.csv"))


def coders(order=None):
    """Ratings from 1 to 5 by six coders: one guesses, and one is often a step off."""
    rng = np.random.default_rng(4)
    truth = rng.integers(1, 6, 150)
    table = np.clip(truth[:, None] + np.rint(rng.normal(0, 0.5, (150, 6))), 1, 5).astype(int)
    table[:, 5] = rng.integers(1, 6, 150)
    task, worker = np.indices(table.shape).reshape(2, -1)
    return cw.Annotations.from_arrays(task, worker, table.ravel(), order=order), (task, worker, table.ravel())


@pytest.mark.parametrize("order", [None, "numbers"])
def test_whether_the_same_workers_are_flagged_as_numbers(order):
    votes, columns = coders(order)
    study = cw.workers.study(votes, cw.fit(votes))
    numbers = cw.numbers.number_votes(*columns)
    as_numbers = {f.worker for f in cw.workers.study(numbers, cw.fit(numbers)).flags}
    assert {f.worker for f in study.flags} == as_numbers == {5}
    assert study.reading == "Read as numbers (--kind numbers), the same workers are flagged."
    assert study.to_dict()["reading"] == study.reading


def test_why_other_workers_are_flagged_as_numbers():
    from crowdwise.kinds.classes.workers.readings import reading_note
    from crowdwise.workers.flags import Flag

    votes, _ = coders()
    assert "5 (random) would be flagged too: numbers measure how far" in reading_note(votes, [])
    note = reading_note(votes, [Flag(1, "random"), Flag(5, "random")])
    assert "1 (random) would not be flagged: a near miss" in note
    words = cw.Annotations.from_arrays([1, 1, 1], [1, 2, 3], ["a", "b", "c"])
    assert reading_note(words, []) == ""
