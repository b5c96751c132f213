"""EM methods and Max-MIG against numbers from elsewhere: closed forms, numpy by hand, and the aggregators."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from scipy.special import digamma  # noqa: E402
from torch import nn  # noqa: E402

import crowdwise as cw  # noqa: E402
from crowdwise.core.errors import ParameterError  # noqa: E402
from crowdwise.kinds.classes.learn.methods import max_mig  # noqa: E402
from crowdwise.kinds.classes.learn.methods.confusion import (  # noqa: E402
    CCEM,
    LogTrace,
)
from crowdwise.kinds.classes.learn.methods.deep_em import (  # noqa: E402
    MBEM,
    AggNet,
    BayesDGC,
    DeepBP,
    DeepMF,
    Raykar,
)
from crowdwise.kinds.classes.learn.methods.simple import TwoStage  # noqa: E402
from crowdwise.kinds.classes.learn.tables import expected_log_likelihood  # noqa: E402
from crowdwise.learn import train  # noqa: E402
from crowdwise.learn.data.crowd import Crowd  # noqa: E402
from crowdwise.learn.data.dataset import CrowdData  # noqa: E402
from crowdwise.learn.method import CrowdModel, Output  # noqa: E402
from crowdwise.learn.simplex import clip_simplex  # noqa: E402
from crowdwise.learn.training.sweep import Sweep  # noqa: E402

DIVERGENCES = ["kl", "chi2", "js"]


def small_crowd(n=40, m=6, k=3, per_task=4, seed=0, right=0.7):
    """Annotations of one-coin workers, and their truth."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(k, size=n)
    task = np.repeat(np.arange(n), per_task)
    worker = np.concatenate([rng.choice(m, per_task, replace=False) for _ in range(n)])
    wrong = (truth[task] + rng.integers(1, k, size=len(task))) % k
    label = np.where(rng.random(len(task)) < right, truth[task], wrong)
    return cw.Annotations.from_arrays(task, worker, label, workers=range(m), classes=range(k)), truth


def sweep_of(log_proba, crowd, epoch=1, epochs=2, restart=lambda: None):
    return Sweep(epoch, epochs, crowd, lambda: log_proba, restart)


def mute(n_features, k):
    """A linear net that knows nothing."""
    net = nn.Linear(n_features, k)
    nn.init.zeros_(net.weight)
    nn.init.zeros_(net.bias)
    return net


def train_still(model, data, epochs):
    """E-steps, M-steps and beliefs only: the net's learning rate is zero."""
    train(model, data, optimizer=torch.optim.SGD(model.net.parameters(), lr=0.0), epochs=epochs, batch_size=len(data))


# ---------------------------------------------------------------- Max-MIG
F_OF = {
    "kl": lambda t: t * np.log(t),
    "chi2": lambda t: (t - 1) ** 2,
    "js": lambda t: t * np.log(t) - (t + 1) * np.log((t + 1) / 2),
}
AT_TRUTH = {"kl": 0.1200903, "chi2": 0.2304, "js": 0.0619242}  # p = .5, x right with .9, y with .8


def joint():
    """P(x, y) of two noisy views of a fair coin, and p(class | x), p(class | y)."""
    h, g = np.array([[0.9, 0.1], [0.1, 0.9]]), np.array([[0.8, 0.2], [0.2, 0.8]])
    return 0.5 * h @ g.T, torch.from_numpy(h).log(), torch.from_numpy(g).log()


