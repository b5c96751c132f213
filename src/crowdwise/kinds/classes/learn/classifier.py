"""CrowdClassifier: fit on features and raw labels, then predict labels and assess workers."""

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
from .methods.confusion import aligned_confusion
from .outcome import outcome
from .selection import HeldOutCriterion, Kind
from .votes import annotations_for

F8 = npt.NDArray[np.float64]


class CrowdClassifier(Fitting):
    """A classifier trained on the labels of a crowd.

    Args:
        net: "linear", "mlp", "cnn", any Module with one output per class, or a function (input shape, classes) ->
            Module.
        method: Name of a training method in `registry.LEARNERS`.
        params: Parameters of the method.
        epochs: Number of epochs. Like the next four, None stands for the value in the method's paper.
        batch_size: Tasks per batch.
        lr: Learning rate of the net.
        worker_lr: Learning rate of the worker parameters.
        weight_decay: Weight decay.
        validation: Share of tasks whose labels are held out. The epoch that predicts them best is kept; with 0, all
            tasks are used and the last epoch is kept.
        criterion: Score of the held-out labels, "likelihood" or "information".
        patience: Stop after this many epochs without improvement.
        refit: Train again on all tasks for the selected number of epochs.
        balance: Weight tasks so that all classes, by the majority vote, have the same total weight.
        device: Device for training.
        fabric: Lightning Fabric for training in several processes.
        callbacks: Training callbacks.
        folder: Folder for checkpoints, which are written after every epoch.
        every: Steps between further checkpoints.
        resume: Continue from the last checkpoint.
        seed: Seed of all random numbers.

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
        """Fit the classifier.

        Args:
            X: Features, one row per task, or a folder of files (`FeatureFolder`) that is read in pieces.
            y: Annotations, a wide matrix with one column per worker (missing: nan or -1), or one label per row.
            tasks: Names of the rows of X, by default `y.tasks`.
        """
        check_given(type(self), self.get_params())
        self._method_class()  # report a method of another kind before data are read
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
        """One output per class."""
        return len(self.classes_)

    def _data(self, x: Any, crowd: Any) -> CrowdData:
        return CrowdData(x, crowd, balance=self.balance)

    def _criterion(self, data: CrowdData, held_out: Any) -> Criterion:
        return HeldOutCriterion(data, held_out, self.criterion, self._device())

    def _given_params(self) -> dict[str, Any]:
        params = super()._given_params()
        if isinstance(params.get("confusion"), Result):  # matched by names, not by position
            params["confusion"] = aligned_confusion(params["confusion"], self.workers_, self.class_names_)
        return params

    # ---------------------------------------------------------------- prediction
    def predict_proba(self, X: Any) -> F8:
        """Return p(class | x) [task, class], in the order of `classes_`."""
        return self._sweep(X, None)[0]

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the most probable class of every row."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def forecast_proba(
        self, X: Any, votes: Any, *, tasks: Any = None, unknown_workers: Literal["error", "average"] = "error"
    ) -> F8:
        """Return p(class | x, labels) [task, class], from features and votes.

        Args:
            X: Features.
            votes: The votes on these tasks.
            tasks: Names of the rows of X.
            unknown_workers: With "average", workers who were not in the training data are treated as average workers;
                with "error" they are an error.
        """
        if unknown_workers not in ("error", "average"):
            raise ParameterError(f"unknown_workers must be 'error' or 'average', got {unknown_workers!r}")
        if "forecast" not in learner(self.method).can:
            raise ParameterError(f"{self.method} has no forecaster; use predict_proba")
        return self._sweep(X, (votes, tasks, unknown_workers == "average"))[1]

    def _sweep(self, X: Any, new_votes: tuple[Any, Any, bool] | None) -> tuple[F8, F8]:
        if not hasattr(self, "model_"):
            raise not_fitted("CrowdClassifier")
        x = as_features(X)
        n = len(x)  # type: ignore[arg-type]
        k, m = len(self.classes_), len(self.workers_)
        crowd = Crowd.shape(m, k, n) if new_votes is None else self._crowd(*new_votes, n)
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

    def _crowd(self, votes: Any, tasks: Any, allow_unknown: bool, n: int) -> Crowd:
        """Encode new votes with the codes of training; unknown workers, if allowed, get an additional code."""
        annotations, task_names = annotations_for(votes, tasks, n)
        codes = []
        for vocabulary, trained, given in (
            ("worker", self.workers_, annotations.workers),
            ("class", self.class_names_, annotations.classes),
        ):
            code, is_known = lookup(
                trained, given if given.dtype == trained.dtype else given.cast(trained.dtype, strict=False)
            )
            if not is_known.all() and not (allow_unknown and vocabulary == "worker"):
                names = quote(given.filter(pl.Series(~is_known)))
                hint = "; unknown_workers='average' (--unknown-workers average) treats them as average workers"
                raise DataError(f"{vocabulary} {names} was not seen in training{hint * (vocabulary == 'worker')}")
            codes.append(torch.from_numpy(np.where(is_known, code, len(trained)).astype(np.int64)))
        crowd = Crowd.of(annotations, task_names)
        return replace(
            crowd, worker=codes[0][crowd.worker], label=codes[1][crowd.label], n_workers=len(self.workers_) + 1,
            n_classes=len(self.classes_),
        )  # fmt: skip

    # ---------------------------------------------------------------- saving
    def save(self, folder: str | Path, *, force: bool = False) -> None:
        """Save weights, names and the result, without pickle; existing files are overwritten only with `force`."""
        resolve("crowdwise.kinds.classes.learn.store:save")(self, Path(folder), force=force)

    @classmethod
    def load(cls, folder: str | Path, net: nn.Module | None = None) -> CrowdClassifier:
        """Load a saved classifier; `net` is required if it was a custom Module."""
        loaded: CrowdClassifier = resolve("crowdwise.kinds.classes.learn.store:load")(Path(folder), net)
        return loaded

    result_: Result
