"""CrowdRegressor: a network trained on features and the numbers of a crowd, with uncertainty and worker quality."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, Self, cast

import numpy as np
import numpy.typing as npt
import polars as pl
import torch
from scipy.stats import norm
from torch import Tensor

from ....core.arrays import F8
from ....core.errors import DataError, ParameterError
from ....core.params import check_given
from ....core.result import Result
from ....core.vocabulary import quote
from ....learn.data.crowd import AnswerRows
from ....learn.data.dataset import CrowdData, FeatureError, as_features, row_names
from ....learn.fitting import CrowdEstimator
from ....learn.method import CrowdModel
from ....learn.training.hold_out import hold_out
from ....learn.training.loop import Criterion
from ....learn.training.sweep import sweep_answers
from ..answers import PART
from ..estimate import NumberEstimate, NumberWorkers
from ..fitting import pack
from ..maths.intervals import gaussian_interval
from ..maths.rows import Linear, NumberFit
from .crowd import (
    AnswerScale,
    Lines,
    NumberCrowd,
    NumberMethod,
    clamp_outliers,
    gap_of,
    mean_line,
    numbers_for,
    relative_to,
    settle,
    truth,
)

# ----------------------------------------------------------------
# Early stopping without truth: the share of the variance of held-out answers that the network predicts.
#     score = 1 - sum w (r - b - s f(x))² / sum w (r - b - s c)²        c: the best constant
#
# Lines s, b and weights w = 1 / (spread² + s² · gap) of the workers are fitted to the training answers alone, without
# the network and in the same way for all methods, so that scores can be compared between epochs and methods. They are
# relative to the mean worker as weighted by the method, because f predicts the mean worker's answer.

STEPS = 50


class HeldOutNumbers:
    """Early-stopping criterion (higher is better) from training answers `data` and held-out answers `held_out`."""

    kind = "explained"

    def __init__(self, data: CrowdData, held_out: NumberCrowd, device: torch.device | str = "cpu") -> None:
        self.data, self.held_out, self.device = data, held_out, device
        crowd = cast("NumberCrowd", data.crowd)
        zeros = torch.zeros(crowd.n_tasks, crowd.n_outputs)
        self.lines = settle(Lines.start(crowd.n_workers, crowd.n_outputs), zeros, crowd, STEPS)

    def __call__(self, model: CrowdModel) -> float:
        """Score of the current model."""
        with torch.no_grad():
            by_slope, by_bias = (weight.double().cpu() for weight in cast("NumberMethod", model.method).trust())
        line = self.lines.slope, self.lines.bias
        mean = mean_line(line, (by_slope, by_bias))
        slope, bias = relative_to(line, mean)
        lines = replace(self.lines, slope=slope, bias=bias, gap=self.lines.gap * mean[0] ** 2)
        return explained(sweep_answers(model, self.data, self.device).cpu(), lines, self.held_out)


def explained(value: Tensor, lines: Lines, held_out: NumberCrowd) -> float:
    """Share of the variance of the held-out answers that value[task, part] predicts, averaged over parts."""
    slope = lines.slope[held_out.worker]
    weight = held_out.weight.double()[:, None] / (lines.variance[held_out.worker] + slope**2 * lines.gap)
    debiased = held_out.label.double() - lines.bias[held_out.worker]
    constant = (weight * slope * debiased).sum(0) / (weight * slope**2).sum(0).clamp_min(1e-30)
    residual = (weight * (debiased - slope * value.double()[held_out.task]) ** 2).sum(0)
    total = (weight * (debiased - slope * constant) ** 2).sum(0)
    return float((1 - residual / total.clamp_min(1e-12)).mean())


@dataclass(eq=False, repr=False)
class CrowdRegressor(CrowdEstimator):
    """A network trained on the numbers of a crowd.

    Args:
        net: "linear", "mlp", "cnn", a Module with one output per part of an answer, or a function (input shape,
            number of outputs) -> Module.
        method: Name of a training method for numbers.

    Its other arguments are those of `TrainingOptions`.

    >>> import numpy as np
    >>> from crowdwise.kinds.numbers import number_votes
    >>> x = np.linspace(-1, 1, 40)[:, None]
    >>> votes = number_votes(np.repeat(np.arange(40), 2), ["ann", "bob"] * 40, np.repeat(5 * x[:, 0], 2) + [0, 1] * 40)
    >>> fitted = CrowdRegressor("linear", "gaussian_net", epochs=200, lr=0.03, validation=0).fit(x, votes)
    >>> fitted.predict([[0.5]]).round(1)
    array([3.])
    """

    takes, what, other = "numbers", "regressor", "CrowdClassifier"
    method: str = "gaussian_net"

    # ---------------------------------------------------------------- fitting
    def fit(self, X: Any, y: Any, *, tasks: Any = None) -> Self:
        """Train on features and answers.

        Args:
            X: Features, one row per task.
            y: Votes of numbers, a matrix with one column per worker (missing: nan), or one number per row.
            tasks: Task of each row of X; by default y.tasks.

        Returns:
            The fitted estimator.
        """
        check_given(type(self), self.get_params())
        self._method_class()  # refuse a method of the wrong kind before the data are read
        x = as_features(X)
        n = len(x)  # type: ignore[arg-type]
        if not n:
            raise FeatureError("X has no rows to learn from")
        if isinstance(x, torch.Tensor) and x.dim() == 2:
            self.n_features_in_ = x.shape[1]
        votes, self.tasks_ = numbers_for(y, row_names(x, tasks), n)
        votes = clamp_outliers(votes)
        self.workers_ = votes.workers
        self.parts_: tuple[str, ...] = votes.answers.parts
        self.units_, self.gap_ = AnswerScale.of(votes), cast("F8 | None", None)
        crowd = NumberCrowd.of(votes, self.tasks_, self.units_)
        self._train(x, crowd)
        value = sweep_answers(self.model_, CrowdData(x, crowd), self._device()).cpu()
        model = self._fitted_lines()
        if model is not None and self.gap_ is None:
            self.gap_ = model.gap.numpy()
        self.result_ = outcome(self, value, crowd, self._fitted_lines())
        return self

    def _n_outputs(self) -> int:
        return len(self.parts_)

    def _criterion(self, data: CrowdData, held_out: Any) -> Criterion:
        return HeldOutNumbers(data, held_out, self._device())

    def _learn(self, x: Any, crowd: AnswerRows, epochs: int | None, *, final: bool = True) -> int:
        """Train; then measure the gap between truth and network on the held-out tasks."""
        best = super()._learn(x, crowd, epochs, final=final)
        model = self._fitted_lines()
        if self.validation and epochs is None and model is not None:
            held_out = cast("NumberCrowd", hold_out(crowd, self.validation, self.seed)[1])
            value = sweep_answers(self.model_, CrowdData(x, held_out), self._device()).cpu()
            self.gap_ = gap_of(model, value, held_out).numpy()
        return best

    def _fitted_lines(self) -> Lines | None:
        """Lines of the workers, with the gap on held-out tasks where it was measured."""
        with torch.no_grad():
            lines = cast("NumberMethod", self.model_.method).model()
        if lines is None:
            return None
        lines = Lines(**{name: part.cpu() for name, part in lines.tensors().items()})
        return lines if self.gap_ is None else replace(lines, gap=torch.from_numpy(self.gap_))

    # ---------------------------------------------------------------- using it
    def predict(self, X: Any) -> F8:
        """Predict the answer of the mean worker for each row; [row, part] where answers have several parts."""
        value = self._value(X).double().numpy()
        return self._without_single_part(self.units_.from_standard(value))

    def predict_std(self, X: Any) -> F8:
        """Standard deviation of the truth of a new task around `predict`; only for methods with a likelihood."""
        value = self._value(X).double().numpy()
        return self._without_single_part(
            np.broadcast_to(self.units_.scale * np.sqrt(self._measured_gap()), value.shape).copy()
        )

    def predict_interval(self, X: Any, level: float = 0.9) -> tuple[F8, F8]:
        """Lower and upper ends of an interval that contains the truth with probability `level`."""
        if not 0 < level < 1:
            raise ParameterError(f"level must lie between 0 and 1, got {level}")
        reach, value = float(norm.ppf((1 + level) / 2)) * self.predict_std(X), self.predict(X)
        return value - reach, value + reach

    def forecast(
        self, X: Any, votes: Any, *, tasks: Any = None, unknown_workers: Literal["error", "average"] = "error"
    ) -> tuple[F8, F8]:
        """Estimate tasks from features and answers together; only for methods with a likelihood.

        Args:
            X: Features, one row per task.
            votes: Answers to these tasks.
            tasks: Task of each row of X; by default votes.tasks.
            unknown_workers: "average" treats workers unknown at training as the mean worker; "error" refuses them.

        Returns:
            Estimates and their standard deviations.
        """
        value = self._value(X)
        self._measured_gap()
        lines, crowd = self._recoded(votes, tasks, len(value), unknown_workers)
        mean, variance = truth(lines, value, crowd)
        std = self.units_.scale * variance.sqrt().numpy()
        return self._without_single_part(self.units_.from_standard(mean.numpy())), self._without_single_part(std)

    def score(self, X: Any, y: Any) -> float:
        """R² (1 - squared error / variance) against the truth y of each row, averaged over parts."""
        predicted, true = self.predict(X), np.asarray(y, dtype=np.float64)
        if true.shape != predicted.shape:
            raise FeatureError(
                f"y has shape {true.shape}, but X has {len(predicted):,} rows; one true number per row is needed"
            )
        residual, total = ((true - predicted) ** 2).sum(0), ((true - true.mean(0)) ** 2).sum(0)
        return float(np.mean(1 - residual / np.maximum(total, 1e-300)))

    def worker_table(self) -> pl.DataFrame:
        """Table worker, n_labels, bias, spread, slope, weight (suffixed with the part where there are several).

        Relative to the mean worker: slopes have mean one and biases mean zero. `bias` holds at the mean of the answers
        and has their units, like `spread`.
        """
        return super().worker_table()

    def column(self, name: str) -> list[str]:
        """Names of the columns of a quantity, one per part of an answer."""
        return [f"{name}_{part}" if part else name for part in self.parts_]

    def _value(self, X: Any) -> torch.Tensor:
        """Answers of the mean worker to each row, in standard units."""
        self._refuse_unfitted()
        x = as_features(X)
        data = CrowdData(x, NumberCrowd.shape(len(self.workers_), len(self.parts_), len(x)))  # type: ignore[arg-type]
        self._refuse_other_shape(tuple(data.take(torch.arange(min(len(data), 1))).shape[1:]))
        return sweep_answers(self.model_, data, self._device()).cpu()

    def _measured_gap(self) -> F8:
        if self.gap_ is None:
            raise ParameterError(f"{self.method} has no uncertainty estimates; gaussian_net does")
        return self.gap_

    def _without_single_part(self, value: F8) -> F8:
        return value[:, 0] if self.parts_ == ("",) else value

    def _recoded(self, votes: Any, tasks: Any, n: int, unknown_workers: str) -> tuple[Lines, NumberCrowd]:
        """Lines and answers of new votes; unknown workers share one row of the lines, the mean worker's, at the end."""
        new_votes, names = numbers_for(votes, tasks, n)
        if new_votes.answers.parts != self.parts_:
            raise DataError(
                f"the votes have {quote(new_votes.answers.names)}; the training votes {quote(self.column(PART[:-1]))}"
            )
        code = self._worker_codes(new_votes.workers, unknown_workers)
        lines = cast("Lines", self._fitted_lines())
        mean = {"slope": torch.ones_like(lines.noise), "bias": 0 * lines.noise, "variance": lines.noise}
        more = {name: torch.cat([getattr(lines, name), row[None]]) for name, row in mean.items()}
        crowd = NumberCrowd.of(new_votes, names, self.units_)
        return replace(lines, **more), replace(crowd, worker=code[crowd.worker], n_workers=len(self.workers_) + 1)

    # ---------------------------------------------------------------- saving
    def _facts(self) -> dict[str, Any]:
        return {
            "centre": self.units_.centre.tolist(),
            "scale": self.units_.scale.tolist(),
            "gap": None if self.gap_ is None else self.gap_.tolist(),
        }

    def _restore(self, facts: Mapping[str, Any]) -> AnswerRows:
        estimate = self.result_.estimate
        if not isinstance(estimate, NumberEstimate):
            raise ValueError(f"its result holds {self.result_.kind.display_name}")
        self.parts_ = tuple(estimate.parts.to_list())
        n = len(self.parts_)
        self.units_ = AnswerScale(_finite(facts["centre"], n), _finite(facts["scale"], n))
        if not (self.units_.scale > 0).all():
            raise ValueError("a scale is not positive")
        self.gap_ = None if facts["gap"] is None else _finite(facts["gap"], n)
        return NumberCrowd.shape(len(self.workers_), n, len(self.tasks_))

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, RegressorTags, Tags, TargetTags

        return Tags(
            estimator_type="regressor",
            target_tags=TargetTags(required=True, two_d_labels=True),  # one column per worker
            regressor_tags=RegressorTags(),
            input_tags=InputTags(three_d_array=True),
        )


