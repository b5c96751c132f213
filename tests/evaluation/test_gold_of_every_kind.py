"""Gold of every kind: the claimed share comes near the true one, its interval covers it, and no decision changes."""

from __future__ import annotations

import warnings
from functools import lru_cache

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from crowdwise import simulate
from crowdwise.core import kind as kinds
from crowdwise.core import method_registry as registry
from crowdwise.evaluation.statement import outlook, statement
from crowdwise.stats.gold_calibration import GoldCalibration, clustering, share_right, shippable

KINDS = ("sets", "spans", "boxes", "comparisons", "texts", "outlines", "probabilities", "triplets")
# Kinds of which a crowd is fitted in a moment.
QUICK = ("sets", "spans", "boxes", "comparisons", "texts", "probabilities")


def truth_of(crowd):
    """The answer of every task: of comparisons the better item, of triplets the closer one."""
    table = crowd.truth_table()
    rows = crowd.votes.to_frame().unique("task", maintain_order=True)
    if crowd.votes.kind.name == "comparisons":
        score = dict(table.iter_rows())
        better = [a if score[a] > score[b] else b for a, b in rows.select("left", "right").iter_rows()]
        return pl.DataFrame({"task": rows["task"], "label": better})
    if crowd.votes.kind.name == "triplets":  # the first answer: right often, not always
        item = pl.when(pl.col("closer") == "left").then(pl.col("left")).otherwise(pl.col("right"))
        return rows.select("task", item.alias("label"))
    return table


@lru_cache(maxsize=64)
def planted(kind, seed=0, tasks=240):
    crowd = simulate.scenario(f"{kind}_plain", tasks=tasks, workers=20, labels=4, seed=seed)
    return crowd.votes, truth_of(crowd)


def method(votes):
    return registry.method(kinds.get(votes.kind.name).default)


def fitted(kind, n, seed=0, draw=0, **how):
    votes, truth = planted(kind, seed)
    picked = np.random.default_rng([draw, 7]).permutation(len(truth))[:n].tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return votes, truth, method(votes).fit(votes, gold=truth[picked], **how)


def judged(votes, truth, result):
    """Confidence and outcome of the decisions of tasks without gold, as they are now."""
    decided = votes.kind.hooks.decisions()
    task, confidence = decided.of(result)
    right = decided.right(votes, result, truth)
    free = np.isfinite(right)
    if result.gold is not None:
        free &= ~result.gold[task]
    return confidence[free], right[free]


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_no_decision_changes(kind):
    votes, _, result = fitted(kind, 60)
    assert "slope" in result.extra["gold_check"]
    _, _, plain = fitted(kind, 60, calibrate=False)
    assert "gold_check" not in plain.extra
    answers = result.estimate.answer_columns()
    shown = [name for name in result.to_table().columns if name in (*answers, "winner", "likely")]
    shown = [name for name in shown if name != "probability"]
    assert result.to_table().select(shown).equals(plain.to_table().select(shown))
    decided = votes.kind.hooks.decisions()
    own, now = decided.of(plain)[1], decided.of(result)[1]
    free = ~result.gold[decided.of(result)[0]]
    order = np.argsort(own[free], kind="stable")
    assert (np.diff(now[free][order]) >= -1e-9).all()


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_fit_without_gold_is_untouched(kind):
    votes, _ = planted(kind)
    one, two = method(votes).fit(votes), method(votes).fit(votes, calibrate=True)
    for name, array in one.estimate.arrays().items():
        np.testing.assert_array_equal(array, two.estimate.arrays()[name])
    assert "no task has been checked" in outlook(one)


@pytest.mark.slow
def test_the_claim_comes_near_the_truth_with_gold():
    before, after = [], []
    for kind in QUICK:
        for seed in (1, 2):
            votes, truth, plain = fitted(kind, 80, seed, calibrate=False)
            confidence, right = judged(votes, truth, plain)
            before.append(abs(confidence.mean() - right.mean()))
            _, _, result = fitted(kind, 80, seed)
            after.append(abs(result.expected_accuracy[0] - right.mean()))
    assert np.mean(after) < 0.6 * np.mean(before)
    assert np.mean(after) < 0.05


@pytest.mark.slow
def test_the_interval_covers():
    held, width = [], []
    for kind in QUICK:
        for seed in (3, 4):
            for draw in range(2):
                votes, truth, result = fitted(kind, 60, seed, draw)
                if "reason" in result.extra["gold_check"]:  # one random sample in a hundred is refuted as one
                    continue
                _, right = judged(votes, truth, result)
                _, low, high = result.expected_accuracy
                held.append(low <= right.mean() <= high)
                width.append(high - low)
    assert len(held) >= 22
    assert np.mean(held) >= 0.8
    assert np.mean(width) < 0.25


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_the_sentence_counts_what_ships(kind):
    votes, _, result = fitted(kind, 60)
    made = statement(result, 0.05)
    words = made.sentence()
    assert f"measured on {made.n_checked} checked tasks" in words
    assert f"{made.n_ship:,} of {len(made.ships):,} can ship with at most 5 % wrong" in words
    assert statement(result, 0.2).n_ship >= made.n_ship
    task, _ = votes.kind.hooks.decisions().of(result)
    assert made.ships[result.gold[task]].all()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sets", "boxes", "comparisons"])
