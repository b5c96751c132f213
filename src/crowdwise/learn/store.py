"""A trained classifier on disk: model.safetensors, classifier.json, and the Result beside it. No pickle."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from ..core.errors import CrowdwiseError, DataError, ParameterError
from ..core.faults import first_line
from ..core.result import Result
from ..core.vocabulary import quote
from ..io.parquet import NAMES, read_columns
from ..io.result_files import read_json
from ..io.run_folder import Run
from ..kinds.classes import Annotations
from .estimator import not_fitted
from .feeding.crowd import Crowd
from .method import CrowdModel
from .training.checkpoint import save_tensors
from .training.history import History

if TYPE_CHECKING:
    from .classifier import CrowdClassifier
    from .fitting import Fitting

FORMAT = 2
FILES = ("classifier.json", "model.safetensors", "rows.parquet")
_PLAIN = ("method", "epochs", "batch_size", "lr", "worker_lr", "weight_decay", "validation", "criterion", "patience",
          "refit", "balance", "seed")  # fmt: skip


def save(fitted: CrowdClassifier, folder: Path, *, force: bool = False, votes: Annotations | None = None) -> None:
    """Write a fitted classifier as a run, with its votes where they are given; never over one without `force`."""
    if not hasattr(fitted, "model_"):
        raise not_fitted("CrowdClassifier")
    if (folder / "classifier.json").exists() and not force:
        raise DataError(f"{folder} already holds a classifier; choose another folder or force it")
    facts = {
        "format": FORMAT,
        "net": fitted.net if isinstance(fitted.net, str) else None,
        "input_shape": list(fitted.input_shape_),
        "n_tasks": len(fitted.tasks_),
        # Given matrices are in the state dict; everything else must be plain.
        "params": {name: value for name, value in (fitted.params or {}).items() if name != "confusion"},
        "history": fitted.history_.to_dict(),
        **{name: getattr(fitted, name) for name in _PLAIN},
    }
    try:
        text = json.dumps(facts, indent=1)
    except TypeError as error:
        raise ParameterError(f"a parameter of the method cannot be written as JSON ({error})") from None

    def more(new: Path) -> None:
        # The order of the features' rows, which may differ from the sorted tasks of the Result.
        fitted.tasks_.to_frame("task").write_parquet(new / "rows.parquet")
        save_tensors(fitted.model_.state_dict(), new / "model.safetensors")
        (new / "classifier.json").write_text(text, encoding="utf-8")

    Run(fitted.result_, votes, fitted.history_.to_table()).save(folder, force=force, more=more, names=FILES)


def load(folder: Path, net: nn.Module | None = None) -> CrowdClassifier:
    """Read what `save` wrote."""
    missing = [name for name in FILES if not (folder / name).is_file()]
    if missing:
        raise DataError(f"{folder} holds no readable classifier ({missing[0]} is missing)")
    facts = read_json(folder / "classifier.json")
    if facts.get("format") != FORMAT:
        given = quote([facts.get("format")])
        raise DataError(f"{folder}/classifier.json has format {given}; this version reads {FORMAT}")
    try:
        state = load_file(str(folder / "model.safetensors"))
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise DataError(f"{folder} holds no readable classifier ({first_line(error)})") from None
    rows = read_columns(folder / "rows.parquet", {"task": NAMES})["task"]
    result = Result.load(folder)
    try:
        return _assemble(folder, facts, state, rows, result, net)
    except CrowdwiseError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RuntimeError) as error:
        raise DataError(f"{folder}: the saved classifier is damaged ({first_line(error)})") from None


def _assemble(
    folder: Path, facts: dict[str, Any], state: dict[str, Tensor], rows: pl.Series, result: Result, net: Any
) -> CrowdClassifier:
    from .classifier import CrowdClassifier, method_class

    if facts["net"] is None and net is None:
        raise ParameterError("this classifier has a net of your own; give it again: CrowdClassifier.load(folder, net)")
    fitted = CrowdClassifier(net if net is not None else facts["net"], params=facts["params"],
                             **{name: facts[name] for name in _PLAIN})  # fmt: skip
    fitted.result_ = result
    fitted.confusion_ = fitted.result_.confusion
    fitted.classes_ = np.array(fitted.result_.classes.to_list())
    fitted.class_names_, fitted.workers_, fitted.tasks_ = fitted.result_.classes, fitted.result_.workers, rows
    fitted.input_shape_ = tuple(facts["input_shape"])
    fitted.history_ = History.of(facts["history"])
    if facts["n_tasks"] != len(rows):
        raise ValueError(f"{len(rows):,} rows for {quote([facts['n_tasks']])} tasks")
    if isinstance(fitted.net, str):
        refuse_other_sizes(fitted, state)
    crowd = Crowd.shape(len(fitted.workers_), len(fitted.classes_), facts["n_tasks"])
    method_class(fitted.method)  # an unknown name is said before anything is built
    module = fitted.rebuild_net(net)
    fitted.model_ = CrowdModel(module, fitted._make_method(crowd, module))
    try:
        fitted.model_.load_state_dict(state)
    except RuntimeError as error:
        raise DataError(f"{folder}: the weights do not fit the net ({str(error).splitlines()[-1].strip()})") from None
    fitted.model_.eval()
    return fitted


def refuse_other_sizes(fitted: Fitting, state: dict[str, Tensor]) -> None:
    """Compare the weights that the net would have with those that are there, before it takes any memory."""
    with torch.device("meta"):
        wanted = fitted.rebuild_net(None).state_dict()
    for name, value in wanted.items():
        found = state.get(f"net.{name}")
        if found is None or found.shape != value.shape:
            had = "none" if found is None else tuple(found.shape)
            raise ValueError(f"the weights do not fit the net: {name} has shape {had}, not {tuple(value.shape)}")
