"""A small version of Max-MIG's cases: who breaks where (benchmarks/learn/replica.py has the whole table)."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from benchmarks.learn import replica

CONSTANT, COPIES = replica.CASES[1], replica.CASES[2]


@pytest.fixture(scope="module")
def found():
    """Test accuracies by (case, method), with fewer tasks and epochs than the whole table."""
    patch = pytest.MonkeyPatch()
    patch.setattr(replica, "EPOCHS", 10)
    patch.setattr(replica, "N", 1600)
    methods = ("max_mig-kl", "agg_net", "vanilla")
    yield {(case, name): replica.run(case, name, seed=0) for case in (CONSTANT, COPIES) for name in methods}
    patch.undo()


def test_constant_juniors_break_training_on_the_majority_and_nothing_else(found):
    assert found[CONSTANT, "vanilla"]["d"] < 0.55
    for name in ("max_mig-kl", "agg_net"):
        assert found[CONSTANT, name]["d"] > 0.8


def test_copies_break_deep_em_and_nothing_else(found):
    assert found[COPIES, "agg_net"]["d"] < 0.78
    for name in ("max_mig-kl", "vanilla"):
        assert found[COPIES, name]["d"] > 0.8


def test_the_forecaster_beats_classifier_and_labels_alone(found):
    for case in (CONSTANT, COPIES):
        scores = found[case, "max_mig-kl"]
        assert scores["dc"] > scores["d"] + 0.03
        assert scores["dc"] > scores["aggregator"] + 0.03