def enumerated_gain(together, log_h, log_g, divergence):
    """The gain where every pair (x, y) counts by its probability."""
    log_k = torch.logsumexp(log_h[:, None] + log_g[None] + np.log(2), dim=2)
    p = torch.from_numpy(together)
    alone = torch.outer(p.sum(1), p.sum(0))
    own, pair = max_mig.own_term(log_k, divergence), max_mig.pair_term(log_k.exp(), divergence)
    return float((p * own).sum() - (alone * pair).sum())


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_the_gain_at_the_truth_is_the_mutual_information(divergence):
    together, log_h, log_g = joint()
    alone = np.outer(together.sum(1), together.sum(0))
    information = (alone * F_OF[divergence](together / alone)).sum()
    assert information == pytest.approx(AT_TRUTH[divergence], abs=1e-6)
    assert enumerated_gain(together, log_h, log_g, divergence) == pytest.approx(information, abs=1e-12)


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_any_other_classifier_gains_less(divergence):
    together, log_h, log_g = joint()
    best = enumerated_gain(together, log_h, log_g, divergence)
    generator = torch.Generator().manual_seed(0)
    for size in (0.01, 0.1, 1.0) * 20:
        off = size * torch.randn(2, 2, generator=generator, dtype=torch.float64)
        moved = torch.log_softmax(log_h + off, dim=1)
        if (moved - log_h).abs().max() > 1e-3 * size:
            assert enumerated_gain(together, moved, log_g, divergence) < best


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_the_gain_of_a_sample_with_exact_frequencies(divergence):
    """Of n tasks the pairs i ≠ j leave out the n equal ones: a known correction of order 1 / n."""
    together, log_h, log_g = joint()
    counts = np.rint(together * 100).astype(int)
    assert counts.sum() == 100
    x, y = (torch.from_numpy(np.repeat(axis.ravel(), counts.ravel())) for axis in np.indices((2, 2)))
    log_prior = torch.full((2,), -np.log(2), dtype=torch.float64)
    gain = float(max_mig.mutual_information_gain(log_h[x], log_g[y], log_prior, divergence))
    log_k = torch.logsumexp(log_h[x] + log_g[y] - log_prior, dim=1)
    own = float(max_mig.own_term(log_k, divergence).mean())
    own_cost = float(max_mig.pair_term(log_k.exp(), divergence).mean())
    expected_cost = own - AT_TRUTH[divergence]  # over all pairs, equal ones included
    assert gain == pytest.approx(own - (100 * expected_cost - own_cost) / 99, abs=1e-6)


def test_gains_of_classifiers_that_say_nothing():
    """The prior itself gains nothing; one class for all is worse: 1 + log(1 / p) - 1 / p."""
    log_prior = torch.full((4,), -np.log(4), dtype=torch.float64)
    even = log_prior.expand(10, 4)
    for divergence in DIVERGENCES:
        assert float(max_mig.mutual_information_gain(even, even, log_prior, divergence)) == pytest.approx(0, abs=1e-12)
    sure = torch.log(torch.tensor([1 - 3e-12, 1e-12, 1e-12, 1e-12], dtype=torch.float64)).expand(10, 4)
    gain = float(max_mig.mutual_information_gain(sure, sure, log_prior, "kl"))
    assert gain == pytest.approx(1 + np.log(4) - 4, abs=1e-6)


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_the_gradients_of_the_gain(divergence):
    """dL/dh = D g / p and dL/dg = Dᵀ h / p with the D of each divergence, written out."""
    rng = np.random.default_rng(0)
    b, k = 7, 3
    h, g = rng.dirichlet(np.ones(k), b), rng.dirichlet(np.ones(k), b)
    p = np.array([0.5, 0.3, 0.2])
    th, tg = (torch.from_numpy(v).requires_grad_() for v in (h, g))
    (-max_mig.mutual_information_gain(th.log(), tg.log(), torch.from_numpy(p).log(), divergence)).backward()
    big = (h / p) @ g.T
    pairs = b * (b - 1)
    d = {"kl": np.ones((b, b)) / pairs, "chi2": 2 * big / pairs, "js": 1 / ((1 + big) * pairs)}[divergence]
    own = np.diag(big)
    d[np.diag_indices(b)] = {"kl": -1 / own, "chi2": -2 * np.ones(b), "js": -(1 / own - 1 / (1 + own))}[divergence] / b
    np.testing.assert_allclose(th.grad, (d @ g) / p, rtol=1e-10)
    np.testing.assert_allclose(tg.grad, d.T @ (h / p), rtol=1e-10)


def test_a_given_prior_is_the_prior():
    crowd = Crowd.of(small_crowd()[0])
    for given in ((0.2, 0.3, 0.5), (0.1, 0.1, 0.8)):
        found = max_mig.MaxMIG(crowd, prior=given).log_prior().exp()
        np.testing.assert_allclose(found.detach(), given, atol=1e-6)
    with pytest.raises(ParameterError, match="sum to 1"):
        max_mig.MaxMIG(crowd, prior=(0.5, 0.5))


