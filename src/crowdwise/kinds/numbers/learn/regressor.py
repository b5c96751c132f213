"""CrowdRegressor: fit on features and the raw numbers of a crowd, then predict, with how sure it is, judge workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self, cast

import numpy as np
import numpy.typing as npt
import polars as pl
import torch
from scipy.stats import norm
from torch import Tensor, nn

from ....core.errors import DataError, ParameterError
from ....core.params import AtLeast, Below, Count, Whole, check_given
from ....core.registry import resolve
from ....core.result import Result, versions
from ....core.vocabulary import lookup, quote
from ....core.votes import Votes
from ....learn.data.crowd import Rows
from ....learn.data.dataset import CrowdData, FeatureError, as_features, row_names
from ....learn.estimator import not_fitted
from ....learn.fitting import Fitting
from ....learn.method import CrowdModel, Rate
from ....learn.trained import Store, Stored, put_together
from ....learn.training.history import Callback, History
from ....learn.training.hold_out import hold_out
from ....learn.training.loop import Criterion
from ....learn.training.sweep import sweep_answers
from ..estimate import NumberEstimate, NumberWorkers
from ..fitting import pack
from ..kind import PART, Numbers
from ..maths.intervals import gaussian_interval
from ..maths.rows import Fit, Linear
from .crowd import (
    Lines,
    NumberCrowd,
    NumberMethod,
    Units,
    against,
    gap_of,
    mean_line,
    numbers_for,
    pulled_in,
    settle,
    truth,
)

# ----------------------------------------------------------------
# Choosing the epoch without truth, for numbers: how much of the held-out answers' variance does the net predict?
#     score = 1 - sum w (r - b - s f(x))² / sum w (r - b - s c)²        c: the best constant
#
# Lines s, b and weights w = 1 / (spread² + s² · gap) of the workers come from the training answers alone, without a
# net, by one rule for all methods: so scores can be compared between epochs and between methods. They are drawn
# against the mean worker as the method counts them, whose answer is what f says.

STEPS = 50


class HeldOutNumbers:
    """A criterion for `train`: higher is better. `data` holds the training answers, `held` those kept aside."""

    kind = "explained"

    def __init__(self, data: CrowdData, held: NumberCrowd, device: torch.device | str = "cpu") -> None:
        self.data, self.held, self.device = data, held, device
        crowd = cast("NumberCrowd", data.crowd)
        nothing = torch.zeros(crowd.n_tasks, crowd.n_outputs)
        self.lines = settle(Lines.start(crowd.n_workers, crowd.n_outputs), nothing, crowd, STEPS)

    def __call__(self, model: CrowdModel) -> float:
        """Score of the model as it is."""
        with torch.no_grad():
            by_slope, by_bias = (each.double().cpu() for each in cast("NumberMethod", model.method).trust())
        own = self.lines.slope, self.lines.bias
        mean = mean_line(own, (by_slope, by_bias))
        slope, bias = against(own, mean)
        lines = replace(self.lines, slope=slope, bias=bias, gap=self.lines.gap * mean[0] ** 2)
        return explained(sweep_answers(model, self.data, self.device).cpu(), lines, self.held)


def explained(value: Tensor, lines: Lines, held: NumberCrowd) -> float:
    """Share of the held-out answers' variance that value[task, part] predicts; the mean over parts."""
    slope = lines.slope[held.worker]
    weight = held.weight.double()[:, None] / (lines.variance[held.worker] + slope**2 * lines.gap)
    said = held.label.double() - lines.bias[held.worker]
    constant = (weight * slope * said).sum(0) / (weight * slope**2).sum(0).clamp_min(1e-30)
    left = (weight * (said - slope * value.double()[held.task]) ** 2).sum(0)
    all_of_it = (weight * (said - slope * constant) ** 2).sum(0)
    return float((1 - left / all_of_it.clamp_min(1e-12)).mean())


