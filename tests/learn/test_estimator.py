"""Checkpoints of a refit, the classifier by itself, the cost of many heads, and searches without truth."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from sklearn.model_selection import GridSearchCV, KFold  # noqa: E402

import crowdwise as cw  # noqa: E402
from crowdwise.kinds.classes.learn.methods import doctors  # noqa: E402
from crowdwise.learn import Crowd, CrowdClassifier, CrowdData, CrowdModel  # noqa: E402
from crowdwise.learn.fitting import method_class  # noqa: E402
from crowdwise.learn.training.sweep import sweep_both  # noqa: E402

N, M, K, D = 90, 6, 3, 5


def planted(seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(K, size=N)
    x = (rng.normal(size=(N, D)) + 2 * np.eye(K, D)[truth]).astype(np.float32)
    wide = np.full((N, M), -1)
    for i in range(N):
        for w in rng.choice(M, 3, replace=False):
            wide[i, w] = truth[i] if rng.random() < 0.8 else rng.integers(K)
    return x, truth, wide


class Interrupt(Exception):
    pass


class StopAfter:
    """Fails at the end of an epoch, as a killed process does."""

    def __init__(self, epoch):
        self.left = epoch

    def epoch(self, history):
        self.left -= 1
        if not self.left:
            raise Interrupt

    def close(self):
        pass


@pytest.mark.parametrize("stop", [2, 5])  # in the training that selects the epoch, and in the refit
def test_a_refit_resumes_wherever_it_was_interrupted(tmp_path, stop):
    x, _, wide = planted()
    given = {"epochs": 4, "refit": True, "seed": 1, "batch_size": 16}
    whole = CrowdClassifier("mlp", "agg_net", **given).fit(x, wide)
    with pytest.raises(Interrupt):
        CrowdClassifier("mlp", "agg_net", **given, folder=tmp_path, callbacks=[StopAfter(stop)]).fit(x, wide)
    assert (tmp_path / "selection" / "last.json").exists()
    resumed = CrowdClassifier("mlp", "agg_net", **given, folder=tmp_path, resume=True).fit(x, wide)
    assert np.array_equal(resumed.predict_proba(x), whole.predict_proba(x))
    assert resumed.history_.best_epoch == whole.history_.best_epoch


@pytest.mark.parametrize("method", ["doctor_net", "weighted_doctor_net", "max_mig"])
def test_the_classifier_by_itself(method):
    x, _, wide = planted()
    fitted = CrowdClassifier("mlp", method, epochs=4, lr=0.01).fit(x, wide)
    predictor = fitted.predictor_.eval()
    with torch.no_grad():
        proba = predictor(torch.from_numpy(x)).exp().double().numpy()
    np.testing.assert_allclose(proba, fitted.predict_proba(x), atol=1e-6)


def test_the_score_of_an_epoch_evaluates_few_of_many_heads(monkeypatch):
    rng = np.random.default_rng(0)
    workers = 4000
    task, label = np.repeat(np.arange(workers), 2), rng.integers(K, size=2 * workers)
    votes = cw.Annotations.from_arrays(task, (task + np.tile([0, 1], workers)) % workers, label, classes=range(K))
    labels = Crowd.of(votes)
    torch.manual_seed(0)
    method = method_class("doctor_net")(labels, n_features=4)
    with torch.no_grad():
        method.heads.weight.weight.normal_()
    model = CrowdModel(torch.nn.Sequential(torch.nn.Linear(D, 4), torch.nn.Linear(4, K)), method)
    data = CrowdData(rng.normal(size=(workers, D)).astype(np.float32)[: len(votes.tasks)], labels)
    used = []
    inner = doctors.DoctorNet.head_probabilities

    def counted(self, out, heads):
        used.append(len(heads))
        return inner(self, out, heads)

    monkeypatch.setattr(doctors.DoctorNet, "head_probabilities", counted)
    rows = CrowdData(data.x[:50], Crowd.shape(workers, K, 50))
    estimate, _ = sweep_both(model, rows, quick=True)
    assert sum(used) <= doctors.SAMPLED
    exact, _ = sweep_both(model, rows)
    assert sum(used) > workers
    assert float((estimate.exp() - exact.exp()).abs().max()) < 0.1


@pytest.mark.parametrize("missing", [-1, np.nan])
def test_a_search_without_truth(missing):
    x, truth, wide = planted()
    votes = wide if missing == -1 else np.where(wide < 0, np.nan, wide.astype(float))
    search = GridSearchCV(
        CrowdClassifier("linear", "ccem", epochs=8, lr=0.05, validation=0),
        {"params__scale": [1.0, 2.0], "lr": [1e-6, 0.05]},
        cv=KFold(2),
    ).fit(x, votes)
    assert search.best_params_["lr"] == 0.05
    assert (search.predict(x) == truth).mean() > 0.7


def test_the_likelihood_of_held_out_labels_by_hand():
    x, _, wide = planted()
    fitted = CrowdClassifier("linear", "ccem", epochs=8, lr=0.05).fit(x[:60], wide[:60])
    proba, confusion = fitted.predict_proba(x[60:]), fitted.confusion_
    expected = [
        np.log(proba[i] @ confusion[w, :, wide[60 + i, w]]) for i in range(30) for w in range(M) if wide[60 + i, w] >= 0
    ]
    assert fitted.score(x[60:], wide[60:]) == pytest.approx(np.mean(expected), rel=1e-6)
    with pytest.raises(ValueError, match="no label"):
        fitted.score(x[60:], np.full((30, M), -1))
