"""Crowd: simulated annotations together with everything that is true about them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from ..core.errors import unwritable
from ..core.vocabulary import Codes
from ..kinds.classes.annotations import Annotations

F8 = npt.NDArray[np.float64]
FILES = ("labels.csv", "truth.csv", "workers.csv", "features.npz")


@dataclass(frozen=True, eq=False, repr=False)
class Crowd:
    """What the workers said, and what nobody but a simulator knows.

    `truth[task]` and `confusion[worker, true, observed]` are in the order of annotations.tasks, .workers and
    .classes. `confusion` is how a worker answers tasks that are not hard; of a copier or a colluder it is the
    marginal: one worker's answers as seen without the others'. `kind[worker]` names the group, `copies[worker]` the
    worker copied from, `hard[task]` marks tasks that mislead everybody, `features[task]` describes them.

    >>> from crowdwise import simulate
    >>> simulate.scenario("one_coin", tasks=20, workers=6, seed=1)
    Crowd(one_coin: Annotations(100 annotations, 20 tasks, 6 workers, 4 classes))
    """

    annotations: Annotations
    truth: Codes
    class_prior: F8
    confusion: F8 | None
    kind: list[str]
    copies: list[str | None]
    hard: npt.NDArray[np.bool_]
    features: F8 | None = None

    def __post_init__(self) -> None:
        for array in (self.truth, self.class_prior, self.confusion, self.hard, self.features):
            if array is not None:
                array.setflags(write=False)

    def __repr__(self) -> str:
        return f"Crowd({', '.join(dict.fromkeys(self.kind))}: {self.annotations})"

    def truth_table(self) -> pl.DataFrame:
        """The table task, label of the true classes."""
        votes = self.annotations
        return pl.DataFrame({"task": votes.tasks, "label": votes.classes.gather(self.truth)})

    def worker_table(self) -> pl.DataFrame:
        """The table worker, kind, copies, accuracy: the share of right answers to expect on tasks that are not hard."""
        columns = {
            "worker": self.annotations.workers,
            "kind": pl.Series(self.kind, dtype=pl.String),
            "copies": pl.Series(self.copies, dtype=pl.String),
        }
        if self.confusion is not None:
            columns["accuracy"] = pl.Series(np.einsum("k,wkk->w", self.class_prior, self.confusion))
        return pl.DataFrame(columns)

    def save(self, folder: str | Path, force: bool = False) -> list[str]:
        """Write labels.csv, truth.csv, workers.csv and, with features, features.npz; returns the names written.

        Files that are there already are only overwritten with `force`.
        """
        from ..io.beside import refuse_to_overwrite
        from ..io.csv.cells import to_csv

        folder = Path(folder)
        refuse_to_overwrite(folder, FILES, force)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            to_csv(self.annotations.to_frame(), folder / "labels.csv")
            to_csv(self.truth_table(), folder / "truth.csv")
            to_csv(self.worker_table(), folder / "workers.csv")
            if self.features is None:
                # Features of an earlier crowd must not lie beside the labels of this one.
                (folder / "features.npz").unlink(missing_ok=True)
                return list(FILES[:3])
            tasks = np.array(self.annotations.tasks.to_list())
            np.savez_compressed(folder / "features.npz", task=tasks, x=self.features)
        except OSError as error:
            raise unwritable(folder, error) from error
        return list(FILES)
