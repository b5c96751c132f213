"""Planted crowds that rank: recovery of orders and temperatures, flags, intervals."""

from __future__ import annotations

from collections import Counter

import numpy as np

import crowdwise as cw
from crowdwise.kinds.rankings.simulate import PlantedRankings, ranking_crowd
from crowdwise.kinds.rankings.workers import flag_rankings


def flagged(seed, shares):
    """Counts of workers by what they were planted as, of hits, and of honest workers accused."""
    rng = np.random.default_rng(seed)
    tasks, workers, each, items = (int(rng.choice(c)) for c in ([20, 60], [12, 25], [4, 8], [4, 6, 10]))
    crowd = PlantedRankings(ranking_crowd(tasks, workers, per_task=each, items=items, heat=0.4, **shares, seed=seed))
    flags = flag_rankings(crowd.votes, cw.rankings.Podium().fit(crowd.votes))
    names = {flag.worker: flag.name for flag in flags if flag.name != "unknown"}
    out = Counter()
    for worker, kind in zip(crowd.votes.workers.to_list(), crowd.kind, strict=True):
        out[kind] += 1
        out["accused"] += kind == "honest" and worker in names
        out[f"{kind} hit"] += names.get(worker) == kind
    return out


def test_a_crowd_with_shufflers_and_reversed_workers():
    found = {name: [] for name in ("podium", "borda", "kemeny", "mallows")}
    for seed in range(3):
        crowd = cw.simulate.scenario("rankings_mixed", tasks=40, workers=20, labels=6, seed=seed)
        for name, taus in found.items():
            taus.append(cw.evaluate(cw.method(name).fit(crowd.votes), crowd.truth_table()).kendall)
    assert np.mean(found["podium"]) >= 0.75
    assert np.mean(found["podium"]) > np.mean(found["borda"]) + 0.15
    assert np.mean(found["mallows"]) > np.mean(found["kemeny"]) + 0.1


def test_temperatures_tell_who_guesses_and_who_is_reversed():
    crowd = cw.simulate.scenario("rankings_mixed", tasks=120, workers=20, labels=6, seed=1)
    heat, kind = cw.rankings.PlackettLuce().fit(crowd.votes).temperature, np.array(crowd.kind)
    assert heat[kind == "reversed"].max() < -0.3
    assert np.abs(heat[kind == "random"]).max() < 0.4
    assert heat[kind == "honest"].min() > 0.5


def test_errors_fall_with_more_rankings():
    taus = []
    for labels in (3, 8, 20):
        crowd = cw.simulate.scenario("rankings_plain", tasks=20, workers=30, labels=labels, seed=0)
        taus.append(cw.evaluate(cw.rankings.Podium().fit(crowd.votes), crowd.truth_table()).kendall)
    assert taus[0] < taus[1] < taus[2]


def test_sparse_lists_do_not_set_honest_workers_against_each_other():
    """Four rankings of three places in lists of ten: a free temperature would follow single rankings."""
    from crowdwise.kinds.rankings.simulate import PlantedRankings, ranking_crowd

    gaps = []
    for seed in range(4):
        crowd = PlantedRankings(ranking_crowd(20, 25, per_task=4, items=10, scale=0.5, top=3, seed=seed), rest=True)
        found, plain = (cw.method(m).fit(crowd.votes) for m in ("podium", "borda"))
        gaps.append(cw.evaluate(found, crowd.truth_table()).kendall - cw.evaluate(plain, crowd.truth_table()).kendall)
    assert np.mean(gaps) > -0.03


def test_places_hold_the_true_ones():
    right = []
    for seed in range(4):
        crowd = cw.simulate.scenario("rankings_plain", tasks=20, workers=20, labels=10, seed=seed)
        found = cw.rankings.PlackettLuce().fit(crowd.votes)
        rank = np.argsort(np.argsort(-crowd.truth, axis=1), axis=1).ravel() + 1
        inside = (found.rank_low <= rank) & (rank <= found.rank_high)
        right += inside.reshape(20, 8).all(axis=1).tolist()
    assert np.mean(right) > 0.85


def test_bad_workers_are_flagged_and_honest_ones_are_not():
    found: Counter[str] = Counter()
    for seed in range(10):
        found.update(flagged(seed, {}))
        found.update(flagged(seed, {"random": 0.3, "reversed": 0.1}))
    assert found["accused"] / found["honest"] <= 0.005
    assert found["reversed hit"] / found["reversed"] > 0.5
    assert found["random hit"] / found["random"] > 0.25