def test_a_run_folder_keeps_it(kind, tmp_path):
    votes, _, result = fitted(kind, 60)
    cw.Run(result, votes).save(tmp_path / "run")
    again = cw.Run.load(tmp_path / "run").result
    assert outlook(again) == outlook(result)
    assert again.to_table().equals(result.to_table())


def test_few_or_chosen_gold_is_not_used():
    _, _, few = fitted("sets", 5)
    assert "too few" in outlook(few)
    assert "about" not in outlook(few)
    votes, truth = planted("sets")
    plain = method(votes).fit(votes)
    least = np.argsort(plain.confidence, kind="stable")[:60]
    names = plain.tasks.gather(least.tolist()).to_list()
    chosen = method(votes).fit(votes, gold=truth.filter(pl.col("task").is_in(names)))
    assert "not a random sample" in outlook(chosen)
    np.testing.assert_array_equal(
        chosen.posterior,
        method(votes).fit(votes, gold=truth.filter(pl.col("task").is_in(names)), calibrate=False).posterior,
    )


def test_gold_on_single_classes_is_said_to_be_too_little():
    votes, _ = planted("sets")
    name = votes.answers.classes[0]
    words = pl.DataFrame({"task": votes.tasks[:100], "label": [name] * 100, "value": [0] * 100})
    assert "0 sets that gold judges are too few" in outlook(method(votes).fit(votes, gold=words))


def test_any_method_is_calibrated_when_asked():
    votes, truth = planted("sets")
    gold = truth[::4]
    plain = cw.sets.SetMajority().fit(votes, gold=gold)
    assert "gold_check" not in plain.extra
    made = cw.calibrate(plain, votes, gold)
    assert made.sets == plain.sets
    assert "slope" in made.extra["gold_check"]
    with pytest.raises(cw.errors.ParameterError, match="already calibrated"):
        cw.calibrate(made, votes, gold)
    with pytest.raises(cw.errors.ParameterError, match="fit with gold"):
        cw.calibrate(cw.sets.SetMajority().fit(votes), votes)


def test_decisions_of_one_task_count_for_less():
    rng = np.random.default_rng(0)
    task = np.repeat(np.arange(100), 5)
    alone = rng.normal(size=500)
    together = np.repeat(rng.normal(size=100), 5)
    assert clustering(np.arange(500), alone) == 1
    assert clustering(task, together) < 0.3 < 0.6 < clustering(task, alone)
    sure, right = np.full(500, 0.8), (rng.random(500) < 0.8).astype(float)
    whole, part = (share_right(sure, sure, right, sure, weight) for weight in (1.0, 0.2))
    assert part.high - part.low > 1.5 * (whole.high - whole.low)
    learnt = GoldCalibration.fit(sure, sure, right)
    shrunk = GoldCalibration.fit(sure, sure, right, 0.01)
    assert abs(shrunk.shift) < abs(learnt.shift) + 1e-9


def test_what_comes_out_varies_more_than_what_is_expected():
    rng = np.random.default_rng(1)
    sure = rng.uniform(0.6, 0.999, 400)
    right = (rng.random(400) < sure).astype(float)
    learnt = GoldCalibration.fit(sure, sure[:100], right[:100])
    expected, realised = (
        shippable(sure[100:], sure[:100], right[:100], learnt, 0.1, realised=flag) for flag in (False, True)
    )
    assert 0 < realised < expected


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sets", "spans", "comparisons"])
def test_gold_that_only_taught_is_neither_sample_nor_population(kind):
    votes, truth = planted(kind)
    decided = votes.kind.hooks.decisions()
    plain = method(votes).fit(votes)
    task, confidence = decided.of(plain)
    doubt = np.ones(votes.n_tasks)
    np.minimum.at(doubt, task, confidence)
    place = {str(name): i for i, name in enumerate(votes.tasks.to_list())}
    code = np.array([place[str(name)] for name in truth["task"].to_list()])
    surest = np.argsort(-doubt[code], kind="stable")[:60]
    rest = np.random.default_rng(1).permutation(np.setdiff1d(np.arange(len(truth)), surest))
    sample, others = truth[rest[:60].tolist()], truth[[*surest.tolist(), *rest[:60].tolist()]]
    taught = method(votes).fit(votes, gold=others, calibrate=False)
    result = cw.calibrate(taught, votes, sample)
    check = result.extra["gold_check"]
    assert check["n"] == 60
    assert "slope" in check, check
    both = cw.calibrate(taught, votes, others)
    assert both.extra["gold_check"].get("n") == 120
