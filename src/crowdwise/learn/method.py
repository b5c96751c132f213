"""What a method must say, whatever kind of answer it takes, and CrowdModel, the one unit that loops and Fabric see."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from typing import Annotated, Any, ClassVar, Self, cast

import torch
from torch import Tensor, nn

from ..core.errors import DataError
from ..core.params import AtLeast, Below, Count, check_given
from .data.batch import CrowdBatch, at_least_single
from .data.crowd import Crowd, Rows
from .probe import (
    as_wanted,
    linear_layers,
    takes_whole_numbers,
)
from .training.sweep import Sweep

# Name of the buffer in saved state dicts.
LABEL_WEIGHT = "heard"
# Of learning and of weight decay; single precision holds no more.
Rate = Annotated[float, AtLeast(0), Below(1e30)]


@dataclass(frozen=True)
class Defaults:
    """How a method's paper trains it: used where the user says nothing.

    `batch_size=None` is all tasks at once; `worker_lr=None` is the net's own learning rate.
    """

    epochs: Count = 50
    batch_size: Count | None = 64
    lr: Rate = 1e-3
    worker_lr: Rate | None = None
    weight_decay: Rate = 0.0


@dataclass(frozen=True, eq=False)
class Output:
    """What the net says of a batch: logits[B, K], and features[B, D], what its last linear layer saw.

    For numbers `logits` are the numbers themselves, in standard units.
    """

    logits: Tensor
    features: Tensor | None = None

    @cached_property
    def log_proba(self) -> Tensor:
        """log p(class | x): B, K."""
        return torch.log_softmax(self.logits, dim=1)


class Method(nn.Module):
    """A model of the workers and a loss, for any kind of answer. Subclasses write `loss`; the rest has a default.

    A constructor takes the crowd (its shape, and its labels to start from) and keyword hyper-parameters; whatever
    changes in training is a parameter or a buffer, so that the state dict is the whole state. `heard[worker, ...]` is
    the weight of each worker's labels in training.
    """

    name: ClassVar[str]
    defaults: ClassVar[Defaults] = Defaults()
    needs_features: ClassVar[bool] = False  # then the constructor also takes n_features=
    random_start: bool = False  # workers begin at random: to rename them is to start elsewhere
    restarts: ClassVar[bool] = False  # asks the sweep to give the net its first weights back
    hyperparameters: dict[str, Any]  # the hyper-parameters by name, defaults included

    def __new__(cls, *args: Any, **params: Any) -> Self:
        """Checks and keeps what the constructor was given: a run is resumed only with the same."""
        self = super().__new__(cls)
        try:
            bound = signature(cls.__init__).bind_partial(self, *args, **params)
        except TypeError:  # which the constructor itself says better
            return self
        bound.apply_defaults()
        object.__setattr__(self, "hyperparameters", dict(list(bound.arguments.items())[2:]))  # without self and crowd
        check_given(cls, self.hyperparameters)
        return self

    def __init__(self, crowd: Rows, label_weight: Tensor) -> None:
        super().__init__()
        self.n_workers, self.n_outputs = crowd.n_workers, crowd.n_outputs
        self.register_buffer(LABEL_WEIGHT, label_weight)

    @property
    def label_weight(self) -> Tensor:
        """Weight of each worker's labels in training: worker, ..."""
        return self.get_buffer(LABEL_WEIGHT)

    @label_weight.setter
    def label_weight(self, weight: Tensor) -> None:
        self.register_buffer(LABEL_WEIGHT, weight)

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """The terms of the loss by name; over the processes that share a batch they add up to the whole."""
        raise NotImplementedError

    def begin_epoch(self, sweep: Sweep) -> None:
        """An E-step over all training tasks, without gradients."""

    def end_step(self, batch: CrowdBatch) -> None:
        """After the optimizers' step on this batch: what a method learns without gradients."""

    def outputs_reason(self) -> str:
        """Why the net must have so many outputs, for people."""
        raise NotImplementedError

    def answer(self, out: Output) -> Tensor:
        """What the trained net says of the tasks: B, outputs."""
        return out.logits

    def finish(self, sweep: Sweep) -> None:
        """After training, with the weights that are kept in place: what must belong to this very net."""

    def labelled_workers(self) -> Tensor:
        """The workers who have labels in training: a regulariser must not speak of others, whom nothing opposes."""
        return self.label_weight.sum(1).nonzero().squeeze(1)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Moves the method wherever it is told, but never to half precision, which cannot count labels."""

        def move(values: Tensor) -> Tensor:
            moved = fn(values)
            narrow = values.is_floating_point() and moved.element_size() < 4 <= values.element_size()
            return values.to(moved.device) if narrow else moved

        super()._apply(move, recurse)  # type: ignore[no-untyped-call]
        return self

    def param_groups(self, net: nn.Module) -> list[dict[str, Any]]:
        """Groups for the optimizer; `lr` and `weight_decay` are filled in where a group is silent.

        A group with `worker=True` takes the workers' learning rate and no weight decay, which would pull
        every confusion matrix to uniform.
        """
        return [{"params": list(net.parameters())}, {"params": list(self.parameters()), "worker": True}]


class CrowdMethod(Method):
    """A method for classes: confusions and a forecaster beside the loss.

    `heard[worker, class]` counts labels on tasks that the votes say are of that class. One rule for workers who have
    none: a regulariser leaves them out (`seen`), and their labels count as the crowd's mean worker's (`forecast`).
    """

    def __init__(self, crowd: Crowd) -> None:
        of_class = crowd.soft_majority[crowd.task] * crowd.weight[:, None]
        super().__init__(crowd, torch.zeros(crowd.n_workers, crowd.n_classes).index_add(0, crowd.worker, of_class))
        self.n_classes = crowd.n_classes

    def outputs_reason(self) -> str:
        """One output a class."""
        return f"there are {self.n_classes} classes"

    def answer(self, out: Output) -> Tensor:
        """log p(class | x), as `classify` has it."""
        return self.classify(out)

    def classify(self, out: Output) -> Tensor:
        """log p(class | x) of the trained classifier: B, K."""
        return out.log_proba

    def forecast(self, out: Output, batch: CrowdBatch) -> Tensor | None:
        """`posterior`, in which labels of workers unseen in training (or of codes beyond them) count as the mean's."""
        last = max(self.n_workers - 1, 0)
        is_trained = (batch.worker <= last) & (self.label_weight.sum(1) > 0)[batch.worker.clamp_max(last)]
        if bool(is_trained.all()):
            return self.posterior(out, batch)
        posterior = self.posterior(out, batch.only(is_trained))
        if posterior is None:
            return None
        new_workers = batch.only(~is_trained)
        log_likelihood = self.mean_worker_log_likelihood(out, new_workers)
        return (
            posterior
            if log_likelihood is None
            else torch.softmax(posterior.clamp_min(1e-30).log() + new_workers.sum_by_task(log_likelihood), dim=1)
        )

    def mean_worker_log_likelihood(self, out: Output, batch: CrowdBatch) -> Tensor | None:  # noqa: ARG002
        """log p(label | class) of every label, as if the crowd's mean worker gave it: A, K."""
        mean = self.mean_confusion()
        return None if mean is None else _log(mean).T.index_select(0, batch.label)

    def mean_confusion(self) -> Tensor | None:
        """The mean confusion of the workers seen in training, by their shares: true, observed."""
        confusion = self.confusion()
        return None if confusion is None else self.mean_of(confusion)

    def mean_of(self, confusion: Tensor) -> Tensor:
        """The mean over workers of confusion[worker, true, observed], each row by the workers' shares of the class."""
        return torch.einsum("wk,wkl->kl", self.shares_of_labels().to(confusion), confusion)

    def shares_of_labels(self) -> Tensor:
        """Each worker's share of the training labels on tasks of a class: worker, class.

        By class: the rows of a matrix that a worker's few labels say nothing of are not the crowd's.
        """
        is_trained = (self.label_weight.sum(1, keepdim=True) > 0).to(self.label_weight)
        weight = torch.where(
            self.label_weight.sum(0) > 0,
            self.label_weight,
            is_trained if bool(is_trained.any()) else torch.ones_like(is_trained),
        )
        return weight / weight.sum(0)

    def posterior(self, out: Output, batch: CrowdBatch) -> Tensor | None:
        """p(class | x, labels), the data-crowds forecaster: B, K. By default classifier × confusions, normalised.

        Only workers seen in training are asked for; `forecast` looks after the others.
        """
        workers, _ = batch.present
        confusion = self.confusion()
        if confusion is None:
            return None
        log_confusion = _log(confusion.index_select(0, workers))
        return torch.softmax(self.classify(out) + batch.evidence(log_confusion), dim=1)

    def confusion(self) -> Tensor | None:
        """Confusion matrices worker, true, observed, where the method has them."""
        return None

    def task_scores(self) -> dict[str, Tensor]:
        """What else the method knows of every training task, by name: task. It goes into the Result's extra."""
        return {}

    def held_out_task_scores(
        self,
        log_proba: Tensor,  # noqa: ARG002
        held_out: Crowd,  # noqa: ARG002
        training: Mapping[str, Any],  # noqa: ARG002
    ) -> dict[str, Tensor]:
        """The same scores for held-out tasks, whose labels were not used in training; nan where a method has none.

        log_proba[task, class] is the classifier's prediction; `training` holds the state of the training run.
        """
        return {name: torch.full_like(values, torch.nan) for name, values in self.task_scores().items()}


