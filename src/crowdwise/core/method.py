"""The base class of all aggregation methods, for any kind of answer, and the steps of a fit."""

from __future__ import annotations

import warnings
from abc import ABC
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from .callback import Callback
from .errors import ConvergenceWarning, ParameterError
from .estimate import Estimate, WorkerSummary
from .faults import caller_level
from .params import Whole, check
from .progress import noting, watching
from .registry import get
from .result import FitTrace, Result, versions
from .votes import Votes


@dataclass(frozen=True)
class FitOptions:
    """How a fit is run, apart from the method's own parameters: the arguments of `Method.fit`."""

    prior: Any = None
    n_shards: int = 1
    callback: Callback | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class FitOutput(FitTrace):
    """What a method computes from votes; `gold` marks the tasks whose truth it was given."""

    estimate: Estimate
    worker_summary: WorkerSummary
    gold: npt.NDArray[np.bool_] | None = None


@dataclass(frozen=True, kw_only=True)
class Method(ABC):
    """A method and its hyperparameters; estimates live in the `Result` of `fit`.

    `fit` runs the same steps for every kind of answer. A kind's base class implements `fit_votes`, which reads gold,
    calls the method's own `solve`, and turns the solution into estimates.

    Args:
        seed: Seed for breaking ties and drawing restarts.
    """

    name: ClassVar[str]
    takes: ClassVar[str] = "classes"
    # Words of the card (core/card.py) of a class that is registered without one.
    needs: ClassVar[str] = ""
    can: ClassVar[str] = ""
    # Whether gold calibrates the confidence by default.
    calibrates: ClassVar[bool] = False
    # Whether `fit` accepts worker estimates of earlier projects.
    accepts_prior: ClassVar[bool] = False
    seed: Whole = 0

    def __post_init__(self) -> None:
        check(self)

    def fit(
        self,
        votes: Any,
        gold: Any = None,
        *,
        prior: Any = None,
        n_shards: int = 1,
        callback: Callback | None = None,
        calibrate: bool | None = None,
    ) -> Result:
        """Estimate the truth of the tasks and the quality of the workers from votes.

        Args:
            votes: Votes of the kind that the method takes, or a table with their columns.
            gold: Known answers of some tasks, as a mapping or a table. They are held fixed and inform the worker
                estimates.
            prior: Worker estimates of earlier projects; only some methods for classes accept them.
            n_shards: Number of parts that methods with the capability `shard` split the work into; the result is the
                same.
            callback: Called by iterative methods with the iteration and the objective.
            calibrate: Whether to calibrate the confidence on gold; by default only the default method of a kind does.

        Returns:
            The result: estimates of the tasks and the workers, and the trace of the fit.

        Raises:
            ParameterError: If `prior` or `calibrate` is not available for this method.
            DataError: If the votes or the gold cannot be used.
        """
        return self.fit_with(votes, gold, FitOptions(prior, n_shards, callback), calibrate)

    def fit_with(self, votes: Any, gold: Any, options: FitOptions, calibrate: bool | None) -> Result:
        """Run the steps of `fit`."""
        if options.prior is not None and not self.accepts_prior:
            raise ParameterError(f"{self.name} cannot use prior=")
        with watching(self.name) as watch:
            return self._fit_watched(votes, gold, replace(options, callback=noting(watch, options.callback)), calibrate)

    def _fit_watched(self, votes: Any, gold: Any, options: FitOptions, calibrate: bool | None) -> Result:
        votes = self.coerce(votes)
        output = self.fit_votes(votes, gold, options)
        self.warn_unless_settled(output.converged, output.n_iter)
        result = self.result(votes, output)
        calibrates = self.calibrates if calibrate is None else calibrate
        return self.with_calibration(result, votes, gold, output) if calibrates and gold is not None else result

    def coerce(self, votes: Any) -> Votes[Any]:
        """Return votes of the kind that the method takes; convert a table."""
        return get(self.takes).hooks.coerce(votes)

    def fit_votes(self, votes: Any, gold: Any, options: FitOptions) -> FitOutput:
        """Read gold, run the method, and return its estimates."""
        raise NotImplementedError(f"{type(self).__name__} implements neither fit nor fit_votes")

    def result(self, votes: Votes[Any], output: FitOutput) -> Result:
        """Return the Result of a fit to these votes."""
        return Result(
            method=self.name,
            params=self.params(),
            tasks=votes.tasks,
            workers=votes.workers,
            estimate=output.estimate,
            worker_summary=output.worker_summary,
            labels_per_task=votes.labels_per_task,
            labels_per_worker=votes.labels_per_worker,
            gold=output.gold,
            versions=versions(),
            **output.trace_fields(),
        )

    def with_calibration(self, result: Result, votes: Any, gold: Any, output: FitOutput) -> Result:  # noqa: ARG002
        """Return the result with its confidence calibrated on gold."""
        return get(self.takes).hooks.calibrate(result, votes, gold)

    def params(self) -> dict[str, Any]:
        """Return the hyperparameters by name."""
        return {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(self).items()}

    def warn_unless_settled(self, converged: bool, n_iter: int) -> None:
        """Warn if the fit stopped before it converged."""
        if not converged:
            warnings.warn(
                f"{self.name} stopped after {n_iter} iterations before its objective settled; raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=caller_level(),
            )
