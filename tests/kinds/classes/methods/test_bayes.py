"""The Bayesian methods against enumeration, against each other, and at their limits."""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest
from scipy.special import digamma, gammaln

import crowdwise as cw
from crowdwise import simulate
from crowdwise.em.kernels import Workspace
from crowdwise.kinds.classes.maths import subtypes as subtype_kernels
from crowdwise.kinds.classes.methods.bayes import BayesModel, diagonal_prior
from tests.conftest import planted

TREE = [(0, 0, 0), (1, 0, 1), (1, 1, 0), (2, 1, 0), (2, 2, 1), (3, 2, 1), (3, 3, 0), (4, 3, 0)]


def tree(**kwargs):
    task, worker, label = (np.array(column) for column in zip(*TREE, strict=True))
    return cw.Annotations.from_arrays(task, worker, label, **kwargs)


def enumerate_posterior(votes, diagonal, off, alpha, gold=None):
    """(posterior, log evidence) of the Bayesian model, matrices and class prior integrated out, over all z."""
    n, m, k = votes.n_tasks, votes.n_workers, votes.n_classes
    prior = diagonal_prior(k, diagonal, off).T  # true, observed
    weight = np.ones(len(votes)) if votes.weight is None else votes.weight
    posterior, logs, states = np.zeros((n, k)), [], []
    for z in itertools.product(range(k), repeat=n):
        if gold and any(z[i] != c for i, c in gold.items()):
            continue
        z = np.array(z)
        counts = np.zeros((m, k, k))
        np.add.at(counts, (votes.worker, z[votes.task], votes.label), weight)
        mass = np.bincount(z, minlength=k)
        log_p = (gammaln(prior + counts) - gammaln(prior)).sum()
        log_p += (gammaln(prior.sum(1)) - gammaln(prior.sum(1) + counts.sum(2))).sum()
        log_p += (gammaln(alpha + mass) - gammaln(alpha)).sum() + gammaln(k * alpha) - gammaln(k * alpha + n)
        logs.append(log_p)
        states.append(z)
    logs = np.array(logs)
    p = np.exp(logs - logs.max())
    for z, share in zip(states, p / p.sum(), strict=True):
        posterior[np.arange(n), z] += share
    return posterior, logs.max() + np.log(p.sum())


def brute_elbo(votes, q, rows, rows_prior, classes, alpha):
    """The bound term by term as it is written in papers; rows are [worker, true, observed]."""

    def log_mean(a):
        return digamma(a) - digamma(a.sum(-1, keepdims=True))

    def expected_log_dirichlet(a, at):
        return gammaln(a.sum(-1)) - gammaln(a).sum(-1) + ((a - 1) * at).sum(-1)

    def entropy(a):
        total = a.sum(-1)
        return (
            gammaln(a).sum(-1)
            - gammaln(total)
            + (total - a.shape[-1]) * digamma(total)
            - ((a - 1) * digamma(a)).sum(-1)
        )

    safe = np.where(q > 0, q, 1.0)
    bound = -(q * np.log(safe)).sum() + (q * log_mean(classes)).sum()
    for i, w, label in zip(votes.task, votes.worker, votes.label, strict=True):
        bound += (q[i] * log_mean(rows)[w, :, label]).sum()
    bound += (expected_log_dirichlet(np.broadcast_to(rows_prior, rows.shape), log_mean(rows)) + entropy(rows)).sum()
    return bound + expected_log_dirichlet(np.full_like(classes, alpha), log_mean(classes)) + entropy(classes)


@pytest.mark.parametrize(("diagonal", "off", "alpha"), [(4.0, 1.0, 1.0), (5.0, 2.0, 1.1), (0.3, 0.05, 0.2)])
def test_the_objective_is_the_evidence_lower_bound(diagonal, off, alpha):
    votes = planted(n=6, m=3, k=3, labels=2)[0]
    prior = diagonal_prior(3, diagonal, off)
    model, space = BayesModel(prior, alpha), Workspace.of(votes)
    stats = model.start(space, lambda _: np.random.default_rng(0).dirichlet(np.ones(3), 6))
    beliefs = model.maximise(stats)
    _, log_likelihood = model.accumulate(beliefs, space)
    ours = log_likelihood + model.log_prior(beliefs)
    rows = (stats.counts + prior).transpose(0, 2, 1)
    exact = brute_elbo(votes, model.posterior(beliefs, space), rows, prior.T, stats.mass + alpha, alpha)
    assert ours == pytest.approx(exact, rel=1e-10)
    assert ours <= enumerate_posterior(votes, diagonal, off, alpha)[1]