F8 = npt.NDArray[np.float64]


class CrowdRegressor(Fitting):
    """A net trained on the numbers that a crowd gave.

    `net`: "linear", "mlp", "cnn", any Module with one output (one for each part of an answer), or a function (input
    shape, outputs) -> Module. `method`: a name of `registry.LEARNERS` that takes numbers, with `params` of its own. The
    epoch that best predicts the answers of a `validation` share of tasks is kept (0: the last one, on all tasks);
    `refit=True` trains again on all tasks for that many epochs.

    >>> import numpy as np
    >>> from crowdwise import number_votes
    >>> x = np.linspace(-1, 1, 40)[:, None]
    >>> votes = number_votes(np.repeat(np.arange(40), 2), ["ann", "bob"] * 40, np.repeat(5 * x[:, 0], 2) + [0, 1] * 40)
    >>> fitted = CrowdRegressor("linear", "gaussian_net", epochs=200, lr=0.03, validation=0).fit(x, votes)
    >>> fitted.predict([[0.5]]).round(1)
    array([3.])
    """

    takes, other = "numbers", "CrowdClassifier"

    def __init__(
        self,
        net: Any = "mlp",
        method: str = "gaussian_net",
        *,
        params: Mapping[str, Any] | None = None,
        epochs: Count | None = None,
        batch_size: Count | None = None,
        lr: Rate | None = None,
        worker_lr: Rate | None = None,
        weight_decay: Rate | None = None,
        validation: Annotated[float, AtLeast(0), Below(1)] = 0.15,
        patience: Count | None = None,
        refit: bool = False,
        device: str | torch.device = "cpu",
        fabric: Any = None,
        callbacks: Sequence[Callback] = (),
        folder: str | Path | None = None,
        every: Count | None = None,
        resume: bool = False,
        seed: Whole = 0,
    ) -> None:
        self.net, self.method, self.params = net, method, params
        self.epochs, self.batch_size = epochs, batch_size
        self.lr, self.worker_lr, self.weight_decay = lr, worker_lr, weight_decay
        self.validation, self.patience, self.refit = validation, patience, refit
        self.device, self.fabric = device, fabric
        self.callbacks, self.folder, self.every, self.resume, self.seed = callbacks, folder, every, resume, seed

    # ---------------------------------------------------------------- fitting
    def fit(self, X: Any, y: Any, *, tasks: Any = None) -> Self:
        """Learn from features X and votes y of numbers; rows of X follow `tasks`, by default y.tasks.

        y may also be a wide matrix, one column a worker (missing: nan), or one number a row.
        """
        check_given(type(self), self.get_params())
        self._method_class()  # of the wrong kind: said before anything is read
        x = as_features(X)
        n = len(x)  # type: ignore[arg-type]
        if not n:
            raise FeatureError("X has no rows; there is nothing to learn from")
        if isinstance(x, torch.Tensor) and x.dim() == 2:
            self.n_features_in_ = x.shape[1]
        votes, self.tasks_ = numbers_for(y, row_names(x, tasks), n)
        votes = pulled_in(votes)
        self.workers_, self.parts_, self.units_ = votes.workers, votes.answers.parts, Units.of(votes)
        self.gap_: F8 | None = None
        crowd = NumberCrowd.of(votes, self.tasks_, self.units_)
        self._train(x, crowd)
        value = sweep_answers(self.model_, CrowdData(x, crowd), self._device()).cpu()
        model = self._lines()
        if model is not None and self.gap_ is None:
            self.gap_ = model.gap.numpy()
        self.result_ = outcome(self, value, crowd, self._lines())
        return self

    def _n_outputs(self) -> int:
        return len(self.parts_)

    def _criterion(self, data: CrowdData, held: Any) -> Criterion:
        return HeldOutNumbers(data, held, self._device())

    def _learn(self, x: Any, crowd: Rows, epochs: int | None, *, final: bool = True) -> int:
        """As always; then, how far the truth is from the net, on tasks that it was not trained on."""
        best = super()._learn(x, crowd, epochs, final=final)
        model = self._lines()
        if self.validation and epochs is None and model is not None:
            held = cast("NumberCrowd", hold_out(crowd, self.validation, self.seed)[1])
            value = sweep_answers(self.model_, CrowdData(x, held), self._device()).cpu()
            self.gap_ = gap_of(model, value, held).numpy()
        return best

    def _lines(self) -> Lines | None:
        """The workers as the method has them, with the gap of tasks that were not trained on where it is known."""
        with torch.no_grad():
            found = cast("NumberMethod", self.model_.method).model()
        if found is None:
            return None
        found = Lines(**{name: part.cpu() for name, part in found.tensors().items()})
        return found if self.gap_ is None else replace(found, gap=torch.from_numpy(self.gap_))

    # ---------------------------------------------------------------- using it
    def predict(self, X: Any) -> F8:
        """The number of every row (row, part where an answer has several): what the crowd's mean worker would say."""
        value = self._value(X).double().numpy()
        return self._shown(self.units_.outward(value))

    def predict_std(self, X: Any) -> F8:
        """How far the truth of a new task is from `predict`, as a standard deviation; for methods with a likelihood."""
        value = self._value(X).double().numpy()
        return self._shown(np.broadcast_to(self.units_.scale * np.sqrt(self._sure()), value.shape).copy())

    def predict_interval(self, X: Any, level: float = 0.9) -> tuple[F8, F8]:
        """Low and high ends between which the truth lies with this probability."""
        if not 0 < level < 1:
            raise ParameterError(f"level must lie between 0 and 1, got {level}")
        reach, value = float(norm.ppf((1 + level) / 2)) * self.predict_std(X), self.predict(X)
        return value - reach, value + reach

    def forecast(
        self, X: Any, votes: Any, *, tasks: Any = None, unknown_workers: Literal["error", "average"] = "error"
    ) -> tuple[F8, F8]:
        """What features and answers say together, and its standard deviation; for methods with a likelihood.

        `unknown_workers="average"` takes workers who were not there at the training for the crowd's mean worker.
        """
        if unknown_workers not in ("error", "average"):
            raise ParameterError(f"unknown_workers must be 'error' or 'average', got {unknown_workers!r}")
        value = self._value(X)
        self._sure()
        lines, crowd = self._known(votes, tasks, len(value), strangers=unknown_workers == "average")
        mean, variance = truth(lines, value, crowd)
        std = self.units_.scale * variance.sqrt().numpy()
        return self._shown(self.units_.outward(mean.numpy())), self._shown(std)

    def score(self, X: Any, y: Any) -> float:
        """R² against the truth y, one value a row: 1 - squared error / variance; the mean over parts."""
        said, true = self.predict(X), np.asarray(y, dtype=np.float64)
        if true.shape != said.shape:
            raise FeatureError(
                f"y has shape {true.shape}, but X has {len(said):,} rows; one true number a row is needed"
            )
        left, all_of_it = ((true - said) ** 2).sum(0), ((true - true.mean(0)) ** 2).sum(0)
        return float(np.mean(1 - left / np.maximum(all_of_it, 1e-300)))

    def worker_table(self) -> pl.DataFrame:
        """worker, n_labels, bias, spread, slope, weight (by part where an answer has several).

        Against what the crowd's mean worker would say: slopes have mean one and biases mean zero. `bias` is at a
        middling number, in the crowd's units, like `spread`.
        """
        if not hasattr(self, "result_"):
            raise not_fitted("CrowdRegressor")
        return self.result_.worker_table()

    def column(self, name: str) -> list[str]:
        """A column's name for each part of an answer."""
        return [f"{name}_{part}" if part else name for part in self.parts_]

    def _value(self, X: Any) -> torch.Tensor:
        """What the mean worker would say of every row, in standard units."""
        if not hasattr(self, "model_"):
            raise not_fitted("CrowdRegressor")
        x = as_features(X)
        data = CrowdData(x, NumberCrowd.shape(len(self.workers_), len(self.parts_), len(x)))  # type: ignore[arg-type]
        shape = tuple(data.take(torch.arange(min(len(data), 1))).shape[1:])
        if shape != self.input_shape_:
            raise FeatureError(
                f"X has {shape[0]} features, but CrowdRegressor is expecting {self.input_shape_[0]} features as input"
                if len(shape) == len(self.input_shape_) == 1
                else f"the features have shape {shape} a task, the net was trained on {self.input_shape_}"
            )
        return sweep_answers(self.model_, data, self._device()).cpu()

    def _sure(self) -> F8:
        if self.gap_ is None:
            raise ParameterError(f"{self.method} does not know how sure it is; gaussian_net does")
        return self.gap_

    def _shown(self, value: F8) -> F8:
        return value[:, 0] if self.parts_ == ("",) else value

    def _known(self, votes: Any, tasks: Any, n: int, *, strangers: bool) -> tuple[Lines, NumberCrowd]:
        """New votes in the codes of training, and the lines of those workers, a stranger after them."""
        found, names = numbers_for(votes, tasks, n)
        if found.answers.parts != self.parts_:
            raise DataError(
                f"the votes hold {quote(found.answers.names)}; the training's {quote(self.column(PART[:-1]))}"
            )
        old, new = self.workers_, found.workers
        at, known = lookup(old, new if new.dtype == old.dtype else new.cast(old.dtype, strict=False))
        if not known.all() and not strangers:
            raise DataError(
                f"worker {quote(new.filter(pl.Series(~known)))} was not seen in training; unknown_workers='average' "
                "(--unknown-workers average) takes them for the crowd's mean worker"
            )
        lines = cast("Lines", self._lines())
        mean = {"slope": torch.ones_like(lines.noise), "bias": 0 * lines.noise, "variance": lines.noise}
        more = {name: torch.cat([getattr(lines, name), row[None]]) for name, row in mean.items()}
        crowd = NumberCrowd.of(found, names, self.units_)
        place = torch.from_numpy(np.where(known, at, len(old)).astype(np.int64))
        return replace(lines, **more), replace(crowd, worker=place[crowd.worker], n_workers=len(old) + 1)

    # ---------------------------------------------------------------- saving
    def save(self, folder: str | Path, *, force: bool = False) -> None:
        """Weights, names and tables, without pickle."""
        resolve("crowdwise.kinds.numbers.learn.regressor:save")(self, Path(folder), force=force)

    @classmethod
    def load(cls, folder: str | Path, net: nn.Module | None = None) -> CrowdRegressor:
        """What `save` wrote; `net` is needed again when it was a Module of your own."""
        loaded: CrowdRegressor = resolve("crowdwise.kinds.numbers.learn.regressor:load")(Path(folder), net)
        return loaded

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, RegressorTags, Tags, TargetTags

        return Tags(
            estimator_type="regressor",
            target_tags=TargetTags(required=True, two_d_labels=True),  # one column a worker
            regressor_tags=RegressorTags(),
            input_tags=InputTags(three_d_array=True),
        )

    tasks_: pl.Series
    workers_: pl.Series
    parts_: tuple[str, ...]
    units_: Units
    result_: Result


