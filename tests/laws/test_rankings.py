"""Laws that every registered method for rankings obeys."""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from crowdwise.core import method_registry as registry
from crowdwise.kinds.rankings.cards import METHODS as RANKINGS

every = pytest.mark.parametrize("name", sorted(RANKINGS))


def rows(seed=0, kind="mixed", tasks=8, workers=9, labels=5):
    return cw.simulate.scenario(
        f"rankings_{kind}", tasks=tasks, workers=workers, labels=labels, seed=seed
    ).votes.to_frame()


def votes(frame, **more):
    own = {"weight": frame["weight"]} if "weight" in frame.columns else {}
    return cw.rankings.ranking_votes(frame["task"], frame["worker"], frame["ranking"], **own, **more)


def fit(name, data, gold=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cw.method(name).fit(data, gold=gold)


def scores(found):
    return {(t, i): s for t, i, s in found.estimate.board(found.tasks).select("task", "item", "score").iter_rows()}


@every
def test_the_card_the_class_and_the_public_name_agree(name):
    cls = registry.get(name)
    assert (cls.name, cls.takes) == (name, "rankings")
    assert getattr(cw.rankings, cls.__name__) is cls
    assert cls.__doc__


@every
@pytest.mark.parametrize("kind", ["mixed", "top"])
def test_row_order_does_not_matter(name, kind):
    frame = rows(kind=kind)
    one, other = fit(name, votes(frame)), fit(name, votes(frame.sample(fraction=1, shuffle=True, seed=3)))
    assert one.to_table().equals(other.to_table())
    np.testing.assert_array_equal(one.score, other.score)


@every
@pytest.mark.parametrize("kind", ["mixed", "top"])
def test_renaming_items_renames_the_orders(name, kind):
    frame = rows(kind=kind)
    names = [f"i{k}" for k in range(8)]
    new = dict(zip(names, [f"x{k}" for k in np.random.default_rng(0).permutation(8)], strict=True))
    renamed = frame.with_columns(
        pl.Series("ranking", [">".join(new.get(i, i) for i in r.split(">")) for r in frame["ranking"]])
    )
    one, other = scores(fit(name, votes(frame))), scores(fit(name, votes(renamed)))
    np.testing.assert_allclose([other[t, new[i]] for t, i in one], list(one.values()), atol=1e-3)


@every
def test_a_row_of_weight_zero_is_absent(name):
    frame = rows()
    weight = np.ones(len(frame))
    weight[::7] = 0.0
    one = fit(name, votes(frame.with_columns(weight=pl.Series(weight))))
    other = fit(name, votes(frame.filter(pl.Series(weight > 0)), workers=sorted(set(frame["worker"]))))
    np.testing.assert_allclose(list(scores(other).values()), list(scores(one).values()), atol=1e-3)


@every
def test_who_says_nothing_changes_nobody(name):
    frame = rows()
    one = fit(name, votes(frame))
    more = fit(
        name, votes(frame, workers=[*sorted(set(frame["worker"])), "zz"], tasks=[*sorted(set(frame["task"])), "zz"])
    )
    table = more.to_table()
    assert table.filter(pl.col("task") != "zz").equals(one.to_table())
    assert table.filter(pl.col("task") == "zz")["ranking"].to_list() == [None]


@every
def test_gold_stays_put(name):
    data = votes(rows())
    order = "i3>i1>i0>i2>i7>i6>i5>i4"
    found = fit(name, data, gold={"t0": order})
    assert found.to_table()["ranking"][0] == order
    assert found.gold.tolist() == [True] + [False] * 7


@every
def test_saving_and_loading_is_the_identity(name, tmp_path):
    data = votes(rows(kind="top"))
    found = fit(name, data)
    cw.Run(found, data).save(tmp_path / "run")
    back = cw.Run.load(tmp_path / "run")
    assert back.result.to_table().equals(found.to_table())
    assert back.result.estimate.board(found.tasks).equals(found.estimate.board(found.tasks))
    assert back.votes.to_frame().equals(data.to_frame())
    assert (tmp_path / "run" / "items.csv").is_file()


@every
@pytest.mark.parametrize(
    "rankings",
    [["a>b"], ["a=b=c", "a=b=c"], ["a>b>c", "b>c>a", "c>a>b"], ["a>...", "b>..."], ["a>b", "c>d"], ["a>b>c"] * 4],
    ids=["one ranking", "all ties", "a circle", "first places", "no common item", "always the same"],
)
def test_degenerate_rankings(name, rankings):
    data = cw.rankings.ranking_votes([1] * len(rankings), [f"w{i}" for i in range(len(rankings))], rankings)
    found = fit(name, data)
    assert np.isfinite(found.score).all()
    items = set("".join(rankings).replace("...", "").replace(">", "").replace("=", ""))
    assert set(found.to_table()["ranking"][0].replace(">", "").replace("=", "")) == items


@every
def test_a_circle_is_a_tie(name):
    data = cw.rankings.ranking_votes([1] * 3, [*"xyz"], ["a>b>c", "b>c>a", "c>a>b"])
    assert fit(name, data).to_table()["ranking"].to_list() == ["a=b=c"]


@every
def test_unanimous_rankings_are_the_order(name):
    data = cw.rankings.ranking_votes([1] * 5, [*"vwxyz"], ["c>a>d>b"] * 5)
    assert fit(name, data).to_table()["ranking"].to_list() == ["c>a>d>b"]


def test_the_objective_never_falls():
    trace = fit("plackett_luce", votes(rows())).trace
    assert len(trace) > 2
    assert (np.diff(trace) >= -1e-9 * np.abs(trace[:-1])).all()


def test_infer_orders_other_lists_of_known_workers():
    crowd = cw.simulate.scenario("rankings_mixed", tasks=60, workers=12, labels=6, seed=2)
    tasks = crowd.votes.tasks.to_list()
    first, rest = crowd.votes.select(tasks=tasks[:40]), crowd.votes.select(tasks=tasks[40:])
    found = cw.rankings.PlackettLuce().fit(first).infer(rest)
    truth = crowd.truth_table()
    assert cw.evaluate(found, truth).kendall > cw.evaluate(cw.rankings.Borda().fit(rest), truth).kendall + 0.05
    with pytest.raises(cw.DataError, match="has no worker parameters to infer with"):
        cw.rankings.Borda().fit(first).infer(rest)
