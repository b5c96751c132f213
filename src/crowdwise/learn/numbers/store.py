"""A trained regressor on disk: model.safetensors, regressor.json, and the Result beside it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import nn

from ...core.votes import Votes
from ...kinds.numbers.estimate import NumberEstimate
from ...kinds.numbers.votes import Numbers
from ..trained import Store, Stored, put_together
from ..training.history import History
from .crowd import NumberCrowd, Units

if TYPE_CHECKING:
    from ..regressor import CrowdRegressor

STORE = Store(
    "regressor",
    1,
    ("method", "epochs", "batch_size", "lr", "worker_lr", "weight_decay", "validation", "patience", "refit", "seed"),
)
FILES = STORE.files


def save(fitted: CrowdRegressor, folder: Path, *, force: bool = False, votes: Votes[Numbers] | None = None) -> None:
    """Write a fitted regressor as a run, with its votes where they are given; never over one without `force`."""
    own: dict[str, Any] = {"params": dict(fitted.params or {})}
    if hasattr(fitted, "units_"):
        own |= {"centre": fitted.units_.centre.tolist(), "scale": fitted.units_.scale.tolist()}
        own["gap"] = None if fitted.gap_ is None else fitted.gap_.tolist()
    STORE.save(fitted, folder, own, votes, force=force)


def load(folder: Path, net: nn.Module | None = None) -> CrowdRegressor:
    """Read what `save` wrote."""
    return STORE.load(folder, net, lambda stored: _assemble(stored, folder, net))


def _assemble(stored: Stored, folder: Path, net: nn.Module | None) -> CrowdRegressor:
    from ..regressor import CrowdRegressor

    facts, result = stored.facts, stored.result
    fitted = CrowdRegressor(net if net is not None else facts["net"], params=facts["params"],
                            **{name: facts[name] for name in STORE.plain})  # fmt: skip
    fitted._method_class()  # an unknown name is said before anything is built
    if not isinstance(result.estimate, NumberEstimate):
        raise ValueError(f"its result is one of {result.kind.people}")
    fitted.result_, fitted.tasks_, fitted.workers_ = result, stored.rows, result.workers
    fitted.parts_ = tuple(result.estimate.parts.to_list())
    fitted.units_ = Units(*(_numbers(facts[name], len(fitted.parts_)) for name in ("centre", "scale")))
    if not (fitted.units_.scale > 0).all():
        raise ValueError("a scale that is not above 0")
    fitted.gap_ = None if facts["gap"] is None else _numbers(facts["gap"], len(fitted.parts_))
    fitted.input_shape_ = tuple(facts["input_shape"])
    fitted.history_ = History.of(facts["history"])
    crowd = NumberCrowd.shape(len(fitted.workers_), len(fitted.parts_), len(stored.rows))
    put_together(fitted, crowd, net, stored.state, folder)
    return fitted


def _numbers(given: Any, n: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    found = np.array([float(value) for value in given])
    if found.shape != (n,) or not np.isfinite(found).all():
        raise ValueError(f"{len(found)} numbers for {n} parts of an answer, or one that is none")
    return found