def test_dawid_skenes_prior_is_nearer_the_frequencies_than_the_votes():
    groups = [cw.simulate.OneCoin(8, low=0.7, high=0.85)]
    made = cw.simulate.crowd(2000, 2, groups, cw.simulate.PerTask(5), class_prior=(0.85, 0.15), seed=3)
    crowd = Crowd.of(made.annotations)
    rare = {p: float(max_mig.MaxMIG(crowd, prior=p).log_prior().exp()[1]) for p in ("votes", "dawid_skene")}
    assert rare["votes"] > 0.28
    assert abs(rare["dawid_skene"] - 0.15) < (rare["votes"] - 0.15) / 2
    empty = Crowd.of(made.annotations.take(np.zeros(len(made.annotations.label), dtype=bool)))
    np.testing.assert_allclose(max_mig.MaxMIG(empty, prior="dawid_skene").log_prior().exp().detach(), 0.5, atol=1e-6)


@pytest.mark.parametrize("m", [4, 60])  # few workers with many labels, many with few
def test_beliefs_are_read_off_alike_however_many_workers_there_are(m):
    votes = small_crowd(n=30, m=m, per_task=4)[0]
    crowd = Crowd.of(votes)
    batch = CrowdData(np.zeros((30, 2), dtype=np.float32), crowd).batch(torch.arange(30))
    belief = torch.from_numpy(np.random.default_rng(1).gamma(2.0, size=(m, 3, 3))).float()
    expected = digamma(belief.numpy()) - digamma(belief.sum(2, keepdim=True).numpy())
    expected = expected[crowd.worker, :, crowd.label]
    np.testing.assert_allclose(expected_log_likelihood(belief, batch), expected, atol=1e-5)


# ---------------------------------------------------------------- the clip
@pytest.mark.parametrize(
    ("p", "most", "clipped"),
    [
        ([0.97, 0.02, 0.01], 0.6, [0.6, 0.205, 0.195]),
        ([0.5, 0.46, 0.04], 0.45, [0.45, 0.45, 0.1]),
        ([0.8, 0.19, 0.01], 0.45, [0.45, 0.365, 0.185]),
        ([0.99, 0.01], 0.9, [0.9, 0.1]),
        ([0.9, 0.06, 0.04], 1 / 3, [1 / 3, 1 / 3, 1 / 3]),
        ([0.3, 0.3, 0.4], 0.9, [0.3, 0.3, 0.4]),
    ],
)
def test_the_clip(p, most, clipped):
    found = clip_simplex(torch.tensor([p], dtype=torch.float64), most)
    np.testing.assert_allclose(found[0], clipped, atol=1e-12)


def test_the_clip_of_random_rows_is_a_shift_and_a_bound():
    rows = torch.from_numpy(np.random.default_rng(0).dirichlet(np.full(6, 0.2), 500))
    found = clip_simplex(rows, 0.3)
    torch.testing.assert_close(found.sum(1), torch.ones(500, dtype=torch.float64))
    assert float(found.max()) <= 0.3 + 1e-12
    shift = torch.where(found < 0.3 - 1e-12, found - rows, -torch.inf).amax(1, keepdim=True)
    torch.testing.assert_close(found, torch.minimum(rows + shift, torch.tensor(0.3, dtype=torch.float64)))
    with pytest.raises(ParameterError, match="between"):
        clip_simplex(rows, 0.1)


# ---------------------------------------------------------------- against the aggregators
@pytest.mark.parametrize("prior", ["one_coin", "dirichlet"])
def test_deep_bp_under_a_mute_classifier_is_belief_propagation(prior):
    votes, _ = small_crowd(n=60, m=30, per_task=3)
    params = {"prior": prior, "prior_right": 3.0, "prior_wrong": 1.0, "seed": 5}
    result = cw.classes.BeliefPropagation(**params).fit(votes)
    crowd = Crowd.of(votes)
    model = CrowdModel(mute(2, 3), DeepBP(crowd, **params))
    train_still(model, CrowdData(np.ones((60, 2)), crowd), epochs=1)
    np.testing.assert_allclose(model.method.target, result.posterior, atol=1e-6)
    np.testing.assert_allclose(model.method.confusion(), result.confusion, atol=1e-6)