# ----------------------------------------------------------------
# What training on numbers found, as the same Result that aggregation gives: tables, scores and run folders know it.


def outcome(fitted: CrowdRegressor, value: Tensor, crowd: NumberCrowd, lines: Lines | None) -> Result:
    """The training tasks given features and answers (features alone where the method has no likelihood), the workers.

    `extra["net"]` is what the net alone says: task, part.
    """
    order = fitted.tasks_.arg_sort().to_numpy()  # a Result's tasks are sorted
    history, parts = fitted.history_, pl.Series("value", list(fitted.parts_))
    return Result(
        method=fitted.method,
        params={**(fitted.params or {}), "seed": fitted.seed, "epochs": len(history)},
        tasks=fitted.tasks_.gather(order),
        workers=fitted.workers_,
        estimate=_estimate(fitted, value, crowd, lines, order, parts),
        picture=_picture(fitted, value, crowd, lines, parts),
        labels_per_task=(crowd.offset[1:] - crowd.offset[:-1]).numpy()[order],
        labels_per_worker=np.bincount(crowd.worker.numpy(), minlength=crowd.n_workers),
        trace=-np.array(history["loss"]),
        stage=np.arange(len(history)),  # a stochastic loss may rise: every epoch is a stage of its own
        n_iter=len(history),
        extra={
            "net": fitted.units_.outward(value.double().numpy())[order],
            "best_epoch": history.best_epoch or len(history),
            **pack(_fits(fitted, value, crowd, lines)),
        },
        versions={**versions(), "torch": torch.__version__},
    )


