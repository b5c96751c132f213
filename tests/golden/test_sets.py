"""Label sets on ml_medrel: F1 of the two relations that experts judged."""

from __future__ import annotations

import pytest

from tests.open_sets.sets import METHODS, f1, fit, known

pytestmark = pytest.mark.data

FIGURES = {
    "set_majority": (0.298, 0.797),
    "set_majority, cut 1/4": (0.483, 0.926),
    "binary_relevance, dawid_skene": (0.476, 0.925),
    "set_coin": (0.507, 0.933),
    "joint_sets without shifts": (0.464, 0.927),
    "joint_sets (default)": (0.469, 0.925),
}


@pytest.mark.parametrize("name", FIGURES)
def test_f1_of_both_relations(name):
    assert name in METHODS
    for label, wanted in zip(("CAUSES", "TREATS"), FIGURES[name], strict=True):
        rows, true, j = known(label)
        assert f1(fit(name).member[rows, j], true) == pytest.approx(wanted, abs=0.004)


def test_the_default_on_treats():
    rows, true, j = known("TREATS")
    assert f1(fit("joint_sets (default)").member[rows, j], true) >= 0.92
