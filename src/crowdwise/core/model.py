"""The fitted model behind a result, which scores other votes of the same workers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

from .arrays import F8
from .votes import Votes

V = TypeVar("V", bound=Votes[Any])


class Model(ABC, Generic[V]):
    """A fitted model. Votes passed to it must use its worker codes (see `aligned`); estimates are arrays of its kind
    (for classes posterior[task, class])."""

    @abstractmethod
    def posterior(self, votes: V) -> Any:
        """Return the posterior of the tasks given these votes."""

    def without_own(self, votes: V) -> Any:
        """Return, for each row, the posterior of its task given the votes of all other workers."""
        raise NotImplementedError(f"{type(self).__name__} cannot leave one worker out")

    def row_loglik(self, votes: V) -> F8:
        """Return the log-likelihood of each row given the other workers' answers to its task."""
        raise NotImplementedError(f"{type(self).__name__} has no likelihood of single answers")
