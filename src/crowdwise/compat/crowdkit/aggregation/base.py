"""What the drop-in aggregators share: the base class of crowd-kit's name, and errors its users can catch."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ....errors import DataError


class InputError(DataError, ValueError):
    """A DataError that code written for crowd-kit catches as ValueError."""


class NotFittedError(InputError, AttributeError):
    """predict before fit; scikit-learn's error of this name is a ValueError and an AttributeError too."""


@dataclass(eq=False)
class BaseClassificationAggregator:
    """Base of the aggregators; `labels_` is a Series named agg_label, indexed by task."""

    labels_: Any = field(init=False, repr=False)

    def fit(self, data: Any) -> Any:
        """Learn from a frame with task, worker and label; returns self."""
        raise NotImplementedError

    def fit_predict(self, data: Any) -> Any:
        """Labels by task."""
        raise NotImplementedError