# ----------------------------------------------------------------
# The outcome of training as a Result, so that tables, scores and run folders work as for aggregation.


def outcome(fitted: CrowdRegressor, value: Tensor, crowd: NumberCrowd, lines: Lines | None) -> Result:
    """Build the Result: estimates of the training tasks and quality of the workers.

    Estimates use features and answers, or features alone where the method has no likelihood. `extra["net"]` holds the
    predictions [task, part] of the network alone.
    """
    order = fitted.tasks_.arg_sort().to_numpy()  # the tasks of a Result are sorted
    parts = pl.Series("value", list(fitted.parts_))
    with torch.no_grad():
        slope, bias = (part.cpu().double() for part in cast("NumberMethod", fitted.model_.method).lines())
    # Around the truth, or around the network for methods without likelihood, whose workers have equal weights.
    variance = around(value, crowd, slope, bias).clamp_min(1e-12) if lines is None else lines.variance
    influence = torch.ones_like(slope) if lines is None else slope**2 / variance
    weight = (influence / influence.mean(0).clamp_min(1e-30)).numpy()
    scale = torch.from_numpy(fitted.units_.scale)
    bias_in_units, spread = (scale * bias).numpy(), (scale * variance.sqrt()).numpy()
    facts = fitted._result_facts(net=fitted.units_.from_standard(value.double().numpy())[order])
    facts["extra"] |= pack(_fits(fitted, value, lines, (slope, bias, variance), weight))
    return Result(
        tasks=fitted.tasks_.gather(order),
        workers=fitted.workers_,
        estimate=_estimate(fitted, value, crowd, lines, order, parts),
        worker_summary=NumberWorkers(bias_in_units, spread, slope.numpy().copy(), weight, parts=parts),
        labels_per_task=(crowd.offset[1:] - crowd.offset[:-1]).numpy()[order],
        labels_per_worker=np.bincount(crowd.worker.numpy(), minlength=crowd.n_workers),
        **facts,
    )


