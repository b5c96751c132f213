"""The base class of all aggregation methods, for any kind of answer."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from .callback import Callback
from .errors import ConvergenceWarning
from .params import Whole, check
from .result import Result


@dataclass(frozen=True, kw_only=True)
class Method(ABC):
    """A method and its hyperparameters; estimates live in the `Result` of `fit`.

    Args:
        seed: Seed for breaking ties and drawing restarts.
    """

    name: ClassVar[str]
    takes: ClassVar[str] = "classes"
    # Whether gold calibrates the confidence by default.
    calibrates: ClassVar[bool] = False
    seed: Whole = 0

    def __post_init__(self) -> None:
        check(self)

    @abstractmethod
    def fit(
        self, votes: Any, gold: Any = None, *, prior: Any = None, n_shards: int = 1, callback: Callback | None = None
    ) -> Result:
        """Estimate the labels and the quality of the workers from votes.

        Args:
            votes: The votes, of the kind that the method takes.
            gold: Known labels of some tasks. They are held fixed and inform the worker estimates.
            prior: Worker estimates of earlier projects.
            n_shards: Number of shards to split the work into; the result is the same.
            callback: Called with the iteration and the objective after each iteration.
        """

    def params(self) -> dict[str, Any]:
        """Return the hyperparameters by name."""
        return {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(self).items()}

    def warn_unless_settled(self, converged: bool, n_iter: int) -> None:
        """Warn if the fit stopped before it converged."""
        if not converged:
            warnings.warn(
                f"{self.name} stopped after {n_iter} iterations before its objective settled; raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=3,
            )
