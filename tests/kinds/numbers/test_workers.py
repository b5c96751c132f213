"""Workers who gave numbers: planted ones are found, independent crowds are not accused, tables say what is there."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from crowdwise.kinds.numbers.simulate import number_crowd
from crowdwise.workers.timing import speed


def votes_of(crowd, **more):
    return cw.numbers.number_votes(
        [f"t{t:03d}" for t in crowd.task], [f"w{w:02d}" for w in crowd.worker], crowd.value, **more
    )


@pytest.fixture(scope="module")
def planted():
    """30 workers of 133 answers each on a scale of 0 to 100: three constant, three random, three reversed, three
    copiers."""
    crowd = number_crowd(
        500, 30, per_task=8, centre=50, scale=15, limits=(0, 100), steps=(1,), noise=(0.3, 0.8),
        constant=0.1, random=0.1, reversed=0.1, copier=0.1, seed=3,
    )  # fmt: skip
    votes = votes_of(crowd)
    return crowd, votes, cw.workers.study(votes, cw.numbers.Combined().fit(votes))


def flagged(look, name):
    return {flag.worker for flag in look.flags if flag.name == name}


@pytest.mark.parametrize("name", ["constant", "random", "reversed"])
def test_planted_workers_are_found_and_nobody_else(planted, name):
    crowd, _, look = planted
    assert flagged(look, name) == {f"w{w:02d}" for w, kind in enumerate(crowd.kind) if kind == name}


def test_copiers_are_found_with_those_they_copy(planted):
    crowd, votes, look = planted
    copiers = {f"w{w:02d}" for w, kind in enumerate(crowd.kind) if kind == "copier"}
    sources = {f"w{crowd.copies[int(w[1:])]:02d}" for w in copiers}
    assert copiers <= flagged(look, "copying") <= copiers | sources
    flag = next(f for f in look.flags if f.name == "copying" and f.worker in copiers)
    assert f"w{crowd.copies[int(flag.worker[1:])]:02d}" in flag.partners
    said = {(w, t): v for t, w, v in votes.to_frame().iter_rows()}
    assert all(said[flag.worker, task] == said[flag.partners[0], task] for task in flag.tasks)


def test_evidence_is_in_plain_words_and_false_alarms_are_those_of_numbers(planted):
    _, _, look = planted
    constant = next(flag for flag in look.flags if flag.name == "constant")
    assert "answers; on the same tasks the others gave" in constant.evidence
    # Who does not look, or turns the scale round, has a probability; the other flags are tests.
    for flag in look.flags:
        sure = flag.name in ("random", "reversed")
        assert flag.probability >= 0.98 if sure else 0 <= flag.p_value <= 0.01
    assert {flag.of for flag in look.flags} == {"numbers"}
    assert constant.false_alarms is not None
    assert constant.false_alarms < 0.001
    assert "of" not in constant.to_dict()
    blocks = look.blocks(20, 10)
    assert [b.title for b in blocks if not isinstance(b, str)][-1].startswith("Flags")
    assert any(isinstance(b, str) and b.startswith("false alarms, as measured") for b in blocks)
    assert blocks[-1] == look.closing()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_independent_crowds_are_not_accused(seed):
    steps, heavy = [(), (1,), (5, 10)][seed % 3], [None, 4.0][seed % 2]
    crowd = number_crowd(200, 40, per_task=[4, 8][seed % 2], centre=50, scale=15, slope=0.2, steps=steps, heavy=heavy,
                         limits=(0, 100), seed=seed)  # fmt: skip
    votes = votes_of(crowd)
    look = cw.workers.study(votes, cw.numbers.Combined().fit(votes))
    assert [flag for flag in look.flags if flag.name != "unknown"] == []


def test_quality_is_the_picture_of_each_worker(planted):
    crowd, votes, look = planted
    table = look.quality
    assert table["worker"].to_list() == votes.workers.to_list()
    assert table["n_labels"].to_list() == votes.labels_per_worker.tolist()
    honest = np.array([kind == "honest" for kind in crowd.kind])
    inside = (table["bias_low"].to_numpy() <= crowd.bias) & (crowd.bias <= table["bias_high"].to_numpy())
    assert inside[honest].mean() > 0.7
    assert np.corrcoef(table["bias"].to_numpy()[honest], crowd.bias[honest])[0, 1] > 0.95
    for name in ("bias", "spread", "correlation"):
        some = table.filter(pl.col(f"{name}_low").is_not_null())
        assert (some[f"{name}_low"] <= some[name]).all()
        assert (some[name] <= some[f"{name}_high"]).all()
    best = cw.workers.best_first(table, "correlation")
    assert best["correlation_low"].head(20).is_sorted(descending=True)


def test_gold_adds_errors_on_known_tasks(planted):
    crowd, votes, look = planted
    assert look.quality["n_gold"].sum() == 0
    assert look.quality["gold_rmse"].null_count() == 30
    gold = {f"t{t:03d}": float(crowd.truth[t]) for t in range(40)}
    told = cw.workers.study(votes, look.result, gold=gold).quality
    row = told.row(by_predicate=pl.col("worker") == "w00", named=True)
    own = [(v - gold[t]) for t, w, v in votes.to_frame().iter_rows() if w == "w00" and t in gold]
    assert row["n_gold"] == len(own)
    assert row["gold_bias"] == pytest.approx(np.mean(own))
    assert row["gold_rmse"] == pytest.approx(np.sqrt(np.mean(np.square(own))))


def test_agreement_is_icc_and_alpha(planted):
    _, _, look = planted
    names = [c.name for c in look.agreement]
    assert names[0].startswith("ICC(1,1)")
    assert names[2] == "Krippendorff's alpha, interval"
    assert all(c.low <= c.value <= c.high for c in look.agreement)
    alone = cw.numbers.number_votes(["a", "b"], ["x", "y"], [1.0, 2.0])
    none = cw.workers.study(alone, cw.numbers.Mean().fit(alone))
    assert all(c.value is None and "no task has two answers" in c.reason for c in none.agreement)


def test_who_is_far_quicker_than_the_crowd_is_flagged_and_nobody_else():
    crowd = number_crowd(200, 12, per_task=4, seed=1)
    rng = np.random.default_rng(0)
    own = rng.lognormal(np.log(10), 0.4, 12)
    own[3] = 0.8
    seconds = own[crowd.worker] * rng.lognormal(0, 0.5, len(crowd.task))
    votes = votes_of(crowd, duration=seconds)
    look = cw.workers.study(votes, cw.numbers.Mean().fit(votes))
    assert flagged(look, "fast") == {"w03"}
    assert "the median worker takes" in next(f for f in look.flags if f.name == "fast").evidence
    assert not flagged(cw.workers.study(votes_of(crowd), cw.numbers.Mean().fit(votes)), "fast")


def test_pauses_stand_in_for_durations_and_answers_saved_at_once_are_not_quick():
    task, worker = np.repeat(np.arange(30), 6), np.tile(np.arange(6), 30)
    begun = task * 20.0 + worker
    begun[worker == 0] = 0.0  # one page, saved at one moment
    begun[worker == 1] = task[worker == 1] * 1.0
    votes = cw.numbers.number_votes(task, worker, np.ones(len(task)), time=begun)
    found = speed(votes)
    assert found.quick.tolist() == [False, True, False, False, False, False]
    assert found.median[2] == pytest.approx(20)
    assert np.isnan(found.median[0])
    assert np.isnan(speed(votes, idle=5).median[2])


def test_answers_with_several_parts_have_a_row_for_each():
    rng = np.random.default_rng(2)
    truth = rng.uniform(0, 100, (80, 2))
    task, worker = np.repeat(np.arange(80), 5), np.concatenate([rng.permutation(8)[:5] for _ in range(80)])
    value = truth[task] + rng.normal(0, 4, (len(task), 2))
    value[worker == 1, 1] = 50.0
    votes = cw.numbers.number_votes(task, worker, value, parts=["x", "y"])
    look = cw.workers.study(votes, cw.numbers.Mean().fit(votes))
    assert len(look.quality) == 16
    assert look.quality["part"].to_list() == ["x"] * 8 + ["y"] * 8
    assert [(f.worker, f.name) for f in look.flags] == [(1, "constant")]
    assert look.flags[0].evidence.startswith("y: gave 50 in")
    assert sum(c.name.startswith("y: ") for c in look.agreement) == 3


def test_a_study_lives_through_saving(planted, tmp_path):
    _, votes, look = planted
    cw.Run(look.result, votes).save(tmp_path / "run")
    run = cw.Run.load(tmp_path / "run")
    again = cw.workers.study(run.votes, run.result)
    assert again.quality.equals(look.quality)
    assert again.flags == look.flags


def test_small_and_odd_crowds_have_a_study():
    for task, worker, value in (
        (["t"], ["w"], [3.0]),
        ([1, 1, 2, 2], [*"abab"], [5.0, 5.0, 5.0, 5.0]),
        ([1, 2], ["a", "a"], [1e140, -1e140]),
    ):
        votes = cw.numbers.number_votes(task, worker, value)
        look = cw.workers.study(votes, cw.numbers.Mean().fit(votes))
        assert {flag.name for flag in look.flags} == {"unknown"}
        assert look.blocks(20, 10)
        assert set(look.files()) == {"quality.csv", "agreement.csv", "flags.csv"}


def test_what_does_not_go_with_numbers_is_said(planted):
    _, votes, look = planted
    with pytest.raises(cw.ParameterError, match="level does not go with numbers"):
        cw.workers.study(votes, look.result, level="ordinal")
    classes = cw.Annotations.from_arrays([1, 1], [*"ab"], [*"xy"])
    with pytest.raises(cw.DataError, match="the result is of numbers, but the votes are class labels"):
        cw.workers.study(classes, look.result)
