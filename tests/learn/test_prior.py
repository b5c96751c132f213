"""Max-MIG with a rare class: the default prior follows the classifier, a prior that does not fit is reported."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from crowdwise.core.errors import IdentifiabilityWarning  # noqa: E402
from crowdwise.learn import CrowdClassifier, choose  # noqa: E402
from crowdwise.simulate import OneCoin, PerTask, crowd  # noqa: E402

N, RARE = 600, 0.08
SETTINGS = {"epochs": 20, "lr": 0.02, "worker_lr": 0.01}


def planted(seed=0, rare=RARE):
    """Two classes, one of them rare; features, truth, and the votes on the first N tasks."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(2 * N) < rare).astype(int)
    x = rng.normal(size=(2 * N, 4)).astype(np.float32)
    x[:, 0] += np.where(truth == 1, 1.5, -1.5)
    votes = crowd(N, 2, [OneCoin(15, low=0.6, high=0.9)], PerTask(3), truth=truth[:N], seed=seed).annotations
    return x, truth, votes


def test_the_default_finds_the_frequency_of_a_rare_class():
    x, truth, votes = planted()
    default = CrowdClassifier("linear", **SETTINGS).fit(x[:N], votes)
    assert default.doubts_ == ()
    with pytest.warns(IdentifiabilityWarning, match="the class prior is 50%"):
        uniform = CrowdClassifier("linear", params={"prior": "uniform"}, **SETTINGS).fit(x[:N], votes)
    losses = [-np.log(f.predict_proba(x[N:])[np.arange(N), truth[N:]]).mean() for f in (default, uniform)]
    assert losses[0] < losses[1] - 0.1, losses
    assert len(uniform.doubts_) == 1


def test_a_prior_that_fits_is_no_cause_for_doubt():
    x, truth, votes = planted(rare=0.5)
    fitted = CrowdClassifier("linear", params={"prior": "uniform"}, **SETTINGS).fit(x[:N], votes)
    assert fitted.doubts_ == ()
    assert (fitted.predict_proba(x[N:]).argmax(1) == truth[N:]).mean() > 0.9


def test_choose_ranks_a_contradicted_prior_last():
    x, _, votes = planted()
    settings = {**SETTINGS, "params": {"prior": "uniform"}}
    alone = choose(x[:N], votes, methods=("max_mig",), folds=2, net="linear", settings=settings)
    assert alone.table["doubts"].to_list() == [2]
    assert alone.reason == "max_mig was the only candidate, and its result contradicts its assumptions in 2 of 2 splits"
    default = choose(x[:N], votes, methods=("max_mig",), folds=2, net="linear", settings=SETTINGS)
    assert default.table["doubts"].to_list() == [0]


def test_the_prior_is_stored(tmp_path):
    x, _, votes = planted()
    fitted = CrowdClassifier("linear", epochs=2).fit(x[:N], votes)
    fitted.save(tmp_path / "run")
    loaded = CrowdClassifier.load(tmp_path / "run")
    assert torch.equal(loaded.model_.method.log_prior(), fitted.model_.method.log_prior())
    assert not torch.allclose(fitted.model_.method.log_prior().exp(), torch.tensor(0.5), atol=0.05)
