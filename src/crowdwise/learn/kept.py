"""A trained net without a Result on disk: model.safetensors, net.json, workers.parquet. No pickle."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeVar

import polars as pl
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import nn

from ..core.errors import CrowdwiseError, DataError, ParameterError
from ..core.faults import first_line
from ..io.result_files import read_json
from .direct import DirectEstimator
from .estimator import not_fitted
from .trained import WEIGHTS, put_together
from .training.checkpoint import save_tensors
from .training.history import History

T = TypeVar("T", bound=DirectEstimator)
FACTS, WORKERS, FORMAT = "net.json", "workers.parquet", 1
LEFT_OUT = ("net", "device", "fabric", "callbacks", "folder", "every", "resume")


def save(fitted: DirectEstimator, folder: Path, *, force: bool = False) -> None:
    """Write a fitted estimator; never over one without `force`."""
    if not hasattr(fitted, "history_"):
        raise not_fitted(type(fitted).__name__)
    if (folder / FACTS).exists() and not force:
        raise DataError(f"{folder} already holds a net; choose another folder or force it")
    facts = {
        "format": FORMAT,
        "estimator": type(fitted).__name__,
        "net": fitted.net if isinstance(fitted.net, str) else None,
        "input_shape": list(fitted.input_shape_),
        "history": fitted.history_.to_dict(),
        "params": {name: value for name, value in fitted.get_params().items() if name not in LEFT_OUT},
        "own": fitted._facts(),
    }
    try:
        text = json.dumps(facts, indent=1)
    except TypeError as error:
        raise ParameterError(f"a parameter cannot be written as JSON ({error})") from None
    folder.mkdir(parents=True, exist_ok=True)
    save_tensors(fitted.model_.state_dict(), folder / WEIGHTS)
    workers = pl.DataFrame({"worker": fitted.workers_, "n_labels": fitted.n_labels_})
    workers.write_parquet(folder / WORKERS)
    (folder / FACTS).write_text(text, encoding="utf-8")  # last: then the rest is whole


def load(cls: type[T], folder: Path, net: nn.Module | None = None) -> T:
    """Read what `save` wrote."""
    missing = [name for name in (FACTS, WEIGHTS, WORKERS) if not (folder / name).is_file()]
    if missing:
        raise DataError(f"{folder} holds no readable net ({missing[0]} is missing)")
    facts = read_json(folder / FACTS)
    if (facts.get("format"), facts.get("estimator")) != (FORMAT, cls.__name__):
        raise DataError(
            f"{folder}/{FACTS} holds {facts.get('estimator')} in format {facts.get('format')}; "
            f"{cls.__name__} in format {FORMAT} is wanted"
        )
    try:
        return _assemble(cls, folder, facts, net)
    except CrowdwiseError:
        raise
    except (OSError, KeyError, TypeError, ValueError, AttributeError, RuntimeError, SafetensorError,
            pl.exceptions.PolarsError) as error:  # fmt: skip
        raise DataError(f"{folder}: the saved net is damaged ({first_line(error)})") from None


def _assemble(cls: type[T], folder: Path, facts: dict[str, Any], net: nn.Module | None) -> T:
    if facts["net"] is None and net is None:
        raise ParameterError(f"this net is one of your own; give it again: {cls.__name__}.load(folder, net)")
    state = load_file(str(folder / WEIGHTS))
    fitted = cls(facts["net"] if net is None else net, **facts["params"])
    table = pl.read_parquet(folder / WORKERS)
    fitted.workers_, fitted.n_labels_ = table["worker"], table["n_labels"]
    fitted.input_shape_ = tuple(facts["input_shape"])
    fitted.history_ = History.of(facts["history"])
    put_together(fitted, fitted._recall(facts["own"]), net, state, folder)
    return fitted
