"""Laws of methods for tasks with links."""

from __future__ import annotations

import warnings

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from crowdwise import simulate
from crowdwise.core import method_registry as registry


def fit(votes, gold=None, **params):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cw.classes.GraphField(**params).fit(votes, gold=gold)


@pytest.fixture(scope="module")
def crowd():
    return simulate.scenario("linked_plain", tasks=200, workers=15, labels=2, seed=1)


def plain(votes):
    return cw.Annotations.from_arrays(*votes.to_frame().select("task", "worker", "label"), tasks=votes.tasks)


def test_the_card_the_class_and_the_public_name_agree():
    cls = registry.get("graph_field")
    assert (cls.name, cls.takes, cw.classes.GraphField) == ("graph_field", "classes", cls)


def test_without_links_it_refuses_in_one_line(crowd):
    with pytest.raises(cw.DataError, match=r"graph_field needs links between tasks.*--links FILE"):
        cw.classes.GraphField().fit(plain(crowd.votes))


def test_strength_zero_is_hierarchical(crowd):
    found = fit(crowd.votes, strength=0.0, tol=1e-6, max_iter=2000, sweeps=20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        base = cw.classes.Hierarchical(tol=1e-6, max_iter=2000).fit(crowd.votes)
    np.testing.assert_allclose(found.posterior, base.posterior, atol=1e-2)


def test_order_direction_and_repeats_of_links_do_not_matter(crowd):
    links = crowd.link_table()
    turned = links.select(pl.col("other").alias("task"), pl.col("task").alias("other"))
    again = crowd.votes.linked(pl.concat([turned.reverse(), links.select("task", "other")]))
    np.testing.assert_allclose(fit(again).posterior, fit(crowd.votes).posterior, atol=1e-12)


def test_a_chain_smooths_an_isolated_flip():
    task = np.repeat(np.arange(20), 2)
    label = np.where(task < 10, "a", "b")
    label[10] = "b"  # one of two says so of the fifth
    votes = cw.Annotations.from_arrays(task, [*"uv"] * 20, label)
    links = [(i, i + 1) for i in range(19)]
    lone = fit(votes.linked(links), strength=0.0)
    linked = fit(votes.linked(links), strength=2.0)
    a = votes.classes.to_list().index("a")
    assert linked.posterior[5, a] > max(lone.posterior[5, a], 0.9)


def test_who_says_nothing_changes_nobody_and_is_believed_what_neighbours_are(crowd):
    votes = crowd.votes
    frame = votes.to_frame()
    links = crowd.link_table()
    names = [*votes.tasks.to_list(), "z1", "z2"]
    friends = votes.tasks.gather(np.flatnonzero(crowd.truth == 0)[:5]).to_list()
    more = pl.concat([links, pl.DataFrame({"task": ["z1"] * 5, "other": friends})])
    wide = cw.Annotations.from_arrays(frame["task"], frame["worker"], frame["label"], tasks=names).linked(more)
    one, two = fit(votes), fit(wide)
    np.testing.assert_allclose(two.posterior[:200], one.posterior, atol=1e-9)
    assert two.posterior[200].argmax() == 0
    np.testing.assert_allclose(two.posterior[201], two.class_prior)  # nobody knows anything of it


def test_gold_stays_put_and_speaks_to_its_neighbours(crowd):
    gold = dict(crowd.truth_table().head(80).iter_rows())
    blind, taught = fit(crowd.votes), fit(crowd.votes, gold)
    assert (taught.labels[:80] == crowd.truth[:80]).all()
    right = [(found.labels[80:] == crowd.truth[80:]).mean() for found in (blind, taught)]
    assert right[1] > right[0]


def test_save_and_load_keep_the_links(crowd, tmp_path):
    result = fit(crowd.votes)
    cw.Run(result, crowd.votes).save(tmp_path / "run")
    again = cw.Run.load(tmp_path / "run")
    assert again.votes.links.equals(crowd.votes.links)
    assert np.array_equal(fit(again.votes).posterior, result.posterior)


@pytest.mark.parametrize(
    ("links", "words"),
    [
        (pl.DataFrame({"a": [1]}), "links are two columns of tasks"),
        (pl.DataFrame({"a": ["x"], "b": ["y"], "c": ["z"]}), "row 1: the weight 'z' of a link is not a number"),
        (pl.DataFrame({"a": ["x", None], "b": ["y", "y"]}), "links have rows without a task"),
    ],
)
def test_bad_links_are_refused(crowd, links, words):
    with pytest.raises(cw.DataError, match=words):
        crowd.votes.linked(links)


@pytest.mark.parametrize("links", [[], [(1, 1)], [(1, 2)], [(1, 9)]])
def test_degenerate_graphs(links):
    votes = cw.Annotations.from_arrays([1, 1, 2], ["a", "b", "a"], ["x", "x", "y"]).linked(links)
    for params in ({}, {"choose": True}, {"strength": 50.0}):
        found = fit(votes, **params)
        np.testing.assert_allclose(found.posterior.sum(axis=1), 1)


def test_neighbours_are_those_most_alike():
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1, 2], 20)
    x = rng.normal(size=(3, 8))[group] * 5 + rng.normal(size=(60, 8))
    links = cw.classes.neighbour_links([f"t{i}" for i in range(60)], x, k=5)
    assert links.height == 300
    ends = [links[name].str.strip_prefix("t").cast(pl.Int64).to_numpy() for name in ("task", "other")]
    assert (group[ends[0]] == group[ends[1]]).mean() > 0.95
    assert (ends[0] != ends[1]).all()
    assert cw.classes.neighbour_links(["a"], [[1.0, 2.0]]).height == 0
    with pytest.raises(cw.DataError, match="as many rows of features"):
        cw.classes.neighbour_links(["a"], [[1.0], [2.0]])
