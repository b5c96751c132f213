"""DirectEstimator: a net for a kind of answers that has no classes and no numbers of single tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import polars as pl
import torch
from torch import Tensor, nn

from ..core.params import AtLeast, Below, Count, Whole, check_given
from ..core.registry import resolve
from ..core.result import Result, versions
from ..core.votes import Votes
from .data.batch import CrowdBatch
from .data.crowd import Rows
from .data.dataset import CrowdData, FeatureError
from .estimator import not_fitted
from .fitting import Fitting
from .method import CrowdModel, Method, Output, Rate
from .probe import evaluating
from .training.history import Callback
from .training.loop import Criterion
from .training.sweep import ROWS


class AnswerMethod(Method):
    """A method that knows how likely every answer is; `heard[worker, 1]` is the weight of each worker's answers."""

    def __init__(self, crowd: Rows) -> None:
        super().__init__(crowd, torch.zeros(crowd.n_workers).index_add(0, crowd.worker, crowd.weight)[:, None])

    def log_likelihood(self, out: Output, batch: CrowdBatch) -> Tensor:
        """log P(answer | x, worker) of every answer: A."""
        raise NotImplementedError


class HeldOutAnswers:
    """A criterion for `train`: the mean log-likelihood of the answers kept aside."""

    kind = "likelihood"

    def __init__(self, data: CrowdData, device: torch.device | str = "cpu") -> None:
        self.data, self.device = data, device

    def __call__(self, model: CrowdModel) -> float:
        """Score of the model as it is."""
        log_likelihood, total = 0.0, 0.0
        method = model.method
        assert isinstance(method, AnswerMethod)
        with evaluating(model):
            for tasks in torch.split(self.data.crowd.labelled.nonzero().squeeze(1), ROWS):
                batch = self.data.batch(tasks).to(self.device)
                answer_log_likelihood = method.log_likelihood(model.output(batch.x), batch)
                log_likelihood += float((answer_log_likelihood * batch.weight).sum())
                total += float(batch.weight.sum())
        return log_likelihood / max(total, 1e-12)


class DirectEstimator(Fitting):
    """What `CrowdRanker` and its like share: parameters, methods by name, files."""

    other: ClassVar[str] = "another estimator"
    what: ClassVar[str]  # in a word, for files and messages
    usual: ClassVar[str]  # the method where none is named

    def __init__(
        self,
        net: Any = "mlp",
        method: str | None = None,
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
        self.net, self.method, self.params = net, method, params  # type: ignore[assignment]
        self.epochs, self.batch_size = epochs, batch_size
        self.lr, self.worker_lr, self.weight_decay = lr, worker_lr, weight_decay
        self.validation, self.patience, self.refit = validation, patience, refit
        self.device, self.fabric = device, fabric
        self.callbacks, self.folder, self.every, self.resume, self.seed = callbacks, folder, every, resume, seed

    def chosen(self) -> str:
        """The method's name, the usual one where none was given."""
        return self.method or self.usual

    def _criterion(self, data: CrowdData, held: Any) -> Criterion:
        return self._judge(data.x, held)

    def _judge(self, x: Any, held: Any) -> Criterion:
        """The likelihood of the answers kept aside."""
        return HeldOutAnswers(self._data(x, held), self._device())

    def _asked(self, y: Any, kind: type) -> Votes[Any]:
        """The votes, if they are of this estimator's kind; rows that weigh nothing are left out."""
        check_given(type(self), self.get_params())
        self._given_params()
        if not isinstance(y, Votes) or not isinstance(y.answers, kind):
            got = y.kind.display_name if isinstance(y, Votes) else type(y).__name__
            raise FeatureError(f"y holds {got}; {type(self).__name__} learns from {self.takes}")
        votes = y if y.weight is None else y.take(y.weight > 0)
        if not len(votes):
            raise FeatureError("the votes hold no answer; there is nothing to learn from")
        return votes

    def _fits_net(self, shape: tuple[int, ...]) -> None:
        """Refuse features that the net was not trained on."""
        if not hasattr(self, "model_"):
            raise not_fitted(type(self).__name__)
        if shape != self.input_shape_:
            raise FeatureError(f"the features have shape {shape} a row, the net was trained on {self.input_shape_}")

    def worker_table(self) -> pl.DataFrame:
        """One row a worker: worker, n_labels, and their picture as in a run folder's workers.csv."""
        if not hasattr(self, "result_"):
            raise not_fitted(type(self).__name__)
        return self.result_.worker_table()

    def _course(self) -> dict[str, Any]:
        """What every Result of a training tells, whatever was learnt."""
        history = self.history_
        return {
            "method": self.chosen(),
            "params": {**(self.params or {}), "seed": self.seed, "epochs": len(history)},
            "trace": -np.array(history["loss"]),
            "stage": np.arange(len(history)),  # a stochastic loss may rise: every epoch is a stage of its own
            "n_iter": len(history),
            "versions": {**versions(), "torch": torch.__version__},
        }

    # ---------------------------------------------------------------- saving
    def save(self, folder: str | Path, *, force: bool = False) -> None:
        """Weights, names and tables, without pickle."""
        resolve("crowdwise.learn.kept:save")(self, Path(folder), force=force)

    @classmethod
    def load(cls, folder: str | Path, net: nn.Module | None = None) -> Self:
        """What `save` wrote; `net` is needed again when it was a Module of your own."""
        loaded: Self = resolve("crowdwise.learn.kept:load")(cls, Path(folder), net)
        return loaded

    def _facts(self) -> dict[str, Any]:
        """What else must be kept, as JSON has it."""
        raise NotImplementedError

    def _recall(self, facts: Mapping[str, Any]) -> Rows:
        """Take back what `_facts` gave; a crowd of the training's shape."""
        raise NotImplementedError

    tasks_: pl.Series  # what the rows of the features are called
    workers_: pl.Series
    result_: Result
