"""Held-out annotations: what is held out, what it says, and the guard against drift."""

from __future__ import annotations

import numpy as np
import pytest

import crowdwise as cw
from crowdwise.kinds.classes.methods.held_out import held_out, predict, shrunk_confusion, splits, upheld
from tests.conftest import planted


@pytest.mark.parametrize("labels", [2, 3, 5, 12])
def test_every_fair_annotation_is_held_out_once_and_its_task_keeps_another(labels):
    votes = planted(n=80, m=20, k=3, labels=labels)[0]
    parts = splits(votes, folds=5, seed=3)
    np.testing.assert_array_equal(np.sort(np.concatenate([out for _, out in parts])), np.arange(len(votes)))
    for kept, out in parts:
        assert len(np.intersect1d(kept, out)) == 0
        assert len(kept) + len(out) == len(votes)
        assert votes.take(kept).labels_per_task.min() >= 1
    sizes = [len(out) for _, out in parts]
    assert max(sizes) < 1.6 * min(sizes)


def test_lonely_and_unheard_annotations_stay_and_repeats_share_a_fold():
    votes = cw.Annotations.from_arrays(
        [0, 1, 1, 1, 2, 2, 2], list("aaabaab"), [0, 1, 1, 0, 0, 1, 1], weight=[1, 1, 1, 1, 0, 0, 1], duplicates="keep"
    )
    parts = splits(votes, seed=1)
    held = np.concatenate([out for _, out in parts])
    assert set(votes.task[held]) == {1}  # task 0 has one worker, and so has task 2 where a weighs nothing
    assert any({1, 2} <= set(out.tolist()) for _, out in parts)  # both answers of worker a
    assert splits(cw.Annotations.from_arrays([0, 1], ["a", "b"], [0, 1])) == []
    with pytest.raises(cw.DataError, match="two workers"):
        held_out(cw.MajorityVote().fit, cw.Annotations.from_arrays([0, 1], ["a", "b"], [0, 1]))


def test_fewer_folds_on_large_data():
    votes = planted(n=200, m=10, k=3, labels=5)[0]
    assert len(splits(votes, enough=1)) == 1
    assert len(splits(votes, enough=450)) == 3
    assert len(splits(votes)) == 5


def test_the_score_is_the_mean_log_probability_of_what_was_held_out():
    votes = planted(n=60, m=8, k=3, labels=4)[0]
    found = held_out(cw.DawidSkene().fit, votes, seed=2)
    by_hand = np.full(len(votes), np.nan)
    for kept, out in splits(votes, seed=2):
        posterior = cw.DawidSkene().fit(votes.take(kept)).posterior
        table = shrunk_confusion(votes.take(kept), posterior)
        for row in out:
            p = sum(posterior[votes.task[row], k] * table[votes.worker[row], votes.label[row], k] for k in range(3))
            by_hand[row] = np.log(p)
    np.testing.assert_allclose(found.log_likelihood, by_hand)
    assert found.score == pytest.approx(by_hand.mean())
    other = held_out(cw.MajorityVote().fit, votes, seed=2)
    gap, error = found.lead(other)
    assert gap == pytest.approx(found.score - other.score)
    assert 0 < error < found.standard_error + other.standard_error
    with pytest.raises(cw.ParameterError, match="different annotations"):
        found.lead(held_out(cw.MajorityVote().fit, votes, seed=2, enough=1))


def test_the_standard_error_covers_the_truth():
    """Constant prediction of coin flips: the score's error is known."""
    rng = np.random.default_rng(0)
    n = 4000
    votes = cw.Annotations.from_arrays(
        np.repeat(np.arange(n), 2), np.tile([0, 1], n), (rng.random(2 * n) < 0.8).astype(int)
    )

    class Even:
        posterior = np.full((n, 2), 0.5)

    found = held_out(lambda _: Even(), votes)
    assert found.score == pytest.approx(0.8 * np.log(0.8) + 0.2 * np.log(0.2), abs=4 * found.standard_error)
    assert found.standard_error == pytest.approx(np.log(4) * 0.4 / np.sqrt(2 * n), rel=0.1)


def test_predictions_are_distributions_over_labels():
    votes = planted(n=30, m=6, k=4)[0]
    posterior = cw.DawidSkene().fit(votes).posterior
    table = shrunk_confusion(votes, posterior)
    np.testing.assert_allclose(table.sum(axis=1), 1)
    rows = np.arange(len(votes))
    total = sum(
        predict(
            cw.Annotations.from_arrays(votes.task, votes.worker, np.full(len(votes), k), classes=range(4)),
            rows,
            votes,
            posterior,
        )
        for k in range(4)
    )
    np.testing.assert_allclose(total, 1)


def test_upheld_counts_clear_majorities_only():
    votes = cw.Annotations.from_arrays(
        [0, 0, 0, 1, 1, 1, 2, 2, 3], list("abcabcaba"), [0, 0, 1, 1, 1, 1, 0, 1, 0]
    )  # two clear majorities, a tie, a single label
    shares = cw.MajorityVote().fit(votes).posterior
    assert upheld(votes, shares) == 1
    assert upheld(votes, shares[:, ::-1]) == 0
    half = shares.copy()
    half[0] = half[0, ::-1]
    assert upheld(votes, half) == 0.5
    assert upheld(votes.take(np.array([8])), shares) == 1  # nothing to uphold
