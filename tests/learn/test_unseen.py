"""Workers without labels in training: one rule, the crowd's mean, in regularisers, results and forecasts."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import crowdwise as cw  # noqa: E402
from crowdwise.core import method_registry as registry  # noqa: E402
from crowdwise.kinds.classes.learn.methods.confusion import Trace  # noqa: E402
from crowdwise.learn import Crowd, CrowdClassifier, CrowdData, CrowdModel, train  # noqa: E402
from crowdwise.learn.fitting import method_class  # noqa: E402
from crowdwise.learn.optimizers import make_optimizers  # noqa: E402
from crowdwise.learn.training.hold_out import hold_out  # noqa: E402

K, D = 4, 6
FORECASTERS = sorted(
    name for name, card in registry.LEARNERS.items() if "forecast" in card.can and card.takes == "classes"
)


def passers_by(n=400, seed=0):
    """Six regulars, and one-time workers: a task held out takes along workers of whom nothing else is known."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(K, size=n)
    x = (1.2 * np.eye(K, D)[truth] + rng.normal(size=(n, D))).astype(np.float32)
    rows = []
    for i in range(n):
        rows += [(i, f"r{w}", 0.8) for w in rng.choice(6, 1, replace=False)]
        rows += [(i, f"once{i}-{j}", 0.8) for j in range(2)]
    task, worker, skill = (np.array(column) for column in zip(*rows, strict=True))
    wrong = (truth[task] + rng.integers(1, K, size=len(task))) % K
    label = np.where(rng.random(len(task)) < skill.astype(float), truth[task], wrong)
    votes = cw.Annotations.from_arrays(task, worker, np.array(["a", "b", "c", "d"])[label], tasks=range(n))
    return x, votes, truth


def unseen(fitted, votes):
    """Workers all of whose labels were kept aside, and the tasks that they labelled."""
    kept, held = hold_out(Crowd.of(votes), fitted.validation, fitted.seed)
    strangers = torch.bincount(kept.worker, minlength=kept.n_workers) == 0
    return strangers.numpy(), held.labelled.numpy()


def fit(name, x, votes, **params):
    given = {"epochs": 40, "lr": 0.01, "worker_lr": 0.05, "batch_size": 50, "validation": 0.15, "seed": 0, **params}
    if name == "known_confusion":
        given["params"] = {"confusion": np.full((K, K), 0.1) + 0.6 * np.eye(K)}
    return CrowdClassifier("linear", name, **given).fit(x, votes)


def by_labels(crowd, confusion):
    """The crowd's mean confusion, label by label: a label on a task of class k counts for row k of its worker."""
    total, weight = np.zeros((K, K)), np.zeros((K, 1))
    votes = crowd.votes.numpy() / np.maximum(crowd.votes.sum(1, keepdim=True).numpy(), 1)
    for i, w in zip(crowd.task.tolist(), crowd.worker.tolist(), strict=True):
        total += votes[i][:, None] * confusion[w]
        weight += votes[i][:, None]
    return total / weight


def test_trace_makes_no_adversaries_of_workers_without_labels():
    x, votes, truth = passers_by()
    fitted = fit("trace", x, votes, epochs=25)
    strangers, tasks = unseen(fitted, votes)
    assert strangers.sum() > 100
    kept, _ = hold_out(Crowd.of(votes), fitted.validation, fitted.seed)
    mean = by_labels(kept, fitted.confusion_)
    assert np.allclose(fitted.confusion_[strangers], mean, atol=1e-5)
    assert np.diag(mean).mean() > 0.6
    right = fitted.result_.posterior.argmax(1) == truth
    alone = fitted.result_.extra["classifier"].argmax(1) == truth
    assert right[tasks].mean() > alone[tasks].mean() + 0.05
    ccem = fit("ccem", x, votes, epochs=25).result_.posterior.argmax(1) == truth
    assert right[tasks].mean() > ccem[tasks].mean() - 0.05


@pytest.mark.parametrize("name", ["trace", "log_trace", "geo_crowd_net_w", "conal", "union_net"])
def test_regularisers_do_not_touch_workers_without_labels(name):
    x, votes, _ = passers_by(60)
    kept, _ = hold_out(Crowd.of(votes), 0.2)
    torch.manual_seed(0)
    cls = method_class(name)
    method = cls(kept, **({"n_features": D} if cls.needs_features else {}))
    table = method.own if name == "conal" else getattr(method.table, "table", method.table)
    before = table.weight.detach().clone()
    model = CrowdModel(torch.nn.Linear(D, K), method)
    train(model, CrowdData(x, kept), optimizer=make_optimizers(model, lr=0.1), epochs=3)
    strangers = torch.bincount(kept.worker, minlength=kept.n_workers) == 0
    assert strangers.sum() > 10
    assert torch.equal(table.weight[strangers], before[strangers])
    assert not torch.equal(table.weight[~strangers], before[~strangers])


