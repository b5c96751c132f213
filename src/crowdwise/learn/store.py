"""Trained estimators in a run folder: weights, options, the order of the feature rows, and the Result. No pickle."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from ..core.errors import CrowdwiseError, DataError, ParameterError
from ..core.faults import first_line
from ..core.params import of
from ..core.result import Result
from ..core.vocabulary import quote
from ..core.votes import Votes
from ..io.parquet import NAMES, read_columns
from ..io.result_files import read_json
from ..io.run_folder import Run
from .data.crowd import AnswerRows
from .estimator import not_fitted
from .method import CrowdModel
from .training.checkpoint import save_tensors
from .training.history import History

if TYPE_CHECKING:
    from .fitting import CrowdEstimator

T = TypeVar("T", bound="CrowdEstimator")
WEIGHTS, ROWS = "model.safetensors", "rows.parquet"
# The net and the parameters of the method have entries of their own; the others belong to one process.
NOT_STORED = ("net", "params", "device", "fabric", "callbacks", "folder", "every", "resume")


def files_of(what: str) -> tuple[str, str, str]:
    """The files that a run folder of a "classifier", "regressor" ... has in addition to those of a run."""
    return f"{what}.json", WEIGHTS, ROWS


def save(fitted: CrowdEstimator, folder: Path, *, force: bool = False, votes: Votes[Any] | None = None) -> None:
    """Write a fitted estimator as a run, with its votes if given; existing runs are overwritten only with `force`."""
    if not hasattr(fitted, "result_"):
        raise not_fitted(type(fitted).__name__)
    files = files_of(fitted.what)
    if (folder / files[0]).exists() and not force:
        raise DataError(f"{folder} already holds a {fitted.what}; choose another folder or force it")
    facts = {
        "format": fitted.file_format,
        "net": fitted.net if isinstance(fitted.net, str) else None,
        "input_shape": list(fitted.input_shape_),
        "history": fitted.history_.to_dict(),
        "params": fitted.plain_params(),
        **fitted._facts(),
        **{name: getattr(fitted, name) for name in of(type(fitted)) if name not in NOT_STORED},
    }
    try:
        text = json.dumps(facts, indent=1)
    except TypeError as error:
        raise ParameterError(f"a parameter of the method cannot be written as JSON ({error})") from None

    def write_more(new: Path) -> None:
        # The order of the rows of the features, which may differ from the sorted tasks of the Result.
        fitted.tasks_.to_frame("task").write_parquet(new / ROWS)
        save_tensors(fitted.model_.state_dict(), new / WEIGHTS)
        (new / files[0]).write_text(text, encoding="utf-8")

    Run(fitted.result_, votes, fitted.history_.to_table()).save(folder, force=force, more=write_more, names=files)


def load(cls: type[T], folder: Path, net: nn.Module | None = None) -> T:
    """Read an estimator written by `save`; whatever its parts cannot be built from is reported as damage."""
    files = files_of(cls.what)
    missing = [name for name in files if not (folder / name).is_file()]
    if missing:
        raise DataError(f"{folder} holds no readable {cls.what} ({missing[0]} is missing)")
    facts = read_json(folder / files[0])
    if facts.get("format") != cls.file_format:
        file_format = quote([facts.get("format")])
        raise DataError(f"{folder}/{files[0]} has format {file_format}; this version reads {cls.file_format}")
    try:
        state = load_file(str(folder / WEIGHTS))
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise DataError(f"{folder} holds no readable {cls.what} ({first_line(error)})") from None
    rows, result = read_columns(folder / ROWS, {"task": NAMES})["task"], Result.load(folder)
    try:
        if facts["net"] is None and net is None:
            call = f"Crowd{cls.what.capitalize()}.load(folder, net)"
            raise ParameterError(f"this {cls.what} has a net of your own; give it again: {call}")
        fitted = _restored(cls, facts, rows, result, net)
        _load_model(fitted, fitted._restore(facts), state, folder)
    except CrowdwiseError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RuntimeError) as error:
        raise DataError(f"{folder}: the saved {cls.what} is damaged ({first_line(error)})") from None
    return fitted


def _restored(cls: type[T], facts: dict[str, Any], rows: pl.Series, result: Result, net: nn.Module | None) -> T:
    """The estimator without its model."""
    options = {name: facts[name] for name in of(cls) if name not in NOT_STORED}
    fitted = cls(net if net is not None else facts["net"], params=facts["params"], **options)
    fitted._method_class()  # an unknown name is reported before anything is built
    fitted.result_, fitted.tasks_, fitted.workers_ = result, rows, result.workers
    fitted.input_shape_ = tuple(facts["input_shape"])
    fitted.history_ = History.of(facts["history"])
    return fitted


def _load_model(fitted: CrowdEstimator, crowd: AnswerRows, state: dict[str, Tensor], folder: Path) -> None:
    """Build net and method for a crowd of the training's shape and give them the stored weights."""
    if isinstance(fitted.net, str):
        _refuse_other_sizes(fitted, state)
    module = fitted.rebuild_net()
    fitted.model_ = CrowdModel(module, fitted._make_method(crowd, module))
    try:
        fitted.model_.load_state_dict(state)
    except RuntimeError as error:
        raise DataError(f"{folder}: the weights do not fit the net ({str(error).splitlines()[-1].strip()})") from None
    fitted.model_.eval()


def _refuse_other_sizes(fitted: CrowdEstimator, state: dict[str, Tensor]) -> None:
    """Compare the sizes of the stored weights with those of the net before the net takes any memory."""
    with torch.device("meta"):
        expected = fitted.rebuild_net().state_dict()
    for name, value in expected.items():
        stored = state.get(f"net.{name}")
        if stored is None or stored.shape != value.shape:
            shape = "none" if stored is None else tuple(stored.shape)
            raise ValueError(f"the weights do not fit the net: {name} has shape {shape}, not {tuple(value.shape)}")
