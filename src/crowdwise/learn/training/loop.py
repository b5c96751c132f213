"""train: the training loop of all methods, in one process or several, with checkpoints."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from zlib import crc32

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import CyclicLR, LRScheduler, OneCycleLR, ReduceLROnPlateau

from ...core.errors import ParameterError, TrainingError
from ...core.params import Count, Whole, check, check_given
from ..data.dataset import CrowdData
from ..data.folder import FeatureFolder, is_on_disk, on_disk
from ..em import EMMethod
from ..method import CrowdModel
from ..optimizers import LazyAdam, make_optimizers, set_sparse_gradients
from ..options import TrainingOptions
from . import checkpoint
from .history import Callback, History
from .processes import FabricProcesses, SingleProcess
from .sweep import Sweep, sweep_of

# ----------------------------------------------------------------
# What must be the same for a run to be resumed: the data, the method and its parameters, the optimizers.

_ROWS = 64  # rows of the features in the checksum, enough to distinguish data sets


def run_facts(
    model: CrowdModel,
    data: CrowdData,
    optimizers: Sequence[Optimizer],
    schedulers: Sequence[Any],
    criterion: Any,
    more: Mapping[str, Any],
) -> dict[str, Any]:
    """The run as names and plain values, tensors as checksums; without `epochs` and `patience`, which may change."""
    crowd = data.crowd
    groups = [group for optimizer in optimizers for group in optimizer.param_groups]
    group_settings = [
        {k: plain(v) for k, v in sorted(g.items()) if k != "params" and not k.endswith("lr")} for g in groups
    ]
    return {
        "method": model.method.name, **more, "tasks": crowd.n_tasks, "labels": len(crowd), "workers": crowd.n_workers,
        "classes": crowd.n_outputs, "said": checksum(crowd.worker, crowd.label, crowd.weight),
        # A Dataset may draw other rows each time.
        "features": checksum(data.x[:_ROWS]) if isinstance(data.x, Tensor) else None,
        "balance": checksum(data.task_weight),
        "params": {name: plain(value) for name, value in sorted(model.method.hyperparameters.items())},
        "lr": [float(group["lr"]) for group in groups],
        "optimizers": [type(optimizer).__name__ for optimizer in optimizers], "groups": group_settings,
        "schedulers": [type(scheduler).__name__ for scheduler in schedulers],
        "criterion": None if criterion is None else getattr(criterion, "kind", type(criterion).__name__),
    }  # fmt: skip


def differences(earlier: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """The differences as text; empty if there are none."""
    if earlier.get("method") != now["method"]:
        return f"method {earlier.get('method')}, now {now['method']}"
    changes = []
    for name in now:
        if earlier.get(name) == now[name]:
            continue
        if name == "params":
            old = earlier.get(name) or {}
            changed = [p for p in now[name] if old.get(p) != now[name][p]]
            changes += [f"{p} {old.get(p)}, now {now[name][p]}" for p in changed]
        elif name in ("said", "features", "balance"):
            changes.append({"said": "other labels", "features": "other features", "balance": "other weights"}[name])
        elif name == "groups":
            changes.append("other settings of the optimizers")
        else:
            changes.append(f"{name} {earlier.get(name)}, now {now[name]}")
    return "; ".join(changes)


def plain(value: Any) -> Any:
    """A hyper-parameter as it is after a round trip through JSON."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in sorted(value.items())}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    value = getattr(value, "confusion", value)  # of a Result, its matrices
    if isinstance(value, Tensor | np.ndarray):
        return checksum(torch.as_tensor(value))
    return type(value).__name__


def checksum(*values: Tensor) -> int:
    """The CRC-32 of some tensors."""
    crc = 0
    for value in values:
        crc = crc32(np.ascontiguousarray(value.detach().cpu().numpy()).tobytes(), crc)
    return crc


# ----------------------------------------------------------------
# Learning-rate schedules: which of them step with every batch, which with every epoch.

Pace = Literal["batch", "epoch"]
_BY_BATCH = (OneCycleLR, CyclicLR)  # as torch documents them; the others may step either way