def test_agg_net_under_a_mute_classifier_is_dawid_skene_with_even_classes():
    votes, _ = small_crowd(n=200, m=8)
    result = cw.DawidSkene(smoothing=0.1, prior_class=1e7, tol=1e-16, max_iter=2000).fit(votes)
    np.testing.assert_allclose(result.class_prior, 1 / 3, atol=1e-5)
    crowd = Crowd.of(votes)
    model = CrowdModel(mute(2, 3), AggNet(crowd, smoothing=0.1))
    train_still(model, CrowdData(np.ones((200, 2)), crowd), epochs=300)
    np.testing.assert_allclose(model.method.target, result.posterior, atol=1e-3)
    np.testing.assert_allclose(model.method.confusion(), result.confusion, atol=1e-3)


def test_deep_mf_under_a_mute_classifier_is_mean_field():
    votes, _ = small_crowd(n=200, m=8)
    result = cw.classes.MeanField(prior_diagonal=2.0, prior_off=1.0, tol=1e-12, max_iter=2000).fit(votes)
    crowd = Crowd.of(votes)
    model = CrowdModel(mute(2, 3), DeepMF(crowd))
    train_still(model, CrowdData(np.ones((200, 2)), crowd), epochs=200)
    np.testing.assert_allclose(model.method.target, result.posterior, atol=1e-4)


def test_two_stage_trains_on_the_aggregators_posterior():
    votes, _ = small_crowd()
    result = cw.DawidSkene(smoothing=0.3).fit(votes)
    method = TwoStage(Crowd.of(votes), aggregator="dawid_skene", params={"smoothing": 0.3})
    np.testing.assert_allclose(method.target, result.posterior, atol=1e-6)
    np.testing.assert_allclose(method.confusion(), result.confusion, atol=1e-6)


def test_deep_bp_takes_the_accuracy_of_hammers():
    votes, _ = small_crowd(n=60, m=30, per_task=3)
    crowd = Crowd.of(votes)
    found = []
    for accuracy in (0.6, 0.95):
        params = {"prior": "hammer_spammer", "hammer_accuracy": accuracy}
        result = cw.classes.BeliefPropagation(**params).fit(votes)
        model = CrowdModel(mute(2, 3), DeepBP(crowd, **params))
        train_still(model, CrowdData(np.ones((60, 2)), crowd), epochs=1)
        np.testing.assert_allclose(model.method.target, result.posterior, atol=1e-6)
        found.append(model.method.target)
    assert not torch.allclose(*found, atol=0.05)


@pytest.mark.parametrize("k", [2, 3])
def test_what_the_clip_leaves_of_the_gradient(k):
    """Surer than the clip: nothing of two classes; of three, the two others still have a slope, among themselves."""
    votes, _ = small_crowd(n=1, m=3, k=k, per_task=3)
    crowd = Crowd.of(votes)
    method = DeepBP(crowd, clip=0.9, loss_on_clipped=True)
    method.target = torch.tensor([[0.2] + [0.8] + [0.0] * (k - 2)])
    logits = torch.tensor([[5.0] + [0.0] * (k - 1)], requires_grad=True)
    batch = CrowdData(np.ones((1, 2)), crowd).batch(torch.arange(1))
    method.loss(Output(logits), batch)["cross_entropy"].backward()
    if k == 2:
        assert torch.allclose(logits.grad, torch.zeros(1, 2), atol=1e-7)
    else:
        assert logits.grad[0, 1] < -1e-3 < 1e-3 < logits.grad[0, 2]
    text = " ".join(DeepBP.__doc__.split())
    assert "two classes then have no gradient at all; of more classes the others still have one" in text


