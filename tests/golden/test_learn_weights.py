"""The weights of Weighted Doctor Net: their best is where they stay, however many heads there are."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from scipy.optimize import minimize  # noqa: E402

import crowdwise as cw  # noqa: E402
from crowdwise.kinds.classes.learn.methods import doctors as weighted_doctor_net  # noqa: E402
from crowdwise.kinds.classes.learn.methods.doctors import WeightedDoctorNet  # noqa: E402
from crowdwise.learn import Crowd, CrowdData, Output  # noqa: E402

N, K, D = 200, 3, 6


def test_weights_of_heads_find_the_best_mixture():
    """Head 0 knows the classes, the others guess: at a full step the weights go to head 0, and never lose."""
    k, n = 2, 40
    truth = torch.arange(n) % k
    task = np.repeat(np.arange(n), 2)
    worker = np.tile([1, 2], n)  # head 0 never labels, so it may always speak
    extra = np.array([0])
    votes = cw.Annotations.from_arrays(
        np.r_[task, extra], np.r_[worker, 0], np.r_[np.repeat(truth.numpy(), 2), truth[0]], classes=range(k)
    )
    crowd = Crowd.of(votes)
    method = WeightedDoctorNet(crowd, n_features=2, rate=1.0)
    with torch.no_grad():
        method.heads.weight.weight[0] = torch.tensor([[2.0, 0.0], [0.0, 2.0]]).flatten()
    batch = CrowdData(torch.nn.functional.one_hot(truth, k).float(), crowd).batch(torch.arange(n))
    shares, losses = [], []
    for _ in range(30):
        out = Output(torch.zeros(n, k), batch.x)
        losses.append(-float(method.classify(out)[torch.arange(n), truth].mean().detach()))
        shares.append(float(method.shares()[0].detach()))
        step(method, out, batch)
    assert shares[0] == pytest.approx(1 / 3)
    assert shares[-1] > 0.95
    assert all(later <= before + 1e-6 for before, later in pairwise(losses))


def step(method, out, batch):
    method.loss(out, batch)
    with torch.no_grad():
        method.end_step(batch)


def crowded(m, seed=0):
    """Heads that know more or less of the classes, one to four labels a task, and what all heads say: task, head, K."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(K, size=N)
    x = 2.0 * np.eye(K, D)[truth] + rng.normal(size=(N, D))
    rows = [(i, w) for i in range(N) for w in rng.choice(m, rng.integers(1, min(m, 5)), replace=False)]
    rows += [(int(rng.integers(N)), w) for w in range(m) if w not in {w for _, w in rows}]
    task, worker = map(np.array, zip(*sorted(set(rows)), strict=True))
    label = np.where(rng.random(len(task)) < 0.7, truth[task], rng.integers(K, size=len(task)))
    crowd = Crowd.of(cw.Annotations.from_arrays(task, worker, label, workers=range(m), classes=range(K)))
    method = WeightedDoctorNet(crowd, n_features=D)
    good = rng.random(m)[:, None, None]
    weight = good * np.eye(K, D) + (1 - good) * rng.normal(size=(m, K, D)) * 0.7
    with torch.no_grad():
        method.heads.weight.weight.copy_(torch.from_numpy(weight).reshape(m, -1).float())
    batch = CrowdData(x.astype(np.float32), crowd).batch(torch.arange(N))
    out = Output(torch.zeros(N, K), batch.x)
    with torch.no_grad():
        said = method.head_probabilities(out, torch.arange(m)).double().numpy()
    return method, batch, out, said, crowd


def cross_entropy(log_weight, said, crowd):
    """The objective, label by label and head by head, and its slope in the logarithms of the weights."""
    n, m, _ = said.shape
    a = np.exp(log_weight - log_weight.max())
    a = a / a.sum()
    free = np.ones((n, m))
    free[crowd.task.numpy(), crowd.worker.numpy()] = 0
    free[free.sum(1) == 0] = 1
    target = crowd.votes.double().numpy()
    target /= target.sum(1, keepdims=True)
    total = (free * a).sum(1)
    mean = np.einsum("iw,iwk->ik", free * a, said) / total[:, None]
    value = -(target * np.log(mean)).sum() / n
    slope = -(free * (np.einsum("ik,iwk->iw", target / mean, said) - 1) / total[:, None]).sum(0) / n
    return value, a * slope


def best_weights(said, crowd):
    m = said.shape[1]
    found = minimize(cross_entropy, np.zeros(m), (said, crowd), jac=True, method="L-BFGS-B",
                     bounds=[(-12, 12)] * m, options={"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-9})  # fmt: skip
    return found.x, found.fun


@pytest.mark.parametrize("m", [3, 20, 100])
def test_the_best_weights_are_a_fixed_point(m):
    method, batch, out, said, crowd = crowded(m)
    best, least = best_weights(said, crowd)
    with torch.no_grad():
        method.log_weight.copy_(torch.from_numpy(best))
    before = method.shares().double().numpy()
    for _ in range(200):
        step(method, out, batch)
    after = method.shares().double().numpy()
    assert np.abs(after - before).sum() < 0.01
    assert cross_entropy(np.log(after + 1e-30), said, crowd)[0] < least + 1e-5


@pytest.mark.parametrize("m", [3, 20, 100])
def test_even_weights_move_to_the_best_ones(m):
    method, batch, out, said, crowd = crowded(m)
    _, least = best_weights(said, crowd)
    even = cross_entropy(np.zeros(m), said, crowd)[0]
    values = []
    for _ in range(600):
        step(method, out, batch)
        values.append(cross_entropy(method.log_weight.double().numpy(), said, crowd)[0])
    assert all(later <= before + 1e-6 for before, later in pairwise(values))
    assert values[-1] - least < 0.2 * (even - least)


def test_batches_of_some_tasks_stay_near_the_best_weights():
    method, _, _, said, crowd = crowded(20)
    best, least = best_weights(said, crowd)
    even = cross_entropy(np.zeros(20), said, crowd)[0]
    with torch.no_grad():
        method.log_weight.copy_(torch.from_numpy(best))
    data = CrowdData(crowded(20)[1].x, crowd)
    for epoch in range(30):
        for batch in data.batches(40, epoch=epoch):
            step(method, Output(torch.zeros(len(batch), K), batch.x), batch)
    value = cross_entropy(method.log_weight.double().numpy(), said, crowd)[0]
    assert value - least < 0.1 * (even - least)


def test_a_crowd_too_large_for_every_step_is_graded_on_some_tasks_in_some_steps(monkeypatch):
    method, batch, out, said, crowd = crowded(20)
    monkeypatch.setattr(weighted_doctor_net, "CHUNK", N * 20 * K // 4)
    asked = []
    speak = method.head_probabilities
    method.head_probabilities = lambda out, heads: asked.append((len(out.logits), len(heads))) or speak(out, heads)
    _, least = best_weights(said, crowd)
    even = cross_entropy(np.zeros(20), said, crowd)[0]
    for _ in range(1200):
        step(method, out, batch)
    assert asked == [(N // 4, 20)] * 300
    value = cross_entropy(method.log_weight.double().numpy(), said, crowd)[0]
    assert value - least < 0.25 * (even - least)
