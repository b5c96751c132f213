"""Where the loops of a fit stand, on disk: a fit whose process was killed goes on from there, to the same bits.

    with Journal(folder, "what is fitted to what").open() as journal:
        method.fit(...)            # every loop in it is kept

Loops are numbered in the order in which a fit runs them. An EM loop keeps the statistics of its last pass, those that
the parameters of that pass were maximised from, and its trace; others keep what they go on from. What a fit does
between its loops is done again.
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
from .loop import Kept, Statistics

S = TypeVar("S", bound=Statistics)
# Statistics of fewer bytes are kept after every pass, larger ones every so many seconds.
SMALL, EVERY = 1 << 28, 30.0
current: ContextVar[Journal | None] = ContextVar("journal", default=None)


class Journal:
    """The loops of one fit; `what` says which fit it is, and a journal of another one is begun again."""

    def __init__(self, folder: Path, what: Any) -> None:
        self.folder = folder
        told = json.dumps(what, sort_keys=True, default=str).encode()
        self.digest = hashlib.blake2b(told, digest_size=16).hexdigest()
        self.loops = 0
        self.resumed = 0  # passes that need not be made again

    @contextmanager
    def open(self) -> Iterator[Journal]:
        """Keep the loops of every fit within."""
        mark = self.folder / "fit.json"
        if not mark.is_file() or mark.read_text(encoding="utf-8") != self.digest:
            shutil.rmtree(self.folder, ignore_errors=True)
            try:
                self.folder.mkdir(parents=True)
                mark.write_text(self.digest, encoding="utf-8")
            except OSError as error:
                raise unwritable(self.folder, error) from error
        token = current.set(self)
        try:
            yield self
        finally:
            current.reset(token)

    def notes(self) -> Notes:
        """Those of the next loop."""
        self.loops += 1
        return Notes(self, self.folder / f"loop-{self.loops:04d}.npz")

    def keeper(self, like: S) -> LoopKeeper[S]:
        """The keeper of the next EM loop, whose statistics are of this type."""
        return LoopKeeper(self.notes(), type(like))


def notes() -> Notes:
    """The notes of the next loop of the fit that is under way; nobody keeps them where there is no journal."""
    journal = current.get()
    return Notes(None, None) if journal is None else journal.notes()


@dataclass
class Notes:
    """The arrays that one loop goes on from, in one file, which is replaced as a whole."""

    journal: Journal | None
    path: Path | None
    when: float = -np.inf

    def read(self) -> dict[str, Any] | None:
        """What was written last; None where the loop had not begun."""
        if self.journal is None or self.path is None or not self.path.is_file():
            return None
        with np.load(self.path, allow_pickle=False) as held:
            found = {name: held[name] for name in held.files}
        self.journal.resumed += int(found["passes"])
        return found

    def write(self, passes: int, last: bool, **arrays: Any) -> None:
        """Keep these after so many passes, unless they are large and some were kept a moment ago."""
        if self.path is None:
            return
        small = sum(np.asarray(array).nbytes for array in arrays.values()) < SMALL
        if not (last or small or time.monotonic() - self.when > EVERY):
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
class LoopKeeper(Generic[S]):
    """Keeps one EM loop."""

    notes: Notes
    kind: type[S]

    def load(self) -> Kept[S] | None:
        """Where the loop stood; None where it had not begun."""
        held = self.notes.read()
        if held is None:
            return None
        names = [each.name for each in fields(self.kind)]  # type: ignore[arg-type]
        of, stats = (self.kind(*(held[f"{part}.{name}"] for name in names)) for part in ("of", "stats"))
        return Kept(of, stats, tuple(held["trace"].tolist()), int(held["passes"]))

    def save(self, kept: Kept[S], last: bool) -> None:
        """Keep where it stands, unless it is large and was kept a moment ago."""
        arrays = {
            f"{part}.{each.name}": getattr(getattr(kept, part), each.name)
            for part in ("of", "stats")
            for each in fields(self.kind)  # type: ignore[arg-type]
        }
        self.notes.write(kept.passes, last, trace=np.array(kept.trace), **arrays)
