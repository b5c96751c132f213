"""Method: what every aggregator is, whatever kind of answers it takes."""

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
    """Hyper-parameters and nothing else. `seed` breaks ties and draws restarts."""

    name: ClassVar[str]
    takes: ClassVar[str] = "classes"
    # Whether gold calibrates the confidence unless `fit` is told otherwise.
    calibrates: ClassVar[bool] = False
    seed: Whole = 0

    def __post_init__(self) -> None:
        check(self)

    @abstractmethod
    def fit(
        self, votes: Any, gold: Any = None, *, prior: Any = None, n_shards: int = 1, callback: Callback | None = None
    ) -> Result:
        """What these votes say of their tasks and workers.

        `gold` is the known truth of some tasks: it stays put and teaches. `prior` is what earlier projects say of the
        workers. `n_shards` splits the work without changing the answer; `callback(iteration, objective)` watches it.
        """

    def params(self) -> dict[str, Any]:
        """The hyper-parameters by name."""
        return {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(self).items()}

    def warn_unless_settled(self, converged: bool, n_iter: int) -> None:
        """Say that the fit stopped too early, where it did."""
        if not converged:
            warnings.warn(
                f"{self.name} stopped after {n_iter} iterations before its objective settled; raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=3,
            )