def _fits(fitted: CrowdRegressor, value: Tensor, crowd: NumberCrowd, lines: Lines | None) -> list[Fit]:
    """The workers as lines, part by part, in the form that judges answers of tasks whose features nobody has.

    What is known of such a task is how the training's lie: around the net's mean, as far apart as net and truth say.
    """
    slope, bias, variance = _lines(fitted, value, crowd, lines)
    weight, units, fits = _say(slope, variance, lines is not None).numpy(), fitted.units_, []
    for j in range(len(fitted.parts_)):
        s, b, q = (each[:, j].numpy() for each in (slope, bias, 1 / variance))
        mu = float(value[:, j].double().mean())
        tau = float(value[:, j].double().var(correction=0)) + (0.0 if lines is None else float(lines.gap[j]))
        judge = Linear(q * s**2, q * s, q * s * b, mu, 1 / max(tau, 1e-6), np.zeros(len(s)), (mu, tau))
        extra = {"linear": judge, "centre": float(units.centre[j]), "unit": float(units.scale[j])}
        if lines is not None:
            extra["slope_variance"] = float(lines.slope_prior[j])
        own = {"bias": units.scale[j] * b, "spread": units.scale[j] / np.sqrt(q), "slope": s, "weight": weight[:, j]}
        nothing = np.empty(0)
        fits.append(Fit(fitted.method, nothing, nothing, extra=extra, **own))
    return fits


