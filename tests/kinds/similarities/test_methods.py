"""Same or different: laws, gold, degenerate answers, what is planted."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from crowdwise import registry, simulate
from crowdwise.kinds.similarities.maths import (
    Pairs,
    adjusted_rand,
    matched_accuracy,
    mean_field,
    mutual_information,
    spectral,
)
from crowdwise.workers import study

METHODS = registry.names("similarities")
every = pytest.mark.parametrize("name", METHODS)


@pytest.fixture(scope="module")
def crowd():
    return simulate.scenario("similarities_plain", tasks=400, workers=20, classes=3, seed=2)


def planted(n, k, workers, per, coins, seed):
    """The crowds of the specification: random pairs, some workers toss coins."""
    rng = np.random.default_rng(seed)
    z, w = rng.integers(0, k, n), np.repeat(np.arange(workers), per)
    left = rng.integers(0, n, len(w))
    right = (left + rng.integers(1, n, len(w))) % n
    hit, rejection = rng.uniform(0.7, 0.95, (2, workers))
    lazy = rng.random(workers) < coins
    hit[lazy] = rejection[lazy] = 0.5
    chance = np.where(z[left] == z[right], hit[w], 1 - rejection[w])
    return Pairs(left, right, (rng.random(len(w)) < chance).astype(float), w, np.ones(len(w)), n, workers), z


def test_scores_by_hand():
    a, b = np.array([0, 0, 1, 1]), np.array([1, 1, 0, 0])
    assert adjusted_rand(a, b) == mutual_information(a, b) == matched_accuracy(a, b) == 1
    c = np.array([0, 1, 0, 1])
    assert adjusted_rand(a, c) == pytest.approx(-0.5)
    assert mutual_information(a, c) == pytest.approx(0, abs=1e-12)
    assert adjusted_rand(a, np.zeros(4, dtype=int)) == 0
    assert adjusted_rand(np.zeros(4, dtype=int), np.zeros(4, dtype=int)) == 1


@pytest.mark.slow
@pytest.mark.parametrize(("coins", "least"), [(0.0, 0.95), (0.4, 0.38)])
def test_planted_clusters_are_found(coins, least):
    found = []
    for seed in range(4):
        pairs, z = planted(200, 4, 40, 100, coins, seed)
        start = spectral(pairs, 4, np.random.default_rng(0))
        fit = mean_field(pairs, start, 4, strength=8.0, max_iter=300, tol=1e-7)
        found.append(mutual_information(fit.belief.argmax(axis=1), z))
    assert np.mean(found) >= least


def test_the_bound_never_falls_far():
    pairs, _ = planted(100, 3, 20, 80, 0.2, 0)
    start = spectral(pairs, 3, np.random.default_rng(0))
    trace = mean_field(pairs, start, 3, strength=8.0, max_iter=100, tol=0.0).trace
    assert trace[-1] > trace[0]


def test_a_symmetric_start_is_never_used(crowd):
    assert cw.similarities.CrowdClusters(k=3).fit(crowd.votes).estimate.n_clusters == 3


def clusters(result):
    return result.estimate.cluster


@pytest.mark.slow
@every
def test_the_order_of_rows_and_of_sides_does_not_matter(name, crowd):
    frame = crowd.votes.to_frame().sample(fraction=1.0, shuffle=True, seed=3)
    again = cw.similarities.similarity_votes(
        frame["right"], frame["left"], frame["same"], task=frame["task"], worker=frame["worker"]
    )
    method = registry.method(name, k=3)
    assert adjusted_rand(clusters(method.fit(again)), clusters(method.fit(crowd.votes))) > 0.97


@pytest.mark.slow
@every
def test_saved_and_loaded_it_is_the_same(name, crowd, tmp_path):
    result = registry.method(name, k=3).fit(crowd.votes)
    cw.Run(result, crowd.votes).save(tmp_path / "r")
    back = cw.Run.load(tmp_path / "r")
    assert back.result.estimate.item_table().equals(result.estimate.item_table())
    assert back.votes.to_frame().equals(crowd.votes.to_frame())
    assert (tmp_path / "r" / "items.csv").is_file()


@pytest.mark.slow
@every
def test_gold_stays_put_and_names_clusters(name, crowd):
    truth = crowd.truth_table()
    result = registry.method(name, k=3).fit(crowd.votes, gold=truth.head(12))
    assert [f"c{c}" for c in clusters(result)[:12]] == truth["cluster"][:12].to_list()
    scores = cw.evaluate(result, truth)
    assert (scores.n_gold_left_out, scores.n) == (12, len(truth) - 12)
    assert scores.ari > 0.8


@pytest.mark.slow
@every
@pytest.mark.parametrize(
    ("left", "right", "same"),
    [("a", "b", [1]), ("aab", "bcc", [1, 1, 1]), ("aab", "bcc", [0, 0, 0]), ("ac", "bd", [1, 0]), ("aa", "bb", [1, 0])],
)
@pytest.mark.parametrize("k", [None, 1, 2, 5])
def test_odd_answers_survive(name, left, right, same, k):
    votes = cw.similarities.similarity_votes(list(left), list(right), same, worker=[f"w{i}" for i in range(len(same))])
    result = registry.method(name, k=k).fit(votes)
    assert np.isfinite(result.estimate.belief).all()
    assert len(result.to_table()) == votes.n_tasks


@pytest.mark.slow
def test_the_number_of_clusters_is_chosen():
    for k in (1, 2, 4):
        crowd = simulate.scenario("similarities_plain", tasks=600, workers=30, classes=max(k, 2), seed=k)
        votes = crowd.votes
        if k == 1:
            votes = cw.similarities.similarity_votes(
                ["a", "b", "c"] * 30, ["b", "c", "a"] * 30, [1] * 90, worker=list(range(30)) * 3
            )
        assert cw.similarities.Clusters().fit(votes).estimate.n_clusters == k


def test_partitions_are_read_as_pairs(tmp_path):
    table = pl.DataFrame({"task": ["q", "q"], "worker": ["ann", "bob"], "items": ["[]", "[]"],
                          "label": ['[["a", "b"], ["c"]]', '[["a"], ["b", "c"]]']})  # fmt: skip
    table.write_csv(tmp_path / "p.csv")
    votes = cw.read(tmp_path / "p.csv")
    assert sorted(votes.to_frame().select("left", "right", "same", "worker").iter_rows()) == [
        ("a", "b", 0, "bob"), ("a", "b", 1, "ann"), ("a", "c", 0, "ann"), ("a", "c", 0, "bob"), ("b", "c", 0, "ann"),
        ("b", "c", 1, "bob"),
    ]  # fmt: skip
    assert any("2 partitions are read as 6 pairs" in note for note in votes.ledger.notes)
    assert cw.similarities.Clusters(k=2).fit(votes).extra["taken"] == "spectral_clusters"


def test_bad_input_says_what_is_wrong():
    with pytest.raises(cw.DataError, match=r"row 2.*neither same"):
        cw.similarities.similarity_votes(["a", "a"], ["b", "c"], [1, "perhaps"])
    with pytest.raises(cw.DataError, match="two different pairs"):
        cw.similarities.Clusters().fit(
            cw.similarities.similarity_votes(["a", "a"], ["b", "c"], [1, 1], task=["t", "t"], worker=["x", "y"])
        )
    with pytest.raises(cw.DataError, match="is not a partition"):
        cw.similarities.partition_votes(["ann"], ["nonsense"])
    votes = cw.similarities.similarity_votes(["a", "a"], ["a", "b"], [1, 1])
    assert votes.ledger.dropped["an item compared with itself"] == 1


def test_infer_of_other_pairs(crowd):
    result = cw.similarities.CrowdClusters(k=3).fit(crowd.votes)
    items, true = crowd.items.to_list(), crowd.planted.cluster
    new = cw.similarities.similarity_votes(items[:20], items[1:21], [1] * 20, worker=["w00"] * 20)
    found = result.infer(new).to_table()
    same = [true[items.index(a)] == true[items.index(b)] for a, b in found.select("left", "right").iter_rows()]
    assert np.mean((found["p_same"].to_numpy() > 0.5) == same) > 0.85


@pytest.mark.slow
@pytest.mark.parametrize("name", ["random", "constant", "adversarial"])
def test_planted_workers_are_flagged_and_honest_ones_are_not(name):
    crowd = simulate.scenario(f"similarities_{name}", tasks=1200, workers=30, classes=3, seed=5)
    flags = {flag.worker for flag in study(crowd.votes, cw.similarities.CrowdClusters(k=3).fit(crowd.votes)).flags}
    kind = dict(zip(crowd.votes.workers.to_list(), crowd.kind, strict=True))
    planted = {w for w, k in kind.items() if k != "honest"}
    # A coin may look like a weak worker by luck; nobody is accused at two standard errors.
    assert len(planted & flags) >= 0.8 * len(planted)
    assert not [w for w in flags if kind[w] == "honest"]


def test_planted_coins_come_closer_with_more_answers():
    errors = []
    for tasks in (150, 1500):
        crowd = simulate.scenario("similarities_plain", tasks=tasks, workers=20, classes=3, seed=1)
        picture = cw.similarities.CrowdClusters(k=3).fit(crowd.votes).worker_summary
        errors.append(float(np.abs(picture.hit - crowd.planted.hit).mean()))
    assert errors[1] < 0.05 < errors[0]