def _fits(
    fitted: CrowdRegressor, value: Tensor, lines: Lines | None, workers: tuple[Tensor, Tensor, Tensor], weight: F8
) -> list[NumberFit]:
    """Fits of the workers (slope, bias, variance) by part, to estimate tasks without features.

    The prior of such a task has the mean of the network's predictions, and their variance plus the gap.
    """
    slope, bias, variance = workers
    units, fits = fitted.units_, []
    for j in range(len(fitted.parts_)):
        s, b, q = (values[:, j].numpy() for values in (slope, bias, 1 / variance))
        mu = float(value[:, j].double().mean())
        tau = float(value[:, j].double().var(correction=0)) + (0.0 if lines is None else float(lines.gap[j]))
        linear = Linear(q * s**2, q * s, q * s * b, mu, 1 / max(tau, 1e-6), np.zeros(len(s)), (mu, tau))
        extra = {"linear": linear, "centre": float(units.centre[j]), "unit": float(units.scale[j])}
        if lines is not None:
            extra["slope_variance"] = float(lines.slope_prior[j])
        empty, unit = np.empty(0), units.scale[j]
        fit = NumberFit(
            fitted.method, empty, empty, bias=unit * b, spread=unit / np.sqrt(q), slope=s, weight=weight[:, j],
            extra=extra,
        )  # fmt: skip
        fits.append(fit)
    return fits


