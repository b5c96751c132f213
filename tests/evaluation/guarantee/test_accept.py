"""accept, label sets, plans, cascades, certificates."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from crowdwise.errors import DataError, ParameterError
from crowdwise.evaluation.guarantee.accept import apply
from crowdwise.evaluation.guarantee.certificate import Certificate
from crowdwise.evaluation.guarantee.sampling import Draw
from crowdwise.evaluation.guarantee.verdicts import as_verdicts

from .made import judged, some

VOTES, TRUTH = judged(n=3000, error=0.1)
GOLD = some(TRUTH, 400)


def test_what_is_accepted_and_what_people_are_asked():
    found = cw.accept(VOTES, gold=GOLD, error=0.05)
    certificate = found.certificate
    assert certificate.n_accepted > 500
    assert len(found.accepted) + len(found.ask) == 3000
    assert set(found.accepted["by"]) == {"verdict", "gold"}
    checked = dict(found.accepted.filter(pl.col("by") == "gold").select("task", "label").rows())
    assert checked == GOLD
    unseen = found.accepted.filter(pl.col("by") == "verdict")
    assert unseen["confidence"].min() >= certificate.threshold
    wrong = np.mean([TRUTH[t] != label for t, label in unseen.select("task", "label").rows()])
    assert wrong <= 0.05
    assert found.ask["confidence"].is_sorted()
    assert certificate.p <= 0.1
    assert "at most 5 %" in certificate.promise
    assert len(certificate.voids) >= 4


def test_stricter_promises_accept_less():
    sizes = [cw.accept(VOTES, gold=GOLD, error=e).certificate.n_accepted for e in (0.02, 0.05, 0.1)]
    assert sizes == sorted(sizes)
    careful = cw.accept(VOTES, gold=GOLD, error=0.05, risk=0.01).certificate.n_accepted
    assert careful <= sizes[1]


def test_promises_about_all_tasks():
    high = cw.accept(VOTES, gold=GOLD, error=0.05, of="all").certificate
    mean = cw.accept(VOTES, gold=GOLD, error=0.05, of="all", guarantee="mean").certificate
    assert high.n_accepted <= mean.n_accepted
    assert "On average" in mean.promise
    with pytest.raises(ParameterError, match="is about all tasks"):
        cw.accept(VOTES, gold=GOLD, guarantee="mean")


def test_a_promise_for_every_class_and_group():
    found = cw.accept(VOTES, gold=GOLD, error=0.1, per="class").certificate
    assert [part.name for part in found.parts] == ["fine", "toxic"]
    assert all(part.risk == pytest.approx(0.05) for part in found.parts)
    z = {task: "ab"[i % 2] for i, task in enumerate(sorted(TRUTH))}
    assert [part.name for part in cw.accept(VOTES, gold=GOLD, error=0.1, per=z).certificate.parts] == ["a", "b"]


def test_equal_confidences_are_one_rung():
    flat = cw.Annotations.from_arrays(VOTES.tasks, ["j"] * 3000, VOTES.classes.gather(VOTES.label))
    found = cw.accept(flat, gold=GOLD, error=0.2).certificate
    assert [len(part.ladder) for part in found.parts] == [1]
    assert found.n_accepted == 3000
    none = cw.accept(flat, gold=GOLD, error=0.05)
    assert (none.certificate.n_accepted, none.certificate.threshold) == (0, None)


def test_too_little_gold_is_said_before_anything_else():
    text = r"an error of 1 % needs at least 230 gold labels in the accepted region, there are 150; ask for --error \.02"
    with pytest.raises(DataError, match=text):
        cw.accept(VOTES, gold=some(TRUTH, 150), error=0.01)


@pytest.mark.parametrize("how", ["by truth", "within verdict", "weights", None])
def test_sets_and_cascades_refuse_gold_that_was_not_drawn_at_random(how):
    """A promise over drawings of the gold holds for the tasks that the gold stands for."""
    crowd = cw.simulate.scenario("one_coin", tasks=600, workers=8, classes=2, seed=1)
    result, table = cw.DawidSkene().fit(crowd.annotations), crowd.truth_table().head(300)
    gold = table.with_columns(probability=pl.lit(0.5)) if how == "weights" else table
    with pytest.raises(ParameterError, match="drawn"):
        cw.label_sets(result, gold=gold, sampling=how)
    with pytest.raises(ParameterError, match="drawn"):
        cw.cascade(result, result, gold=gold, sampling=how, prices=(1, 10, 100))
    drawn = cw.draw(result, 300, seed=1, design="unsure")
    picked = crowd.truth_table().filter(pl.col("task").is_in(drawn.tasks))
    with pytest.raises(ParameterError, match="not weights"):
        cw.label_sets(result, gold=picked, sampling=drawn)


def test_the_gold_must_be_random_and_not_used():
    with pytest.raises(ParameterError, match="drawn at random"):
        cw.accept(VOTES, gold=GOLD, sampling="by truth")
    sure = {t: TRUTH[t] for t in VOTES.tasks.gather(np.argsort(-VOTES.confidence)[:300])}
    with pytest.raises(DataError, match="not random"):
        cw.accept(VOTES, gold=sure)
    crowd = cw.simulate.scenario("one_coin", tasks=600, workers=8, classes=2, seed=1)
    fitted = cw.DawidSkene().fit(crowd.annotations, gold=crowd.truth_table().head(200))
    with pytest.raises(DataError, match=r"let accept split it \(--fit-share \.4\)"):
        cw.accept(fitted, gold=crowd.truth_table().head(200))
    found = cw.accept(
        fitted, gold=crowd.truth_table().head(300), votes=crowd.annotations, fit_share=0.4, error=0.1, seed=1
    )
    assert 150 < found.certificate.n_gold < 210


def test_gold_that_calibrated_a_result_judges_the_fit_without_it():
    crowd = cw.simulate.scenario("one_coin", tasks=300, workers=8, classes=2, seed=1)
    known = crowd.truth_table()
    blind = cw.DawidSkene().fit(crowd.annotations)
    soft = cw.calibrate(blind, crowd.annotations, gold=known.head(100))
    taught = cw.fit(crowd.annotations, "dawid_skene", known.head(100), sampling="random")
    first = cw.accept(blind, gold=known.head(100), error=0.2)
    for result in (soft, taught):
        again = cw.accept(result, gold=known.head(100), error=0.2)
        assert again.certificate.parts == first.certificate.parts
        changed = set(blind.tasks.filter(pl.Series(blind.labels != result.labels)).to_list())
        expected = set(first.accepted["task"]) - (changed - set(known.head(100)["task"]))
        assert set(again.accepted["task"]) == expected
        for task, label, by in again.accepted.select("task", "label", "by").iter_rows():
            at = result.tasks.index_of(task)
            assert by == "gold" or label == str(result.classes[int(result.labels[at])])
    assert cw.accept(soft, gold=known.tail(200), error=0.2).certificate.n_gold == 200
    with pytest.raises(DataError, match="the same gold was used to fit"):  # sets need probabilities of the blind fit
        cw.label_sets(soft, gold=known.head(100))


@pytest.mark.slow
@pytest.mark.parametrize("n", [60, 100, 160])
def test_gold_may_be_a_part_of_what_calibrated_or_more(n):
    crowd = cw.simulate.scenario("one_coin", tasks=400, workers=8, labels=4, classes=2, seed=1)
    known = crowd.truth_table().sample(fraction=1.0, shuffle=True, seed=1)
    blind = cw.DawidSkene().fit(crowd.annotations)
    result = cw.fit(crowd.annotations, "dawid_skene", known.head(100), sampling="random")
    found = cw.accept(result, gold=known.head(n), error=0.2)
    assert found.certificate.n_gold == n
    by = dict(found.accepted.group_by("by").len().iter_rows())
    assert by["gold"] == n
    assert by.get("fit", 0) == max(100 - n, 0)
    figure = cw.estimate(result, gold=known.head(n), metric="accuracy", sampling="random")
    alone = cw.estimate(blind, gold=known.head(n), metric="accuracy", sampling="random")
    if n >= 100:
        assert (figure.value, figure.low, figure.high) == (alone.value, alone.low, alone.high)
    assert "the labels of the fit without it" in figure.notes[-1 if n >= 100 else 0]


def test_a_recorded_draw(tmp_path):
    drawn = cw.draw(VOTES, 200, seed=5)
    assert drawn == cw.draw(VOTES, 200, seed=5)
    assert drawn.tasks != cw.draw(VOTES, 200, seed=6).tasks
    drawn.save(tmp_path / "draw.json")
    again = Draw.load(tmp_path / "draw.json")
    gold = {t: TRUTH[t] for t in again.tasks}
    found = cw.accept(VOTES, gold=gold, sampling=again, error=0.1).certificate
    assert (found.sampling, found.checks) == ("random, drawn", {})
    first = dict(list(gold.items())[:120])
    assert cw.accept(VOTES, gold=first, sampling=again, error=0.1).certificate.n_gold == 120
    gaps = dict(list(gold.items())[60:])
    with pytest.raises(DataError, match="60 have no gold label"):
        cw.accept(VOTES, gold=gaps, sampling=again)
    more = gold | some(TRUTH, 50, seed=9)
    assert "left out" in cw.accept(VOTES, gold=more, sampling=again, error=0.1).certificate.notes[0]
    with pytest.raises(DataError, match="other tasks"):
        cw.accept(judged(n=2999)[0], gold={t: v for t, v in gold.items() if t != "t02999"}, sampling=again)
    with pytest.raises(ParameterError, match="cannot be drawn"):
        cw.draw(VOTES, 5000)
    (tmp_path / "draw.json").write_text("{}")
    with pytest.raises(DataError, match="not a record of a draw"):
        Draw.load(tmp_path / "draw.json")


def test_looks_share_the_risk():
    one, five = (cw.accept(VOTES, gold=GOLD, looks=n).certificate for n in (1, 5))
    assert five.parts[0].risk == pytest.approx(one.parts[0].risk / 5)
    assert five.n_accepted <= one.n_accepted
    with pytest.raises(ParameterError, match="look 2 at the gold and 1 was planned"):
        cw.accept(VOTES, gold=GOLD, look=2)


def test_certificates_come_back_and_know_their_batch(tmp_path):
    made = cw.accept(VOTES, gold=GOLD, error=0.1, made="2026-01-02").certificate
    made.save(tmp_path / "c.json")
    again = Certificate.load(tmp_path / "c.json")
    assert again == made
    same, _ = judged(n=2000, error=0.1, seed=8)
    used = apply(again, same)
    assert "certify again to renew" in used.certificate.notes[-1]
    assert used.accepted["confidence"].min() >= made.threshold
    assert len(used.accepted) + len(used.ask) == 2000
    other, _ = judged(n=2000, prevalence=0.6, error=0.1, seed=8)
    with pytest.raises(DataError, match="does not cover this batch: its verdicts differ"):
        apply(again, other)
    shy = cw.Annotations.from_arrays(
        same.tasks, ["judge-a"] * 2000, same.classes.gather(same.label), confidence=same.confidence * 0.9
    )
    with pytest.raises(DataError, match="its confidence differ"):
        apply(again, shy)
    (tmp_path / "c.json").write_text("[]")
    with pytest.raises(DataError, match="not a certificate"):
        Certificate.load(tmp_path / "c.json")


def test_random_batches_are_rarely_taken_for_others():
    made = cw.accept(VOTES, gold=GOLD, error=0.1).certificate
    p = [min(made.drift(as_verdicts(judged(n=1500, error=0.1, seed=s)[0])).values()) for s in range(40)]
    assert np.mean(np.array(p) <= 0.01) <= 0.1


def test_label_sets_hold_the_truth():
    crowd = cw.simulate.scenario("one_coin", tasks=1200, workers=8, classes=4, labels=2, seed=3)
    result = cw.DawidSkene().fit(crowd.annotations)
    truth = crowd.truth_table()
    rng = np.random.default_rng(0)
    pick = truth[rng.permutation(1200)[:300].tolist()]
    found = cw.label_sets(result, gold=pick, error=0.1)
    code = {name: i for i, name in enumerate(result.classes.to_list())}
    hit = [found.inside[i, code[label]] for i, label in enumerate(truth.sort("task")["label"].to_list())]
    assert np.mean(hit) > 0.86
    table = found.to_table()
    assert table.columns == ["task", "labels", "size"]
    assert (table["size"].to_numpy() == found.inside.sum(axis=1)).all()
    per_class = cw.label_sets(result, gold=pick, error=0.1, per="class")
    assert len(per_class.limits) == 4
    few = cw.label_sets(result, gold=truth.head(8), error=0.1)
    assert few.inside.all()
    z = {t: i % 2 for i, t in enumerate(result.tasks)}
    assert set(cw.label_sets(result, gold=pick, error=0.1, per=z).limits) == {"0", "1"}


def test_a_plan():
    found = cw.plan(VOTES, error=0.05, prices={"judge": 0.5, "person": 20}, r2=0.504)
    assert [step.needed for step in found.steps] == [45, 105, 282, 1224]
    assert found.spending["gold_per_verdict"] == pytest.approx(0.1569, abs=1e-4)
    assert found.half_widths[2]["half_width"] == 0.05
    assert all(step.draw is None or step.draw >= step.needed for step in found.steps)
    with pytest.raises(ParameterError, match="person is missing"):
        cw.plan(VOTES, prices={"judge": 1})


def test_a_cascade_prices_three_ways():
    strong, _ = judged(n=3000, error=0.03, seed=0)
    found = cw.cascade(VOTES, strong, gold=GOLD, prices=(1, 10, 100), error=0.1)
    assert [way.name for way in found.strategies] == ["cheap alone", "strong alone", "cascade"]
    assert found.best.cost == min(way.cost for way in found.strategies)
    for way in found.strategies:
        assert way.cheap + way.strong + way.person == pytest.approx(1)
    unseen = found.table.filter(pl.col("by").is_in(["cheap", "strong"]))
    assert np.mean([TRUTH[t] != label for t, label in unseen.select("task", "label").rows()]) <= 0.1
    with pytest.raises(DataError, match="same tasks"):
        cw.cascade(VOTES, judged(n=100)[0], gold=GOLD, prices=(1, 10, 100))
    with pytest.raises(ParameterError, match="three positive prices"):
        cw.cascade(VOTES, strong, gold=GOLD, prices=(1, 10))
    with pytest.raises(DataError, match="too few for a cascade"):
        cw.cascade(VOTES, strong, gold=some(TRUTH, 30), prices=(1, 10, 100))


def test_numbers_are_not_accepted():
    numbers = cw.numbers.number_votes([1, 2], ["j", "j"], [1.0, 2.0])
    for call in (cw.accept, cw.label_sets):
        with pytest.raises(ParameterError):
            call(numbers, gold={1: 1.0})
    with pytest.raises(ParameterError):
        cw.plan(numbers)


# ---------------------------------------------------------------- by what the surest tasks are found
def crowd(tasks=900, seed=3):
    made = cw.simulate.scenario("hammer_spammer", tasks=tasks, workers=20, classes=3, seed=seed)
    truth = dict(made.truth_table().rows())
    return made.annotations, truth, some(truth, 250)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["adaptive", "committee"])
def test_the_tasks_of_an_average_stand_by_the_lower_of_two_places(method, tmp_path):
    votes, truth, gold = crowd()
    result = cw.method(method).fit(votes)
    found = cw.accept(result, votes=votes, gold=gold)
    plain = cw.accept(result, votes=votes, gold=gold, surest="confidence")
    assert (found.certificate.surest, plain.certificate.surest) == ("places", "confidence")
    assert set(found.certificate.scales) == {"confidence", "hierarchical"}
    model = cw.method("hierarchical").fit(votes)
    places = []
    for view in (result.confidence, model.posterior[np.arange(len(result.labels)), result.labels]):
        value = np.round(view, 9)
        places.append([(np.mean(value < v) + np.mean(value <= v)) / 2 + 0.5 / len(value) for v in value])
    stands = np.min(places, axis=0)
    taken = set(found.accepted.filter(pl.col("by") == "verdict")["task"])
    lowest = min(stands[i] for i, t in enumerate(votes.tasks) if t in taken)
    highest = max(stands[i] for i, t in enumerate(votes.tasks) if t not in taken and t not in gold)
    assert highest <= lowest + 1e-3  # the scale of a certificate has a thousand steps
    if method == cw.registry.DEFAULT:
        assert cw.accept(votes, gold=gold).certificate.parts == found.certificate.parts
    wrong = np.mean([truth[t] != label for t, label, by in found.accepted.select("task", "label", "by").rows()
                     if by == "verdict"])  # fmt: skip
    assert wrong <= 0.05
    found.certificate.save(tmp_path / "c.json")
    assert Certificate.load(tmp_path / "c.json") == found.certificate


@pytest.mark.slow
def test_the_places_of_a_new_batch_are_those_it_would_have_had_in_the_old_one():
    votes, _, gold = crowd()
    old = cw.accept(votes, gold=gold)
    same = apply(old.certificate, votes)
    unseen = old.accepted.filter(pl.col("by") == "verdict")
    again = same.accepted.filter(~pl.col("task").is_in(list(gold)))
    assert set(unseen["task"]) == set(again["task"])
    more, _, _ = crowd(700, seed=3)
    assert apply(old.certificate, more).certificate.checks
    result = cw.method("adaptive").fit(more)
    with pytest.raises(DataError, match="needs the votes"):
        apply(old.certificate, result)
    with pytest.raises(DataError, match="needs labels of adaptive or committee"):
        apply(old.certificate, cw.DawidSkene().fit(more), more)
    with pytest.raises(ParameterError, match="surest must be"):
        cw.accept(votes, gold=gold, surest="best")


def test_other_methods_and_missing_votes_stand_by_confidence():
    votes, _, gold = crowd(400)
    assert cw.accept(cw.DawidSkene().fit(votes), votes=votes, gold=gold).certificate.surest == "confidence"
    for name in ("adaptive", "committee"):
        assert cw.accept(cw.method(name).fit(votes), gold=gold).certificate.surest == "confidence"
    assert cw.accept(VOTES, gold=GOLD).certificate.surest == "confidence"  # one judge
