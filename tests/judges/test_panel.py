"""The verdict on a panel: trust, judges to drop, further labels; pairs that err together beyond chance."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import hypergeom

import crowdwise as cw
from crowdwise.judges.bias import swap_table
from crowdwise.judges.dependence import chance_of_common_errors
from crowdwise.judges.panel import labels_for, p_of_match
from crowdwise.stats.discovery import adjusted


def test_the_chance_of_common_errors_is_fishers():
    """With one class and errors of 0 and 1, permuting one judge's errors is the hypergeometric distribution."""
    rng = np.random.default_rng(0)
    common = rng.random(80) < 0.2
    wrong = np.column_stack([common | (rng.random(80) < 0.1), common | (rng.random(80) < 0.1), rng.random(80) < 0.3])
    wrong = wrong.astype(float)
    p = chance_of_common_errors(wrong, np.zeros(80, dtype=np.int64), rng)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        both, one, two = int((wrong[:, i] * wrong[:, j]).sum()), int(wrong[:, i].sum()), int(wrong[:, j].sum())
        exact = hypergeom.sf(both - 1, 80, one, two)
        assert p[i, j] == pytest.approx(exact, abs=0.03)
        assert (p[i, j] < 0.01) == (exact < 0.01)


@pytest.mark.slow
def test_independent_judges_seldom_seem_to_err_together():
    """In at most 5 % of panels of independent judges any pair is named, also where a class is hard for all of them."""
    rng, named = np.random.default_rng(1), 0
    for _ in range(40):
        truth = rng.integers(2, size=60)
        rate = np.where(truth == 1, 0.45, 0.1)[:, None]  # their raw errors are correlated through the class
        wrong = (rng.random((60, 5)) < rate).astype(float)
        wrong[rng.random((60, 5)) < 0.1] = np.nan
        p = chance_of_common_errors(wrong, truth, rng)[np.triu_indices(5, 1)]
        named += bool((adjusted(p) <= 0.05).any())
    assert named <= 6  # of 40: with probability .05 more than 6 have a chance of 1 %


def test_verdicts_that_ignore_the_task_match_by_chance():
    rng, low = np.random.default_rng(2), []
    for _ in range(50):
        truth = rng.choice(3, 60, p=[0.5, 0.35, 0.15])
        coin = np.eye(3)[rng.choice(3, 60, p=[0.6, 0.3, 0.1])]
        good = np.eye(3)[np.where(rng.random(60) < 0.7, truth, rng.integers(3, size=60))]
        low.append(p_of_match(np.stack([coin, good], axis=1), truth, rng) <= 0.05)
    coin_low, good_low = np.mean(low, axis=0)
    assert coin_low <= 0.14
    assert good_low >= 0.95


def test_labels_for_an_interval_follow_the_variance():
    for n_now, target in ((60, 0.04), (100, 0.02), (50, 0.06)):
        total = 3000
        half = np.sqrt(0.25 * (1 / n_now - 1 / total))
        n = labels_for(target, half, n_now, total)
        assert np.sqrt(0.25 * (1 / n - 1 / total)) <= target < np.sqrt(0.25 * (1 / (n - 1) - 1 / total))
    assert labels_for(0.1, 0.05, 60, 3000) == 60


