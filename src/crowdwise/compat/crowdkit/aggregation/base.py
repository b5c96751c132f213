"""Base class of the drop-in aggregators, named as in crowd-kit, and errors that its users can catch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ....core.errors import DataError


class InputError(DataError, ValueError):
    """A DataError that code written for crowd-kit catches as ValueError."""


class MissingError(InputError, KeyError, AssertionError):
    """A column or a skill is missing: a KeyError in crowd-kit or, in its metrics, an AssertionError."""

    __str__ = Exception.__str__  # KeyError would put the sentence in quotes


class NotFittedError(InputError, AttributeError):
    """Prediction before fit; like scikit-learn's error of this name, a ValueError and an AttributeError."""


def select_columns(data: Any, names: Iterable[str]) -> Any:
    """Return these columns of a frame; raise if one is missing."""
    names = list(names)
    for name in names:
        if name not in data.columns:
            raise MissingError(f"the frame has no column {name!r}; it has {', '.join(map(str, data.columns))}")
    return data[names]


def _crowdkit_base() -> Any:
    """Return crowd-kit's base class if it is installed: its BinaryRelevance accepts nothing else."""
    if find_spec("crowdkit") is None:
        return object
    try:
        return import_module("crowdkit.aggregation.base").BaseClassificationAggregator
    except Exception:  # a broken installation counts as missing
        return object


@dataclass(eq=False)
class BaseClassificationAggregator(_crowdkit_base()):  # type: ignore[misc]
    """Base of the aggregators; `labels_` is a Series named agg_label, indexed by task."""

    labels_: Any = field(init=False, repr=False)

    # crowd-kit's __eq__ compares fitted tables, which pandas cannot reduce to a boolean.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def fit(self, data: Any) -> Any:
        """Fit to a frame with task, worker and label; return self."""
        raise NotImplementedError

    def fit_predict(self, data: Any) -> Any:
        """labels_ of the data."""
        return self.fit(data).labels_


@dataclass(eq=False)
class ProbabilisticAggregator(BaseClassificationAggregator):
    """Base of the aggregators with probabilities; `probas_` is a frame with one row a task and one column a class."""

    probas_: Any = field(init=False, repr=False)

    def fit_predict_proba(self, data: Any) -> Any:
        """probas_ of the data: one row a task, one column a class."""
        return self.fit(data).probas_