@pytest.mark.parametrize("prior_off", [1.0, 0.05])
def test_the_compiled_kernel_takes_rows_that_sum_to_less_than_one(prior_off, monkeypatch):
    """The floor at 1e-18 is never met: same bound from both kernels, and it never falls."""
    votes = planted(n=400, m=5, k=3, labels=5, low=0.9, high=0.999)[0]
    method = cw.classes.IBCC(prior_diagonal=1, prior_off=prior_off, max_iter=300, tol=1e-12)
    plain = method.fit(votes)
    monkeypatch.setattr("crowdwise.em.kernels.COMPILED_FROM", 0)
    fast = method.fit(votes)
    assert fast.extra["theta"].min() > 1e-18
    np.testing.assert_allclose(fast.posterior, plain.posterior, atol=1e-9)
    np.testing.assert_allclose(fast.trace, plain.trace, rtol=1e-10)
    assert (np.diff(fast.trace) > -1e-7).all()


def test_new_workers_and_tasks_without_labels_are_judged_by_what_is_known():
    votes = planted(n=60, m=8, k=3)[0]
    strange = cw.Annotations.from_arrays(
        ["a", "a", "b"], [0, 99, 99], [1, 1, 2], tasks=["a", "b", "c"], classes=range(3)
    )
    for method in (cw.classes.IBCC(), cw.classes.EBCC(n_groups=3), cw.classes.CBCC(), cw.classes.Gibbs(n_sweeps=50)):
        result = method.fit(votes)
        with pytest.raises(cw.DataError, match="99"):
            result.infer(strange)
        found = result.infer(strange, unknown_workers="average")
        assert found.labels[:2].tolist() == [1, 2]
        np.testing.assert_allclose(found.posterior[2], result.class_prior)
        again = found.infer(strange)
        assert again.labels[:2].tolist() == [1, 2]


def test_ibcc_converges_to_dawid_skene_when_data_and_prior_are_scaled_up():
    votes = planted(n=80, m=6, k=3)[0]
    frame = votes.to_frame()
    heavy = cw.Annotations.from_arrays(frame["task"], frame["worker"], frame["label"], weight=np.full(len(frame), 1e4))
    bayes = cw.classes.IBCC(prior_diagonal=5e3, prior_off=5e3, tol=1e-13).fit(heavy)
    point = cw.DawidSkene(smoothing=5e3, tol=1e-13).fit(heavy)
    np.testing.assert_allclose(bayes.confusion, point.confusion, atol=1e-3)


def test_mean_field_is_ibcc_with_the_class_prior_pinned():
    votes = planted(n=60, m=6, k=3)[0]
    pinned = cw.classes.IBCC(prior_diagonal=2, prior_off=1, prior_class=1e9, tol=1e-12).fit(votes)
    fixed = cw.classes.MeanField(tol=1e-12).fit(votes)
    np.testing.assert_allclose(fixed.posterior, pinned.posterior, atol=1e-3)


def test_mean_field_takes_the_class_prior_as_given():
    votes = planted(n=60, m=6, k=3)[0]
    given = (0.98, 0.01, 0.01)
    result = cw.classes.MeanField(class_prior=given).fit(votes)
    assert result.class_prior.tolist() == pytest.approx(given)
    assert result.posterior[:, 0].sum() > cw.classes.MeanField().fit(votes).posterior[:, 0].sum()
    with pytest.raises(cw.ParameterError, match="has 2 entries and the data have 3 classes"):
        cw.classes.MeanField(class_prior=(0.5, 0.5)).fit(votes)
    with pytest.raises(cw.ParameterError, match="sum to 1"):
        cw.classes.MeanField(class_prior=(0.5, 0.6))
    with pytest.raises(cw.ParameterError, match="coin must be"):
        cw.classes.MeanField(coin="three")


# spec: truth Beta, (mean, sd) of two-coin and one-coin mean field over 20 seeds, N=1000, l=3, r=4
SPARSE = {(0.2, 0.1): ((0.876, 0.029), (0.940, 0.018)), (1.0, 0.5): ((0.799, 0.015), (0.817, 0.023))}


