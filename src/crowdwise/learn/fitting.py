"""What estimators share, whichever kind of answer they learn from: net and method are built, trained, kept at best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import nn

from ..core.errors import ParameterError
from ..core.method_registry import learner
from ..core.params import Param, of
from .data.crowd import Rows
from .data.dataset import CrowdData
from .estimator import Estimator
from .method import CrowdModel, Method
from .optimizers import make_optimizers
from .probe import last_linear
from .training.history import Callback, History
from .training.hold_out import hold_out
from .training.loop import Criterion, train


class Fitting(Estimator):
    """Builds and trains a CrowdModel as the constructor's parameters say; subclasses say what the held-out labels
    judge by, and what is made of the model afterwards."""

    takes: ClassVar[str]  # the kind of answers
    other: ClassVar[str]  # the estimator of the other kind, for a message

    net: Any
    method: str
    params: Mapping[str, Any] | None
    epochs: int | None
    batch_size: int | None
    lr: float | None
    worker_lr: float | None
    weight_decay: float | None
    validation: float
    patience: int | None
    refit: bool
    device: str | torch.device
    fabric: Any
    callbacks: Sequence[Callback]
    folder: str | Path | None
    every: int | None
    resume: bool
    seed: int
    model_: CrowdModel
    input_shape_: tuple[int, ...]

    def _n_outputs(self) -> int:
        """What the net must say of a task: so many numbers."""
        raise NotImplementedError

    def _data(self, x: Any, crowd: Any) -> CrowdData:
        return CrowdData(x, crowd)

    def _criterion(self, data: CrowdData, held: Any) -> Criterion:
        """What judges an epoch by labels kept aside."""
        raise NotImplementedError

    def _train(self, x: Any, crowd: Rows) -> None:
        """Train; with `refit`, once more on all tasks for as many epochs as were best."""
        again = self.refit and bool(self.validation)
        epochs = self._learn(x, crowd, None, final=not again)
        if again:
            chosen = self.history_
            self._learn(x, crowd, epochs)
            self.history_.best_epoch = chosen.best_epoch

    def _learn(self, x: Any, crowd: Rows, epochs: int | None, *, final: bool = True) -> int:
        """Build and train; the number of epochs after which the best weights were found."""
        refitting = epochs is not None
        criterion, labels = None, crowd
        if self.validation and not refitting:
            labels, held = hold_out(crowd, self.validation, self.seed)
        data = self._data(x, labels)
        self.model_ = self._build(data)
        if self.validation and not refitting:
            criterion = self._criterion(data, held)
        d = self.model_.method.defaults
        optimizers = make_optimizers(
            self.model_,
            lr=d.lr if self.lr is None else self.lr,
            worker_lr=d.worker_lr if self.worker_lr is None else self.worker_lr,
            weight_decay=d.weight_decay if self.weight_decay is None else self.weight_decay,
        )
        self.history_: History = train(
            self.model_, data, optimizer=optimizers, epochs=self.epochs, batch_size=self.batch_size, stop_after=epochs,
            criterion=criterion, patience=None if refitting else self.patience, callbacks=self.callbacks,
            fabric=self.fabric, folder=self.folder if final else None, every=self.every, resume=self.resume and final,
            seed=self.seed,
        )  # fmt: skip
        return self.history_.best_epoch or len(self.history_)

    def _build(self, data: CrowdData) -> CrowdModel:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            self.input_shape_ = data.row_shape()
            net = self.rebuild_net(self.net, data.crowd.n_outputs)
            method = self._make_method(data.crowd, net)
        return CrowdModel(net, method).to(self._device())

    def rebuild_net(self, net: Any, n_outputs: int | None = None) -> nn.Module:
        """The net that `net` (or, when None, the constructor's parameter) describes."""
        net = self.net if net is None else net
        k = self._n_outputs() if n_outputs is None else n_outputs
        if isinstance(net, str):
            from .nets import make_net

            return make_net(net, self.input_shape_, k)
        if isinstance(net, nn.Module):
            return deepcopy(net)
        if callable(net):
            module: nn.Module = net(self.input_shape_, k)
            return module
        raise ParameterError(f"net must be a name, a Module or a function, got {type(net).__name__}")

    def chosen(self) -> str:
        """The name of the method."""
        return self.method

    def _method_class(self) -> type[Method]:
        """The method's class, if it takes this kind of answers."""
        name = self.chosen()
        kind = learner(name).takes
        if kind != self.takes:
            raise ParameterError(
                f"{name} takes {kind}, not {self.takes}; use {self.other}, or choose a method for "
                f"{self.takes} (`crowdwise methods` lists them)"
            )
        return method_class(name)

    def _given_params(self) -> dict[str, Any]:
        """The method's hyper-parameters that were given; one that it does not have is refused."""
        params = dict(self.params or {})
        allowed = method_parameters(self._method_class())
        for name in params:
            if name not in allowed:
                raise ParameterError(
                    f"{self.chosen()} has no parameter {name!r}; it has {', '.join(allowed) or 'none'}"
                )
        return params

    def _make_method(self, crowd: Any, net: nn.Module) -> Method:
        cls = self._method_class()
        params = self._given_params()
        if cls.needs_features:  # the layer is found by running the net
            example = torch.zeros(1, *self.input_shape_, dtype=torch.int64)
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


def method_parameters(cls: type[Method]) -> dict[str, Param]:
    """The hyper-parameters of a method by name."""
    return {name: param for name, param in of(cls).items() if name not in ("crowd", "n_features")}


def method_class(name: str) -> type[Method]:
    """The class of a training method."""
    module, _, cls = learner(name).where.partition(":")
    method: type[Method] = getattr(import_module(module), cls)
    return method