def _estimate(
    fitted: CrowdRegressor,
    value: Tensor,
    crowd: NumberCrowd,
    lines: Lines | None,
    order: npt.NDArray[np.uint32],
    parts: pl.Series,
) -> NumberEstimate:
    units = fitted.units_
    if lines is None:
        mean = units.from_standard(value.double().numpy())[order]
        none = np.full_like(mean, np.nan)
        return NumberEstimate(mean, none, none.copy(), none.copy(), parts)
    mean_standard, spread = truth(lines, value, crowd)
    mean = units.from_standard(mean_standard.numpy())[order]
    variance = units.scale**2 * spread.numpy()[order]
    low, high = gaussian_interval(mean, variance)
    return NumberEstimate(mean, variance, low, high, parts)


def around(value: Tensor, crowd: NumberCrowd, slope: Tensor, bias: Tensor, pseudo: float = 2.0) -> Tensor:
    """Variance of each worker's answers around their line, shrunk to the crowd's by `pseudo` answers."""
    weight, worker = crowd.weight.double()[:, None], crowd.worker
    residual = crowd.label.double() - bias[worker] - slope[worker] * value.double()[crowd.task]
    zeros = torch.zeros(crowd.n_workers, residual.shape[1], dtype=torch.float64)
    square, count = (
        zeros.index_add(0, worker, weight * residual**2),
        zeros.index_add(0, worker, weight.expand_as(residual)),
    )
    return (square + pseudo * square.sum(0) / count.sum(0).clamp_min(1e-12)) / (count + pseudo)


def _finite(values: Any, n: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    numbers = np.array([float(value) for value in values])
    if numbers.shape != (n,) or not np.isfinite(numbers).all():
        raise ValueError(f"{n} finite numbers are needed, one per part; got {len(numbers)}")
    return numbers
