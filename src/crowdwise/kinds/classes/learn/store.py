"""A trained classifier on disk: model.safetensors, classifier.json, and the Result."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from torch import nn

from ....core.vocabulary import quote
from ....learn.data.crowd import Crowd
from ....learn.trained import Store, Stored, put_together
from ....learn.training.history import History
from ..annotations import Annotations

if TYPE_CHECKING:
    from .classifier import CrowdClassifier

F8 = npt.NDArray[np.float64]

STORE = Store(
    "classifier",
    2,
    ("method", "epochs", "batch_size", "lr", "worker_lr", "weight_decay", "validation", "criterion", "patience",
     "refit", "balance", "seed"),
)  # fmt: skip


FILES = STORE.files


def save(fitted: CrowdClassifier, folder: Path, *, force: bool = False, votes: Annotations | None = None) -> None:
    """Write a fitted classifier as a run, with its votes if given; existing runs are overwritten only with `force`."""
    facts = {
        "n_tasks": len(getattr(fitted, "tasks_", ())),
        # Given matrices are in the state dict; all other parameters are plain values.
        "params": {name: value for name, value in (fitted.params or {}).items() if name != "confusion"},
    }
    STORE.save(fitted, folder, facts, votes, force=force)


def load(folder: Path, net: nn.Module | None = None) -> CrowdClassifier:
    """Read a classifier written by `save`."""
    return STORE.load(folder, net, lambda stored: _assemble(stored, folder, net))


def _assemble(stored: Stored, folder: Path, net: nn.Module | None) -> CrowdClassifier:
    from .classifier import CrowdClassifier

    facts, result = stored.facts, stored.result
    fitted = CrowdClassifier(net if net is not None else facts["net"], params=facts["params"],
                             **{name: facts[name] for name in STORE.plain})  # fmt: skip
    fitted._method_class()  # report an unknown name before anything is built
    fitted.result_, fitted.confusion_ = result, result.confusion
    fitted.classes_ = np.array(result.classes.to_list())
    fitted.class_names_, fitted.workers_, fitted.tasks_ = result.classes, result.workers, stored.rows
    fitted.input_shape_ = tuple(facts["input_shape"])
    fitted.history_ = History.of(facts["history"])
    if facts["n_tasks"] != len(stored.rows):
        raise ValueError(f"{len(stored.rows):,} rows for {quote([facts['n_tasks']])} tasks")
    crowd = Crowd.shape(len(fitted.workers_), len(fitted.classes_), facts["n_tasks"])
    put_together(fitted, crowd, net, stored.state, folder)
    return fitted