class Schedules:
    """Any number of schedulers, each stepped at its usual pace, or all of them at the given `pace`.

    ReduceLROnPlateau watches the held-out score if there is one, in the direction of its mode, or else the loss.
    """

    def __init__(
        self,
        schedulers: LRScheduler | Sequence[LRScheduler] | None,
        pace: Pace | None,
        steps: int,
        epochs: int,
        scored: bool,
    ) -> None:
        if pace not in (None, "batch", "epoch"):
            raise ParameterError(f"scheduler_pace must be batch or epoch, got {pace!r}")
        self.all = (
            [] if schedulers is None else [schedulers] if isinstance(schedulers, LRScheduler) else list(schedulers)
        )
        self.by_batch = [scheduler for scheduler in self.all if (pace or _default_pace(scheduler)) == "batch"]
        for scheduler in self.all:
            self._check(scheduler, steps * epochs if scheduler in self.by_batch else epochs, scored)

    def _check(self, scheduler: LRScheduler, steps: int, scored: bool) -> None:
        name = type(scheduler).__name__
        if isinstance(scheduler, ReduceLROnPlateau):
            if scheduler in self.by_batch:
                raise ParameterError("ReduceLROnPlateau watches whole epochs; leave scheduler_pace as it is")
            if scheduler.mode == "max" and not scored:
                raise ParameterError("ReduceLROnPlateau(mode='max') watches the criterion's score, but there is none")
        if isinstance(scheduler, OneCycleLR) and scheduler.total_steps < steps:
            unit = "batch" if scheduler in self.by_batch else "epoch"
            raise ParameterError(
                f"{name} has {scheduler.total_steps} steps, but steps with every {unit}, {steps} times; "
                f"give it total_steps={steps}, or set scheduler_pace='epoch' or 'batch'"
            )

    def batch(self) -> None:
        """Step at the end of a batch."""
        for scheduler in self.by_batch:
            scheduler.step()

    def epoch(self, loss: float, score: float | None) -> None:
        """Step at the end of an epoch."""
        for scheduler in self.all:
            if isinstance(scheduler, ReduceLROnPlateau):
                scheduler.step(loss if score is None else score if scheduler.mode == "max" else -score)
            elif scheduler not in self.by_batch:
                scheduler.step()


def _default_pace(scheduler: LRScheduler) -> Pace:
    return "batch" if isinstance(scheduler, _BY_BATCH) else "epoch"


Criterion = Callable[[CrowdModel], float]


def train(
    model: CrowdModel,
    data: CrowdData,
    *,
    optimizer: Optimizer | Sequence[Optimizer] | None = None,
    epochs: Count | None = None,
    batch_size: Count | None = None,
    scheduler: LRScheduler | Sequence[LRScheduler] | None = None,
    scheduler_pace: Pace | None = None,
    criterion: Criterion | None = None,
    patience: Count | None = None,
    callbacks: Sequence[Callback] = (),
    fabric: Any = None,
    folder: str | Path | None = None,
    every: Count | None = None,
    resume: bool = False,
    stop_after: Count | None = None,
    seed: Whole = 0,
) -> History:
    """Train the model in place, leave it in evaluation mode, and return the history.

    Epochs, batch size and learning rates that are not given are those of the method's paper. `criterion(model)`, higher
    is better, is evaluated after every epoch: the weights of the best epoch are kept, and `patience` epochs without a
    better one end the training. OneCycleLR and CyclicLR step with every batch, other schedulers with every epoch,
    unless `scheduler_pace` is "batch" or "epoch"; ReduceLROnPlateau watches the criterion, or else the loss. `folder`
    takes a checkpoint after every epoch and every `every` steps; with `resume=True` training continues from it to the
    same weights as an uninterrupted run. `stop_after` ends a training of `epochs` early, as if it were interrupted.
    A launched Lightning `fabric` brings devices, precision and processes.
    """
    options = TrainingOptions(
        epochs=epochs, batch_size=batch_size, patience=patience, callbacks=callbacks, fabric=fabric, folder=folder,
        every=every, resume=resume, seed=seed,
    )  # fmt: skip
    check(options)
    check_given(train, {"stop_after": stop_after})
    defaults = model.method.defaults
    epochs = defaults.epochs if epochs is None else epochs
    size = (defaults.batch_size or max(len(data), 1)) if batch_size is None else batch_size
    if not bool(data.crowd.labelled.any()):
        raise ParameterError("none of the tasks has a label; there is nothing to learn from")
    processes = SingleProcess(next(model.parameters()).device) if fabric is None else FabricProcesses(fabric)
    schedules = Schedules(scheduler, scheduler_pace, data.steps(size), epochs, criterion is not None)
    if optimizer is None:
        chosen = make_optimizers(
            model, lr=defaults.lr, worker_lr=defaults.worker_lr, weight_decay=defaults.weight_decay
        )
    else:
        chosen = [optimizer] if isinstance(optimizer, Optimizer) else list(optimizer)
        if not any(isinstance(candidate, LazyAdam | torch.optim.SparseAdam) for candidate in chosen):
            set_sparse_gradients(model, lazy=False)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed + processes.rank)
        wrapped, chosen = processes.setup(model, chosen)
        loop = _Loop(model, wrapped, data, chosen, schedules, processes, options, epochs, size, criterion, stop_after)
        if resume:
            loop.restore()
        return loop.run()


