"""Checkpoints of the loops of a fit on disk: an interrupted fit resumes from them with the same bits.

    with Journal(folder, "method and data of the fit").open() as journal:
        method.fit(...)            # every loop in it is saved

Loops are numbered in the order in which a fit runs them. An EM loop saves the statistics of its last pass, those from
which the parameters of that pass were maximised, and its trace; other loops save their own state. The work between
loops is repeated.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np

from ..core.errors import unwritable
from .loop import LoopState, Statistics

S = TypeVar("S", bound=Statistics)
# Statistics with fewer bytes are saved after every pass, larger ones at this interval in seconds.
SMALL_BYTES, WRITE_INTERVAL = 1 << 28, 30.0
current: ContextVar[Journal | None] = ContextVar("journal", default=None)


class Journal:
    """The loops of one fit; `fit` identifies the fit, and the journal of another fit is cleared."""

    def __init__(self, folder: Path, fit: Any) -> None:
        self.folder = folder
        text = json.dumps(fit, sort_keys=True, default=str).encode()
        self.digest = hashlib.blake2b(text, digest_size=16).hexdigest()
        self.loops = 0
        self.resumed = 0  # number of passes that are not repeated

    @contextmanager
    def open(self) -> Iterator[Journal]:
        """Save the loops of every fit in this context."""
        digest_file = self.folder / "fit.json"
        if not digest_file.is_file() or digest_file.read_text(encoding="utf-8") != self.digest:
            shutil.rmtree(self.folder, ignore_errors=True)
            try:
                self.folder.mkdir(parents=True)
                digest_file.write_text(self.digest, encoding="utf-8")
            except OSError as error:
                raise unwritable(self.folder, error) from error
        token = current.set(self)
        try:
            yield self
        finally:
            current.reset(token)

    def loop_checkpoint(self) -> LoopCheckpoint:
        """Return the checkpoint of the next loop."""
        self.loops += 1
        return LoopCheckpoint(self, self.folder / f"loop-{self.loops:04d}.npz")

    def checkpointer(self, stats: S) -> EMCheckpointer[S]:
        """Return the checkpointer of the next EM loop, whose statistics are of this type."""
        return EMCheckpointer(self.loop_checkpoint(), type(stats))


def loop_checkpoint() -> LoopCheckpoint:
    """Return the checkpoint of the next loop of the current fit; without a journal nothing is saved."""
    journal = current.get()
    return LoopCheckpoint(None, None) if journal is None else journal.loop_checkpoint()


@dataclass
class LoopCheckpoint:
    """The arrays from which one loop resumes, in a file that is replaced atomically."""

    journal: Journal | None
    path: Path | None
    when: float = -np.inf

    def read(self) -> dict[str, Any] | None:
        """Return the arrays that were written last; None if there are none."""
        if self.journal is None or self.path is None or not self.path.is_file():
            return None
        with np.load(self.path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        self.journal.resumed += int(arrays["passes"])
        return arrays

    def write(self, passes: int, last: bool, **arrays: Any) -> None:
        """Save these arrays after so many passes, unless they are large and the last write was a moment ago."""
        if self.path is None:
            return
        is_small = sum(np.asarray(array).nbytes for array in arrays.values()) < SMALL_BYTES
        if not (last or is_small or time.monotonic() - self.when > WRITE_INTERVAL):
            return
        new = self.path.with_suffix(".new")
        try:
            with new.open("wb") as file:
                np.savez(file, passes=np.array(passes), **arrays)
            new.replace(self.path)
        except OSError as error:
            raise unwritable(self.path, error) from error
        self.when = time.monotonic()


@dataclass
class EMCheckpointer(Generic[S]):
    """Checkpoints of one EM loop."""

    loop_checkpoint: LoopCheckpoint
    kind: type[S]

    def load(self) -> LoopState[S] | None:
        """Return the saved state; None if there is none."""
        arrays = self.loop_checkpoint.read()
        if arrays is None:
            return None
        names = [field.name for field in fields(self.kind)]  # type: ignore[arg-type]
        previous, stats = (self.kind(*(arrays[f"{part}.{name}"] for name in names)) for part in ("of", "stats"))
        return LoopState(previous, stats, tuple(arrays["trace"].tolist()), int(arrays["passes"]))

    def save(self, checkpoint: LoopState[S], last: bool) -> None:
        """Save the state, unless it is large and the last write was a moment ago."""
        arrays = {
            f"{part}.{field.name}": getattr(stats, field.name)
            for part, stats in (("of", checkpoint.previous), ("stats", checkpoint.stats))
            for field in fields(self.kind)  # type: ignore[arg-type]
        }
        self.loop_checkpoint.write(checkpoint.passes, last, trace=np.array(checkpoint.trace), **arrays)
