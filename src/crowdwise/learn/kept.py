"""Rankers, taggers and clusterers on disk: weights, facts, the order of rows, and the Result beside them. No pickle."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

from torch import nn

from ..core.votes import Votes
from .direct import DirectEstimator
from .trained import Store, Stored, put_together
from .training.history import History

T = TypeVar("T", bound=DirectEstimator)
LEFT_OUT = ("net", "params", "device", "fabric", "callbacks", "folder", "every", "resume")


def store_of(cls: type[DirectEstimator]) -> Store:
    """How estimators of this class are kept: all plain parameters of the constructor."""
    names = (name for name in cls().get_params() if name not in LEFT_OUT)
    return Store(cls.what, 1, tuple(names))


def save(fitted: DirectEstimator, folder: Path, *, force: bool = False, votes: Votes[Any] | None = None) -> None:
    """Write a fitted estimator as a run, with its votes where they are given; never over one without `force`."""
    facts: dict[str, Any] = {"params": dict(fitted.params or {})}
    if hasattr(fitted, "result_"):
        facts["own"] = fitted._facts()
    store_of(type(fitted)).save(fitted, folder, facts, votes, force=force)


def load(cls: type[T], folder: Path, net: nn.Module | None = None) -> T:
    """Read what `save` wrote."""
    store = store_of(cls)
    return store.load(folder, net, lambda stored: _assemble(cls, store, stored, folder, net))


def _assemble(cls: type[T], store: Store, stored: Stored, folder: Path, net: nn.Module | None) -> T:
    facts, result = stored.facts, stored.result
    fitted = cls(
        net if net is not None else facts["net"], params=facts["params"], **{name: facts[name] for name in store.plain}
    )
    fitted._method_class()  # an unknown name is said before anything is built
    if result.kind.name != cls.takes:
        raise ValueError(f"its result is one of {result.kind.display_name}")
    fitted.result_, fitted.tasks_, fitted.workers_ = result, stored.rows, result.workers
    fitted.input_shape_ = tuple(facts["input_shape"])
    fitted.history_ = History.of(facts["history"])
    put_together(fitted, fitted._recall(facts["own"]), net, stored.state, folder)
    return fitted
