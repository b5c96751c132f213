"""Base classes of the training methods, and CrowdModel: a net and a method as one module for the loop and Fabric."""

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
from .data.crowd import AnswerRows, Crowd
from .data.inputs import map_tree, n_rows
from .probe import as_precision_of, linear_layers, takes_whole_numbers
from .training.sweep import Sweep

# Name of the buffer `label_weight` in saved state dicts.
LABEL_WEIGHT = "heard"
# Of learning and of weight decay; single precision holds no more.
Rate = Annotated[float, AtLeast(0), Below(1e30)]


@dataclass(frozen=True)
class Defaults:
    """The settings of training in the method's paper, used where the user gives none.

    `batch_size=None` is all tasks at once; `worker_lr=None` is the net's own learning rate.
    """

    epochs: Count = 50
    batch_size: Count | None = 64
    lr: Rate = 1e-3
    worker_lr: Rate | None = None
    weight_decay: Rate = 0.0


@dataclass(frozen=True, eq=False)
class Output:
    """The output of the net for a batch: logits[B, K], and features[B, D], the input of its last linear layer.

    For numbers `logits` are the numbers themselves, in standard units.
    """

    logits: Tensor
    features: Tensor | None = None

    @cached_property
    def log_proba(self) -> Tensor:
        """log p(class | x): B, K."""
        return torch.log_softmax(self.logits, dim=1)


class TrainingMethod(nn.Module):
    """A model of the workers and a loss, for any kind of answer. Subclasses write `loss`; the rest has a default.

    A constructor takes the crowd (its shape, and its labels to start from) and keyword hyper-parameters; whatever
    changes in training is a parameter or a buffer, so that the state dict is the whole state.
    """

    name: ClassVar[str]
    defaults: ClassVar[Defaults] = Defaults()
    needs_features: ClassVar[bool] = False  # then the constructor also takes n_features=
    random_start: bool = False  # initial values of the workers are random, so that they depend on their order
    restarts: ClassVar[bool] = False  # resets the net to its initial weights by `Sweep.restart`
    hyperparameters: dict[str, Any]  # the hyper-parameters by name, defaults included

    def __new__(cls, *args: Any, **params: Any) -> Self:
        """Check and keep the arguments of the constructor: a run is resumed only with the same ones."""
        self = super().__new__(cls)
        try:
            bound = signature(cls.__init__).bind_partial(self, *args, **params)
        except TypeError:  # the constructor itself raises it with a better message
            return self
        bound.apply_defaults()
        object.__setattr__(self, "hyperparameters", dict(list(bound.arguments.items())[2:]))  # without self and crowd
        check_given(cls, self.hyperparameters)
        return self

    def __init__(self, crowd: AnswerRows, label_weight: Tensor) -> None:
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
        """The terms of the loss by name; their sums over the processes that share a batch are those of the batch."""
        raise NotImplementedError

    def begin_epoch(self, sweep: Sweep) -> None:
        """An E-step over all training tasks, without gradients."""

    def end_step(self, batch: CrowdBatch) -> None:
        """An update without gradients, after the optimizers' step on this batch."""

    def outputs_reason(self) -> str:
        """Why the net must have `n_outputs` outputs, for messages."""
        raise NotImplementedError

    def answer(self, out: Output) -> Tensor:
        """The prediction of the trained net for the tasks: B, outputs."""
        return out.logits

    def finish(self, sweep: Sweep) -> None:
        """An update after training, with the best weights in place."""

    def labelled_workers(self) -> Tensor:
        """The workers with labels in training; nothing would balance a regulariser of the others."""
        return self.label_weight.sum(1).nonzero().squeeze(1)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Move the method to a device or precision, but never to half precision, which cannot count labels."""

        def move(values: Tensor) -> Tensor:
            moved = fn(values)
            narrow = values.is_floating_point() and moved.element_size() < 4 <= values.element_size()
            return values.to(moved.device) if narrow else moved

        super()._apply(move, recurse)  # type: ignore[no-untyped-call]
        return self

    def param_groups(self, net: nn.Module) -> list[dict[str, Any]]:
        """Groups for the optimizer; `lr` and `weight_decay` are filled in where a group has none.

        A group with `worker=True` takes the workers' learning rate and no weight decay, which would pull
        every confusion matrix to uniform.
        """
        return [{"params": list(net.parameters())}, {"params": list(self.parameters()), "worker": True}]


class CrowdMethod(TrainingMethod):
    """A method for classes: a loss, confusion matrices and a forecaster.

    `label_weight[worker, class]` counts labels on tasks of that class by the votes. Workers without any are left out of
    regularisers (`labelled_workers`), and their labels count as those of the crowd's mean worker (`forecast`).
    """

    def __init__(self, crowd: Crowd) -> None:
        of_class = crowd.soft_majority[crowd.task] * crowd.weight[:, None]
        super().__init__(crowd, torch.zeros(crowd.n_workers, crowd.n_classes).index_add(0, crowd.worker, of_class))
        self.n_classes = crowd.n_classes

    def outputs_reason(self) -> str:
        """One output per class."""
        return f"there are {self.n_classes} classes"

    def answer(self, out: Output) -> Tensor:
        """log p(class | x), as in `classify`."""
        return self.classify(out)

    def classify(self, out: Output) -> Tensor:
        """log p(class | x) of the trained classifier: B, K."""
        return out.log_proba

    def estimate(self, out: Output) -> Tensor:
        """`classify`, or a cheaper estimate of it for the score of an epoch: B, K."""
        return self.classify(out)

    def forecast(self, out: Output, batch: CrowdBatch) -> Tensor | None:
        """`posterior`, with labels of workers unseen in training (or of codes beyond) as those of the mean worker."""
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
        """log p(label | class) of every label by the confusion matrix of the crowd's mean worker: A, K."""
        mean = self.mean_confusion()
        return None if mean is None else _log(mean).T.index_select(0, batch.label)

    def mean_confusion(self) -> Tensor | None:
        """The mean confusion matrix of the workers of the training, weighted by their labels: true, observed."""
        confusion = self.confusion()
        return None if confusion is None else self.mean_of(confusion)

    def mean_of(self, confusion: Tensor) -> Tensor:
        """The mean over workers of confusion[worker, true, observed], each row by the workers' shares of the class."""
        return torch.einsum("wk,wkl->kl", self.shares_of_labels().to(confusion), confusion)

    def shares_of_labels(self) -> Tensor:
        """Each worker's share of the training labels on tasks of a class: worker, class.

        By class, because the rows of a matrix for which a worker has no labels must not enter the crowd's mean.
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

        For workers of the training only; `forecast` includes the others.
        """
        workers, _ = batch.present
        confusion = self.confusion()
        if confusion is None:
            return None
        log_confusion = _log(confusion.index_select(0, workers))
        return torch.softmax(self.classify(out) + batch.evidence(log_confusion), dim=1)

    def confusion(self) -> Tensor | None:
        """Confusion matrices [worker, true, observed], or None if the method has none."""
        return None

    def class_prior(self) -> Tensor | None:
        """The class frequencies that the method takes for granted, if it does: class."""
        return None

    def task_scores(self) -> dict[str, Tensor]:
        """Further scores[task] of the training tasks by name; they are stored in the Result's extra."""
        return {}

    def held_out_task_scores(
        self,
        log_proba: Tensor,  # noqa: ARG002
        held_out: Crowd,  # noqa: ARG002
        training: Mapping[str, Any],  # noqa: ARG002
    ) -> dict[str, Tensor]:
        """The same scores for held-out tasks, whose labels were not used in training; nan by default.

        log_proba[task, class] is the classifier's prediction; `training` holds the state of the training run.
        """
        return {name: torch.full_like(values, torch.nan) for name, values in self.task_scores().items()}


