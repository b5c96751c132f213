"""Augmentation: rows of training are random, those of the score, of E-steps and of the result are not."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.utils.data import Dataset  # noqa: E402

import crowdwise as cw  # noqa: E402
from crowdwise.core.errors import CrowdwiseWarning, DataError, ParameterError  # noqa: E402
from crowdwise.learn import CrowdClassifier, CrowdData  # noqa: E402
from crowdwise.learn.training.sweep import sweep_both  # noqa: E402

N, K, D = 90, 3, 6


def planted(seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(K, size=N)
    x = (rng.normal(size=(N, D)) + 2 * np.eye(K, D)[truth]).astype(np.float32)
    task, worker = np.repeat(np.arange(N), 2), rng.integers(5, size=2 * N)
    label = np.where(rng.random(2 * N) < 0.8, truth[task], rng.integers(K, size=2 * N))
    return x, truth, cw.Annotations.from_arrays(task, worker, label, classes=range(K), duplicates="first")


class Augmented(Dataset):
    """Rows under noise; it records which of them are read."""

    def __init__(self, x, noise=3.0):
        self.x, self.noise, self.read = torch.from_numpy(x), noise, []

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        self.read.append(i)
        return self.x[i] + self.noise * torch.randn(self.x.shape[1]) if self.noise else self.x[i]


@pytest.mark.parametrize("method", ["agg_net", "max_mig"])
def test_evaluation_reads_the_clean_rows_only(method):
    x, _, votes = planted()
    rows = Augmented(x)
    fitted = CrowdClassifier("linear", method, epochs=3, batch_size=16).fit(rows, votes, eval_X=x)
    assert len(rows.read) == 3 * round(0.85 * N) + 1  # the labelled rows once an epoch, and one for the shape
    log_proba, posterior = sweep_both(fitted.model_, CrowdData(x, cw.learn.Crowd.of(votes, fitted.tasks_)))
    order = fitted.tasks_.arg_sort().to_numpy()
    np.testing.assert_allclose(fitted.result_.extra["classifier"], log_proba.exp().numpy()[order], atol=1e-6)
    np.testing.assert_allclose(fitted.result_.posterior, posterior.numpy()[order], atol=1e-5)


def test_random_rows_without_clean_ones_are_reported():
    x, _, votes = planted()
    with pytest.warns(CrowdwiseWarning, match="eval_X="):
        CrowdClassifier("linear", "ccem", epochs=1).fit(Augmented(x), votes)
    CrowdClassifier("linear", "ccem", epochs=1).fit(Augmented(x, noise=0.0), votes)
    with pytest.raises(DataError, match="eval_X has 80 rows, X has 90"):
        CrowdClassifier("linear", "ccem", epochs=1).fit(Augmented(x), votes, eval_X=x[:80])


class Texts(Dataset):
    """Token ids of different lengths, as dicts."""

    def __init__(self, truth, seed=0):
        rng = np.random.default_rng(seed)
        self.ids = [t * 10 + 1 + rng.integers(9, size=rng.integers(3, 8)) for t in truth]

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return {"input_ids": self.ids[i].tolist()}


def padded(rows):
    """As a tokenizer pads: to the longest row of the batch."""
    longest = max(len(row["input_ids"]) for row in rows)
    ids = torch.zeros(len(rows), longest, dtype=torch.int64)
    for row, given in zip(ids, rows, strict=True):
        row[: len(given["input_ids"])] = torch.tensor(given["input_ids"])
    return {"input_ids": ids, "attention_mask": (ids > 0).long()}


class TextModel(nn.Module):
    """Inputs by name, logits as an attribute, as models of Hugging Face have them."""

    def __init__(self):
        super().__init__()
        self.words, self.classifier = nn.Embedding(40, 8), nn.Linear(8, K)

    def forward(self, input_ids=None, attention_mask=None):
        mask = attention_mask[..., None].float()
        mean = (self.words(input_ids) * mask).sum(1) / mask.sum(1)
        return SimpleNamespace(logits=self.classifier(mean), loss=None)


@pytest.mark.parametrize("method", ["ccem", "doctor_net"])
def test_dicts_padded_by_batch(method, tmp_path):
    _, truth, votes = planted()
    texts = Texts(truth)
    fitted = CrowdClassifier(TextModel(), method, epochs=12, lr=0.05).fit(texts, votes, collate=padded)
    whole = padded([texts[i] for i in range(N)])  # a dict of arrays
    assert (fitted.predict(whole) == truth).mean() > 0.9
    fitted.save(tmp_path / "run")
    loaded = CrowdClassifier.load(tmp_path / "run", TextModel())
    assert np.array_equal(loaded.predict_proba(whole), fitted.predict_proba(whole))
    with pytest.raises(ParameterError, match="pass a Module"):
        CrowdClassifier("mlp", method, epochs=1).fit(whole, votes)


def test_a_loader_changes_no_bit():
    x, _, votes = planted()
    rows = Augmented(x, noise=0.0)
    given = {"epochs": 2, "batch_size": 32, "seed": 0}
    plain = CrowdClassifier("mlp", "agg_net", **given).fit(rows, votes)
    loaded = CrowdClassifier("mlp", "agg_net", **given).fit(rows, votes, loader={"num_workers": 1})
    assert np.array_equal(plain.predict_proba(x), loaded.predict_proba(x))
    with pytest.raises(ParameterError, match="loader cannot set 'batch_size'"):
        CrowdClassifier("mlp", "agg_net", **given).fit(rows, votes, loader={"batch_size": 3})
    with pytest.raises(ParameterError, match=r"loader: .*workers"):
        CrowdClassifier("mlp", "agg_net", **given).fit(rows, votes, loader={"workers": 3})
