"""Triplets: laws, degenerate answers, what is planted."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.optimize import check_grad

import crowdwise as cw
from crowdwise import registry, simulate
from crowdwise.kinds.triplets.maths import EmbeddingModel, TripletRows, _EmbeddingLoss, axes
from crowdwise.kinds.triplets.simulate import triplet_crowd
from crowdwise.workers import study

METHODS = registry.names("triplets")
every = pytest.mark.parametrize("name", METHODS)


@pytest.fixture(scope="module")
def crowd():
    return simulate.scenario("triplets_plain", tasks=300, workers=20, seed=2)


@pytest.mark.parametrize("kernel", ["gauss", "student"])
@pytest.mark.parametrize("workers", [True, False])
def test_the_gradient_is_right(kernel, workers):
    rng = np.random.default_rng(0)
    three = np.argsort(rng.random((40, 6)), axis=1)[:, :3].T
    rows = TripletRows(*three, rng.integers(0, 4, 40), np.ones(40), 6, 4)
    problem = _EmbeddingLoss(rows, EmbeddingModel(2, kernel, workers))
    x = rng.normal(size=12 + 4 * workers)
    assert check_grad(lambda v: problem.value(v)[0], lambda v: problem.value(v)[1], x) < 1e-4


def test_axes_keep_distances():
    place = np.random.default_rng(0).normal(size=(9, 3))
    turned = axes(place)
    far = [np.linalg.norm(p[:, None] - p[None], axis=-1) for p in (place, turned)]
    assert np.allclose(*far)
    assert (np.diff((turned**2).sum(axis=0)) <= 0).all()


@pytest.mark.slow
@every
def test_places_come_closer_with_more_answers(name):
    found = []
    for tasks in (100, 1000):
        crowd = simulate.scenario("triplets_plain", tasks=tasks, workers=20, seed=3)
        crowd = simulate.PlantedTriplets(triplet_crowd(tasks, 20, items=20, seed=3))
        found.append(cw.evaluate(registry.method(name).fit(crowd.votes), crowd.truth_table()).any_axis)
    assert found[1] > 0.9
    assert found[1] > found[0]


@pytest.mark.slow
@every
def test_sides_and_rows_do_not_matter(name, crowd):
    frame = crowd.votes.to_frame().sample(fraction=1.0, shuffle=True, seed=1)
    closer = frame["closer"].replace({"left": "right", "right": "left"})
    again = cw.triplets.triplet_votes(frame["head"], frame["right"], frame["left"], closer, task=frame["task"],
                             worker=frame["worker"])  # fmt: skip
    one, two = (registry.method(name).fit(votes).estimate for votes in (again, crowd.votes))
    assert np.allclose(one.place, two.place, atol=1e-6)


@pytest.mark.slow
@every
def test_saved_and_loaded_it_is_the_same(name, crowd, tmp_path):
    result = registry.method(name).fit(crowd.votes)
    cw.Run(result, crowd.votes).save(tmp_path / "r")
    back = cw.Run.load(tmp_path / "r")
    assert back.result.estimate.item_table().equals(result.estimate.item_table())
    assert back.votes.to_frame().equals(crowd.votes.to_frame())
    assert back.result.infer(crowd.votes).to_table().equals(result.to_table())


@every
def test_odd_answers_survive(name):
    for rows in ([("a", "b", "c", "left")], [("a", "b", "c", "left"), ("a", "b", "c", "right")]):
        votes = cw.triplets.triplet_votes(
            *map(list, zip(*rows, strict=True)), worker=[f"w{i}" for i in range(len(rows))]
        )
        result = registry.method(name).fit(votes)
        assert np.isfinite(result.estimate.place).all()


@pytest.mark.slow
def test_dimensions_are_chosen():
    crowd = simulate.PlantedTriplets(triplet_crowd(600, 20, items=15, dimensions=1, seed=0))
    assert cw.triplets.TripletEmbedding(dimensions=None, most=3).fit(crowd.votes).extra["dimensions"] == 1


def test_bad_input_says_what_is_wrong():
    with pytest.raises(cw.DataError, match=r"row 1.*neither left nor right"):
        cw.triplets.triplet_votes(["a"], ["b"], ["c"], ["x"])
    with pytest.raises(cw.DataError, match="two different triplets"):
        cw.triplets.CrowdEmbedding().fit(
            cw.triplets.triplet_votes("aa", "bb", "cd", ["left", "left"], task=["t"] * 2, worker=["x", "y"])
        )
    votes = cw.triplets.triplet_votes(["a", "a"], ["a", "b"], ["b", "c"], ["left", "left"])
    assert votes.ledger.dropped["two of the three items are the same"] == 1
    with pytest.raises(cw.DataError, match=r"gold names items.*known triplets"):
        cw.triplets.CrowdEmbedding().fit(votes, gold={"a": 1})


@pytest.mark.slow
@pytest.mark.parametrize("name", ["random", "constant", "adversarial"])
def test_planted_workers_are_flagged_and_honest_ones_are_not(name):
    crowd = simulate.scenario(f"triplets_{name}", tasks=400, workers=20, seed=5)
    flags = {flag.worker for flag in study(crowd.votes, cw.triplets.CrowdEmbedding().fit(crowd.votes)).flags}
    kind = dict(zip(crowd.votes.workers.to_list(), crowd.kind, strict=True))
    assert {w for w, k in kind.items() if k != "honest"} <= flags
    assert not [w for w in flags if kind[w] == "honest"]


def turned_crowd(seed=0, items=16, answers=700):
    """A scale of items and a crowd of whom most mean the opposite: without gold the places are theirs."""
    rng = np.random.default_rng(seed)
    scale = np.arange(items, dtype=float)
    head, left, right = (rng.permuted(np.tile(np.arange(items), (answers, 1)), axis=1)[:, :3]).T
    near = np.abs(scale[head] - scale[left]) < np.abs(scale[head] - scale[right])
    worker = rng.integers(0, 10, answers)
    said = np.where(worker < 6, ~near, near)
    names = np.array([f"i{i:02d}" for i in range(items)])
    sides = (names[head], names[left], names[right])
    votes = cw.triplets.triplet_votes(*sides, np.where(said, "left", "right"), worker=worker, duplicates="keep")
    known = pl.DataFrame({"head": sides[0], "left": sides[1], "right": sides[2],
                          "closer": np.where(near, sides[1], sides[2])})  # fmt: skip
    gap = np.abs(scale[head] - scale[left]) != np.abs(scale[head] - scale[right])
    return votes, known.filter(pl.Series(gap)).unique(maintain_order=True), dict(zip(names, scale, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("method", [cw.triplets.CrowdEmbedding(), cw.triplets.TripletEmbedding()])
def test_known_triplets_stay_put_and_teach(method):
    votes, known, scale = turned_crowd()
    gold, rest = known[:250], known[250:]
    blind, told = method.fit(votes), method.fit(votes, gold=gold)
    assert 240 <= int(told.gold.sum()) <= 250  # some are the same with sides changed
    asked = cw.evaluate(told, gold.vstack(rest))
    assert asked.n_gold_left_out > 200
    assert asked.triplets > cw.evaluate(blind, rest).triplets + 0.2
    assert cw.evaluate(told, scale).n_gold_left_out == asked.n_gold_left_out
    table = told.to_table().filter(pl.Series(told.gold))
    assert set(table["p_left"].to_list()) <= {0.0, 1.0}
    by_name = dict(zip(table["task"].to_list(), table["closer"].to_list(), strict=True))
    near = {row["head"] + ": " + " | ".join(sorted((row["left"], row["right"]))): row["closer"]
            for row in gold.iter_rows(named=True)}  # fmt: skip
    sides = dict(zip(table["task"], zip(table["left"], table["right"], strict=True), strict=True))
    assert all(sides[task][by_name[task] == "right"] == near[task] for task in by_name)
    if method.name == "crowd_embedding":
        assert (told.slope[:6] < 0).all()
        assert (told.slope[6:] > 0).all()


@pytest.mark.slow
def test_known_triplets_by_task_and_what_cannot_be():
    votes, known, _ = turned_crowd(1)
    task = known["head"] + ": " + pl.select(
        pl.min_horizontal(known["left"], known["right"]) + " | " + pl.max_horizontal(known["left"], known["right"])
    ).to_series()  # fmt: skip
    one = cw.triplets.CrowdEmbedding().fit(votes, gold=known[:50])
    two = cw.triplets.CrowdEmbedding().fit(votes, gold=dict(zip(task[:50], known["closer"][:50], strict=True)))
    assert one.to_table().equals(two.to_table())
    assert cw.triplets.CrowdEmbedding().fit(votes).gold is None
    with pytest.raises(cw.DataError, match="neither of its two items; name the closer item"):
        cw.triplets.CrowdEmbedding().fit(votes, gold={task[0]: "left"})
    with pytest.raises(cw.DataError, match="none of the 1 gold tasks"):
        cw.triplets.CrowdEmbedding().fit(votes, gold={"nobody asked": "i00"})
    with pytest.raises(cw.DataError, match="none is left to score"):
        cw.evaluate(one, known[:50])
