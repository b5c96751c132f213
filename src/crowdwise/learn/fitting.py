"""CrowdEstimator: builds net and method, trains them, and keeps the best weights, for every kind of answers."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl
import torch
from torch import Tensor, nn

from ..core.errors import DataError, ParameterError
from ..core.method_registry import learner
from ..core.params import Param, check_given, of
from ..core.result import Result, versions
from ..core.vocabulary import quote
from ..core.votes import Votes
from . import store
from .answers import HeldOutAnswers
from .data.crowd import AnswerRows, codes_in
from .data.dataset import CrowdData, FeatureError
from .estimator import Estimator, not_fitted
from .method import CrowdModel, Predictor, TrainingMethod
from .optimizers import make_optimizers
from .options import TrainingOptions
from .probe import last_linear
from .training.history import History
from .training.hold_out import hold_out
from .training.loop import Criterion, train

# Of the checkpoints of a training by which only the number of epochs is selected.
SELECTION = "selection"


class FittedState:
    """What `fit` sets, whatever the kind of answers."""

    model_: CrowdModel
    input_shape_: tuple[int, ...]
    history_: History
    tasks_: pl.Series  # the names of the rows of the features
    workers_: pl.Series
    result_: Result
    doubts_: tuple[str, ...]  # what contradicts the assumptions of the method, as in the warnings


@dataclass(eq=False, repr=False)
class CrowdEstimator(TrainingOptions, FittedState, Estimator):
    """Base class of the estimators. A subclass converts votes to a crowd, calls `_train` and makes a Result."""

    takes: ClassVar[str]  # the kind of answers
    what: ClassVar[str]  # a noun, for files and messages
    default_method: ClassVar[str]
    other: ClassVar[str] = "another estimator"  # for methods of another kind
    file_format: ClassVar[int] = 1

    net: Any = "mlp"
    method: str | None = None

    def _n_outputs(self) -> int:
        """Number of outputs of the net."""
        raise NotImplementedError

    def _data(self, x: Any, crowd: Any) -> CrowdData:
        return CrowdData(x, crowd)

    def _criterion(self, data: CrowdData, held_out: Any) -> Criterion:
        """Score of an epoch: by default the likelihood of the held-out answers."""
        return HeldOutAnswers(self._data(data.x, held_out), self._device())

    def _votes_of(self, y: Any, answers: type) -> Votes[Any]:
        """The votes without rows of weight 0; refused if their answers are of another kind."""
        check_given(type(self), self.get_params())
        self._given_params()
        if not isinstance(y, Votes) or not isinstance(y.answers, answers):
            got = y.kind.display_name if isinstance(y, Votes) else type(y).__name__
            raise FeatureError(f"y holds {got}; {type(self).__name__} learns from {self.takes}")
        votes = y if y.weight is None else y.take(y.weight > 0)
        if not len(votes):
            raise FeatureError("the votes hold no answer; there is nothing to learn from")
        return votes

    # ---------------------------------------------------------------- training
    def _train(self, x: Any, crowd: AnswerRows) -> None:
        """Train; with `refit`, a second time on all tasks for the best number of epochs of the first time."""
        refit = self.refit and bool(self.validation)
        epochs = self._learn(x, crowd, None, final=not refit)
        if refit:
            best_epoch = self.history_.best_epoch
            self._learn(x, crowd, epochs)
            self.history_.best_epoch = best_epoch

    def _learn(self, x: Any, crowd: AnswerRows, epochs: int | None, *, final: bool = True) -> int:
        """Build and train, on all tasks if `epochs` is given; return the number of epochs up to the best weights."""
        refitting = epochs is not None
        criterion, labels = None, crowd
        if self.validation and not refitting:
            labels, held_out = hold_out(crowd, self.validation, self.seed)
        data = self._data(x, labels)
        self.model_ = self._build(data)
        if self.validation and not refitting:
            criterion = self._criterion(data, held_out)
        defaults = self.model_.method.defaults
        optimizers = make_optimizers(
            self.model_,
            lr=defaults.lr if self.lr is None else self.lr,
            worker_lr=defaults.worker_lr if self.worker_lr is None else self.worker_lr,
            weight_decay=defaults.weight_decay if self.weight_decay is None else self.weight_decay,
        )
        self.history_ = train(
            self.model_, data, optimizer=optimizers, epochs=self.epochs, batch_size=self.batch_size, stop_after=epochs,
            criterion=criterion, patience=None if refitting else self.patience, callbacks=self.callbacks,
            fabric=self.fabric, folder=self._checkpoints(final), every=self.every, resume=self.resume, seed=self.seed,
        )  # fmt: skip
        return self.history_.best_epoch or len(self.history_)

    def _checkpoints(self, final: bool) -> Path | None:
        """The folder of the checkpoints; those of the training that selects the epoch of a refit have their own."""
        if self.folder is None:
            return None
        return Path(self.folder) if final else Path(self.folder) / SELECTION

    def _build(self, data: CrowdData) -> CrowdModel:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            self.input_shape_ = data.row_shape()
            net = self.rebuild_net()
            method = self._make_method(data.crowd, net)
        return CrowdModel(net, method).to(self._device())

    def rebuild_net(self) -> nn.Module:
        """A new net as the parameter `net` describes it."""
        if isinstance(self.net, str):
            from .nets import make_net

            if not self.input_shape_:
                raise ParameterError(
                    f"net {self.net!r} takes one array of features; X has several inputs: pass a Module"
                )
            return make_net(self.net, self.input_shape_, self._n_outputs())
        if isinstance(self.net, nn.Module):
            return deepcopy(self.net)
        if callable(self.net):
            module: nn.Module = self.net(self.input_shape_, self._n_outputs())
            return module
        raise ParameterError(f"net must be a name, a Module or a function, got {type(self.net).__name__}")

    def method_name(self) -> str:
        """The name of the method, the default one if none was given."""
        return self.method or self.default_method

    def _method_class(self) -> type[TrainingMethod]:
        """The method's class; an error if it takes another kind of answers."""
        name = self.method_name()
        kind = learner(name).takes
        if kind != self.takes:
            raise ParameterError(
                f"{name} takes {kind}, not {self.takes}; use {self.other}, or choose a method for "
                f"{self.takes} (`crowdwise methods` lists them)"
            )
        return method_class(name)

    def _given_params(self) -> dict[str, Any]:
        """The given hyper-parameters of the method; unknown ones are refused."""
        params = dict(self.params or {})
        allowed = method_parameters(self._method_class())
        for name in params:
            if name not in allowed:
                raise ParameterError(
                    f"{self.method_name()} has no parameter {name!r}; it has {', '.join(allowed) or 'none'}"
                )
        return params

    def plain_params(self) -> dict[str, Any]:
        """The given hyper-parameters without matrices, which are in the state dict."""
        return {name: value for name, value in (self.params or {}).items() if name != "confusion"}

    def _make_method(self, crowd: Any, net: nn.Module) -> TrainingMethod:
        cls = self._method_class()
        params = self._given_params()
        if cls.needs_features:  # the layer is found by running the net
            example = torch.zeros(1, *self.input_shape_, dtype=torch.int64) if self.input_shape_ else None
            params["n_features"] = last_linear(net, example).in_features
        return cls(crowd, **params)

    def _device(self) -> torch.device:
        if self.fabric is not None:
            return torch.device(self.fabric.device)
        try:
            return torch.empty(0, device=self.device).device
        except (RuntimeError, AssertionError) as error:
            raise ParameterError(
                f"device {self.device!r} cannot be used here ({str(error).splitlines()[0]}); cpu always can"
            ) from None

    # ---------------------------------------------------------------- prediction and results
    def _refuse_unfitted(self) -> None:
        if not hasattr(self, "model_"):
            raise not_fitted(type(self).__name__)

    @property
    def predictor_(self) -> Predictor:
        """The trained net by itself, as a Module that gives log p(class | x) (or numbers), as in `predict`.

        For most methods it is the net, `model_.net`, whose outputs are normalised; for `doctor_net` the mean of the
        workers' heads.
        """
        self._refuse_unfitted()
        return Predictor(self.model_)

    def _refuse_other_shape(self, shape: tuple[int, ...]) -> None:
        """Raise an error for feature rows of another shape than those of the training."""
        if shape == self.input_shape_:
            return
        name = type(self).__name__
        raise FeatureError(
            f"X has {shape[0]} features, but {name} is expecting {self.input_shape_[0]} features as input"
            if len(shape) == len(self.input_shape_) == 1
            else f"a row of features has shape {shape}; {name} was trained on {self.input_shape_}"
        )

    def _worker_codes(self, workers: pl.Series, unknown_workers: str) -> Tensor:
        """The training codes of these workers; unknown ones, if allowed, share one code beyond them."""
        if unknown_workers not in ("error", "average"):
            raise ParameterError(f"unknown_workers must be 'error' or 'average', got {unknown_workers!r}")
        code, is_known = codes_in(self.workers_, workers)
        if not is_known.all() and unknown_workers == "error":
            raise DataError(
                f"worker {quote(workers.filter(pl.Series(~is_known)))} was not seen in training; "
                "unknown_workers='average' (--unknown-workers average) treats them as average workers"
            )
        return torch.from_numpy(np.where(is_known, code, len(self.workers_)).astype(np.int64))

    def worker_table(self) -> pl.DataFrame:
        """One row per worker: worker, n_labels, and the quantities of a run folder's workers.csv."""
        if not hasattr(self, "result_"):
            raise not_fitted(type(self).__name__)
        return self.result_.worker_table()

    def _result_facts(self, **extra: Any) -> dict[str, Any]:
        """The fields of a Result that describe the training."""
        history = self.history_
        return {
            "method": self.method_name(),
            "params": {**self.plain_params(), "seed": self.seed, "epochs": len(history)},
            "trace": -np.array(history["loss"]),
            "stage": np.arange(len(history)),  # a stochastic loss may rise: every epoch is a stage of its own
            "n_iter": len(history),
            "extra": {**extra, "best_epoch": history.best_epoch or len(history)},
            "versions": {**versions(), "torch": torch.__version__},
        }

    def _result(self, votes: Votes[Any], estimate: Any, worker_summary: Any, **extra: Any) -> Result:
        """The Result for the tasks and workers of the votes."""
        return Result(
            tasks=votes.tasks,
            workers=votes.workers,
            estimate=estimate,
            worker_summary=worker_summary,
            labels_per_task=votes.labels_per_task,
            labels_per_worker=votes.labels_per_worker,
            **self._result_facts(**extra),
        )

    # ---------------------------------------------------------------- saving
    def save(self, folder: str | Path, *, force: bool = False) -> None:
        """Save weights, names and tables, without pickle; existing files are overwritten only with `force`."""
        store.save(self, Path(folder), force=force)

    @classmethod
    def load(cls, folder: str | Path, net: nn.Module | None = None) -> Self:
        """Load a saved estimator; `net` is required if it was a custom Module."""
        return store.load(cls, Path(folder), net)

    def _facts(self) -> dict[str, Any]:
        """What else must be stored, as JSON."""
        raise NotImplementedError

    def _restore(self, facts: Mapping[str, Any]) -> AnswerRows:
        """Set what `fit` sets from `_facts` and the Result; return a crowd of the training's shape."""
        raise NotImplementedError


def method_parameters(cls: type[TrainingMethod]) -> dict[str, Param]:
    """The hyper-parameters of a method by name."""
    return {name: param for name, param in of(cls).items() if name not in ("crowd", "n_features")}


def method_class(name: str) -> type[TrainingMethod]:
    """The class of a training method."""
    module, _, cls = learner(name).where.partition(":")
    method: type[TrainingMethod] = getattr(import_module(module), cls)
    return method
