"""Votes in parts, and who runs the parts: the same bits whoever does, and however little is remembered."""

from __future__ import annotations

import pickle
from functools import partial

import numpy as np
import pytest

import crowdwise as cw
from crowdwise.em.drivers import InProcess, Threads, runs_of_parts
from crowdwise.em.kernels import Workspace
from crowdwise.em.loop import Tree, tree_sum
from crowdwise.em.passes import Passes, run
from crowdwise.em.sources import InMemory
from crowdwise.kinds.classes.methods.base import SolveOptions
from tests.conftest import planted


class Forgetful(InMemory):
    """What files on disk are like: every pass finds the parts afresh."""

    def __init__(self, votes, n):
        super().__init__(votes, n, stays=False)

    def part(self, number):
        return self.votes.shards(self.n)[number]


def prepare(part, known, first, number, compiled=False):
    return Workspace.of(part, known, compiled, first)


def matrices(votes):
    return cw.DawidSkene(smoothing=0.1).model(votes)


def fitted(driver, model, **options):
    data = Passes(model, driver)
    fit = run(data, data.start(), max_iter=25, tol=1e-10, **options)
    return fit, data.posterior(fit.params)


def test_a_source_knows_its_sizes_and_gives_every_row_once():
    votes = planted(n=70, m=9, k=3)[0]
    source = InMemory(votes, 4)
    parts = list(source.shards())
    assert source.sizes.shards == len(parts) == 4
    assert source.sizes.n_tasks == 70
    assert (source.sizes.rows, source.sizes.workers) == (len(votes), votes.n_workers)
    assert sum(map(len, parts)) == len(votes)
    np.testing.assert_array_equal(np.concatenate([part.label for part in parts]), votes.label)
    assert next(InMemory(votes).shards()) is votes


@pytest.mark.slow
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("accelerate", [False, True])
def test_drivers_give_the_same_bits(compiled, accelerate):
    votes = planted(n=300, m=20, k=3, labels=4)[0]
    ready, model = partial(prepare, compiled=compiled), matrices(votes)
    one, posterior = fitted(InProcess(InMemory(votes, 5), ready), model, accelerate=accelerate)
    for driver in (
        Threads(InMemory(votes, 5), ready, 3),
        InProcess(Forgetful(votes, 5), ready),
        Threads(Forgetful(votes, 5), ready, 2),
        *(Threads(Forgetful(votes, 5), ready, 2, jobs) for jobs in (1, 2, 3, 7)),
    ):
        other, same = fitted(driver, model, accelerate=accelerate)
        np.testing.assert_array_equal(other.trace, one.trace)
        np.testing.assert_array_equal(other.params.theta, one.params.theta)
        np.testing.assert_array_equal(same, posterior)
    _, whole = fitted(InProcess(InMemory(votes), ready), model, accelerate=accelerate)
    np.testing.assert_allclose(posterior, whole, atol=1e-9)


def test_a_pass_returns_nothing_that_grows_with_the_tasks():
    sent = []
    for n in (200, 2000):
        votes = planted(n=n, m=12, k=3)[0]
        data = Passes(matrices(votes), InProcess(InMemory(votes, 2), prepare))
        sent.append(len(pickle.dumps(data.accumulate(data.model.maximise(data.start())))))
    assert sent[0] == sent[1]


def test_how_far_posteriors_moved_needs_no_memory():
    votes = planted(n=60, m=8, k=3)[0]
    found = []
    for source in (InMemory(votes, 3), Forgetful(votes, 3)):
        data = Passes(matrices(votes), InProcess(source, prepare))
        first = data.model.maximise(data.start())
        second = data.model.maximise(data.accumulate(first)[0])
        assert data.moved(None, first) == np.inf
        data.accumulate(second)
        found.append(data.moved(first, second))
        plain = np.abs(data.posterior(second) - data.posterior(first)).max()
        assert found[-1] == plain > 0
    assert found[0] == found[1]


def test_a_posterior_is_not_overwritten_by_later_passes():
    votes = planted(n=60, m=8, k=3)[0]
    for compiled in (False, True):
        data = Passes(matrices(votes), InProcess(InMemory(votes), partial(prepare, compiled=compiled)))
        params = data.model.maximise(data.start())
        stats, _ = data.accumulate(params)
        posterior = data.posterior(params)
        before = posterior.copy()
        data.accumulate(data.model.maximise(stats))
        np.testing.assert_array_equal(posterior, before)
        np.testing.assert_array_equal(data.posterior(params), before)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 13])
def test_the_tree_of_a_sum_depends_on_the_number_of_parts_alone(n):
    def tree(names):
        while len(names) > 1:
            pairs = [f"({a}{b})" for a, b in zip(names[::2], names[1::2], strict=False)]
            names = pairs + ([names[-1]] if len(names) % 2 else [])
        return names[0]

    names = [chr(97 + i) for i in range(n)]
    assert tree_sum(iter(names), lambda a, b: f"({a}{b})") == tree(names)


@pytest.mark.parametrize("n", [1, 5, 8, 64, 100])
def test_the_tree_does_not_care_who_brings_what_and_when(n):
    """Parts dealt into any number of jobs, whose nodes arrive in any order."""

    def add(a, b):
        return f"({a}{b})"

    names = [f"{i}." for i in range(n)]
    whole = tree_sum(iter(names), add)
    rng = np.random.default_rng(n)
    for jobs in (1, 2, 7, 64):
        nodes = []
        for lo, hi in runs_of_parts(n, jobs):
            run = Tree(add)
            for number in rng.permutation(np.arange(lo, hi)).tolist():
                run.put(number, names[number])
            nodes += [(start, total, height) for (start, height), total in run.nodes.items()]
        tree = Tree(add)
        for at in rng.permutation(len(nodes)):
            tree.put(*nodes[at])
        assert tree.total() == whole


def test_random_starts_do_not_depend_on_the_shards():
    votes = planted(n=50, m=8, k=3)[0]
    start = cw.DawidSkene(n_init=2).starts(votes)[1]
    whole = start(Workspace.of(votes))
    parts = np.concatenate(list(SolveOptions(n_shards=4).partition(votes, None).map(start)))
    np.testing.assert_array_equal(parts, whole)