def _lines(
    fitted: CrowdRegressor, value: Tensor, crowd: NumberCrowd, lines: Lines | None
) -> tuple[Tensor, Tensor, Tensor]:
    """slope, bias and variance[worker, part]: around the truth, or without a likelihood around the net."""
    with torch.no_grad():
        slope, bias = (part.cpu().double() for part in cast("NumberMethod", fitted.model_.method).lines())
    return slope, bias, around(value, crowd, slope, bias).clamp_min(1e-12) if lines is None else lines.variance


def _say(slope: Tensor, variance: Tensor, likely: bool) -> Tensor:
    """Each worker's say, 1 on average; all alike where the method has no likelihood."""
    say = slope**2 / variance if likely else torch.ones_like(slope)
    return say / say.mean(0).clamp_min(1e-30)


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
        mean = units.outward(value.double().numpy())[order]
        none = np.full_like(mean, np.nan)
        return NumberEstimate(mean, none, none.copy(), none.copy(), parts)
    found, spread = truth(lines, value, crowd)
    mean = units.outward(found.numpy())[order]
    variance = units.scale**2 * spread.numpy()[order]
    low, high = gaussian_interval(mean, variance)
    return NumberEstimate(mean, variance, low, high, parts)


def _picture(
    fitted: CrowdRegressor, value: Tensor, crowd: NumberCrowd, lines: Lines | None, parts: pl.Series
) -> NumberWorkers:
    """Bias at a middling number, and the spread around a worker's line: through the truth, or else through the net."""
    slope, bias, variance = _lines(fitted, value, crowd, lines)
    scale = torch.from_numpy(fitted.units_.scale)
    return NumberWorkers(
        bias=(scale * bias).numpy(),
        spread=(scale * variance.sqrt()).numpy(),
        slope=slope.numpy().copy(),
        weight=_say(slope, variance, lines is not None).numpy(),
        parts=parts,
    )


