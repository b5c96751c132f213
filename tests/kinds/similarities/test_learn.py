"""Similarity nets: planted clusters found among new items, workers' coins, no collapse, files, errors."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import crowdwise as cw
from crowdwise.kinds.similarities.learn import SimilarityNet
from crowdwise.learn import CrowdClusterer
from crowdwise.learn.method import Output
from crowdwise.learn.pairs import PairAnswers, PairData


def planted(seed=0, items=150, answers=3000, workers=15, clusters=4):
    """Points around four middles; a third of the workers guess or always say different."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, clusters, items + 150)
    x = (3 * rng.normal(size=(clusters, 6))[truth] + rng.normal(size=(items + 150, 6))).astype(np.float32)
    left = rng.integers(0, items, answers)
    right = (left + rng.integers(1, items, answers)) % items
    worker = rng.integers(0, workers, answers)
    yes = np.select([np.arange(workers) < 3, np.arange(workers) < 5], [0.5, 0.05], 0.9)
    no = np.select([np.arange(workers) < 3, np.arange(workers) < 5], [0.5, 0.95], 0.95)
    same = rng.random(answers) < np.where(truth[left] == truth[right], yes[worker], 1 - no[worker])
    votes = cw.similarities.similarity_votes(left, right, same, worker=worker, items=range(items), duplicates="keep")
    return x, truth, votes, yes, no


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_new_items_are_clustered_as_planted(seed):
    x, truth, votes, yes, no = planted(seed)
    fitted = CrowdClusterer("linear", clusters=4, epochs=30, lr=0.02, seed=seed).fit(x[:150], votes)
    assert fitted.score(x[150:], truth[150:]) > 0.85
    assert len(np.unique(fitted.predict(x[150:]))) == 4
    table = fitted.worker_table()
    assert np.corrcoef(table["hit"].to_numpy(), yes)[0, 1] > 0.9
    assert np.corrcoef(table["rejection"].to_numpy(), no)[0, 1] > 0.8
    np.testing.assert_allclose(fitted.predict_proba(x).sum(1), 1, atol=1e-5)


def test_the_likelihood_is_that_of_two_coins():
    crowd = PairAnswers.of(*np.array([[0, 1], [1, 0], [0, 1], [1, 0]]), None, n_workers=2, per_item=3,
                         swapped_label=np.array([0, 1]))  # fmt: skip
    assert crowd.n_tasks == 1
    method = SimilarityNet(crowd)
    np.testing.assert_allclose(method.coins().detach().numpy(), 0.9, rtol=1e-6)
    batch = PairData(torch.zeros(2, 1), crowd).batch(torch.tensor([0]))
    logits = torch.tensor([[1.0, 0.0, -1.0, 0.5, 0.0, 2.0]])
    p = float((torch.softmax(logits[0, :3], 0) * torch.softmax(logits[0, 3:], 0)).sum())
    yes = 0.9 * p + 0.1 * (1 - p)
    found = method.log_likelihood(Output(logits), batch).detach().numpy()
    np.testing.assert_allclose(found, np.log([yes, 1 - yes]), rtol=1e-5)


def test_the_volume_is_larger_where_clusters_are_used():
    crowd = PairAnswers.of(*np.array([[0, 2], [1, 3], [0, 0], [1, 1]]), None, n_workers=1, per_item=2,
                         swapped_label=np.array([0, 1]))  # fmt: skip
    method = SimilarityNet(crowd)
    batch = PairData(torch.zeros(4, 1), crowd).batch(torch.arange(2))
    spread = torch.tensor([[9.0, 0.0, 9.0, 0.0], [0.0, 9.0, 0.0, 9.0]])
    fallen = torch.tensor([[9.0, 0.0, 9.0, 0.0]] * 2)
    volume = [float(method.loss(Output(each), batch)["volume"].detach()) for each in (spread, fallen)]
    assert volume[0] < volume[1] - 0.05


def test_saved_and_loaded(tmp_path):
    x, _, votes, _, _ = planted(3, answers=300)
    fitted = CrowdClusterer("linear", clusters=3, epochs=2).fit(x[:150], votes)
    fitted.save(tmp_path / "r")
    again = CrowdClusterer.load(tmp_path / "r")
    np.testing.assert_array_equal(again.predict_proba(x), fitted.predict_proba(x))
    assert again.worker_table().equals(fitted.worker_table())


def test_errors_in_one_line():
    x, _, votes, _, _ = planted(4, answers=60)
    with pytest.raises(cw.ParameterError, match="clusters"):
        CrowdClusterer("linear", clusters=1).fit(x[:150], votes)
    with pytest.raises(cw.DataError, match="say with items="):
        CrowdClusterer("linear").fit(x, votes)
    with pytest.raises(cw.DataError, match="learns from similarities"):
        CrowdClusterer("linear").fit(x[:1], cw.numbers.number_votes([0], [0], [1.0]))
    with pytest.raises(cw.ParameterError, match="not fitted"):
        CrowdClusterer().predict(x)
