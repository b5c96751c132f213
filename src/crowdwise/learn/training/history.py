"""History: the record of a training, epoch by epoch, as plain data; and callbacks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Protocol

import polars as pl

from ...core.errors import MissingDependencyError


@dataclass
class History:
    """One row per epoch: epoch, loss, the terms of the loss by name, and `score` if there is a criterion."""

    rows: list[dict[str, float]] = field(default_factory=list)
    best_epoch: int | None = None
    stopped_early: bool = False

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> list[float]:
        return [row.get(name, float("nan")) for row in self.rows]

    def to_table(self) -> pl.DataFrame:
        """The rows as a table."""
        table = pl.DataFrame(self.rows, infer_schema_length=None)
        return table.with_columns(pl.col("epoch").cast(pl.Int64)) if self.rows else table

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"rows": self.rows, "best_epoch": self.best_epoch, "stopped_early": self.stopped_early}

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> History:
        """From `to_dict`."""
        return cls(list(stored["rows"]), stored["best_epoch"], bool(stored["stopped_early"]))


# ----------------------------------------------------------------
# Callbacks: any object with `epoch(history)`; `close()` is called at the end.


class Callback(Protocol):
    """Called after every epoch, in the first process only; returning True stops the training."""

    def epoch(self, history: History) -> bool | None:
        """The last row of the history is the epoch that has just ended."""

    def close(self) -> None:
        """Training is over."""


class JsonLines:
    """One JSON object per epoch, appended to a file."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._file: IO[str] | None = None

    def epoch(self, history: History) -> None:
        """Write the last row."""
        if self._file is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("a", encoding="utf-8")
        self._file.write(json.dumps(history.rows[-1]) + "\n")
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


class TensorBoard:
    """Every column of the history as a scalar for TensorBoard."""

    def __init__(self, folder: str | Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ModuleNotFoundError:
            need = "pip install 'crowdwise[tensorboard]'"
            raise MissingDependencyError(f"this tracker needs tensorboard: {need}") from None
        self._writer: Any = SummaryWriter(str(folder))

    def epoch(self, history: History) -> None:
        """Write the last row."""
        row = history.rows[-1]
        for name, value in row.items():
            if name != "epoch":
                self._writer.add_scalar(name, value, int(row["epoch"]))

    def close(self) -> None:
        """Flush to disk."""
        self._writer.close()


class ProgressBar:
    """A progress bar on stderr."""

    def __init__(self, epochs: int, text: str = "training") -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed}/{task.total}"))
        self._bar = Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True)
        self._text = text
        self._task = self._bar.add_task(text, total=epochs)
        self._bar.start()

    def epoch(self, history: History) -> None:
        """Advance the bar and show the loss."""
        description = f"{self._text}  loss {history.rows[-1]['loss']:.4f}"
        self._bar.update(self._task, completed=len(history), description=description)

    def close(self) -> None:
        """Remove the bar."""
        self._bar.stop()
