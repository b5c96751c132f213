"""Optimizers and schedules of one's own: dense gradients unless asked, every schedule stepped as it is meant to be."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.optim.lr_scheduler import CyclicLR, LambdaLR, OneCycleLR, ReduceLROnPlateau, StepLR  # noqa: E402

import crowdwise as cw  # noqa: E402
from crowdwise.kinds.classes.learn.methods.confusion import CCEM  # noqa: E402
from crowdwise.learn import Crowd, CrowdClassifier, CrowdData, CrowdModel, train  # noqa: E402
from crowdwise.learn.fitting import method_class  # noqa: E402
from crowdwise.learn.optimizers import LazyAdam, make_optimizers  # noqa: E402
from crowdwise.learn.tables import SPARSE_FROM  # noqa: E402

K, D, SIZE, EPOCHS = 3, 4, 16, 5


def planted(n=100, m=6, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(K, size=n)
    x = (rng.normal(size=(n, D)) + 2 * np.eye(K, D)[truth]).astype(np.float32)
    task, worker = np.repeat(np.arange(n), 2), rng.integers(m, size=2 * n)
    label = np.where(rng.random(2 * n) < 0.7, truth[task], rng.integers(K, size=2 * n))
    votes = cw.Annotations.from_arrays(task, worker, label, workers=range(m), classes=range(K), duplicates="first")
    return CrowdData(x, Crowd.of(votes))


def model_of(data, name="ccem", **params):
    torch.manual_seed(0)
    cls = method_class(name)
    if cls.needs_features:
        params["n_features"] = D
    return CrowdModel(nn.Linear(D, K), cls(data.crowd, **params))


# ------------------------------------------------------------------------------------------- dense unless asked
@pytest.mark.parametrize("name", ["ccem", "crowd_layer", "max_mig", "doctor_net", "coin_net", "instance_confusion"])
def test_any_optimizer_takes_the_gradients_of_a_large_crowd(name):
    """The loop of docs/learn.md, with more numbers in the workers' table than one would want to have dense."""
    data = planted(m=SPARSE_FROM // (K * K) + 1)
    model = model_of(data, name)
    assert max(p.numel() for p in model.method.parameters()) > SPARSE_FROM
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for batch in data.batches(SIZE, seed=0, epoch=0):
        optimizer.zero_grad()
        sum(model(batch).values()).backward()
        optimizer.step()
    history = train(model, data, optimizer=torch.optim.SGD(model.parameters(), lr=0.01), epochs=1, batch_size=SIZE)
    assert len(history) == 1


def test_sparse_gradients_on_request_and_where_our_own_optimizer_asks():
    data = planted(m=SPARSE_FROM // (K * K) + 1)
    for params, sparse in ({"sparse": True}, True), ({"sparse": False}, False), ({}, False):
        model = model_of(data, **params)
        sum(model(data.batch(torch.arange(8))).values()).backward()
        assert model.method.table.table.weight.grad.is_sparse is sparse
    model = model_of(data)
    optimizers = make_optimizers(model, lr=0.01)
    assert [type(each) for each in optimizers] == [torch.optim.Adam, LazyAdam]
    sum(model(data.batch(torch.arange(8))).values()).backward()
    assert model.method.table.table.weight.grad.is_sparse
    # an optimizer of one's own afterwards gets dense ones again
    model.zero_grad()
    train(model, data, optimizer=torch.optim.Adam(model.parameters()), epochs=1, batch_size=SIZE)
    small = planted()
    assert [type(each) for each in make_optimizers(model_of(small), lr=0.01)] == [torch.optim.Adam]


# ---------------------------------------------------------------------------------------------------- schedules
class Rates:
    """Notes the learning rate after every epoch."""

    def __init__(self, optimizer):
        self.optimizer, self.seen = optimizer, []

    def epoch(self, history):
        self.seen.append(self.optimizer.param_groups[0]["lr"])

    def close(self):
        pass


def rates(make, data=None, criterion=None, **how):
    data = planted() if data is None else data
    model = model_of(data)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    watch = Rates(optimizer)
    scheduler = make(optimizer)
    train(model, data, optimizer=optimizer, scheduler=scheduler, epochs=EPOCHS, batch_size=SIZE, callbacks=[watch],
          criterion=criterion, **how)  # fmt: skip
    return watch.seen, scheduler


def test_one_cycle_goes_up_and_down_within_the_training():
    data = planted()
    steps = EPOCHS * data.steps(SIZE)
    seen, scheduler = rates(lambda o: OneCycleLR(o, max_lr=1.0, total_steps=steps), data)
    assert scheduler.last_epoch == steps
    assert max(seen) > 0.8
    assert seen[-1] < 0.01 < seen[0]


def test_a_cycle_that_is_too_short_says_what_would_fit():
    words = r"OneCycleLR has 5 steps, but steps with every batch, \d+ times; give it total_steps="
    with pytest.raises(cw.ParameterError, match=words):
        rates(lambda o: OneCycleLR(o, max_lr=1.0, total_steps=EPOCHS))
    seen, _ = rates(lambda o: OneCycleLR(o, max_lr=1.0, total_steps=EPOCHS), scheduler_pace="epoch")
    assert len(set(seen)) == EPOCHS


def test_others_step_once_an_epoch_unless_told_otherwise():
    data = planted()
    assert rates(lambda o: StepLR(o, 1, 0.5), data)[0] == pytest.approx([0.1 * 0.5**e for e in range(1, EPOCHS + 1)])
    seen, scheduler = rates(lambda o: LambdaLR(o, lambda t: 1 / (1 + t)), data, scheduler_pace="batch")
    assert scheduler.last_epoch == EPOCHS * data.steps(SIZE)
    assert seen[0] == pytest.approx(0.1 / (1 + data.steps(SIZE)))
    cyclic = rates(lambda o: CyclicLR(o, 0.01, 0.1, step_size_up=3), data)[1]
    assert cyclic.last_epoch == EPOCHS * data.steps(SIZE)
    with pytest.raises(cw.ParameterError, match="scheduler_pace must be batch or epoch, got 'step'"):
        rates(lambda o: StepLR(o, 1), data, scheduler_pace="step")


def test_several_schedulers():
    seen, _ = rates(lambda o: [StepLR(o, 1, 0.5), StepLR(o, 2, 0.1)])
    assert seen == pytest.approx([0.05, 0.0025, 0.00125, 0.0000625, 0.00003125])


def test_a_plateau_of_the_loss_or_of_the_score():
    falling = rates(lambda o: ReduceLROnPlateau(o, patience=0, factor=0.1))[0]
    assert falling[0] == 0.1  # the loss falls at first
    for mode in ("max", "min"):
        scores = iter([0.5, 0.4, 0.6, 0.1, 0.7])
        seen, _ = rates(lambda o, mode=mode: ReduceLROnPlateau(o, mode=mode, patience=0, factor=0.1),
                        criterion=lambda _, s=scores: next(s))  # fmt: skip
        assert seen == pytest.approx([0.1, 0.01, 0.01, 0.001, 0.001])
    with pytest.raises(cw.ParameterError, match="watches the criterion's score, but there is none"):
        rates(lambda o: ReduceLROnPlateau(o, mode="max"))
    with pytest.raises(cw.ParameterError, match="watches whole epochs"):
        rates(lambda o: ReduceLROnPlateau(o), scheduler_pace="batch")


@pytest.mark.parametrize("make", [
    lambda o, steps: OneCycleLR(o, max_lr=0.5, total_steps=steps), lambda o, _: ReduceLROnPlateau(o, patience=0),
])  # fmt: skip
def test_a_schedule_goes_on_where_it_was(tmp_path, make):
    def run(**how):
        data = planted()
        model = model_of(data)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        scheduler = make(optimizer, EPOCHS * data.steps(SIZE))
        history = train(model, data, optimizer=optimizer, scheduler=scheduler, epochs=EPOCHS, batch_size=SIZE, **how)
        return model.net.weight.detach(), history.rows

    run(folder=tmp_path, every=2, stop_after=2)
    resumed, rows = run(folder=tmp_path, every=2, resume=True)
    whole, all_rows = run()
    assert torch.equal(resumed, whole)
    assert rows == all_rows


# ----------------------------------------------------------------------------------------- numbers that make none
@pytest.mark.parametrize("name", ["epochs", "batch_size", "patience", "every"])
def test_nought_is_not_the_default(name):
    data = planted()
    with pytest.raises(cw.ParameterError, match=f"{name} must be a whole number of at least 1, got 0"):
        train(model_of(data), data, **{"epochs": 1, name: 0})
    votes = cw.Annotations.from_arrays(data.crowd.task, data.crowd.worker, data.crowd.label)
    with pytest.raises(cw.ParameterError, match=f"{name} must be a whole number of at least 1, got 0"):
        CrowdClassifier("linear", "ccem", **{"epochs": 1, name: 0}).fit(data.x, votes)
    if name == "batch_size":
        with pytest.raises(cw.ParameterError, match="batch_size must be at least 1, got 0"):
            next(data.batches(0))


def test_a_trained_model_is_in_evaluation_mode():
    data = planted()
    votes = cw.Annotations.from_arrays(data.crowd.task, data.crowd.worker, data.crowd.label)
    for validation in (0, 0.2):
        fitted = CrowdClassifier("mlp", "ccem", epochs=2, validation=validation).fit(data.x, votes)
        assert not any(part.training for part in fitted.model_.modules())
        with torch.no_grad():
            said = torch.softmax(fitted.model_.net(data.x), 1).numpy()
        assert np.allclose(said, fitted.predict_proba(data.x), atol=1e-6)
    model = CrowdModel(nn.Sequential(nn.Dropout(), nn.Linear(D, K)), CCEM(data.crowd))
    train(model, data, epochs=1)
    assert not model.training
    assert not model.net[0].training
