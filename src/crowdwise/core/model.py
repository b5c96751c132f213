"""Model: what a fit has learnt, fitted and frozen, ready to judge other votes of the same workers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from .votes import Votes

V = TypeVar("V", bound=Votes[Any])
F8 = npt.NDArray[np.float64]


class Model(ABC, Generic[V]):
    """Votes that a model judges have its workers, by code (see `aligned`); what they say of tasks comes back as arrays
    of its kind (for classes posterior[task, class])."""

    @abstractmethod
    def posterior(self, votes: V) -> Any:
        """What these votes say of their tasks."""

    def without_own(self, votes: V) -> Any:
        """What everybody else says of the task of each row."""
        raise NotImplementedError(f"{type(self).__name__} cannot leave one worker out")

    def row_loglik(self, votes: V) -> F8:
        """Log-likelihood of each row given everybody else's answers to its task."""
        raise NotImplementedError(f"{type(self).__name__} has no likelihood of single answers")
