"""estimate: estimands, samplings, groups, refusals."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from crowdwise.errors import DataError, ParameterError

from .made import judged, some

VOTES, TRUTH = judged()
GOLD = some(TRUTH, 200)
SHARE = np.mean([label == "toxic" for label in TRUTH.values()])


def test_a_share_with_all_it_rests_on():
    found = cw.estimate(VOTES, gold=GOLD, metric="share:toxic", sampling="random")
    assert found.low < SHARE < found.high
    assert found.low < found.value < found.high
    assert (found.method, found.n_gold, found.n_tasks, found.judge) == ("double sampling", 200, 2000, "judge-a")
    said = np.mean(VOTES.classes.gather(VOTES.label).to_numpy() == "toxic")
    assert found.judge_alone == pytest.approx(said)
    assert found.gold_only[0] == pytest.approx(np.mean([label == "toxic" for label in GOLD.values()]))
    assert found.labels_saved > 1.2
    assert 0.2 < found.r2 < 0.9
    assert set(found.checks) == {"verdict", "confidence", "labels per task"}
    assert "toxic" in found.sentence()
    assert found.to_dict()["for"] == "these"


def test_shares_add_up_and_new_tasks_have_wider_intervals():
    both = [
        cw.estimate(VOTES, gold=GOLD, metric=f"share:{name}", sampling="random").value for name in ("fine", "toxic")
    ]
    assert sum(both) == pytest.approx(1)
    these, new = (
        cw.estimate(VOTES, gold=GOLD, metric="share:toxic", sampling="random", population=f) for f in ("these", "new")
    )
    assert new.high - new.low > these.high - these.low


def test_the_same_seed_gives_the_same_bits_in_any_order_of_gold():
    other = dict(reversed(GOLD.items()))
    first, second = (cw.estimate(VOTES, gold=g, metric="accuracy", sampling="random", seed=4) for g in (GOLD, other))
    assert (first.value, first.low, first.high) == (second.value, second.low, second.high)


def test_accuracy_of_a_judge_who_is_right():
    right = cw.Annotations.from_arrays(list(TRUTH), ["j"] * len(TRUTH), list(TRUTH.values()))
    found = cw.estimate(right, gold=GOLD, metric="accuracy", sampling="random")
    assert found.value == 1
    assert found.low > 0.96


def test_a_result_and_its_votes_say_the_same():
    result = cw.MajorityVote().fit(VOTES)
    a = cw.estimate(result, gold=GOLD, metric="share:toxic", sampling="random", votes=VOTES)
    b = cw.estimate(VOTES, gold=GOLD, metric="share:toxic", sampling="random")
    assert (a.value, a.low) == (b.value, b.low)


def test_win_rates_ties_and_differences():
    rng = np.random.default_rng(5)
    truth = rng.choice(["A", "B", "tie"], 900, p=[0.5, 0.3, 0.2])
    said = np.where(rng.random(900) < 0.8, truth, rng.choice(["A", "B", "tie"], 900))
    votes = cw.Annotations.from_arrays(range(900), ["j"] * 900, said)
    gold = {i: truth[i] for i in rng.permutation(900)[:250].tolist()}
    win = cw.estimate(votes, gold=gold, metric="winrate:A", sampling="random")
    actual = np.mean((truth == "A") + 0.5 * (truth == "tie"))
    assert win.low < actual < win.high
    assert cw.estimate(votes, gold=gold, metric="winrate", sampling="random").metric == "winrate:A"
    lead = cw.estimate(votes, gold=gold, metric="difference:A,B", sampling="random")
    assert lead.low < np.mean((truth == "A") * 1.0 - (truth == "B")) < lead.high


def test_means_of_ratings_and_of_numbers():
    rng = np.random.default_rng(6)
    quality = rng.normal(size=800)
    y, f = (np.clip(np.rint(3 + quality + 0.6 * rng.normal(size=800)), 1, 5).astype(int) for _ in range(2))
    gold = {i: int(y[i]) for i in rng.permutation(800)[:120].tolist()}
    classes = cw.Annotations.from_arrays(range(800), ["j"] * 800, f)
    as_classes = cw.estimate(classes, gold=gold, metric="mean", sampling="random")
    numbers = cw.numbers.number_votes(range(800), ["j"] * 800, f)
    as_numbers = cw.estimate(numbers, gold=gold, metric="mean", sampling="random")
    for found in (as_classes, as_numbers):
        assert found.low < y.mean() < found.high
    assert as_numbers.method == "regression estimator"
    assert as_numbers.value == pytest.approx(as_classes.value, abs=0.1)
    with pytest.raises(ParameterError, match="the mean and the error"):
        cw.estimate(numbers, gold=gold, metric="share:3", sampling="random")


def test_ppi_plus_plus_in_its_own_way():
    from crowdwise.evaluation.guarantee.estimators import ppi_plus_plus

    votes = cw.Annotations.from_arrays(VOTES.tasks, ["j"] * 2000, VOTES.classes.gather(VOTES.label))  # no confidence
    found = cw.estimate(votes, gold=GOLD, metric="share:toxic", sampling="random", method="ppi++")
    said = dict(zip(votes.tasks.to_list(), votes.label.tolist(), strict=True))
    y = np.array([float(label == "toxic") for label in GOLD.values()])
    f = np.array([float(said[t]) for t in GOLD])
    rest = np.array([float(said[t]) for t in said if t not in GOLD])
    value, error, _ = ppi_plus_plus(y, f, rest)
    np.testing.assert_allclose([found.value, found.high - found.value], [value, 1.959963984540054 * error], atol=1e-9)


def test_a_score_is_used_where_both_classes_have_gold_enough():
    found = cw.estimate(VOTES, gold=GOLD, metric="share:toxic", sampling="random", method="regression")
    assert found.method == "regression estimator"
    assert found.low < SHARE < found.high
    few = some(TRUTH, 40, seed=2)
    assert (
        cw.estimate(VOTES, gold=few, metric="share:toxic", sampling="random", method="regression").method
        == "double sampling"
    )


def test_groups():
    z = {task: "ab"[i % 2] for i, task in enumerate(sorted(TRUTH))}
    found = cw.estimate(VOTES, gold=GOLD, metric="share:toxic", sampling="random", by=z)
    assert set(found.groups) == {"a", "b"}
    few = {task: ("rare" if i < 5 else "often") for i, task in enumerate(sorted(TRUTH))}
    found = cw.estimate(VOTES, gold=GOLD, metric="share:toxic", sampling="random", by=few)
    assert "too few" in found.groups["rare"]
    with pytest.raises(ParameterError, match="no column 'topic'"):
        cw.estimate(VOTES, gold=GOLD, metric="share:toxic", sampling="random", by="topic")


def test_gold_drawn_with_known_probabilities():
    drawn = cw.draw(VOTES, 300, seed=3, design="unsure")
    gold = pl.DataFrame(
        {"task": drawn.tasks, "label": [TRUTH[t] for t in drawn.tasks], "probability": drawn.probability}
    )
    found = cw.estimate(VOTES, gold=gold, metric="share:toxic", sampling="weights")
    assert found.low < SHARE < found.high
    by_record = cw.estimate(VOTES, gold=gold.select("task", "label"), metric="share:toxic", sampling=drawn)
    assert by_record.value == pytest.approx(found.value)
    with pytest.raises(DataError, match="column probability"):
        cw.estimate(VOTES, gold=GOLD, metric="share:toxic", sampling="weights")
    with pytest.raises(DataError, match="above 0 and at most 1"):
        cw.estimate(VOTES, gold=gold.with_columns(probability=0.0), metric="share:toxic", sampling="weights")


def balanced(n=80, seed=1):
    rng = np.random.default_rng(seed)
    out = {}
    for name in ("fine", "toxic"):
        mine = [t for t, label in TRUTH.items() if label == name]
        out |= {mine[i]: name for i in rng.permutation(len(mine))[:n]}
    return out


def test_gold_balanced_by_truth_is_turned_back():
    found = cw.estimate(VOTES, gold=balanced(), metric="share:toxic", sampling="by truth")
    assert found.method == "Rogan-Gladen"
    assert found.low < SHARE < found.high
    with pytest.raises(ParameterError, match="not the accuracy"):
        cw.estimate(VOTES, gold=balanced(), metric="accuracy", sampling="by truth")
    with pytest.raises(DataError, match="no task of class"):
        cw.estimate(VOTES, gold=dict(list(balanced().items())[:80]), metric="share:toxic", sampling="by truth")


def test_a_judge_who_guesses_cannot_be_corrected():
    rng = np.random.default_rng(0)
    votes = cw.Annotations.from_arrays(list(TRUTH), ["judge-a"] * 2000, rng.choice(["fine", "toxic"], 2000))
    with pytest.raises(DataError, match=r"judge-a may be no better than chance \(TPR \+ TNR - 1 = "):
        cw.estimate(votes, gold=balanced(30), metric="share:toxic", sampling="by truth")


def test_gold_that_is_no_random_sample_is_refused():
    with pytest.raises(DataError, match=r'not random: it holds \d+ % of verdict "\w+", the tasks \d+ % \(p = '):
        cw.estimate(VOTES, gold=balanced(), metric="share:toxic", sampling="random")
    unsure = VOTES.tasks.gather(np.argsort(VOTES.confidence)[:200])
    with pytest.raises(DataError, match="mean confidence"):
        cw.estimate(VOTES, gold={t: TRUTH[t] for t in unsure}, metric="share:toxic", sampling="random")
    with pytest.raises(ParameterError, match="it is not stated how the gold was drawn"):
        cw.estimate(VOTES, gold=GOLD, metric="share:toxic")
    point = cw.estimate(VOTES, gold=GOLD, metric="share:toxic", sampling="unknown", force=True)
    assert point.low is None
    assert "no interval" in point.sentence()


def test_gold_of_a_model_is_refused():
    table = pl.DataFrame({"task": list(GOLD), "label": list(GOLD.values()), "worker": "gpt-x", "kind": "model"})
    with pytest.raises(DataError, match=r"gold was written by gpt-x \(kind model\); gold must come from people"):
        cw.estimate(VOTES, gold=table, metric="share:toxic", sampling="random")
    about = VOTES.about(workers=pl.DataFrame({"worker": ["judge-a"], "kind": ["model"]}))
    mine = table.drop("kind").with_columns(worker=pl.lit("judge-a"))
    with pytest.raises(DataError, match="written by judge-a"):
        cw.estimate(about, gold=mine, metric="share:toxic", sampling="random")
    assert cw.estimate(about, gold=table.drop("kind"), metric="accuracy", sampling="random").value > 0.5


def test_verdicts_without_gold_are_refused():
    half = {t: label for t, label in TRUTH.items() if VOTES.label[int(t[1:])] == 0}
    with pytest.raises(DataError, match=r'no gold among the \d+ tasks that judge-a calls "toxic"; draw some there'):
        cw.estimate(VOTES, gold=some(half, 100), metric="share:toxic", sampling="within-verdict")
    with pytest.raises(DataError, match="too few"):
        cw.estimate(VOTES, gold=some(TRUTH, 9), metric="share:toxic", sampling="random")


def test_gold_drawn_within_verdicts():
    gold = {}
    for code in (0, 1):
        mine = [t for t in TRUTH if VOTES.label[int(t[1:])] == code]
        gold |= some({t: TRUTH[t] for t in mine}, 100, seed=code)
    found = cw.estimate(VOTES, gold=gold, metric="share:toxic", sampling="within verdict")
    assert found.low < SHARE < found.high
    assert found.gold_only is None
    assert found.labels_saved > 1


def test_gold_that_made_the_result_is_refused_or_split():
    crowd = cw.simulate.scenario("one_coin", tasks=400, workers=8, classes=2, seed=1)
    known = crowd.truth_table()
    fitted = cw.DawidSkene().fit(crowd.annotations, gold=known.head(150))
    with pytest.raises(DataError, match="the same gold was used to fit this result"):
        cw.estimate(fitted, gold=known.head(100), metric="accuracy", sampling="random")
    found = cw.estimate(
        fitted, gold=known, metric="accuracy", sampling="random", votes=crowd.annotations, fit_share=0.4
    )
    assert 90 < 400 - found.n_tasks < 230
    assert "left out" in found.notes[0]


def test_what_makes_no_sense():
    for of in ("share", "share:nobody", "median", "difference:a", "winrate:a,b"):
        with pytest.raises(ParameterError):
            cw.estimate(VOTES, gold=GOLD, metric=of, sampling="random")
    for wrong in ({"level": 1.5}, {"population": "them"}, {"method": "magic"}, {"sampling": "lucky"}):
        with pytest.raises(ParameterError):
            cw.estimate(VOTES, **{"gold": GOLD, "metric": "accuracy", "sampling": "random"} | wrong)
    with pytest.raises(ParameterError, match="gold labels are needed"):
        cw.estimate(VOTES, gold=None, metric="accuracy", sampling="random")
    with pytest.raises(ParameterError, match="votes or a result"):
        cw.estimate([1, 2], gold=GOLD, metric="accuracy", sampling="random")
    with pytest.raises(ParameterError, match="classes that are numbers"):
        cw.estimate(VOTES, gold=GOLD, metric="mean", sampling="random")


def test_tasks_without_a_verdict_stand_apart():
    part = cw.Annotations.from_arrays(
        VOTES.tasks.gather(VOTES.task[:1500]), ["j"] * 1500, VOTES.classes.gather(VOTES.label[:1500]), tasks=VOTES.tasks
    )
    found = cw.estimate(part, gold=GOLD, metric="share:toxic", sampling="random")
    assert found.low < SHARE < found.high
    assert found.n_tasks == 2000


def test_gold_knows_a_class_that_nobody_said():
    gold = dict(GOLD)
    first = next(iter(gold))
    gold[first] = "spam"
    found = cw.estimate(VOTES, gold=gold, metric="share:spam", sampling="random")
    assert 0 < found.value < 0.05
