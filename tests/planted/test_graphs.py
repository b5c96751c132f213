"""Planted graphs: links that tell something help, and those that tell little do no harm."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import crowdwise as cw
from crowdwise import simulate
from crowdwise.kinds.classes.maths.graphs import Graph, mean_field


@pytest.mark.parametrize(("name", "gain"), [("linked_plain", 0.05), ("linked_loose", 0.0), ("linked_clean", 0.25)])
def test_never_below_the_model_without_links(name, gain):
    right = []
    for seed in range(2):
        crowd = simulate.scenario(name, workers=30, labels=2, seed=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = [cw.method(m).fit(crowd.votes) for m in ("dawid_skene", "hierarchical", "graph_field")]
        right.append([cw.evaluate(each, crowd.truth_table()).accuracy for each in found])
    plain, base, linked = np.mean(right, axis=0)
    assert linked > max(plain, base) + gain


def test_mean_field_is_near_the_marginals_of_small_graphs():
    """Against enumeration: a weak field is nearly exact."""
    rng = np.random.default_rng(0)
    n, k, strength = 6, 2, 0.25
    one, two = np.array([0, 1, 2, 3, 4]), np.array([1, 2, 3, 4, 5])
    graph = Graph(one, two, np.ones(5), n)
    log_p = rng.normal(size=(n, k))
    states = np.indices((k,) * n).reshape(n, -1)
    mean = mean_field(graph, log_p, np.full((n, k), 0.5), strength, 200).mean(axis=0)
    weight = log_p[np.arange(n)[:, None], states].sum(axis=0) + strength * (states[one] == states[two]).sum(axis=0)
    weight -= strength * (graph.degree[:, None] * mean[states]).sum(axis=0)  # the field is centred
    p = np.exp(weight - weight.max())
    exact = np.array([[p[states[i] == c].sum() for c in range(k)] for i in range(n)]) / p.sum()
    found = mean_field(graph, log_p, np.full((n, k), 0.5), strength, 200)
    assert np.abs(found - exact).mean() < 0.02
