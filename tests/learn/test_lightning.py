"""CrowdModule in Lightning's own Trainer ends where `train` ends, for methods with every kind of hook."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")
lightning = pytest.importorskip("pytorch_lightning")

from torch import nn  # noqa: E402

import crowdwise as cw  # noqa: E402
from crowdwise.learn import Crowd, CrowdData, CrowdModel, train  # noqa: E402
from crowdwise.learn.fitting import method_class  # noqa: E402
from crowdwise.learn.lightning import CrowdModule  # noqa: E402

N, K, D = 80, 3, 5
QUIET = {"accelerator": "cpu", "logger": False, "enable_progress_bar": False, "enable_model_summary": False}


def planted(seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(K, size=N)
    x = (rng.normal(size=(N, D)) + 2 * np.eye(K, D)[truth]).astype(np.float32)
    task, worker = np.repeat(np.arange(N), 3), np.tile(np.arange(6), N // 2)
    label = np.where(rng.random(3 * N) < 0.7, truth[task], rng.integers(K, size=3 * N))
    return x, Crowd.of(cw.Annotations.from_arrays(task, worker, label, classes=range(K)))


def model_of(name, labels):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(D, 8), nn.ReLU(), nn.Linear(8, K))
    cls = method_class(name)
    return CrowdModel(net, cls(labels, **({"n_features": 8} if cls.needs_features else {})))


def fit(module, **how):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Lightning's advice about loaders
        lightning.Trainer(**{**QUIET, "max_epochs": 4, "enable_checkpointing": False, **how}).fit(module)


# An E-step, rounds with a restart, an update after a step, another one, a prior, and none of these.
@pytest.mark.parametrize("name", ["agg_net", "mbem", "bayes_dgc", "weighted_doctor_net", "max_mig", "ccem"])
def test_the_trainer_ends_where_train_ends(name):
    x, labels = planted()
    one, other = model_of(name, labels), model_of(name, labels)
    train(one, CrowdData(x, labels), epochs=4, batch_size=20)
    fit(CrowdModule(other, CrowdData(x, labels), batch_size=20))
    for expected, value in zip(one.state_dict().values(), other.state_dict().values(), strict=True):
        torch.testing.assert_close(value, expected, rtol=0, atol=0)


def test_terms_and_score_are_logged():
    x, labels = planted()
    module = CrowdModule(model_of("geo_crowd_net_f", labels), CrowdData(x, labels), criterion=lambda _: 0.25)
    fit(module, max_epochs=2)
    logged = module.trainer.logged_metrics
    assert float(logged["score"]) == 0.25
    assert {"cross_entropy"} < set(logged)


def test_the_users_optimizer():
    x, labels = planted()
    model = model_of("ccem", labels)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    fit(CrowdModule(model, CrowdData(x, labels), optimizer=lambda m: torch.optim.SGD(m.parameters(), lr=0.0)))
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