def around(value: Tensor, crowd: NumberCrowd, slope: Tensor, bias: Tensor, pseudo: float = 2.0) -> Tensor:
    """Variance of each worker's answers around their line through the net's numbers; two of the crowd's added."""
    weight, worker = crowd.weight.double()[:, None], crowd.worker
    rest = crowd.label.double() - bias[worker] - slope[worker] * value.double()[crowd.task]
    zeros = torch.zeros(crowd.n_workers, rest.shape[1], dtype=torch.float64)
    square, count = zeros.index_add(0, worker, weight * rest**2), zeros.index_add(0, worker, weight.expand_as(rest))
    return (square + pseudo * square.sum(0) / count.sum(0).clamp_min(1e-12)) / (count + pseudo)


# ----------------------------------------------------------------
# A trained regressor on disk: model.safetensors, regressor.json, and the Result beside it.

STORE = Store(
    "regressor",
    1,
    ("method", "epochs", "batch_size", "lr", "worker_lr", "weight_decay", "validation", "patience", "refit", "seed"),
)
FILES = STORE.files


def save(fitted: CrowdRegressor, folder: Path, *, force: bool = False, votes: Votes[Numbers] | None = None) -> None:
    """Write a fitted regressor as a run, with its votes where they are given; never over one without `force`."""
    own: dict[str, Any] = {"params": dict(fitted.params or {})}
    if hasattr(fitted, "units_"):
        own |= {"centre": fitted.units_.centre.tolist(), "scale": fitted.units_.scale.tolist()}
        own["gap"] = None if fitted.gap_ is None else fitted.gap_.tolist()
    STORE.save(fitted, folder, own, votes, force=force)


def load(folder: Path, net: nn.Module | None = None) -> CrowdRegressor:
    """Read what `save` wrote."""
    return STORE.load(folder, net, lambda stored: _assemble(stored, folder, net))


def _assemble(stored: Stored, folder: Path, net: nn.Module | None) -> CrowdRegressor:
    pass  # REMOVED

    facts, result = stored.facts, stored.result
    fitted = CrowdRegressor(net if net is not None else facts["net"], params=facts["params"],
                            **{name: facts[name] for name in STORE.plain})  # fmt: skip
    fitted._method_class()  # an unknown name is said before anything is built
    if not isinstance(result.estimate, NumberEstimate):
        raise ValueError(f"its result is one of {result.kind.people}")
    fitted.result_, fitted.tasks_, fitted.workers_ = result, stored.rows, result.workers
    fitted.parts_ = tuple(result.estimate.parts.to_list())
    fitted.units_ = Units(*(_numbers(facts[name], len(fitted.parts_)) for name in ("centre", "scale")))
    if not (fitted.units_.scale > 0).all():
        raise ValueError("a scale that is not above 0")
    fitted.gap_ = None if facts["gap"] is None else _numbers(facts["gap"], len(fitted.parts_))
    fitted.input_shape_ = tuple(facts["input_shape"])
    fitted.history_ = History.of(facts["history"])
    crowd = NumberCrowd.shape(len(fitted.workers_), len(fitted.parts_), len(stored.rows))
    put_together(fitted, crowd, net, stored.state, folder)
    return fitted


def _numbers(given: Any, n: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    found = np.array([float(value) for value in given])
    if found.shape != (n,) or not np.isfinite(found).all():
        raise ValueError(f"{len(found)} numbers for {n} parts of an answer, or one that is none")
    return found