@pytest.mark.slow
@pytest.mark.parametrize("beta", SPARSE)
def test_mean_field_on_the_sparse_regular_graph(beta):
    group = simulate.OneCoin(750, low=0, high=1, beta=beta)
    crowds = [simulate.crowd(1000, 2, [group], simulate.Regular(3, 4), seed=s) for s in range(6)]
    for coin, (mean, sd) in zip(("two", "one"), SPARSE[beta], strict=True):
        method = cw.classes.MeanField(coin=coin, prior_diagonal=beta[0], prior_off=beta[1])
        ours = [cw.evaluate(method.fit(c.annotations), c.truth_table()).expected_accuracy for c in crowds]
        sd = max(sd, float(np.std(ours)))
        assert np.mean(ours) == pytest.approx(mean, abs=3.5 * sd * np.sqrt(1 / 6 + 1 / 20)), coin


def test_a_guesser_and_a_wrong_prior_break_mean_field():
    """A documented failure: keep it visible."""
    groups = [simulate.OneCoin(750, low=0, high=1, beta=(2, 1))]
    crowd = simulate.crowd(1000, 2, groups, simulate.Regular(3, 4), seed=0)
    rng = np.random.default_rng(0)
    frame = crowd.annotations.to_frame()
    everyone = cw.Annotations.from_arrays(
        np.concatenate([crowd.annotations.task, np.arange(1000)]),
        np.concatenate([crowd.annotations.worker, np.full(1000, 750)]),
        np.concatenate([crowd.annotations.label, rng.integers(2, size=1000)]),
    )
    assert len(everyone) == len(frame) + 1000
    labels = cw.classes.MeanField(prior_diagonal=2, prior_off=1.6).fit(everyone).labels
    assert (labels == crowd.truth).mean() < 0.6


@pytest.mark.slow
@pytest.mark.parametrize("gold", [None, {2: 1}])
def test_gibbs_agrees_with_enumeration_on_a_tree(gold):
    votes = tree()
    exact, _ = enumerate_posterior(votes, 4.0, 1.0, 1.0, gold)
    ours = cw.classes.Gibbs(n_sweeps=20_000).fit(votes, gold=gold)
    np.testing.assert_allclose(ours.posterior, exact, atol=0.02)


def test_gibbs_takes_weights_and_conflicting_votes_of_one_worker_exactly():
    task, worker, label = [0, 0, 0, 1, 1, 2, 2], [0, 0, 1, 0, 1, 0, 1], [0, 1, 1, 1, 1, 0, 2]
    weight = [1, 1, 0.5, 2, 1, 1.5, 1]
    votes = cw.Annotations.from_arrays(task, worker, label, weight=weight, duplicates="keep")
    exact, _ = enumerate_posterior(votes, 3.0, 0.5, 1.0)
    np.testing.assert_allclose(
        cw.classes.Gibbs(n_sweeps=20_000, prior_diagonal=3, prior_off=0.5).fit(votes).posterior, exact, atol=0.02
    )


def test_gibbs_is_less_sure_than_mean_field_and_bounds_its_work():
    votes = simulate.crowd(200, 2, [simulate.OneCoin(150, low=0.4, high=1)], simulate.Regular(3, 4), seed=1).annotations
    assert cw.classes.Gibbs(n_sweeps=500).fit(votes).mean_confidence < cw.classes.IBCC().fit(votes).mean_confidence
    assert cw.classes.Gibbs().plan(5_000_000) == (120, 600)
    assert cw.classes.Gibbs().plan(1000) == (200, 1000)
    with pytest.raises(cw.DataError, match="too few for a sample"):
        cw.classes.Gibbs().plan(10**9)
    with pytest.raises(cw.ParameterError, match="prior_diagonal must be above 1"):
        cw.classes.Gibbs(prior_diagonal=1)


@pytest.mark.parametrize("gold", [None, {0: 1, 5: 0}])
def test_ebcc_with_one_group_is_ibcc(gold):
    votes = planted(n=60, m=8, k=3)[0]
    one, other = cw.classes.EBCC(n_groups=1, n_init=1).fit(votes, gold=gold), cw.classes.IBCC().fit(votes, gold=gold)
    for name in ("posterior", "confusion", "class_prior", "counts"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), atol=1e-9)
    np.testing.assert_allclose(one.trace, other.trace, rtol=1e-9)