# ---------------------------------------------------------------- BayesDGC
def numpy_ascent(votes, log_f, rounds, diagonal=5.0, off=2.0, classes=1.1):
    """Coordinate ascent of the same model, label by label."""
    n, m, k = votes.n_tasks, votes.n_workers, votes.n_classes
    prior = np.full((k, k), off) + (diagonal - off) * np.eye(k)
    share = votes.votes / votes.votes.sum(1, keepdims=True)

    def beliefs(q):
        found = np.tile(prior, (m, 1, 1))
        for i, w, label in zip(votes.task, votes.worker, votes.label, strict=True):
            found[w, :, label] += q[i]
        return found, classes + q.sum(0)

    beta, alpha = beliefs(share)
    for _ in range(rounds):
        score = log_f + digamma(alpha) - digamma(alpha.sum())
        log_a = digamma(beta) - digamma(beta.sum(2, keepdims=True))
        for i, w, label in zip(votes.task, votes.worker, votes.label, strict=True):
            score[i] += log_a[w, :, label]
        q = np.exp(score - score.max(1, keepdims=True))
        q /= q.sum(1, keepdims=True)
        beta, alpha = beliefs(q)
    assert q.shape == (n, k)
    return alpha, beta


def test_the_full_batch_step_of_bayes_dgc_is_coordinate_ascent():
    votes, _ = small_crowd(n=30, m=5)
    crowd = Crowd.of(votes)
    x = np.random.default_rng(0).normal(size=(30, 4)).astype(np.float32)
    torch.manual_seed(0)
    model = CrowdModel(nn.Linear(4, 3), BayesDGC(crowd, kappa=0.0, use_pi=True, warm_up=0))
    with torch.no_grad():
        log_f = torch.log_softmax(model.net(torch.from_numpy(x)), 1).double().numpy()
    train_still(model, CrowdData(x, crowd), epochs=4)
    alpha, beta = numpy_ascent(votes, log_f, rounds=4)
    np.testing.assert_allclose(model.method.belief, beta, rtol=1e-4)
    np.testing.assert_allclose(model.method.class_belief, alpha, rtol=1e-4)


def test_natural_gradient_steps_of_small_batches_settle_near_coordinate_ascent():
    votes, _ = small_crowd(n=300, m=5)
    crowd = Crowd.of(votes)
    model = CrowdModel(mute(2, 3), BayesDGC(crowd))
    train(model, CrowdData(np.ones((300, 2)), crowd), optimizer=torch.optim.SGD(model.net.parameters(), lr=0.0),
          epochs=30, batch_size=30)  # fmt: skip
    _, beta = numpy_ascent(votes, np.zeros((300, 3)), rounds=100)
    np.testing.assert_allclose(model.method.confusion(), beta / beta.sum(2, keepdims=True), atol=0.03)