@dataclass
class _Loop:
    """The state of one training. `epochs` and `size` are those of the options or of the method's paper."""

    model: CrowdModel
    wrapped: nn.Module
    data: CrowdData
    optimizers: list[Optimizer]
    schedules: Schedules
    processes: SingleProcess | FabricProcesses
    options: TrainingOptions
    epochs: int
    size: int
    criterion: Criterion | None
    stop_after: int | None
    history: History = field(default_factory=History)
    epoch: int = 0
    step: int = 0
    sums: dict[str, float] = field(default_factory=dict)
    best: dict[str, Tensor] = field(default_factory=dict)
    best_score: float = float("-inf")
    start: dict[str, Tensor] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.folder = None if self.options.folder is None else Path(self.options.folder)
        # If features are read from disk, the posteriors of their tasks are kept there too.
        self.disk = self.data.x.folder if isinstance(self.data.x, FeatureFolder) else None
        if self.disk is not None and isinstance(self.model.method, EMMethod) and self.processes.device.type == "cpu":
            self.model.method.put_on_disk(self.disk)
        # With the initial learning rates, before a schedule changes them.
        self.facts = run_facts(self.model, self.data, self.optimizers, self.schedules.all, self.criterion, {
            "seed": self.options.seed, "batch_size": self.size, "processes": self.processes.world,
            **({"epochs": self.epochs} if self.model.method.restarts else {}),
        })  # fmt: skip

    def run(self) -> History:
        """Run all epochs, then restore the best weights."""
        if self.model.method.restarts and not self.start:
            self.start = _copy(self.model.net.state_dict())
        try:
            last = min(self.epochs, self.stop_after or self.epochs)
            while self.epoch < last and not self.history.stopped_early:
                self._epoch()
        finally:
            for callback in self.options.callbacks if self.processes.rank == 0 else ():
                callback.close()
        if self.best:
            self.model.load_state_dict(self.best)
        with torch.no_grad():
            self.model.method.finish(self._sweep())
        self.processes.agree(self.model.method)
        self.wrapped.eval()
        return self.history

    def _epoch(self) -> None:
        self.model.train()
        if self.step == 0:
            self.sums = {}
            with torch.no_grad():
                self.model.method.begin_epoch(self._sweep())
            self.processes.agree(self.model.method)  # an E-step may draw at random
        batches = self.data.batches(
            self.size, seed=self.options.seed, epoch=self.epoch, rank=self.processes.rank, world=self.processes.world,
            skip=self.step,
        )  # fmt: skip
        last = self.data.steps(self.size)
        for batch in batches:
            self._step(batch.to(self.processes.device))
            self.step += 1
            if self.options.every and self.step % self.options.every == 0 and self.step < last:
                self.save()
        self._end()

    def _step(self, batch: Any) -> None:
        terms = self.wrapped(batch)
        for optimizer in self.optimizers:
            optimizer.zero_grad(set_to_none=True)
        loss = torch.stack([term.float() for term in terms.values()]).sum()
        value = float(loss.detach())
        if not math.isfinite(value):
            bad = [name for name, term in terms.items() if not bool(torch.isfinite(term))] or ["their sum"]
            raise TrainingError(
                f"the loss term {', '.join(bad)!r} of {self.model.method.name} became {value:g} in epoch "
                f"{self.epoch + 1}, step {self.step + 1}; lower the learning rate or scale the features"
            )
        self.processes.backward(loss)
        for optimizer in self.optimizers:
            optimizer.step()
        self.schedules.batch()
        with torch.no_grad():
            self.model.method.end_step(batch)
        for name, term in [("loss", loss), *terms.items()]:
            self.sums[name] = self.sums.get(name, 0.0) + float(term.detach())

    def _end(self) -> None:
        """Close the epoch: its row of the history, the criterion, the scheduler, callbacks, checkpoint."""
        values = self.processes.total(torch.tensor(list(self.sums.values()), dtype=torch.float64)) / max(self.step, 1)
        row = {"epoch": float(self.epoch + 1), **dict(zip(self.sums, values.tolist(), strict=True))}
        if self.criterion is not None:
            row["score"] = self._score(self.criterion)
            if row["score"] > self.best_score:
                self.best_score, self.best = row["score"], _copy(self.model.state_dict(), self.disk)
                self.history.best_epoch = self.epoch + 1
        self.history.rows.append(row)
        best = self.history.best_epoch
        patience = self.options.patience
        if patience is not None and best is not None and self.epoch + 1 - best >= patience:
            self.history.stopped_early = True
        self.schedules.epoch(row["loss"], row.get("score"))
        if self.processes.rank == 0:
            stop_requests = [callback.epoch(self.history) for callback in self.options.callbacks]  # all are called
            self.history.stopped_early |= any(stop_requests)
        if self.processes.world > 1:  # all processes stop together
            stop = self.processes.total(torch.tensor(float(self.history.stopped_early)))
            self.history.stopped_early = bool(stop > 0)
        self.epoch, self.step = self.epoch + 1, 0
        self.save()

    def _score(self, criterion: Criterion) -> float:
        """The criterion in the first process, so that all of them keep the same epoch."""
        score = torch.tensor(criterion(self.model) if self.processes.rank == 0 else 0.0, dtype=torch.float64)
        return float(self.processes.total(score))

    def _sweep(self) -> Sweep:
        return sweep_of(self.model, self.data, self.processes.device, self.epoch, self.epochs, self._restart)

    def _restart(self) -> None:
        self.model.net.load_state_dict(self.start)
        for optimizer in self.optimizers:
            optimizer.state.clear()

    def save(self) -> None:
        """Write the whole state, in the first process."""
        if self.folder is None:
            return
        random = self.processes.collect(checkpoint.random_state(self.processes.device))
        if self.processes.rank:
            return
        tensors, optimizers = checkpoint.optimizer_state(self.optimizers)
        tensors |= {f"model.{k}": v for k, v in self.model.state_dict().items()}
        tensors |= {f"best.{k}": v for k, v in self.best.items()}
        tensors |= {f"start.{k}": v for k, v in self.start.items()}
        tensors |= {f"random.{rank}": state for rank, state in enumerate(random)}
        facts = {
            "epoch": self.epoch, "step": self.step, "sums": self.sums, "history": self.history.to_dict(),
            "best_score": None if self.best_score == float("-inf") else self.best_score, "optimizers": optimizers,
            "run": self.facts, "schedulers": [_plain(scheduler.state_dict()) for scheduler in self.schedules.all],
        }  # fmt: skip
        checkpoint.write(self.folder, "last", tensors, facts)

    def restore(self) -> None:
        """Continue from the last checkpoint, if there is one."""
        if self.folder is None:
            raise ParameterError("resume=True needs folder=, where the checkpoints are")
        if not (self.folder / "last.json").exists():
            return
        tensors, facts = checkpoint.read(self.folder, "last")
        other = differences(facts["run"], self.facts)
        if other:
            raise TrainingError(
                f"{self.folder} holds a checkpoint of another run ({other}); "
                "use the same data and parameters, or another folder"
            )
        try:
            self.model.load_state_dict(checkpoint.part(tensors, "model."))
        except RuntimeError as error:
            raise TrainingError(
                f"{self.folder}: the checkpoint is of another net ({str(error).splitlines()[-1].strip()})"
            ) from None
        self.best, self.start = checkpoint.part(tensors, "best."), checkpoint.part(tensors, "start.")
        checkpoint.restore_optimizers(self.optimizers, tensors, facts["optimizers"])
        checkpoint.set_random_state(tensors[f"random.{self.processes.rank}"], self.processes.device)
        self.epoch, self.step, self.sums = facts["epoch"], facts["step"], facts["sums"]
        self.history = History.of(facts["history"])
        self.best_score = float("-inf") if facts["best_score"] is None else facts["best_score"]
        for scheduler, state in zip(self.schedules.all, facts["schedulers"], strict=True):
            scheduler.load_state_dict(state)


def _copy(state: dict[str, Tensor], disk: Path | None = None) -> dict[str, Tensor]:
    """A copy of the values; of those that are on disk, on disk."""
    return {
        name: on_disk(value, disk) if disk is not None and is_on_disk(value) else value.detach().clone()
        for name, value in state.items()
    }


def _plain(state: dict[str, Any]) -> dict[str, Any]:
    """The part of a scheduler's state that JSON can hold."""
    return {k: v for k, v in state.items() if isinstance(v, int | float | str | bool | list | dict | None)}
