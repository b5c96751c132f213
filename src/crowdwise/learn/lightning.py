"""CrowdModule: training in Lightning's Trainer, with the hooks of every method (extra `crowdwise[lightning]`)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from ..core.errors import MissingDependencyError, ParameterError
from .data.batch import CrowdBatch
from .data.dataset import CrowdData
from .method import CrowdModel
from .optimizers import set_sparse_gradients
from .training.loop import Criterion
from .training.sweep import Sweep, sweep_of

try:
    from lightning.pytorch import LightningModule
except ModuleNotFoundError:
    try:
        from pytorch_lightning import LightningModule
    except ModuleNotFoundError:
        raise MissingDependencyError(
            "crowdwise.learn.lightning needs Lightning; install it with: pip install 'crowdwise[lightning]'"
        ) from None


class Batches:
    """The batches of the module's current epoch, in the order of `train`."""

    def __init__(self, module: CrowdModule) -> None:
        self.module = module

    def __len__(self) -> int:
        return self.module.data.steps(self.module.batch_size)

    def __iter__(self) -> Iterator[CrowdBatch]:
        own = self.module
        return own.data.batches(own.batch_size, seed=own.seed, epoch=own.current_epoch)


class CrowdModule(LightningModule):  # type: ignore[misc]
    """A LightningModule of a CrowdModel: `Trainer(...).fit(CrowdModule(model, data))` needs no further data loader.

    It calls the E-step before every epoch, the updates after every step and at the end of the training, so that all
    methods train as with `crowdwise.learn.train`. The terms of the loss are logged by name.

    Args:
        model: Net and method.
        data: Features and labels.
        batch_size: Tasks per batch; None stands for the method's default.
        lr: Learning rate of the net; None stands for the method's default, as for the workers' rate.
        optimizer: A function of the model that returns what `configure_optimizers` may return; Adam by default.
        criterion: Score of an epoch, logged as "score" (for example `HeldOutCriterion`), for early stopping and
            checkpoints.
        seed: Seed of the order of the tasks.
    """

    def __init__(
        self,
        model: CrowdModel,
        data: CrowdData,
        *,
        batch_size: int | None = None,
        lr: float | None = None,
        optimizer: Callable[[CrowdModel], Any] | None = None,
        criterion: Criterion | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__()
        defaults = model.method.defaults
        self.model, self.data, self.criterion, self.seed = model, data, criterion, seed
        self.batch_size = batch_size or defaults.batch_size or max(len(data), 1)
        self.lr = defaults.lr if lr is None else lr
        self.optimizer = optimizer
        self._first: dict[str, Tensor] = {}  # weights of the net before training, for methods that train in rounds

    def configure_optimizers(self) -> Any:
        """Adam with the method's parameter groups, or the user's optimizers."""
        set_sparse_gradients(self.model, lazy=False)
        if self.optimizer is not None:
            return self.optimizer(self.model)
        defaults, groups = self.model.method.defaults, []
        for group in self.model.method.param_groups(self.model.net):
            worker = bool(group.pop("worker", False))
            rate = defaults.worker_lr if worker and defaults.worker_lr is not None else self.lr
            decay = 0.0 if worker else defaults.weight_decay
            group["params"] = [p for p in group["params"] if p.requires_grad]
            groups.append({"lr": rate, "weight_decay": decay, **group})
        return torch.optim.Adam([group for group in groups if group["params"]])

    def train_dataloader(self) -> Batches:
        """The labelled tasks in batches, in another order in every epoch."""
        return Batches(self)

    def on_fit_start(self) -> None:
        """Keep the initial weights of the net."""
        if self.trainer.world_size > 1:
            raise ParameterError("CrowdModule trains in one process; for several use crowdwise.learn.train(fabric=...)")
        if self.model.method.restarts and not self._first:
            self._first = {name: value.detach().clone() for name, value in self.model.net.state_dict().items()}

    def on_train_epoch_start(self) -> None:
        """The method's E-step."""
        with torch.no_grad():
            self.model.method.begin_epoch(self._sweep())

    def training_step(self, batch: CrowdBatch, _: int) -> Tensor:
        """The loss; its terms are logged."""
        terms = self.model(batch)
        self.log_dict(dict(terms), on_step=False, on_epoch=True, batch_size=len(batch))
        return torch.stack([term.float() for term in terms.values()]).sum()

    def on_train_batch_end(self, outputs: Any, batch: CrowdBatch, batch_idx: int) -> None:  # noqa: ARG002
        """The method's update after a step."""
        with torch.no_grad():
            self.model.method.end_step(batch)

    def on_train_epoch_end(self) -> None:
        """Log the score of the epoch."""
        if self.criterion is not None:
            self.log("score", self.criterion(self.model), prog_bar=True)

    def on_train_end(self) -> None:
        """The method's update after training."""
        with torch.no_grad():
            self.model.method.finish(self._sweep())
        self.model.eval()

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Add the initial weights of the net."""
        checkpoint["crowdwise_first"] = self._first

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Read the initial weights of the net."""
        self._first = checkpoint.get("crowdwise_first", {})

    def _sweep(self) -> Sweep:
        epochs = self.trainer.max_epochs
        epochs = self.model.method.defaults.epochs if epochs is None or epochs < 0 else epochs
        return sweep_of(self.model, self.data, self.device, self.current_epoch, epochs, self._restart)

    def _restart(self) -> None:
        self.model.net.load_state_dict(self._first)
        for optimizer in self.trainer.optimizers:
            optimizer.state.clear()
