"""Who names classes without looking: evidence against plain sums, laws, habits, and planted crowds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logit

from crowdwise.kinds.sets import maths as looking
from crowdwise.kinds.sets.simulate import set_crowd


def cells(crowd, belief=None):
    """Cells of a planted crowd under beliefs, the truth unless said."""
    held = np.where(crowd.truth, 0.97, 0.01)[crowd.task] if belief is None else belief
    offered = np.ones(crowd.labels.shape, dtype=bool)
    return looking.bin_answers(crowd.worker.astype(np.int64), held, crowd.labels, offered, len(crowd.kind))


def test_evidence_is_a_sum_over_all_cells():
    """One class and one worker, written out: every answer by itself, averaged over habits last."""
    belief = np.array([0.97, 0.02, 0.02, 0.97, 0.3])[:, None]
    named = np.array([True, False, True, False, True])[:, None]
    offered = np.array([True, True, True, True, False])[:, None]
    found = looking.bin_answers(np.zeros(5, dtype=np.int64), belief, named, offered, 1)
    honest, idle = looking._log_evidence(found, np.array([0.5]), np.array([-3.0]), np.array([-1.0]))
    i, j = 6, 9
    whole = blind = 0.0
    for habit, prior in zip(looking.HABITS, looking.HABIT_PRIOR, strict=True):
        p = [q * expit(0.5 + looking.SHIFT[i] + habit) + (1 - q) * expit(-3 + looking.SHIFT[j] + habit)
             for q in (0.97, 0.02, 0.02, 0.97)]  # fmt: skip
        whole += prior * p[0] * (1 - p[1]) * p[2] * (1 - p[3])
        r = expit(-1 + looking.SHIFT[i] + habit)
        blind += prior * r**2 * (1 - r) ** 2
    assert honest[0, i, j] == pytest.approx(np.log(whole), abs=1e-3)
    assert idle[0, i] == pytest.approx(np.log(blind), abs=1e-3)


def test_rates_are_those_planted():
    crowd = set_crowd(800, 30, 4, per_task=5, of_class=0.0, of_worker=0.01, of_both=0.01, hit=0.7, alarm=0.05, seed=2)
    sure = np.where(crowd.truth, 0.9999, 0.0001)[crowd.task]
    hit, alarm = looking._rates(cells(crowd, sure), np.ones(30))
    assert np.abs(expit(hit) - 0.7).max() < 0.05
    assert np.abs(expit(alarm) - 0.05).max() < 0.02


def test_order_of_classes_and_workers_does_not_matter():
    crowd = set_crowd(80, 12, 6, per_task=4, random=0.2, seed=5)
    held = np.where(crowd.truth, 0.9, 0.03)[crowd.task]
    offered, known = np.ones(crowd.labels.shape, dtype=bool), np.ones(12, dtype=bool)
    worker = crowd.worker.astype(np.int64)
    plain = looking.idle_probabilities(looking.bin_answers(worker, held, crowd.labels, offered, 12), known)
    turn = looking.bin_answers(11 - worker, held[:, ::-1], crowd.labels[:, ::-1], offered, 12)
    assert np.allclose(looking.idle_probabilities(turn, known)[::-1], plain, atol=1e-9)


@pytest.mark.parametrize("seed", [1, 2])
def test_those_who_do_not_look_are_found_and_habits_forgiven(seed):
    crowd = set_crowd(300, 40, 8, per_task=4, random=0.2, hit=0.6, seed=seed)
    sort = np.array(crowd.kind)
    # Three honest workers name one class at every turn.
    always = np.flatnonzero(sort == "honest")[:3]
    crowd.labels[np.isin(crowd.worker, always), 2] = True
    found = looking.idle_probabilities(cells(crowd), np.ones(40, dtype=bool))
    assert np.mean(found[sort == "random"] > 0.98) >= 0.75
    assert found[always].max() < 0.1
    assert found[sort == "honest"].max() < 0.9


def test_without_truth_nobody_is_accused():
    """Beliefs that tell nothing: whoever looks cannot be told from whoever does not."""
    crowd = set_crowd(100, 15, 5, per_task=4, seed=7)
    found = looking.idle_probabilities(cells(crowd, np.full(crowd.labels.shape, 0.2)), np.ones(15, dtype=bool))
    assert found.max() < 0.98
    assert logit(looking._normal(0.7).sum() - 1e-12) > 20  # the shares of the grid are shares
