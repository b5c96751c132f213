"""A trained net in a run folder, whatever it predicts: weights, facts, the order of rows, and the Result. No pickle."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

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
from .estimator import not_fitted
from .method import CrowdModel
from .training.checkpoint import save_tensors

T = TypeVar("T")
WEIGHTS, ROWS = "model.safetensors", "rows.parquet"


@dataclass(frozen=True)
class Stored:
    """What was read of a folder, before anything is made of it; a stranger may have had it in between."""

    facts: dict[str, Any]
    state: dict[str, Tensor]
    rows: pl.Series
    result: Result


@dataclass(frozen=True)
class Store:
    """How estimators of one kind are kept: `what` they are ("classifier"), the `format` of their facts, and the plain
    parameters among these."""

    what: str
    format: int
    plain: tuple[str, ...]

    @property
    def files(self) -> tuple[str, str, str]:
        """What a folder holds besides the run."""
        return f"{self.what}.json", WEIGHTS, ROWS

    def save(self, fitted: Any, folder: Path, more_facts: Mapping[str, Any], votes: Any, *, force: bool) -> None:
        """Write a fitted estimator as a run, with its votes where they are given; never over one without `force`."""
        if not hasattr(fitted, "result_"):
            raise not_fitted(type(fitted).__name__)
        if (folder / self.files[0]).exists() and not force:
            raise DataError(f"{folder} already holds a {self.what}; choose another folder or force it")
        facts = {
            "format": self.format,
            "net": fitted.net if isinstance(fitted.net, str) else None,
            "input_shape": list(fitted.input_shape_),
            "history": fitted.history_.to_dict(),
            **more_facts,
            **{name: getattr(fitted, name) for name in self.plain},
        }
        try:
            text = json.dumps(facts, indent=1)
        except TypeError as error:
            raise ParameterError(f"a parameter of the method cannot be written as JSON ({error})") from None

        def write_more(new: Path) -> None:
            # The order of the features' rows, which may differ from the sorted tasks of the Result.
            fitted.tasks_.to_frame("task").write_parquet(new / ROWS)
            save_tensors(fitted.model_.state_dict(), new / WEIGHTS)
            (new / self.files[0]).write_text(text, encoding="utf-8")

        Run(fitted.result_, votes, fitted.history_.to_table()).save(
            folder, force=force, more=write_more, names=self.files
        )

    def load(self, folder: Path, net: nn.Module | None, assemble: Callable[[Stored], T]) -> T:
        """Read what `save` wrote and let `assemble` make an estimator of it; what it trips over is damage."""
        missing = [name for name in self.files if not (folder / name).is_file()]
        if missing:
            raise DataError(f"{folder} holds no readable {self.what} ({missing[0]} is missing)")
        facts = read_json(folder / self.files[0])
        if facts.get("format") != self.format:
            found_format = quote([facts.get("format")])
            raise DataError(f"{folder}/{self.files[0]} has format {found_format}; this version reads {self.format}")
        try:
            state = load_file(str(folder / WEIGHTS))
        except (OSError, ValueError, RuntimeError, SafetensorError) as error:
            raise DataError(f"{folder} holds no readable {self.what} ({first_line(error)})") from None
        stored = Stored(facts, state, read_columns(folder / ROWS, {"task": NAMES})["task"], Result.load(folder))
        try:
            if facts["net"] is None and net is None:
                call = f"Crowd{self.what.capitalize()}.load(folder, net)"
                raise ParameterError(f"this {self.what} has a net of your own; give it again: {call}")
            return assemble(stored)
        except CrowdwiseError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RuntimeError) as error:
            raise DataError(f"{folder}: the saved {self.what} is damaged ({first_line(error)})") from None


def put_together(fitted: Any, crowd: Any, net: nn.Module | None, state: dict[str, Tensor], folder: Path) -> None:
    """Give an estimator its net and method with the stored weights."""
    if isinstance(fitted.net, str):
        _refuse_other_sizes(fitted, state)
    module = fitted.rebuild_net(net)
    fitted.model_ = CrowdModel(module, fitted._make_method(crowd, module))
    try:
        fitted.model_.load_state_dict(state)
    except RuntimeError as error:
        raise DataError(f"{folder}: the weights do not fit the net ({str(error).splitlines()[-1].strip()})") from None
    fitted.model_.eval()


def _refuse_other_sizes(fitted: Any, state: dict[str, Tensor]) -> None:
    """Compare the weights that the net would have with those that are there, before it takes any memory."""
    with torch.device("meta"):
        expected = fitted.rebuild_net(None).state_dict()
    for name, value in expected.items():
        stored = state.get(f"net.{name}")
        if stored is None or stored.shape != value.shape:
            stored_shape = "none" if stored is None else tuple(stored.shape)
            raise ValueError(
                f"the weights do not fit the net: {name} has shape {stored_shape}, not {tuple(value.shape)}"
            )