class Predictor(nn.Module):
    """The trained net by itself, without the workers: x[B, ...] to log p(class | x), or to what the method predicts."""

    def __init__(self, model: CrowdModel) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: Any) -> Tensor:
        """The prediction for x."""
        return self.model.method.answer(self.model.output(x))


class CrowdModel(nn.Module):
    """A net and a method as one module: `sum(model(batch).values()).backward()` is a training step."""

    def __init__(self, net: nn.Module, method: TrainingMethod) -> None:
        super().__init__()
        self.net, self.method = net, method
        self._recording, self._last_input = False, cast("Tensor | None", None)
        self._takes_whole: bool | None = None
        # Features are the input of the linear layer that runs last, whatever the order of declaration.
        for layer in linear_layers(net) if method.needs_features else ():
            layer.register_forward_pre_hook(self._record)

    def forward(self, batch: CrowdBatch) -> Mapping[str, Tensor]:
        """The terms of the loss on a batch."""
        terms = self.method.loss(self.output(batch.x), batch.wide())
        if len(batch):
            return terms
        # A process whose part of a small batch is empty: the others wait for its gradient of every parameter.
        nothing = torch.stack([0.0 * p.sum() for p in self.parameters() if p.requires_grad]).sum()
        return {name: term + nothing for name, term in terms.items()}

    def output(self, x: Any) -> Output:
        """The output of the net for x[B, ...], in single precision at least.

        A dict of inputs is passed by name and a list in order; the net may return its logits, an object with an
        attribute `logits`, or a tuple that begins with them.
        """
        x_net = self._input(x) if isinstance(x, Tensor) else map_tree(self._part, x)
        self._recording = True
        try:
            given = self._run(x_net)
        finally:
            self._recording = False
            features, self._last_input = self._last_input, None  # free the memory
        logits: Tensor = given[0] if isinstance(given, tuple) else getattr(given, "logits", given)
        k = self.method.n_outputs
        if logits.dim() != 2 or logits.shape[1] != k:
            raise DataError(
                f"the net gives outputs of shape {tuple(logits.shape)} for {n_rows(x)} tasks, but "
                f"{self.method.outputs_reason()}; its last layer must have {k} outputs"
            )
        return Output(at_least_single(logits), None if features is None else at_least_single(features))

    def _run(self, x: Any) -> Any:
        if isinstance(x, dict):
            return self.net(**x)
        return self.net(*x) if isinstance(x, list) else self.net(x)

    def _input(self, x: Tensor) -> Tensor:
        """x in the net's precision; whole numbers stay as they are for a net that begins with an embedding."""
        if x.is_floating_point() or not len(x):
            return as_precision_of(self.net, x)
        if self._takes_whole is None:
            self._takes_whole = takes_whole_numbers(self.net, x)
        return x if self._takes_whole else as_precision_of(self.net, x)

    def _part(self, x: Tensor) -> Tensor:
        """One of several inputs: numbers in the net's precision, ids and masks as they are."""
        return as_precision_of(self.net, x) if x.is_floating_point() else x

    def _record(self, _: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        if self._recording:
            self._last_input = inputs[0]


def _log(p: Tensor) -> Tensor:
    return p.clamp_min(1e-12).log()
