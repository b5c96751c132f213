"""Reward nets: planted scores found on new items, reversed workers known, ties, files, errors."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import crowdwise as cw
from crowdwise.kinds.comparisons.learn import RewardNet
from crowdwise.learn import CrowdData, CrowdRanker
from crowdwise.learn.data.batch import CrowdBatch
from crowdwise.learn.method import Output
from crowdwise.learn.pairs import PairAnswers, PairData


def planted(seed=0, items=120, answers=1500, workers=30, tie=None):
    """Scores linear in eight features; of the workers a third turn everything around or guess."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(items + 200, 8)).astype(np.float32)
    score = 1.5 * x @ rng.normal(size=8) / np.sqrt(8) * 2
    left = rng.integers(0, items, answers)
    right = (left + rng.integers(1, items, answers)) % items
    worker = rng.integers(0, workers, answers)
    right_share = np.where(
        np.arange(workers) < workers // 6, 0.5, np.where(np.arange(workers) < workers // 3, 0.05, 0.95)
    )
    d = (score[left] - score[right]) * np.where(rng.random(answers) < right_share[worker], 1, -1)
    odds = np.stack([d / 2, -d / 2, np.full(answers, -np.inf if tie is None else tie)], axis=1)
    said = (odds + rng.gumbel(size=odds.shape)).argmax(axis=1)
    words = np.array(["left", "right", "tie"])[said]
    return (
        x,
        score,
        cw.comparisons.comparison_votes(left, right, words, worker=worker, items=range(items), duplicates="keep"),
        right_share,
    )


@pytest.mark.parametrize("seed", [0, 1])
def test_new_items_are_ranked_better_than_by_the_majority(seed):
    x, score, votes, share = planted(seed)
    how = {"epochs": 30, "lr": 0.02, "seed": seed}
    ours = CrowdRanker("linear", **how).fit(x[:120], votes)
    base = CrowdRanker("linear", "majority_reward", **how).fit(x[:120], votes)
    assert ours.score(x[120:], score[120:]) > base.score(x[120:], score[120:]) + 0.02
    assert ours.score(x[120:], score[120:]) > 0.85
    table = ours.worker_table()
    found = table["reliability"].to_numpy()
    assert found[share == 0.05].max() < 0.4 < 0.6 < found[share == 0.95].min()
    assert base.worker_table().columns == table.columns
    assert abs(ours.predict(x[:120]).mean()) < 1e-4
    assert table["n_labels"].sum() == len(votes)


def test_ties_have_davidsons_share():
    x, score, votes, _ = planted(3, tie=0.3)
    fitted = CrowdRanker("linear", epochs=25, lr=0.02).fit(x[:120], votes)
    said = votes.answers
    chance = fitted.predict_proba(x[said.left], x[said.right])
    np.testing.assert_allclose(chance.sum(1), 1, atol=1e-6)
    assert abs(chance[:, 2].mean() - (said.outcome == 2).mean()) < 0.03
    assert fitted.predict_proba(x[:1], x[:1])[0, 2] > chance[:, 2].mean()  # equal items tie most
    assert fitted.score(x[120:], score[120:]) > 0.8


def test_no_ties_is_crowd_bt_s_likelihood():
    rng = np.random.default_rng(0)
    one, two, who = np.array([0, 2, 1]), np.array([1, 0, 2]), np.array([0, 1, 1])
    label = np.array([0, 0, 1])
    crowd = PairAnswers.of(one, two, who, label, None, n_workers=2, per_item=1, swapped_label=np.array([1, 0, 2]))
    data = PairData(torch.from_numpy(rng.normal(size=(3, 2)).astype(np.float32)), crowd)
    batch: CrowdBatch = data.batch(torch.arange(3))
    assert batch.x.shape == (3, 2, 2)
    method = RewardNet(crowd)
    with torch.no_grad():
        method.table.weight.copy_(torch.tensor([[2.0], [-1.0]]))
    score = np.array([0.3, -0.7, 1.1])
    logits = torch.from_numpy(score[crowd.pairs.numpy()].astype(np.float32))
    eta = 1 / (1 + np.exp(-np.array([2.0, -1.0])))
    expected = []
    for i, j, w, y in zip(one, two, who, label, strict=True):
        s = 1 / (1 + np.exp(-(score[i] - score[j])))
        p = eta[w] * s + (1 - eta[w]) * (1 - s)
        expected.append(np.log(p if y == 0 else 1 - p))
    found = method.log_likelihood(Output(logits), batch).detach().numpy()
    np.testing.assert_allclose(np.sort(found), np.sort(expected), rtol=1e-5)


