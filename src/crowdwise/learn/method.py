"""CrowdMethod and CrowdModel: what a method must say, and the one unit that loops, Fabric and Lightning see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from ..errors import DataError, ParameterError
from .batch import CrowdBatch
from .crowd import Crowd
from .sweep import Sweep


@dataclass(frozen=True)
class Defaults:
    """How a method's paper trains it: used where the user says nothing.

    `batch_size=None` is all tasks at once; `worker_lr=None` is the net's own learning rate.
    """

    epochs: int = 50
    batch_size: int | None = 64
    lr: float = 1e-3
    worker_lr: float | None = None
    weight_decay: float = 0.0


@dataclass(frozen=True, eq=False)
class Output:
    """What the net says of a batch: logits[B, K], and features[B, D], what its last linear layer saw."""

    logits: Tensor
    features: Tensor | None = None

    @cached_property
    def log_proba(self) -> Tensor:
        """log p(class | x): B, K."""
        return torch.log_softmax(self.logits, dim=1)


class CrowdMethod(nn.Module):
    """A model of the workers and a loss. Subclasses write `loss`; everything else has a default.

    A constructor takes the Crowd (its shape, and its labels to start from) and keyword hyper-parameters; whatever
    changes in training is a parameter or a buffer, so that the state dict is the whole state.
    """

    name: ClassVar[str]
    defaults: ClassVar[Defaults] = Defaults()
    needs_features: ClassVar[bool] = False  # then the constructor also takes n_features=
    random_start: bool = False  # workers begin at random: to rename them is to start elsewhere
    restarts: ClassVar[bool] = False  # asks the sweep to give the net its first weights back

    def __init__(self, crowd: Crowd) -> None:
        super().__init__()
        self.n_workers, self.n_classes = crowd.n_workers, crowd.n_classes

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """The terms of the loss by name; over the processes that share a batch they add up to the whole."""
        raise NotImplementedError

    def begin_epoch(self, sweep: Sweep) -> None:
        """An E-step over all training tasks, without gradients."""

    def end_step(self, batch: CrowdBatch) -> None:
        """After the optimizers' step on this batch: what a method learns without gradients."""

    def classify(self, out: Output) -> Tensor:
        """log p(class | x) of the trained classifier: B, K."""
        return out.log_proba

    def posterior(self, out: Output, batch: CrowdBatch) -> Tensor | None:
        """p(class | x, labels), the data-crowds forecaster: B, K. By default classifier × confusions, normalised."""
        found, _ = batch.present
        confusion = self.confusion()
        if confusion is None:
            return None
        log_confusion = confusion.index_select(0, found).clamp_min(1e-12).log()
        return torch.softmax(self.classify(out) + batch.evidence(log_confusion), dim=1)

    def confusion(self) -> Tensor | None:
        """Confusion matrices worker, true, observed, where the method has them."""
        return None

    def task_scores(self) -> dict[str, Tensor]:
        """What else the method knows of every training task, by name: task. It goes into the Result's extra."""
        return {}

    def param_groups(self, net: nn.Module) -> list[dict[str, Any]]:
        """Groups for the optimizer; `lr` and `weight_decay` are filled in where a group is silent.

        A group with `worker=True` takes the workers' learning rate and no weight decay, which would pull
        every confusion matrix to uniform.
        """
        return [{"params": list(net.parameters())}, {"params": list(self.parameters()), "worker": True}]


class CrowdModel(nn.Module):
    """A net and a method as one module: `sum(model(batch).values()).backward()` is a training step."""

    def __init__(self, net: nn.Module, method: CrowdMethod) -> None:
        super().__init__()
        self.net, self.method = net, method
        self._seen: list[Tensor] = []
        if method.needs_features:
            last_linear(net).register_forward_pre_hook(self._tap)

    def forward(self, batch: CrowdBatch) -> Mapping[str, Tensor]:
        """The terms of the loss on a batch."""
        terms = self.method.loss(self.output(batch.x), batch)
        if len(batch):
            return terms
        # A process whose part of a small batch is empty: the others wait for its gradient of every parameter.
        nothing = torch.stack([0.0 * p.sum() for p in self.parameters() if p.requires_grad]).sum()
        return {name: term + nothing for name, term in terms.items()}

    def output(self, x: Tensor) -> Output:
        """What the net says of x[B, ...]."""
        self._seen.clear()
        logits = self.net(x)
        k = self.method.n_classes
        if logits.dim() != 2 or logits.shape[1] != k:
            raise DataError(
                f"the net gives outputs of shape {tuple(logits.shape)} for {len(x)} tasks, but there are {k} classes; "
                f"its last layer must have {k} outputs"
            )
        return Output(logits, self._seen.pop() if self._seen else None)

    def _tap(self, _: nn.Module, inputs: tuple[Tensor, ...]) -> None:
        self._seen.append(inputs[0])


def last_linear(net: nn.Module) -> nn.Linear:
    """The net's last linear layer, whose input is what the net knows of x."""
    layers = [module for module in net.modules() if isinstance(module, nn.Linear)]
    if not layers:
        raise ParameterError("this method needs a net with a linear last layer, whose input it uses as features")
    return layers[-1]
