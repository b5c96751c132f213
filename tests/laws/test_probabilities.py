"""Laws that every method for probabilities obeys, and what happens at the edges."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import crowdwise as cw
from crowdwise.core import method_registry as registry
from crowdwise.kinds.numbers.maths.rows import NumberRows
from crowdwise.kinds.probabilities.cards import METHODS as PROBABILITIES
from crowdwise.kinds.probabilities.maths import median_pool, signals

METHODS = ("pooled_probabilities", "mean_probability")
TINY = [([1], ["a"], [0.7]), ([1, 2], ["a", "a"], [0.0, 1.0]), ([1, 1], ["a", "b"], [0.5, 0.5])]
BAD = [(["0.5", "50"], "Divide them by 100"), (["0.5", "-0.1"], "below the lowest"), (["0.5", "x"], "is not a number")]
every = pytest.mark.parametrize("name", sorted(PROBABILITIES))


def crowd(seed=0, **more):
    made = cw.simulate.probability_crowd(80, 12, per_task=5, seed=seed, **more)
    drawn = made.planted
    return drawn.task, drawn.worker, drawn.probability, drawn.truth


def fit(name, votes, gold=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cw.method(name).fit(votes, gold=gold)


@every
def test_the_card_the_class_and_the_public_name_agree(name):
    cls = registry.get(name)
    assert (cls.name, cls.takes) == (name, "probabilities")
    assert getattr(cw.probabilities, cls.__name__) is cls


@every
def test_row_order_does_not_matter(name):
    task, worker, said, _ = crowd()
    order = np.random.default_rng(1).permutation(len(task))
    one = fit(name, cw.probabilities.probability_votes(task, worker, said))
    other = fit(name, cw.probabilities.probability_votes(task[order], worker[order], said[order]))
    assert np.array_equal(one.probability, other.probability)


@every
def test_the_opposite_question_gets_the_opposite_answer(name):
    task, worker, said, _ = crowd()
    one = fit(name, cw.probabilities.probability_votes(task, worker, said))
    other = fit(name, cw.probabilities.probability_votes(task, worker, 1 - said))
    np.testing.assert_allclose(other.probability, 1 - one.probability, atol=1e-5)


@every
def test_who_says_nothing_changes_nobody(name):
    task, worker, said, _ = crowd()
    one = fit(name, cw.probabilities.probability_votes(task, worker, said, tasks=range(80), workers=range(12)))
    other = fit(name, cw.probabilities.probability_votes(task, worker, said, tasks=range(500), workers=range(90)))
    np.testing.assert_allclose(other.probability[:80], one.probability, atol=1e-6)
    assert ((other.probability >= 0) & (other.probability <= 1)).all()


@every
def test_a_row_of_weight_zero_is_absent(name):
    task, worker, said, _ = crowd()
    weight = np.ones(len(task))
    weight[::7] = 0.0
    keep = weight > 0
    how = {"tasks": range(80), "workers": range(12)}
    one = fit(name, cw.probabilities.probability_votes(task, worker, said, weight=weight, **how))
    other = fit(name, cw.probabilities.probability_votes(task[keep], worker[keep], said[keep], **how))
    np.testing.assert_allclose(one.probability, other.probability, atol=1e-9)


@every
def test_infer_of_the_same_votes_is_the_fit(name):
    task, worker, said, _ = crowd()
    votes = cw.probabilities.probability_votes(task, worker, said)
    found = fit(name, votes)
    np.testing.assert_allclose(found.infer(votes).probability, found.probability, atol=1e-9)
    some = votes.take(np.flatnonzero(votes.task < 10))
    np.testing.assert_allclose(found.infer(some).probability[:10], found.probability[:10], atol=1e-9)


@every
def test_gold_stays_put_and_results_come_back_from_disk(name, tmp_path):
    task, worker, said, _ = crowd()
    found = fit(name, cw.probabilities.probability_votes(task, worker, said), gold={0: 1, 1: "no"})
    assert found.probability[:2].tolist() == [1.0, 0.0]
    found.save(tmp_path / "run")
    again = cw.Result.load(tmp_path / "run")
    assert np.array_equal(again.probability, found.probability)
    assert again.to_table().equals(found.to_table())


def test_gold_teaches_signals():
    """Everybody points the wrong way: only gold can turn them."""
    task, worker, said, truth = crowd()
    votes = cw.probabilities.probability_votes(task, worker, 1 - said)
    blind, told = fit("signals", votes), fit("signals", votes, gold={i: int(truth[i]) for i in range(60)})
    right = [((found.probability[60:] > 0.5) == truth[60:]).mean() for found in (blind, told)]
    assert right[0] < 0.2
    assert right[1] > 0.8


@pytest.mark.parametrize("seed", range(4))
def test_the_objective_never_falls_within_a_round(seed):
    task, worker, said, _ = crowd(seed, common=0.5, random=0.2)
    found = signals(
        NumberRows(task.astype(np.int32), worker.astype(np.int32), said, None, 80, 12), None, 0.02, 30, 60, 0
    )
    for turn in np.unique(found.stage):
        steps = np.diff(found.trace[found.stage == turn])
        assert (steps >= -1e-8 * np.abs(found.trace).max()).all()


def test_the_median_is_numpys():
    rng = np.random.default_rng(0)
    task = np.sort(rng.integers(0, 40, 300)).astype(np.int32)
    value = rng.integers(0, 11, 300) / 10
    rows = NumberRows(task, np.zeros(300, dtype=np.int32), value, None, 40, 1)
    want = [np.median(value[task == t]) if (task == t).any() else np.median(value) for t in range(40)]
    np.testing.assert_allclose(median_pool(rows), want)


def test_planted_workers_are_recovered_and_evidence_is_not_counted_twice():
    made = cw.simulate.probability_crowd(2000, 30, per_task=10, leaning=0.8, seed=1)
    found = cw.probabilities.Signals(held=5).fit(made.votes)
    assert np.corrcoef(found.gap, made.planted.gap)[0, 1] > 0.95
    assert np.corrcoef(found.shift, made.planted.shift)[0, 1] > 0.95
    assert found.extra["design"] < 1.4
    together = cw.simulate.probability_crowd(2000, 30, per_task=10, common=1.0, seed=1)
    assert cw.probabilities.Signals().fit(together.votes).extra["design"] > 2
    scores = cw.evaluate(cw.probabilities.Signals().fit(together.votes), together.truth_table())
    assert scores.ece < 0.1


@pytest.mark.parametrize("name", ["probabilities_leaning", "probabilities_common", "probabilities_mixed"])
def test_the_default_is_ahead_of_the_mean(name):
    made = cw.simulate.scenario(name, tasks=400, workers=40, seed=3)
    default, mean = (cw.evaluate(fit(m, made.votes), made.truth_table()) for m in METHODS)
    assert default.brier < mean.brier


@every
@pytest.mark.parametrize("rows", TINY)
def test_tiny_and_certain(name, rows):
    found = fit(name, cw.probabilities.probability_votes(*rows))
    assert np.isfinite(found.probability).all()
    assert ((found.probability >= 0) & (found.probability <= 1)).all()


def test_honest_workers_are_left_alone_and_planted_ones_are_found():
    flagged = honest = 0
    for seed in range(12):
        made = cw.simulate.probability_crowd(300, 30, per_task=6, leaning=0.5, common=0.5, seed=seed)
        found = cw.workers.study(made.votes, cw.probabilities.MeanProbability().fit(made.votes))
        flagged += len({f.worker for f in found.flags if f.name != "unknown"})
        honest += 30
    assert flagged <= 0.002 * honest + 1
    made = cw.simulate.probability_crowd(600, 30, per_task=8, constant=0.1, random=0.1, reversed=0.1, seed=1)
    found = cw.workers.study(made.votes, cw.probabilities.PooledProbabilities().fit(made.votes))
    flags = {(f.worker, f.name) for f in found.flags}
    planted = {(f"w{i:02d}", kind) for i, kind in enumerate(made.kind) if kind != "honest"}
    assert len(flags & planted) >= 0.8 * len(planted)
    assert not {w for w, _ in flags} - {w for w, _ in planted}


@pytest.mark.parametrize(("said", "words"), BAD)
def test_bad_probabilities_get_one_line(said, words):
    with pytest.raises(cw.DataError, match=words):
        cw.probabilities.probability_votes([1, 1], ["a", "b"], said)


def test_outcomes_are_yes_or_no():
    votes = cw.probabilities.probability_votes([1, 1], ["a", "b"], [0.5, 0.6])
    with pytest.raises(cw.DataError, match="outcomes are 1 or 0"):
        cw.probabilities.MeanProbability().fit(votes, gold={1: 0.7})