def test_a_crowd_that_ends_reversed_is_turned():
    crowd = PairAnswers.of(
        *np.array([[0], [1], [0], [0]]), None, n_workers=1, per_item=1, swapped_label=np.array([1, 0, 2])
    )
    method = RewardNet(crowd)
    with torch.no_grad():
        method.table.weight.fill_(-2.0)
        method.finish(None)
    out = Output(torch.tensor([[1.0, -1.0]]))
    assert method.answer(out).tolist() == [[-1.0, 1.0]]
    assert float(method.reliability().detach()) > 0.8


def test_saved_and_resumed(tmp_path):
    x, _, votes, _ = planted(4, answers=300)
    fitted = CrowdRanker("linear", epochs=4, folder=tmp_path / "c").fit(x[:120], votes)
    fitted.save(tmp_path / "r")
    again = CrowdRanker.load(tmp_path / "r")
    np.testing.assert_array_equal(again.predict(x), fitted.predict(x))
    assert again.worker_table().equals(fitted.worker_table())
    with pytest.raises(cw.DataError, match="already holds a ranker"):
        fitted.save(tmp_path / "r")
    short = CrowdRanker("linear", epochs=2, folder=tmp_path / "d").fit(x[:120], votes)
    assert len(short.history_) == 2
    longer = CrowdRanker("linear", epochs=4, folder=tmp_path / "d", resume=True).fit(x[:120], votes)
    np.testing.assert_array_equal(longer.predict(x), fitted.predict(x))
    (tmp_path / "r" / "model.safetensors").write_bytes(b"nothing")
    with pytest.raises(cw.DataError, match="holds no readable ranker"):
        CrowdRanker.load(tmp_path / "r")
    with pytest.raises(cw.DataError, match=r"ranker\.json is missing"):
        CrowdRanker.load(tmp_path / "none")


def test_items_by_name_in_any_order():
    x, _, votes, _ = planted(5, answers=300)
    turn = np.random.default_rng(0).permutation(320)
    one = CrowdRanker("linear", epochs=2, validation=0).fit(x[:120], votes)
    two = CrowdRanker("linear", epochs=2, validation=0).fit(x[turn], votes, items=turn)
    assert np.corrcoef(one.predict(x), two.predict(x))[0, 1] > 0.9


def test_errors_in_one_line():
    x, _, votes, _ = planted(6, answers=60)
    with pytest.raises(cw.DataError, match="100 rows of features for 120 items; say with items="):
        CrowdRanker().fit(x[:100], votes)
    with pytest.raises(cw.DataError, match="items have no features"):
        CrowdRanker().fit(x[:100], votes, items=range(100))
    with pytest.raises(cw.DataError, match="two rows for item"):
        CrowdRanker().fit(x[:120], votes, items=[0] * 120)
    with pytest.raises(cw.DataError, match="learns from comparisons"):
        CrowdRanker().fit(x[:3], cw.numbers.number_votes([0], [0], [1.0]))
    with pytest.raises(cw.ParameterError, match="ccem takes classes, not comparisons"):
        CrowdRanker("linear", "ccem").fit(x[:120], votes)
    with pytest.raises(cw.ParameterError, match="has no parameter 'lamda'"):
        CrowdRanker("linear", params={"lamda": 1}).fit(x[:120], votes)
    with pytest.raises(cw.ParameterError, match="not fitted"):
        CrowdRanker().predict(x)
    fitted = CrowdRanker("linear", epochs=1).fit(x[:120], votes)
    with pytest.raises(cw.DataError, match="is expecting 8 features"):
        fitted.predict(x[:, :3])
    with pytest.raises(cw.DataError, match="each row must be a pair"):
        fitted.predict_proba(x[:2], x[:3])


def test_one_pair_and_one_worker():
    votes = cw.comparisons.comparison_votes(["a"], ["b"], ["left"])
    fitted = CrowdRanker("linear", epochs=3, validation=0).fit(np.eye(2), votes)
    assert fitted.predict(np.eye(2)).shape == (2,)
    assert isinstance(PairData(torch.eye(2), PairAnswers.shape(1, 1, 2)), CrowdData)
