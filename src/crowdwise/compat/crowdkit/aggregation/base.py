"""What the drop-in aggregators share: the base class of crowd-kit's name, and errors its users can catch."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ....core.errors import DataError


class InputError(DataError, ValueError):
    """A DataError that code written for crowd-kit catches as ValueError."""


class MissingError(InputError, KeyError, AssertionError):
    """Something is not there, a column or a skill: crowd-kit has a KeyError or, in its metrics, an AssertionError."""

    __str__ = Exception.__str__  # KeyError would put the sentence in quotes


class NotFittedError(InputError, AttributeError):
    """predict before fit; scikit-learn's error of this name is a ValueError and an AttributeError too."""


def _crowd_kits_own() -> Any:
    """crowd-kit's base class where it is installed: its BinaryRelevance takes nothing else."""
    if find_spec("crowdkit") is None:
        return object
    try:
        return import_module("crowdkit.aggregation.base").BaseClassificationAggregator
    except Exception:  # an installation that does not work is none
        return object


@dataclass(eq=False)
class BaseClassificationAggregator(_crowd_kits_own()):  # type: ignore[misc]
    """Base of the aggregators; `labels_` is a Series named agg_label, indexed by task."""

    labels_: Any = field(init=False, repr=False)

    # crowd-kit's own compares fitted tables, which pandas cannot say yes or no to.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def fit(self, data: Any) -> Any:
        """Learn from a frame with task, worker and label; returns self."""
        raise NotImplementedError

    def fit_predict(self, data: Any) -> Any:
        """Labels by task."""
        raise NotImplementedError
