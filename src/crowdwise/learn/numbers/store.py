"""A trained regressor on disk: model.safetensors, regressor.json, and the Result beside it. No pickle."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from ...core.errors import CrowdwiseError, DataError, ParameterError
from ...core.faults import first_line
from ...core.result import Result
from ...core.vocabulary import quote
from ...core.votes import Votes
from ...io.parquet import NAMES, read_columns
from ...io.result_files import read_json
from ...io.run_folder import Run
from ...kinds.number_estimate import NumberEstimate
from ...kinds.numbers import Numbers
from ..estimator import not_fitted
from ..method import CrowdModel
from ..store import refuse_other_sizes
from ..training.checkpoint import save_tensors
from ..training.history import History
from .crowd import NumberCrowd, Units

if TYPE_CHECKING:
    from ..regressor import CrowdRegressor

FORMAT = 1
FILES = ("regressor.json", "model.safetensors", "rows.parquet")
_PLAIN = ("method", "epochs", "batch_size", "lr", "worker_lr", "weight_decay", "validation", "patience", "refit",
          "seed")  # fmt: skip


def save(fitted: CrowdRegressor, folder: Path, *, force: bool = False, votes: Votes[Numbers] | None = None) -> None:
    """Write a fitted regressor as a run, with its votes where they are given; never over one without `force`."""
    if not hasattr(fitted, "result_"):
        raise not_fitted("CrowdRegressor")
    if (folder / FILES[0]).exists() and not force:
        raise DataError(f"{folder} already holds a regressor; choose another folder or force it")
    facts = {
        "format": FORMAT,
        "net": fitted.net if isinstance(fitted.net, str) else None,
        "input_shape": list(fitted.input_shape_),
        "centre": fitted.units_.centre.tolist(),
        "scale": fitted.units_.scale.tolist(),
        "gap": None if fitted.gap_ is None else fitted.gap_.tolist(),
        "params": dict(fitted.params or {}),
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
        (new / "regressor.json").write_text(text, encoding="utf-8")

    Run(fitted.result_, votes, fitted.history_.to_table()).save(folder, force=force, more=more, names=FILES)


def load(folder: Path, net: nn.Module | None = None) -> CrowdRegressor:
    """Read what `save` wrote; a stranger may have had it in between, so nothing in it is taken on trust."""
    missing = [name for name in FILES if not (folder / name).is_file()]
    if missing:
        raise DataError(f"{folder} holds no readable regressor ({missing[0]} is missing)")
    facts = read_json(folder / "regressor.json")
    if facts.get("format") != FORMAT:
        raise DataError(
            f"{folder}/regressor.json has format {quote([facts.get('format')])}; this version reads {FORMAT}"
        )
    try:
        state = load_file(str(folder / "model.safetensors"))
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise DataError(f"{folder} holds no readable regressor ({first_line(error)})") from None
    rows = read_columns(folder / "rows.parquet", {"task": NAMES})["task"]
    result = Result.load(folder)
    try:
        return _assemble(folder, facts, state, rows, result, net)
    except CrowdwiseError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RuntimeError) as error:
        raise DataError(f"{folder}: the saved regressor is damaged ({first_line(error)})") from None


def _assemble(
    folder: Path, facts: dict[str, Any], state: dict[str, Tensor], rows: pl.Series, result: Result, net: Any
) -> CrowdRegressor:
    from ..regressor import CrowdRegressor

    if facts["net"] is None and net is None:
        raise ParameterError("this regressor has a net of your own; give it again: CrowdRegressor.load(folder, net)")
    fitted = CrowdRegressor(net if net is not None else facts["net"], params=facts["params"],
                            **{name: facts[name] for name in _PLAIN})  # fmt: skip
    fitted._method_class()  # an unknown name is said before anything is built
    if not isinstance(result.estimate, NumberEstimate):
        raise ValueError(f"its result is one of {result.kind.people}")
    fitted.result_, fitted.tasks_, fitted.workers_ = result, rows, result.workers
    fitted.parts_ = tuple(result.estimate.parts.to_list())
    fitted.units_ = Units(*(_numbers(facts[name], len(fitted.parts_)) for name in ("centre", "scale")))
    if not (fitted.units_.scale > 0).all():
        raise ValueError("a scale that is not above 0")
    fitted.gap_ = None if facts["gap"] is None else _numbers(facts["gap"], len(fitted.parts_))
    fitted.input_shape_ = tuple(facts["input_shape"])
    fitted.history_ = History.of(facts["history"])
    if isinstance(fitted.net, str):
        refuse_other_sizes(fitted, state)
    module = fitted.rebuild_net(net)
    crowd = NumberCrowd.shape(len(fitted.workers_), len(fitted.parts_), len(rows))
    fitted.model_ = CrowdModel(module, fitted._make_method(crowd, module))
    try:
        fitted.model_.load_state_dict(state)
    except RuntimeError as error:
        raise DataError(f"{folder}: the weights do not fit the net ({str(error).splitlines()[-1].strip()})") from None
    fitted.model_.eval()
    return fitted


def _numbers(given: Any, n: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    found = np.array([float(value) for value in given])
    if found.shape != (n,) or not np.isfinite(found).all():
        raise ValueError(f"{len(found)} numbers for {n} parts of an answer, or one that is none")
    return found
