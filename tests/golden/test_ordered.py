"""Ordered classes on the open sets: the default's errors in steps, kappa and log-loss."""

from __future__ import annotations

import pytest

from tests.open_sets.ordered import scores

pytestmark = pytest.mark.data
DEFAULT = "ordinal_committee (default)"


@pytest.mark.parametrize(
    ("name", "mae", "kappa", "log_loss"), [("web", 0.18, 0.925, 0.43), ("relevance4", 0.51, 0.72, 1.10)]
)
def test_the_default(name, mae, kappa, log_loss):
    found = scores(DEFAULT, name)
    assert found.mae <= mae
    assert found.kappa >= kappa
    assert found.log_loss <= log_loss


def test_two_numbers_a_worker_do_not_collapse_before_constant_workers():
    assert scores("ordinal_types", "relevance4").accuracy > 0.5


def test_binned_ratings_are_where_the_ladder_earns_its_place():
    plain, ladder = scores("hierarchical", "moviereviews"), scores("ordinal_prior", "moviereviews")
    assert ladder.mae < 0.5 * plain.mae
    assert ladder.kappa > 0.95
