"""Annotations whose rows lie elsewhere: methods that work in parts take them, others are told."""

from __future__ import annotations

import numpy as np
import pytest

import crowdwise as cw
from crowdwise.aggregate.base import Run
from crowdwise.aggregate.gold import as_gold
from crowdwise.core.errors import DataError
from crowdwise.engine.em import Promise
from crowdwise.engine.outline import Outline
from crowdwise.engine.sources import InMemory


def outline(votes, n):
    return Outline(InMemory(votes, n, far=True), votes.workers, votes.classes, votes.labels_per_worker)


@pytest.fixture(scope="module")
def votes():
    rng = np.random.default_rng(3)
    truth = rng.integers(3, size=80)
    task, worker = np.divmod(np.arange(80 * 9), 9)
    said = np.where(rng.random(720) < 0.7, truth[task], rng.integers(3, size=720))
    return cw.Annotations.from_arrays(task, worker, said)


@pytest.mark.parametrize("name", ["dawid_skene", "hierarchical", "one_coin", "raykar_yu", "mace"])
def test_methods_take_an_outline_as_they_take_rows(votes, name):
    method = cw.method(name)
    gold = as_gold({0: 1, 5: 2}, votes)
    whole = method.solve(votes, gold, Run())
    far = outline(votes, 7)
    assert (len(far), far.n_tasks, far.n_classes) == (len(votes), votes.n_tasks, 3)
    found = method.solve(far, gold, Run())
    assert isinstance(found.posterior, Promise)
    parts = list(Run().spread(far, gold).map(found.posterior.job))
    assert len(parts) == 7
    assert np.allclose(np.concatenate(parts), whole.posterior, atol=1e-9)
    assert np.allclose(found.confusion, whole.confusion, atol=1e-9)


def test_who_asks_for_all_rows_is_told(votes):
    with pytest.raises(DataError, match="in parts on disk"):
        cw.method("gibbs").solve(outline(votes, 2), None, Run())


def test_nobody_calculates_with_a_promise(votes):
    found = cw.method("dawid_skene").solve(outline(votes, 2), None, Run())
    with pytest.raises(TypeError, match="shard by shard"):
        np.asarray(found.posterior)
