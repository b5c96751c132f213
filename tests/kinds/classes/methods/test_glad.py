"""GLAD: kernels against each other and against finite differences; planted abilities and difficulties."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

import crowdwise as cw
from crowdwise.em.ascent import Point, climb
from crowdwise.kinds.classes.maths.ability import ability_pass
from tests.conftest import planted


def made(weighted: bool):
    votes = planted(n=25, m=6, k=4, labels=4)[0]
    rng = np.random.default_rng(0)
    if weighted:
        frame = votes.to_frame()
        votes = cw.Annotations.from_arrays(
            frame["task"], frame["worker"], frame["label"], weight=rng.uniform(0.2, 2, len(votes))
        )
    gold = np.full(votes.n_tasks, votes.n_classes, dtype=np.int32)
    gold[:3] = [0, 1, 2]
    return votes, rng.normal(1, 1, votes.n_workers), rng.normal(0, 1, votes.n_tasks), gold


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("known", [False, True])
def test_plain_and_compiled_passes_agree(weighted, known):
    votes, ability, easiness, gold = made(weighted)
    gold = gold if known else None
    plain = ability_pass(votes, ability, easiness, gold, compiled=False)
    fast = ability_pass(votes, ability, easiness, gold, compiled=True)
    for name in vars(plain):
        np.testing.assert_allclose(getattr(fast, name), getattr(plain, name), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("compiled", [False, True])
def test_the_gradient_is_that_of_the_log_likelihood(compiled):
    votes, ability, easiness, gold = made(True)
    at = ability_pass(votes, ability, easiness, gold, compiled)
    step = 1e-6
    for which, x, slope in (("ability", ability, at.ability), ("easiness", easiness, at.easiness)):
        for i in range(5):
            values = []
            for sign in (1, -1):
                moved = x.copy()
                moved[i] += sign * step
                both = (moved, easiness) if which == "ability" else (ability, moved)
                values.append(ability_pass(votes, *both, gold, compiled).log_likelihood)
            assert (values[0] - values[1]) / (2 * step) == pytest.approx(slope[i], rel=1e-5, abs=1e-6)


def test_the_posterior_is_the_product_of_the_label_probabilities():
    votes, ability, easiness, _ = made(False)
    at = ability_pass(votes, ability, easiness)
    k, task = votes.n_classes, 4
    rows = np.flatnonzero(votes.task == task)
    p = np.full(k, 1 / k)
    for row in rows:
        right = 1 / (1 + np.exp(-ability[votes.worker[row]] * np.exp(easiness[task])))
        p *= np.where(np.arange(k) == votes.label[row], right, (1 - right) / (k - 1))
    np.testing.assert_allclose(at.posterior[task], p / p.sum())


def test_equal_workers_and_tasks_vote():
    votes = planted(n=50, m=6, k=3, labels=5)[0]
    at = ability_pass(votes, np.ones(6), np.ones(50))
    for task in range(50):
        assert votes.votes[task, at.posterior[task].argmax()] == votes.votes[task].max()


def test_planted_difficulties_and_abilities_come_back():
    rng = np.random.default_rng(1)
    n, m = 600, 40
    truth, ability, easiness = rng.integers(2, size=n), rng.normal(1.2, 0.8, m), rng.normal(0.3, 1, n)
    right = rng.random((n, m)) < 1 / (1 + np.exp(-ability[None, :] * np.exp(easiness)[:, None]))
    votes = cw.Annotations.from_matrix(np.where(right, truth[:, None], 1 - truth[:, None]))
    result = cw.GLAD().fit(votes)
    assert spearmanr(result.extra["ability"], ability).statistic > 0.95
    assert spearmanr(-result.difficulty, easiness).statistic > 0.75
    assert (result.labels == truth).mean() > (cw.MajorityVote().fit(votes).labels == truth).mean()
    assert "difficulty" in result.to_table().columns


def test_a_new_task_has_the_priors_difficulty():
    votes = planted(n=60, m=8)[0]
    result = cw.GLAD().fit(votes)
    again = cw.Annotations.from_arrays([1000, 1000], [0, 1], [0, 0], classes=range(3))
    judged = result.infer(again)
    expected = ability_pass(again, result.extra["ability"][:2], np.ones(1)).posterior
    np.testing.assert_allclose(judged.posterior, expected)
    assert result.infer(again).infer(again).posterior.shape == (1, 3)  # what was inferred can still judge


def test_climb_finds_the_top_of_a_hill_with_unequal_sides():
    scale = np.geomspace(1e-2, 1e4, 30)
    top = np.linspace(-2, 3, 30)

    def hill(x):
        off = x - top
        return Point(-float(scale @ off**2) / 2 - float((off**4).sum()), -scale * off - 4 * off**3, scale + 12 * off**2)

    found = climb(hill, np.zeros(30), max_iter=500, tol=1e-14)
    np.testing.assert_allclose(found.x, top, atol=1e-2)
    assert (np.diff(found.trace) >= 0).all()
    assert found.converged