def test_ebcc_kernels_agree(monkeypatch):
    votes = planted(n=60, m=8, k=3)[0]
    weighted = cw.Annotations.from_arrays(
        *(votes.to_frame()[c] for c in ("task", "worker", "label")), weight=np.linspace(0.5, 2, len(votes))
    )
    for data in (votes, weighted):
        plain = cw.classes.EBCC(n_groups=4, max_iter=300).fit(data, gold={0: 1, 7: 2})
        with monkeypatch.context() as patch:
            patch.setattr(subtype_kernels, "COMPILED_FROM", 0)
            fast = cw.classes.EBCC(n_groups=4, max_iter=300).fit(data, gold={0: 1, 7: 2})
        np.testing.assert_allclose(fast.posterior, plain.posterior, atol=1e-8)
        np.testing.assert_allclose(fast.trace, plain.trace, rtol=1e-10)


def test_ebcc_keeps_the_highest_bound_and_refuses_what_does_not_fit():
    votes = planted(n=80, m=8, k=2)[0]
    single = [cw.classes.EBCC(n_init=1, seed=s).fit(votes).trace[-1] for s in range(2)]
    assert cw.classes.EBCC(n_init=4).fit(votes).trace[-1] >= single[0] - 1e-9
    with pytest.raises(cw.DataError, match="lower n_groups"):
        cw.classes.EBCC(n_groups=10**7).fit(votes)


def test_one_flat_community_is_ibcc_with_a_flat_prior():
    votes = planted(n=100, m=10, k=3)[0]
    flat = cw.classes.CBCC(n_communities=1, n_init=1, strength=3 * 2.0, prior_diagonal=1e9, prior_off=1e9, tol=1e-11)
    ibcc = cw.classes.IBCC(prior_diagonal=2, prior_off=2, tol=1e-11).fit(votes)
    found = flat.fit(votes)
    np.testing.assert_allclose(found.posterior, ibcc.posterior, atol=1e-3)
    np.testing.assert_allclose(found.confusion, ibcc.confusion, atol=1e-4)


def test_one_very_strong_community_is_pooled():
    votes = planted(n=400, m=10, k=3)[0]
    strong = cw.classes.CBCC(n_communities=1, n_init=1, strength=1e6, prior_diagonal=1, prior_off=1, tol=1e-9).fit(
        votes
    )
    pooled = cw.classes.Pooled(smoothing=1, prior_class=0.5, tol=1e-10).fit(votes)
    np.testing.assert_allclose(strong.confusion, pooled.confusion, atol=1e-3)
    np.testing.assert_allclose(strong.posterior, pooled.posterior, atol=5e-3)


def test_communities_are_found():
    groups = [simulate.OneCoin(30, low=0.8, high=0.9), simulate.Constant(15, label=1)]
    crowd = simulate.crowd(600, 3, groups, simulate.PerTask(6), seed=0)
    result = cw.classes.CBCC(n_communities=2).fit(crowd.annotations)
    community = result.extra["community"].argmax(axis=1)
    assert len(set(community[:30])) == len(set(community[30:])) == 1
    assert community[0] != community[40]
    assert result.extra["community_confusion"][community[40]][:, 1].min() > 0.8


@pytest.mark.slow
@pytest.mark.parametrize(
    "method",
    [
        cw.classes.IBCC(),
        cw.classes.MeanField(),
        cw.classes.Gibbs(n_sweeps=100, burn_in=30),
        cw.classes.EBCC(n_groups=3, n_init=1),
        cw.classes.CBCC(),
    ],
)
def test_planted_matrices_come_back_better_with_more_tasks(method):
    errors = []
    for n in (300, 1200, 4800):
        crowd = simulate.crowd(n, 3, [simulate.DirichletConfusion(12)], simulate.PerTask(6), seed=2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", cw.errors.ConvergenceWarning)
            found = method.fit(crowd.annotations).confusion
        errors.append(float(((found - crowd.confusion) ** 2).sum() / (12 * 3)))
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 0.01


@pytest.mark.parametrize("cls", [cw.classes.IBCC, cw.classes.BayesGC, cw.classes.MeanField])
def test_priors_below_the_floor_are_refused(cls):
    with pytest.raises(cw.ParameterError, match=r"prior_off must be at least 0\.05, got 0\.01"):
        cls(prior_off=0.01)


def test_ebcc_refuses_what_would_take_too_long(monkeypatch):
    votes, _, _ = planted(n=40, m=8, k=3, labels=3)
    monkeypatch.setattr("crowdwise.kinds.classes.methods.communities.MAX_WORK", 120 * 3 * 10 * 3)
    cw.classes.EBCC().fit(votes)
    with pytest.raises(cw.DataError, match="lower n_groups and n_init, or take ibcc or cbcc"):
        cw.classes.EBCC(n_init=4).fit(votes)
