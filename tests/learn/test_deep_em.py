"""Deep EM never ends below the same inference on the labels alone (whole: `python -m benchmarks.learn.deep_em`)."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from crowdwise.core import method_registry as registry  # noqa: E402
from crowdwise.core.errors import IdentifiabilityWarning  # noqa: E402
from crowdwise.learn import Crowd, CrowdClassifier, CrowdData, CrowdModel, train  # noqa: E402
from crowdwise.learn.fitting import method_class  # noqa: E402
from crowdwise.simulate import OneCoin, PerTask, crowd  # noqa: E402

N, K, D = 600, 3, 10


def planted(seed, k=K):
    """Workers who are right in 80 % of their labels, three a task."""
    rng = np.random.default_rng([seed, k])
    truth = rng.integers(k, size=N)
    x = (rng.normal(size=(N, D)) + 2 * np.eye(k, D)[truth]).astype(np.float32)
    votes = crowd(N, k, [OneCoin(15, low=0.8, high=0.8)], PerTask(3), truth=truth, seed=seed).annotations
    return x, truth, votes


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "alone"),
    [
        ("deep_bp", "belief_propagation"),
        ("deep_mf", "mean_field"),
        ("bayes_dgc", "mean_field"),
        ("agg_net", "dawid_skene"),
    ],
)
def test_no_run_ends_below_the_labels_alone(method, alone):
    x, truth, votes = planted(4)  # from a cold start, deep_bp exchanges the classes here
    fitted = CrowdClassifier("mlp", method, epochs={"agg_net": 20, "bayes_dgc": 20}.get(method, 110), seed=4).fit(
        x, votes
    )
    labels_alone = registry.method(alone).fit(votes).posterior.argmax(1)
    assert (fitted.result_.posterior.argmax(1) == truth).mean() >= (labels_alone == truth).mean() - 0.02


@pytest.mark.slow
def test_exchanged_classes_are_reported():
    x, truth, votes = planted(4)
    with pytest.warns(IdentifiabilityWarning, match="less than chance"):
        fitted = CrowdClassifier("mlp", "deep_bp", params={"warm_up": 0}, epochs=60, seed=4).fit(x, votes)
    assert (fitted.result_.posterior.argmax(1) == truth).mean() < 0.1


@pytest.mark.parametrize("method", [pytest.param("deep_bp", marks=pytest.mark.slow), "deep_mf", "bayes_dgc"])
def test_the_labels_alone_decide_until_the_classifier_is_warm(method):
    x, _, votes = planted(0)
    labels = Crowd.of(votes)
    targets = []
    for shift in (0.0, 50.0):  # the second net is sure of class 0
        torch.manual_seed(0)
        net = torch.nn.Linear(D, K)
        with torch.no_grad():
            net.bias[0] += shift
        model = CrowdModel(net, method_class(method)(labels, warm_up=4))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
        trust = []
        for epochs in (4, 6, 10):
            train(model, CrowdData(x, labels), optimizer=optimizer, epochs=1, batch_size=N)
            for _ in range(epochs - int(model.method.steps)):
                train(model, CrowdData(x, labels), optimizer=optimizer, epochs=1, batch_size=N)
            trust.append(model.method.trust)
            if epochs == 4:
                targets.append(model.method.confusion().clone())
        assert trust == [0.0, 0.5, 1.0]
    torch.testing.assert_close(*targets)
    assert not torch.allclose(targets[1], model.method.confusion(), atol=1e-2)  # now the sure net counts