def test_the_slope_of_the_bound_in_the_logits_is_q_less_softmax():
    votes, _ = small_crowd(n=6, m=5)
    crowd = Crowd.of(votes)
    method = BayesDGC(crowd, use_pi=True, warm_up=0).double()
    batch = CrowdData(np.ones((6, 2)), crowd).batch(torch.arange(6))
    gamma = torch.randn(6, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    q = method.posterior(Output(gamma), batch)
    expected = q - torch.softmax(gamma, 1)
    step = 1e-6
    for i in range(6):
        for k in range(3):
            off = torch.zeros(6, 3, dtype=torch.float64)
            off[i, k] = step
            up, down = (-6 * float(method.loss(Output(gamma + s * off), batch)["bound"]) for s in (1, -1))
            assert (up - down) / (2 * step) == pytest.approx(float(expected[i, k]), abs=1e-6)


# ---------------------------------------------------------------- deepMF's special cases (seed's appendix C)
def soft_net(seed=0):
    torch.manual_seed(seed)
    return nn.Linear(4, 3).double()


class Doubles(torch.utils.data.Dataset):
    def __init__(self, n):
        self.x = torch.randn(n, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i]


def test_with_sure_beliefs_and_one_label_a_task_deep_mf_steps_as_ccem():
    votes, _ = small_crowd(n=50, m=5, per_task=1)
    crowd, x = Crowd.of(votes), Doubles(50)
    ccem = CrowdModel(soft_net(), CCEM(crowd, start="eye", scale=1.5, form="softmax").double())
    mf = CrowdModel(soft_net(), DeepMF(crowd, clip=1.0, warm_up=0).double())
    theta = ccem.method.confusion().detach()
    mf.method.belief = 1e10 * theta  # a Dirac delta on the confusions
    batch = CrowdData(x, crowd).batch(torch.arange(50))
    log_f = torch.log_softmax(mf.net(x.x), 1).detach()
    mf.method.begin_epoch(sweep_of(log_f, crowd))
    for model in (ccem, mf):
        sum(model(batch).values()).backward()
    torch.testing.assert_close(mf.net.weight.grad, ccem.net.weight.grad, rtol=1e-6, atol=1e-9)
    # The cells of the confusion: the expected counts that deepMF adds to its prior are ccem's slope in log theta.
    log_theta = theta.log().requires_grad_()
    said = torch.logsumexp(log_f[crowd.task] + log_theta[crowd.worker, :, crowd.label], 1).sum()
    (slope,) = torch.autograd.grad(said, log_theta)
    torch.testing.assert_close(mf.method.belief - mf.method.prior, slope, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("strength", [0.0, 0.5])
def test_the_mode_of_deep_mfs_beliefs_is_where_the_log_trace_stands_still(strength):
    """Eq. 32-35, q(z) = f and a Dirac delta: prior 1 is the crowd layer's, 1 - strength on the diagonal Trace's."""
    votes, _ = small_crowd(n=200, m=5)
    crowd, x = Crowd.of(votes), Doubles(200)
    log_trace = CrowdModel(soft_net(), LogTrace(crowd, strength=strength).double())
    mf = DeepMF(crowd, prior_diagonal=1 - strength, prior_off=1.0, warm_up=0).double()
    f = torch.softmax(log_trace.net(x.x), 1).detach()
    mode = mf.prior + crowd.counts(f) - 1  # eq. 29 at q = f, less one: the mode of the Dirichlet, unnormalised
    with torch.no_grad():
        log_trace.method.table.table.weight.copy_(mode.log().reshape(5, -1))
    batch = CrowdData(x, crowd).batch(torch.arange(200))
    sum(log_trace(batch).values()).backward()
    # The prior's pseudo-counts do not add up to K in a row: the slope left is that of the normaliser, none at all here.
    slope = log_trace.method.table.table.weight.grad.view(5, 3, 3)
    torch.testing.assert_close(slope, torch.zeros_like(slope), atol=1e-9, rtol=0)


# ---------------------------------------------------------------- MBEM and Raykar by hand
def test_mbem_by_hand():
    """Four tasks, two workers; the classifier says 0, 0, 1, 1."""
    votes = cw.Annotations.from_arrays(
        [0, 0, 1, 1, 2, 2, 3, 3], ["a", "b"] * 4, [0, 1, 0, 1, 1, 1, 0, 1], classes=range(2)
    )
    crowd = Crowd.of(votes)
    method = MBEM(crowd, rounds=2, smoothing=0.0)
    log_proba = torch.log(torch.tensor([[0.9, 0.1], [0.6, 0.4], [0.3, 0.7], [0.2, 0.8]]))
    restarted = []
    method.begin_epoch(sweep_of(log_proba, crowd, epoch=4, epochs=10, restart=lambda: restarted.append(True)))
    assert not restarted  # rounds of five epochs
    torch.testing.assert_close(method.target[0], torch.tensor([0.5, 0.5]))
    method.begin_epoch(sweep_of(log_proba, crowd, epoch=5, epochs=10, restart=lambda: restarted.append(True)))
    assert restarted
    a, b = method.confusion()
    np.testing.assert_allclose(a, [[1, 0], [0.5, 0.5]], atol=1e-6)
    np.testing.assert_allclose(b, [[0, 1], [0, 1]], atol=1e-6)
    # "a" says 0: 1 · .5 against .5 · .5; says 1: 0 against .5. "b" always says 1. The classifier itself is left out.
    np.testing.assert_allclose(method.target, [[2 / 3, 1 / 3], [2 / 3, 1 / 3], [0, 1], [2 / 3, 1 / 3]], atol=1e-6)


def mbem_run(epochs, rounds, criterion=None, **how):
    """Train MBEM on planted features; the model, its predictions, and the epochs in which the net began again."""
    votes, truth = small_crowd(n=60, m=5)
    crowd = Crowd.of(votes)
    x = (np.eye(3, 4)[truth] + 0.5 * np.random.default_rng(2).normal(size=(60, 4))).astype(np.float32)
    torch.manual_seed(0)
    method = MBEM(crowd, rounds=rounds)
    begun = [0]
    usual = method.begin_epoch

    def begin(sweep):
        usual(Sweep(sweep.epoch, sweep.epochs, sweep.crowd, sweep.log_proba_of,
                    lambda: (begun.append(sweep.epoch), sweep.restart())))  # fmt: skip

    method.begin_epoch = begin
    model = CrowdModel(nn.Linear(4, 3), method)
    train(model, CrowdData(x, crowd), optimizer=torch.optim.Adam(model.net.parameters(), lr=0.05), epochs=epochs,
          batch_size=20, criterion=criterion, **how)  # fmt: skip
    with torch.no_grad():
        return model, crowd, model.net(torch.from_numpy(x)).argmax(1), begun


@pytest.mark.parametrize("best", [None, 1, 4])
@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_mbems_confusions_are_those_of_the_classifier_that_is_kept(rounds, best):
    """Of the last one, or of the one that a criterion has chosen, in whatever round it was trained."""
    scores = iter(range(1, 8))
    criterion = None if best is None else lambda _: -abs(next(scores) - best)
    model, crowd, predicted, _ = mbem_run(7, rounds, criterion)
    counts = np.full((5, 3, 3), 0.01)
    np.add.at(counts, (crowd.worker.numpy(), predicted.numpy()[crowd.task.numpy()], crowd.label.numpy()), 1)
    np.testing.assert_allclose(model.method.confusion(), counts / counts.sum(2, keepdims=True), atol=1e-5)


@pytest.mark.parametrize(("epochs", "rounds"), [(6, 4), (7, 5), (9, 4), (10, 4), (10, 2), (5, 5), (3, 1)])
def test_mbem_has_as_many_rounds_as_asked(epochs, rounds):
    _, _, _, begun = mbem_run(epochs, rounds)
    lengths = np.diff([*begun, epochs])
    assert len(lengths) == rounds
    assert lengths.max() - lengths.min() <= 1
    with pytest.raises(ParameterError, match=f"mbem needs an epoch for each of its {epochs + 1} rounds, got {epochs}"):
        mbem_run(epochs, epochs + 1)


def test_a_refit_of_mbem_has_the_rounds_of_the_first_run():
    votes, truth = small_crowd(n=60, m=5)
    x = np.eye(3, 4)[truth] + 0.5 * np.random.default_rng(2).normal(size=(60, 4))
    given = {"params": {"rounds": 5}, "epochs": 10, "lr": 0.05}
    for seed in range(3):
        chosen = cw.learn.CrowdClassifier("linear", "mbem", validation=0.2, seed=seed, **given).fit(x, votes)
        refit = cw.learn.CrowdClassifier("linear", "mbem", refit=True, validation=0.2, seed=seed, **given).fit(x, votes)
        assert len(refit.history_) == refit.history_.best_epoch == chosen.history_.best_epoch


def test_raykars_sensitivity_and_specificity_have_beta_priors():
    """(a1 - 1 + sum mu y) / (a1 + a2 - 2 + sum mu) at the vote shares, and the like for the other class."""
    votes = cw.Annotations.from_arrays([0, 0, 1, 1, 2, 2], ["a", "b"] * 3, [1, 1, 0, 1, 0, 0], classes=range(2))
    method = Raykar(Crowd.of(votes), prior_diagonal=4.0, prior_off=2.0)
    mu = np.array([1.0, 0.5, 0.0])
    said = {0: np.array([1, 0, 0]), 1: np.array([1, 1, 0])}
    for worker, y in said.items():
        sensitivity = (3 + (mu * y).sum()) / (4 + mu.sum())
        specificity = (3 + ((1 - mu) * (1 - y)).sum()) / (4 + (1 - mu).sum())
        assert float(method.confusion()[worker, 1, 1]) == pytest.approx(sensitivity, abs=1e-6)
        assert float(method.confusion()[worker, 0, 0]) == pytest.approx(specificity, abs=1e-6)