def test_the_traces_are_those_of_workers_with_labels():
    x, votes, _ = passers_by(60)
    crowd = Crowd.of(votes)
    kept, _ = hold_out(crowd, 0.2)
    present = torch.unique(kept.worker)
    alone = Crowd(kept.n_tasks, len(present), K, kept.task, torch.searchsorted(present, kept.worker), kept.label,
                  kept.weight, kept.offset)  # fmt: skip
    losses = []
    for labels in (kept, alone):
        model = CrowdModel(torch.nn.Linear(D, K), Trace(labels, strength=0.5))
        losses.append(float(model(CrowdData(x, labels).batch(torch.arange(60)))["trace"].detach()))
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)


@pytest.mark.parametrize("name", FORECASTERS)
def test_new_workers_are_the_crowds_mean(name):
    """A stranger's label is weighed alike whether their name is in the training's vocabulary or not."""
    x, votes, _ = passers_by(150)
    fitted = fit(name, x, votes, epochs=8, validation=0.2)
    strangers, tasks = unseen(fitted, votes)
    names = votes.workers.to_numpy()
    row = int(np.flatnonzero(tasks)[0])
    said = votes.classes.to_list()
    as_unseen = cw.Annotations.from_arrays(["t"] * 2, names[strangers][:2], [said[1], said[2]], classes=said)
    as_new = cw.Annotations.from_arrays(["t"] * 2, ["who", "what"], [said[1], said[2]], classes=said)
    new = fitted.forecast_proba(x[row : row + 1], as_new, unknown_workers="average")
    if name != "known_confusion":  # there everybody who is named is known
        old = fitted.forecast_proba(x[row : row + 1], as_unseen)
        assert np.allclose(new, old, atol=1e-6)
    assert np.allclose(new.sum(1), 1)
    with pytest.raises(cw.DataError, match="worker 'what', 'who' was not seen in training; unknown_workers='average'"):
        fitted.forecast_proba(x[row : row + 1], as_new)


def test_forecasts_with_new_workers_by_hand():
    x, votes, _ = passers_by(200)
    fitted = fit("ccem", x, votes, validation=0)
    mean = by_labels(Crowd.of(votes), fitted.confusion_)
    regular = votes.workers.to_list().index("r2")
    mixed = cw.Annotations.from_arrays(["t", "t"], ["r2", "somebody"], ["b", "c"], classes=list("abcd"))
    found = fitted.forecast_proba(x[:1], mixed, unknown_workers="average")
    by_hand = fitted.predict_proba(x[:1])[0] * fitted.confusion_[regular, :, 1] * mean[:, 2]
    assert np.allclose(found[0], by_hand / by_hand.sum(), atol=1e-5)
    with pytest.raises(cw.ParameterError, match="unknown_workers must be 'error' or 'average', got 'mean'"):
        fitted.forecast_proba(x[:1], mixed, unknown_workers="mean")
    with pytest.raises(cw.DataError, match="class 'e' was not seen"):
        fitted.forecast_proba(x[:1], cw.Annotations.from_arrays(["t"], ["r2"], ["e"]), unknown_workers="average")


def test_the_mean_of_confusions_that_depend_on_the_task():
    x, votes, _ = passers_by(60)
    fitted = fit("instance_confusion", x, votes, epochs=20, lr=0.05, validation=0)
    one = cw.Annotations.from_arrays(["t"], ["somebody"], ["b"], classes=list("abcd"))
    found = fitted.forecast_proba(x[:1], one, unknown_workers="average")[0]
    method = fitted.model_.method
    base, weight, bias = (
        t.all().detach().double().numpy() for t in (method.base, method.heads.weight, method.heads.bias)
    )
    said = base + (weight @ x[0].astype(float) + bias).reshape(-1, K, K)  # a linear net: its features are x
    positive = np.log1p(np.exp(said))
    confusion = positive / positive.sum(2, keepdims=True)
    by_hand = fitted.predict_proba(x[:1])[0] * by_labels(Crowd.of(votes), confusion)[:, 1]
    assert np.allclose(found, by_hand / by_hand.sum(), atol=1e-5)


def test_a_saved_classifier_knows_whom_it_has_seen(tmp_path):
    x, votes, _ = passers_by(120)
    fitted = fit("max_mig", x, votes, epochs=5)
    fitted.save(tmp_path / "run")
    again = CrowdClassifier.load(tmp_path / "run")
    assert np.array_equal(again.forecast_proba(x, votes), fitted.forecast_proba(x, votes))
