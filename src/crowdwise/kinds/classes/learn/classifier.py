"""CrowdClassifier: fit on features and raw labels, then predict, forecast, judge the workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
import numpy.typing as npt
import polars as pl
import torch
from torch import nn

from ....core.errors import DataError, ParameterError
from ....core.method_registry import learner
from ....core.params import AtLeast, Below, Count, Whole, check_given
from ....core.registry import resolve
from ....core.result import Result
from ....core.vocabulary import lookup, quote
from ....learn.data.crowd import Crowd
from ....learn.data.dataset import CrowdData, FeatureError, as_features, row_names
from ....learn.estimator import not_fitted
from ....learn.fitting import (
    Fitting,
)
from ....learn.method import Rate
from ....learn.training.history import Callback
from ....learn.training.loop import Criterion
from ....learn.training.sweep import sweep_both
from ..annotations import Annotations
from .methods.confusion import aligned
from .outcome import outcome
from .selection import HeldOut, Kind
from .votes import annotations_for

F8 = npt.NDArray[np.float64]


class CrowdClassifier(Fitting):
    """A classifier trained on what the crowd said.

    `net`: "linear", "mlp", "cnn", any Module with one output a class, or a function (input shape, classes) -> Module.
    `method`: a name of `registry.LEARNERS`, with `params` of its own. What is None follows the method's paper. The
    epoch that best predicts the labels of a `validation` share of tasks is kept (0: the last one, on all tasks), by
    `criterion`; `refit=True` trains again on all tasks for that many epochs.

    >>> import numpy as np, crowdwise as cw
    >>> votes = cw.Annotations.from_arrays([0, 0, 1, 1], ["a", "b", "a", "b"], ["x", "x", "y", "y"])
    >>> fitted = CrowdClassifier("linear", "ccem", epochs=60, validation=0).fit(np.array([[-2.0], [2.0]]), votes)
    >>> fitted.predict([[-1.0]])
    array(['x'], dtype='<U1')
    """

    takes, other = "classes", "CrowdRegressor"

    def __init__(
        self,
        net: Any = "mlp",
        method: str = "max_mig",
        *,
        params: Mapping[str, Any] | None = None,
        epochs: Count | None = None,
        batch_size: Count | None = None,
        lr: Rate | None = None,
        worker_lr: Rate | None = None,
        weight_decay: Rate | None = None,
        validation: Annotated[float, AtLeast(0), Below(1)] = 0.15,
        criterion: Kind = "likelihood",
        patience: Count | None = None,
        refit: bool = False,
        balance: bool = False,
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
        self.validation, self.criterion, self.patience, self.refit = validation, criterion, patience, refit
        self.balance, self.device, self.fabric = balance, device, fabric
        self.callbacks, self.folder, self.every, self.resume, self.seed = callbacks, folder, every, resume, seed

    # ---------------------------------------------------------------- fitting
    def fit(self, X: Any, y: Any, *, tasks: Any = None) -> Self:
        """Learn from features X and Annotations y; rows of X follow `tasks`, by default y.tasks.

        X may be a folder of files (`FeatureFolder`), which are read a piece at a time. y may also be a wide matrix, one
        column a worker (missing: nan or -1), or one label a row.
        """
        check_given(type(self), self.get_params())
        self._method_class()  # of the wrong kind: said before anything is read
        x = as_features(X)
        n = len(x)  # type: ignore[arg-type]
        if not n:
            raise FeatureError("X has no rows; there is nothing to learn from")
        if isinstance(x, torch.Tensor) and x.dim() == 2:
            self.n_features_in_ = x.shape[1]
        votes, names = annotations_for(y, row_names(x, tasks), n)
        if votes.n_classes < 2:
            raise FeatureError(f"there is only one class, {votes.classes[0]!r}; a classifier needs two")
        crowd = Crowd.of(votes, names)
        self._names(votes, names)
        self._train(x, crowd)
        self.result_ = outcome(self, votes, CrowdData(x, crowd))
        self.confusion_ = self.result_.confusion
        return self

    def _names(self, votes: Annotations, names: pl.Series) -> None:
        self.classes_ = np.array(votes.classes.to_list())
        self.class_names_, self.workers_, self.tasks_ = votes.classes, votes.workers, names

    def _n_outputs(self) -> int:
        """One output a class."""
        return len(self.classes_)

    def _data(self, x: Any, crowd: Any) -> CrowdData:
        return CrowdData(x, crowd, balance=self.balance)

    def _criterion(self, data: CrowdData, held: Any) -> Criterion:
        return HeldOut(data, held, self.criterion, self._device())

    def _given_params(self) -> dict[str, Any]:
        params = super()._given_params()
        if isinstance(params.get("confusion"), Result):  # matched by names, not by position
            params["confusion"] = aligned(params["confusion"], self.workers_, self.class_names_)
        return params

    # ---------------------------------------------------------------- using it
    def predict_proba(self, X: Any) -> F8:
        """p(class | x): task, class, in the order of `classes_`."""
        return self._sweep(X, None)[0]

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The most probable class of every row."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def forecast_proba(
        self, X: Any, votes: Any, *, tasks: Any = None, unknown_workers: Literal["error", "average"] = "error"
    ) -> F8:
        """p(class | x, labels): what features and crowd say together.

        `unknown_workers="average"` takes workers who were not there at the training for the crowd's mean worker.
        """
        if unknown_workers not in ("error", "average"):
            raise ParameterError(f"unknown_workers must be 'error' or 'average', got {unknown_workers!r}")
        if "forecast" not in learner(self.method).can:
            raise ParameterError(f"{self.method} has no forecaster; predict_proba is all it knows")
        return self._sweep(X, (votes, tasks, unknown_workers == "average"))[1]

    def _sweep(self, X: Any, said: tuple[Any, Any, bool] | None) -> tuple[F8, F8]:
        if not hasattr(self, "model_"):
            raise not_fitted("CrowdClassifier")
        x = as_features(X)
        n = len(x)  # type: ignore[arg-type]
        k, m = len(self.classes_), len(self.workers_)
        crowd = Crowd.shape(m, k, n) if said is None else self._crowd(*said, n)
        data = CrowdData(x, crowd)
        shape = tuple(data.take(torch.arange(min(n, 1))).shape[1:])
        if shape != self.input_shape_:
            raise FeatureError(
                f"X has {shape[0]} features, but CrowdClassifier is expecting {self.input_shape_[0]} features as input"
                if len(shape) == len(self.input_shape_) == 1
                else f"the features have shape {shape} a task, the classifier was trained on {self.input_shape_}"
            )
        log_proba, posterior = sweep_both(self.model_, data, self._device())
        return tuple(p.cpu().double().numpy() for p in (log_proba.exp(), posterior))  # type: ignore[return-value]

    def _crowd(self, votes: Any, tasks: Any, strangers: bool, n: int) -> Crowd:
        """New votes in the codes of training; a stranger, where they are welcome, has a code beyond them."""
        found, names = annotations_for(votes, tasks, n)
        parts = []
        for what, old, new in (("worker", self.workers_, found.workers), ("class", self.class_names_, found.classes)):
            at, known = lookup(old, new if new.dtype == old.dtype else new.cast(old.dtype, strict=False))
            if not known.all() and not (strangers and what == "worker"):
                hint = "; unknown_workers='average' (--unknown-workers average) takes them for the crowd's mean worker"
                raise DataError(
                    f"{what} {quote(new.filter(pl.Series(~known)))} was not seen in training{hint * (what == 'worker')}"
                )
            parts.append(torch.from_numpy(np.where(known, at, len(old)).astype(np.int64)))
        crowd = Crowd.of(found, names)
        return replace(
            crowd, worker=parts[0][crowd.worker], label=parts[1][crowd.label], n_workers=len(self.workers_) + 1,
            n_classes=len(self.classes_),
        )  # fmt: skip

    # ---------------------------------------------------------------- saving
    def save(self, folder: str | Path, *, force: bool = False) -> None:
        """Weights, names and the result, without pickle."""
        resolve("crowdwise.kinds.classes.learn.store:save")(self, Path(folder), force=force)

    @classmethod
    def load(cls, folder: str | Path, net: nn.Module | None = None) -> CrowdClassifier:
        """What `save` wrote; `net` is needed again when it was a Module of your own."""
        loaded: CrowdClassifier = resolve("crowdwise.kinds.classes.learn.store:load")(Path(folder), net)
        return loaded

    result_: Result
