"""Guarantees and fairness on the open sets."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from benchmarks import data_folder
from benchmarks.fairness import real as groups
from benchmarks.guarantee import promise, saved, sets

pytestmark = pytest.mark.data


@pytest.mark.parametrize(("name", "least"), [("convabuse", 2.7), ("md_agreement", 1.45), ("trec", 1.0)])
def test_verdicts_save_gold_labels(name, least):
    rng = np.random.default_rng(1)
    found = np.mean([saved.one(saved.real(name), False, rng) for _ in range(150)], axis=0)
    assert found[:, 0].mean() >= 0.90
    assert found[:, 1].mean() >= least


@pytest.mark.parametrize(("name", "least"), [("md_agreement", 0.85), ("rte", 0.75), ("web", 0.55)])
def test_promises_on_real_crowds(name, least):
    confidence, wrong = promise.real(name, "Dawid-Skene")
    rng = np.random.default_rng(2)
    found = np.mean([promise.one(confidence, wrong, 400, promise.REAL[name], rng) for _ in range(100)], axis=0)
    assert found[0, 0] <= 0.1 + 2 * np.sqrt(0.09 / 100)
    assert found[0, 1] >= least
    assert found[1, 0] > found[0, 0]


@pytest.mark.parametrize("name", ["dog", "facteval"])
def test_label_sets_on_real_crowds(name):
    rng = np.random.default_rng(3)
    found = np.mean([sets.one(name, rng) for _ in range(60)], axis=0)
    assert 0.88 <= found[0, 0] <= 0.92
    assert found[1, 1:-1].min() >= 0.87  # per class, the worst


def test_the_best_judge_gives_a_win_rate_and_all_together_do_not():
    """judges_llmbar: the win rate is .492; the best judge explains half of it, the majority of all judges little."""
    folder = data_folder() / "judges_llmbar"
    votes, truth = cw.read(folder / "labels.csv"), pl.read_csv(folder / "truth.csv")
    actual = (truth["label"].cast(pl.String) == "1").mean()
    best = votes.select(workers=["llama-3.1-405b"])
    crowd = cw.MajorityVote().fit(votes)
    hits, alone, r2 = 0, [], []
    for seed in range(40):
        gold = truth.sample(100, seed=seed)
        found = cw.estimate(best, gold=gold, metric="winrate:1", sampling="random", seed=seed)
        hits += found.low <= actual <= found.high
        alone.append(found.labels_saved)
        r2.append([found.r2, cw.estimate(crowd, gold=gold, metric="winrate:1", sampling="random").r2])
    assert hits >= 34
    assert np.mean(alone) > 1.5
    assert np.mean(r2, axis=0)[0] > 0.35 > 0.15 > np.mean(r2, axis=0)[1]


def test_the_gaps_of_fair_recid():
    rows = {name: (float(gap), *map(float, ends.split(" to "))) for name, gap, ends, _ in groups.gap_rows()}
    assert rows["dawid_skene: recall"] == pytest.approx((0.10, 0.02, 0.18), abs=0.015)
    assert rows["majority_vote: recall"][1] < 0 < rows["majority_vote: recall"][2]
    raters = {(question, group): float(mean) for question, group, _, mean, _ in groups.rater_rows()}
    told = "says 1 more often about black"
    assert raters[told, "black"] - raters[told, "white"] == pytest.approx(-0.060, abs=0.005)


def test_fair_labels_on_held_out_defendants():
    rows = {row[0]: [cell.partition(" ± ")[0] for cell in row[1:5]] for row in groups.held_out_rows(30)}
    for target in ("opportunity", "odds"):
        recall, accuracy = (tuple(map(float, rows[target][at].split(" → "))) for at in (1, 3))
        assert recall[1] <= 0.065 < recall[0]
        assert accuracy[0] - accuracy[1] <= 0.013


def test_groups_by_lot_are_not_found():
    rater, row = (float(rate) for _, rate in groups.fake_rows(100))
    assert rater <= 0.1
    assert row > 0.4
