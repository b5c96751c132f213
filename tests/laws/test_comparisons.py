"""Laws that every registered method for comparisons obeys."""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from crowdwise.core import method_registry as registry
from crowdwise.kinds.comparisons.cards import METHODS as COMPARISONS

every = pytest.mark.parametrize("name", sorted(COMPARISONS))
# Elo goes through the games one by one, in an order that it draws over the rows.
orderless = pytest.mark.parametrize("name", sorted(set(COMPARISONS) - {"elo"}))


def rows(seed=0, tasks=60, workers=9, ties=True):
    crowd = cw.simulate.scenario(f"comparisons_{'ties' if ties else 'random'}", tasks=tasks, workers=workers, labels=4,
                                 seed=seed)  # fmt: skip
    return crowd.votes.to_frame()


def votes(frame, **more):
    own = {name: frame[name] for name in ("task", "worker", "weight") if name in frame.columns}
    return cw.comparisons.comparison_votes(frame["left"], frame["right"], frame["winner"], **own, **more)


def fit(name, data, gold=None, **params):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cw.method(name, **params).fit(data, gold=gold)


@every
def test_the_card_the_class_and_the_public_name_agree(name):
    cls = registry.get(name)
    assert (cls.name, cls.takes) == (name, "comparisons")
    assert getattr(cw.comparisons, cls.__name__) is cls
    assert cls.__doc__


@every
def test_row_order_does_not_matter(name):
    frame = rows()
    one, other = fit(name, votes(frame)), fit(name, votes(frame.sample(fraction=1, shuffle=True, seed=3)))
    assert np.array_equal(one.score, other.score)
    assert np.array_equal(one.chance, other.chance)


@orderless
@pytest.mark.parametrize("ties", [True, False])
def test_swapping_sides_swaps_the_answer(name, ties):
    frame = rows(ties=ties)
    flip = pl.col("winner").replace({"left": "right", "right": "left"})
    turned = frame.with_columns(left=pl.col("right"), right=pl.col("left"), winner=flip)
    one, other = fit(name, votes(frame)), fit(name, votes(turned))
    np.testing.assert_allclose(other.score, one.score, atol=2e-4)
    np.testing.assert_allclose(of_lower(other), of_lower(one), atol=1e-4)


def of_lower(found):
    """The chance of the item that comes first by name, whichever side it stands on."""
    return np.where(found.left < found.right, found.chance[:, 0], found.chance[:, 1])


@orderless
def test_renaming_items_renames_the_leaderboard(name):
    frame = rows()
    names = sorted(set(frame["left"]) | set(frame["right"]))
    new = dict(zip(names, [f"x{i:03d}" for i in np.random.default_rng(0).permutation(len(names))], strict=True))
    renamed = frame.with_columns(pl.col("left", "right").replace(new))
    one = dict(fit(name, votes(frame)).leaderboard().select("item", "score").iter_rows())
    other = dict(fit(name, votes(renamed)).leaderboard().select("item", "score").iter_rows())
    np.testing.assert_allclose([other[new[item]] for item in one], list(one.values()), atol=2e-4)


@orderless
def test_a_row_of_weight_zero_is_absent(name):
    frame = rows()
    weight = np.ones(len(frame))
    weight[::7] = 0.0
    every_item = sorted(set(frame["left"]) | set(frame["right"]))
    one = fit(name, votes(frame.with_columns(weight=pl.Series(weight))))
    kept = frame.filter(pl.Series(weight > 0))
    other = fit(name, votes(kept, items=every_item, workers=sorted(set(frame["worker"]))))
    np.testing.assert_allclose(other.score, one.score, atol=2e-4)


@every
def test_who_says_nothing_changes_nobody(name):
    frame = rows()
    one = fit(name, votes(frame))
    some = [f"a{i}" for i in range(5)]
    workers, tasks = sorted(set(frame["worker"])), sorted(set(frame["task"]))
    other = fit(name, votes(frame, workers=[*workers, *some], tasks=[*tasks, "zz"], items=None))
    table = other.to_table().filter(pl.col("task") != "zz")
    np.testing.assert_allclose(table["p_left"].to_numpy(), one.chance[:, 0], atol=1e-4)
    assert np.isfinite(other.score).all()


@every
def test_gold_stays_put_and_teaches(name):
    frame = rows()
    data = votes(frame)
    gold = {"t00": "left", "t01": "right"}
    found = fit(name, data, gold=gold)
    table = dict(found.to_table().select("task", "winner").iter_rows())
    assert (table["t00"], table["t01"]) == ("left", "right")
    assert found.gold.sum() == 2
    assert not np.allclose(found.score, fit(name, data).score)


@every
def test_saving_and_loading_is_the_identity(name, tmp_path):
    data = votes(rows())
    found = fit(name, data)
    cw.Run(found, data).save(tmp_path / "run")
    back = cw.Run.load(tmp_path / "run")
    assert back.result.to_table().equals(found.to_table())
    assert back.result.leaderboard().equals(found.leaderboard())
    assert back.votes.to_frame().equals(data.to_frame())
    assert (
        back.result.infer(back.votes)
        .to_table()
        .select("task", "p_left")
        .equals(found.to_table().select("task", "p_left"))
    )


@every
def test_rows_of_chances_sum_to_one_and_places_hold_the_order(name):
    found = fit(name, votes(rows()))
    np.testing.assert_allclose(found.chance.sum(axis=1), 1)
    rank = np.argsort(np.argsort(-found.score, kind="stable"), kind="stable") + 1
    assert ((found.rank_low <= rank) & (rank <= found.rank_high)).all()


@pytest.mark.parametrize("name", sorted(n for n, c in COMPARISONS.items() if "monotone" in c.can))
def test_the_objective_never_falls(name):
    trace = fit(name, votes(rows(seed=2))).trace
    assert len(trace) > 2
    assert (np.diff(trace) >= -1e-9 * np.abs(trace[:-1])).all()


@every
@pytest.mark.parametrize(
    ("left", "right", "winner"),
    [
        (["a"], ["b"], ["left"]),
        (["a", "a"], ["b", "b"], ["tie", "tie"]),
        (["a", "c"], ["b", "d"], ["left", "right"]),
        (["a", "b", "c"], ["b", "c", "a"], ["left", "left", "left"]),
        (["a"] * 5, ["b"] * 5, ["left"] * 5),
    ],
    ids=["one answer", "all ties", "two islands", "a circle", "always the same"],
)
def test_degenerate_votes(name, left, right, winner):
    data = cw.comparisons.comparison_votes(left, right, winner, worker=[f"w{i}" for i in range(len(left))])
    found = fit(name, data)
    assert np.isfinite(found.score).all()
    np.testing.assert_allclose(found.chance.sum(axis=1), 1)
    assert found.to_table().height == data.n_tasks
