"""The loop: exactness on tiny data, acceleration, restarts, the statements it makes of itself."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

import crowdwise as cw
from crowdwise.em.kernels import Stats, Workspace
from tests.conftest import planted


def log_marginal(votes, confusion, prior):
    """log p(labels) by enumerating every assignment of classes to tasks."""
    n, k = votes.n_tasks, votes.n_classes
    total = 0.0
    for z in itertools.product(range(k), repeat=n):
        p = np.prod([prior[c] for c in z])
        for i, w, label in zip(votes.task, votes.worker, votes.label, strict=True):
            p *= confusion[w, z[i], label]
        total += p
    return np.log(total)


def test_the_trace_is_the_log_posterior_density_of_the_parameters():
    votes = planted(n=5, m=3, k=2, labels=2)[0]
    smoothing = 0.3
    result = cw.DawidSkene(smoothing=smoothing, tol=1e-14, max_iter=2000).fit(votes)
    exact = log_marginal(votes, result.confusion, result.class_prior) + smoothing * np.log(result.confusion).sum()
    assert result.trace[-1] == pytest.approx(exact, rel=1e-9)


def test_no_optimiser_climbs_higher_from_where_em_ended():
    votes = planted(n=30, m=4, k=2, labels=3)[0]
    smoothing = 0.5
    result = cw.DawidSkene(smoothing=smoothing, tol=1e-15, max_iter=5000).fit(votes)

    def unpack(x):
        logits = x[: 4 * 2].reshape(4, 2, 1)
        p = 1 / (1 + np.exp(-np.concatenate([logits, -logits], axis=2)))
        d = 1 / (1 + np.exp(-x[-1]))
        return p, np.array([d, 1 - d])

    def objective(x):
        confusion, prior = unpack(x)
        score = np.log(prior) + np.zeros((30, 2))
        np.add.at(score, votes.task, np.log(confusion)[votes.worker, :, votes.label])
        return -(np.logaddexp(score[:, 0], score[:, 1]).sum() + smoothing * np.log(confusion).sum())

    start = np.concatenate(
        [
            np.log(result.confusion[:, :, 0] / result.confusion[:, :, 1]).ravel(),
            [np.log(result.class_prior[0] / result.class_prior[1])],
        ]
    )
    assert -objective(start) == pytest.approx(result.trace[-1], rel=1e-9)
    assert -minimize(objective, start).fun <= result.trace[-1] + 1e-6


@pytest.mark.parametrize("cls", [cw.DawidSkene, cw.OneCoin, cw.classes.ConfusionVector, cw.classes.Pooled])
def test_acceleration_reaches_the_same_height_in_fewer_passes(cls):
    votes = planted(n=800, m=40, k=4, labels=4, low=0.4, high=0.8)[0]
    plain = cls(tol=1e-12, max_iter=5000).fit(votes)
    quick = cls(tol=1e-12, max_iter=5000, accelerate=True).fit(votes)
    assert quick.trace[-1] >= plain.trace[-1] - 1e-6 * abs(plain.trace[-1])
    if plain.n_iter > 60:
        assert quick.n_iter < plain.n_iter
    assert (quick.labels == plain.labels).mean() > 0.98


def test_extrapolation_of_a_geometric_path_lands_on_its_limit():
    limit, start = np.full((2, 2, 2), 3.0), np.full((2, 2, 2), 1.0)
    steps = [limit + (start - limit) * 0.9**t for t in range(3)]
    found = Stats.extrapolate(*(Stats(s, s[0, 0]) for s in steps))
    np.testing.assert_allclose(found.counts, limit)


def test_extrapolation_never_leaves_the_counts():
    rng = np.random.default_rng(0)
    path = [Stats(rng.random((3, 2, 2)), rng.random(2)) for _ in range(3)]
    assert (Stats.extrapolate(*path).counts >= 0).all()
    assert (Stats.extrapolate(*path).mass >= 0).all()


def test_max_iter_counts_passes_and_too_few_are_said():
    votes = planted(n=100, m=10)[0]
    with pytest.warns(cw.errors.ConvergenceWarning, match="7 iterations"):
        result = cw.DawidSkene(max_iter=7, tol=0).fit(votes)
    assert (result.n_iter, len(result.trace), result.converged) == (7, 7, False)
    seen = []
    cw.DawidSkene().fit(votes, callback=lambda i, objective: seen.append((i, objective)))
    assert [i for i, _ in seen] == list(range(1, len(seen) + 1))


def test_restarts_start_apart_and_the_best_is_kept():
    votes = planted(n=60, m=6, k=3, labels=2, low=0.35, high=0.6)[0]
    one = cw.DawidSkene().fit(votes)
    several = cw.DawidSkene(n_init=8).fit(votes)
    assert several.trace[-1] >= one.trace[-1]
    starts = cw.DawidSkene(n_init=4).starts(votes)
    assert len({start(Workspace.of(votes)).tobytes() for start in starts}) == 4


def test_with_all_gold_one_step_gives_the_smoothed_confusion():
    votes, truth, _ = planted(n=120, m=6, k=3)
    result = cw.DawidSkene(smoothing=0.5).fit(votes, gold=dict(enumerate(truth.tolist())))
    counts = np.full((6, 3, 3), 0.5)
    np.add.at(counts, (votes.worker, truth[votes.task], votes.label), 1)
    np.testing.assert_allclose(result.confusion, counts / counts.sum(axis=2, keepdims=True))


def test_two_unanimous_tasks_by_hand():
    """specs: from the vote, confusion goes to the identity and the likelihood to 2 log .5."""
    votes = cw.Annotations.from_arrays([0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 1, 1])
    result = cw.DawidSkene(smoothing=0).fit(votes)
    np.testing.assert_allclose(result.confusion, [np.eye(2)] * 2, atol=1e-9)
    assert result.trace[-1] == pytest.approx(2 * np.log(0.5))


def test_diagonal_pseudo_counts_matter_where_nothing_was_seen():
    votes = cw.Annotations.from_arrays([0, 1], [0, 0], [0, 0], classes=[0, 1])
    with pytest.warns(cw.errors.IdentifiabilityWarning):
        result = cw.DawidSkene(smoothing=1, smoothing_diagonal=9).fit(votes)
    assert result.confusion[0, 1].round(2).tolist() == pytest.approx([0.1, 0.9], abs=0.1)