class CrowdModel(nn.Module):
    """A net and a method as one module: `sum(model(batch).values()).backward()` is a training step."""

    def __init__(self, net: nn.Module, method: Method) -> None:
        super().__init__()
        self.net, self.method = net, method
        self._tapping, self._seen = False, cast("Tensor | None", None)
        self._whole: bool | None = None
        # Of all linear layers, the one that runs last: the order of declaration says nothing.
        for layer in linear_layers(net) if method.needs_features else ():
            layer.register_forward_pre_hook(self._tap)

    def forward(self, batch: CrowdBatch) -> Mapping[str, Tensor]:
        """The terms of the loss on a batch."""
        terms = self.method.loss(self.output(batch.x), batch.wide())
        if len(batch):
            return terms
        # A process whose part of a small batch is empty: the others wait for its gradient of every parameter.
        nothing = torch.stack([0.0 * p.sum() for p in self.parameters() if p.requires_grad]).sum()
        return {name: term + nothing for name, term in terms.items()}

    def output(self, x: Tensor) -> Output:
        """What the net says of x[B, ...], in single precision at least."""
        x_net = self._given(x)
        self._tapping = True
        try:
            logits = self.net(x_net)
        finally:
            self._tapping = False
            features, self._seen = self._seen, None  # nothing is held on to
        k = self.method.n_outputs
        if logits.dim() != 2 or logits.shape[1] != k:
            raise DataError(
                f"the net gives outputs of shape {tuple(logits.shape)} for {len(x)} tasks, but "
                f"{self.method.outputs_reason()}; its last layer must have {k} outputs"
            )
        return Output(at_least_single(logits), None if features is None else at_least_single(features))

    def _given(self, x: Tensor) -> Tensor:
        """Whole numbers stay whole for a net that looks them up; everything else has the net's own precision."""
        if x.is_floating_point() or not len(x):
            return as_wanted(self.net, x)
        if self._whole is None:
            self._whole = takes_whole_numbers(self.net, x)
        return x if self._whole else as_wanted(self.net, x)

    def _tap(self, _: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        if self._tapping:
            self._seen = inputs[0]


def _log(p: Tensor) -> Tensor:
    return p.clamp_min(1e-12).log()
