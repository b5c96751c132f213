"""What the steps of a fit and the base classes of estimates do for every kind."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import pytest

import crowdwise as cw
from crowdwise.core import registry
from crowdwise.core.arrays import F8, I8
from crowdwise.core.estimate import Axes, WorkerSummary
from crowdwise.core.method_registry import default_for

KINDS = [name for name in registry.BUILT_IN if name != "classes"]


@dataclass(frozen=True, eq=False)
class Summary(WorkerSummary):
    """Two arrays that are always there, and one that need not be."""

    count: Annotated[I8, Axes("m", "amounts")]
    rate: Annotated[F8, Axes("m", "skills")]
    table_of: Annotated[F8, Axes("mk")] | None = None


def test_the_rules_follow_from_the_annotations():
    assert Summary.rules == {
        "count": ("m", "i", "amounts"),
        "rate": ("m", "f", "skills"),
        "table_of": ("mk", "f", "any"),
    }
    assert Summary.needed == ("count", "rate")
    restored = Summary.of({"count": np.array([1, 2]), "rate": np.array([0.5, np.nan])}, None, {})
    assert restored.table_of is None
    assert restored.table()["rate"].to_list() == [0.5, None]


def test_workers_outside_the_fit_have_no_estimates():
    summary = Summary(np.array([3, 4]), np.array([0.5, 0.9]), np.ones((2, 2)))
    other = summary.select(np.array([1, 0]), np.array([True, False]), table_of=0.0)
    assert other.count.tolist() == [4, 0]
    assert np.array_equal(other.rate, [0.9, np.nan], equal_nan=True)
    assert other.table_of.tolist() == [[1, 1], [0, 0]]


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_refuses_in_one_line_what_are_not_its_votes(kind):
    method = cw.method(default_for(kind))
    other = cw.Annotations.from_arrays([1], ["ann"], ["x"])
    for votes, message in (
        (other, f"{kind} are needed, got class labels"),
        ("votes.csv", "read the file first"),
        ([1, 2], rf"cw\.{kind}\.\w+_votes\("),
        (5, "a table was expected"),
    ):
        with pytest.raises(cw.DataError, match=message) as error:
            method.fit(votes)
        assert "\n" not in str(error.value)
    with pytest.raises(cw.ParameterError, match="cannot use prior="):
        method.fit(other, prior=1)


def test_warnings_of_a_fit_point_at_its_caller():
    votes = cw.numbers.number_votes([1, 1, 2], ["a", "b", "a"], [1, 2, 3])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cw.numbers.Gaussian(max_iter=1).fit(votes, {1: 1.0, 7: 3.0})
    assert len(caught) == 2
    assert {warning.filename for warning in caught} == {__file__}