def panel(seed, n=300, copies=True):
    """A good judge, a fair one with a copy of it, one that flips coins and one that likes what is shown first."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(["x", "y", "tie"], n, p=[0.5, 0.35, 0.15])
    rows = []
    for i in range(n):
        for first in ("x", "y"):
            said = {name: truth[i] if rng.random() < right else str(rng.choice(["x", "y", "tie"]))
                    for name, right in (("good", 0.85), ("fair", 0.6), ("first", 0.6))}  # fmt: skip
            said["copy"] = said["fair"] if copies and rng.random() < 0.97 else str(rng.choice(["x", "y", "tie"]))
            said["coin"] = str(rng.choice(["x", "y"]))
            said["first"] = first if rng.random() < 0.5 else said["first"]
            rows += [(f"t{i:03}", name, label, first) for name, label in said.items()]
    votes = cw.Annotations.from_frame(
        pl.DataFrame(rows, schema=["task", "worker", "label", "order"], orient="row")
    )  # fmt: skip
    return votes, {f"t{i:03}": str(truth[i]) for i in range(n)}


@pytest.fixture(scope="module")
def study():
    votes, truth = panel(1)
    return cw.judges(votes, gold={task: truth[task] for task in list(truth)[::3]})


def test_the_coin_and_one_of_the_copies_are_dropped(study):
    verdict = study.panel()
    assert set(verdict.drop) - {"copy", "fair"} == {"coin"}
    assert len(verdict.drop) == 2
    assert verdict.trusted_for == "rates"
    assert (verdict.basis, verdict.n_basis) == ("human labels", 100)
    assert verdict.after.n_judges == 3
    assert verdict.after.accuracy >= verdict.quality.accuracy - 0.05
    together = study.pairs.filter("together").select("judge", "other").rows()
    assert together == [("copy", "fair")]


def test_the_plan_is_that_of_estimate(study):
    figure = cw.estimate(study.votes, gold=_gold(study), metric="winrate:x", sampling="random")
    verdict = study.panel(0.03)
    assert verdict.figure == 'the win rate of "x"'
    assert verdict.quality.half_width == pytest.approx((figure.high - figure.low) / 2, rel=0.05)
    assert verdict.quality.counts_as == pytest.approx(figure.labels_saved, rel=0.1)
    assert verdict.more_labels == labels_for(0.03, verdict.quality.half_width, 100, 300) - 100 > 0
    assert f"{verdict.more_labels} more human labels" in verdict.sentence()


def _gold(study):
    names, classes = study.votes.tasks, study.votes.classes
    return {names[int(t)]: classes[int(study.gold.label[t])] for t in study.gold.tasks}


def test_without_gold_only_swapped_copies_tell():
    votes, _ = panel(2)
    verdict = cw.judges(votes).panel()
    assert (verdict.basis, verdict.n_basis, verdict.trusted_for) == ("swapped copies", 300, "nothing")
    assert {"coin"} <= set(verdict.drop) <= {"coin", "first"}
    assert "copies with swapped order only" in verdict.sentence()
    once = votes.take(votes.about_rows["order"].to_numpy() == "x")
    verdict = cw.judges(once).panel()
    assert (verdict.basis, verdict.drop) == ("nothing", {})
    assert "agreement with the winner is not reliability" in verdict.sentence()


def test_a_judge_who_votes_for_the_winner_is_not_reliable():
    """One of two systems wins 80 % of the prompts; always voting for it is right on 80 %, and knows nothing."""
    rng = np.random.default_rng(3)
    truth = np.where(rng.random(200) < 0.8, "x", "y")
    rows = [(f"t{i:03}", "always", "x") for i in range(200)]
    rows += [(f"t{i:03}", "reads", truth[i] if rng.random() < 0.8 else "x") for i in range(200)]
    rows += [(f"t{i:03}", "reads too", truth[i] if rng.random() < 0.8 else "x") for i in range(200)]
    votes = cw.Annotations.from_frame(pl.DataFrame(rows, schema=["task", "worker", "label"], orient="row"))
    verdict = cw.judges(votes, gold={f"t{i:03}": str(truth[i]) for i in range(0, 200, 2)}).panel()
    assert set(verdict.drop) == {"always"}


def test_a_panel_of_coins_is_trusted_for_nothing():
    rng = np.random.default_rng(4)
    rows = [(f"t{i:03}", f"j{j}", str(rng.choice(["x", "y"]))) for i in range(200) for j in range(3)]
    votes = cw.Annotations.from_frame(pl.DataFrame(rows, schema=["task", "worker", "label"], orient="row"))
    verdict = cw.judges(votes, gold={f"t{i:03}": str(rng.choice(["x", "y"])) for i in range(0, 200, 2)}).panel()
    assert verdict.trusted_for == "nothing"
    assert "trust it for nothing" in verdict.sentence()


def test_agreement_of_swapped_copies_against_chance():
    votes, _ = panel(5)
    table = {row["judge"]: row for row in swap_table(votes).to_dicts()}
    frame = votes.to_frame()
    for judge, row in table.items():
        wide = frame.filter(pl.col("worker") == judge).pivot("order", index="task", values="label")
        assert row["n"] == len(wide) == 300
        assert row["same"] == pytest.approx((wide["x"] == wide["y"]).mean())
        shuffled = [(wide["x"] == wide["y"].sample(fraction=1, shuffle=True, seed=s)).mean() for s in range(200)]
        assert row["chance"] == pytest.approx(np.mean(shuffled), abs=0.01)
        assert row["p"] == pytest.approx(np.mean(np.array(shuffled) >= row["same"]), abs=0.08)
