"""Run: a fit and its votes in one folder, for Python and the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ..core.errors import DataError
from ..core.intake.coding import NUMBERS, encode
from ..core.intake.repeats import is_row_column
from ..core.ledger import Ledger
from ..core.result import Result
from ..core.votes import Votes
from .atomic import atomic_folder, refuse_to_overwrite
from .csv.cells import to_csv
from .parquet import NAMES, open_parquet, read_columns
from .result_files import FILES, in_parts, load, read_json, write_result
from .sources import printable
from .tables import open_table

VOTES, LEDGER, HISTORY = "votes.parquet", "ledger.json", "history.csv"
# Votes of a sample of tasks, for partitioned results.
SAMPLE = "votes_sample.parquet"
# Parquet tables; CSV is written too for at most MOST_CSV_ROWS rows. For partitioned results LABELS is a folder of
# Parquet files, which is read like one file.
LABELS, CONFUSION = "labels.parquet", "confusion.parquet"
MOST_CSV_ROWS = 1_000_000
# For partitioned results, the estimates of the fit without gold: rows as in LABELS.
BLIND = "blind.parquet"
TABLES = (LABELS, "labels.csv", "workers.csv", CONFUSION, "confusion.csv", LEDGER)
ABOUT = ("about_tasks.parquet", "about_workers.parquet")
# All files that a run may write; other files in its folder are not touched.
LINKS = "links.parquet"
# The known labels that the fit was given, as text.
GOLD = "gold.parquet"
OWN = (*TABLES, *FILES, VOTES, SAMPLE, BLIND, *ABOUT, LINKS, GOLD, HISTORY, "items.csv")
# Writes further files into the folder of the run.
More = Callable[[Path], None]


@dataclass(frozen=True, eq=False)
class Run:
    """A result with the votes that it was fitted to.

    Args:
        result: The result.
        votes: Its votes.
        history: Training history of a neural network, one row per epoch.
        ledger: What became of every row that was read; by default that of the votes.
        folder: The folder that holds the tasks of a partitioned result.
        gold: Table of the known labels that the fit was given.

    >>> import crowdwise as cw, tempfile
    >>> votes = cw.Annotations.from_arrays([1, 1, 2], ["ann", "bob", "ann"], ["cat", "cat", "dog"])
    >>> folder = tempfile.mkdtemp()
    >>> _ = cw.Run(cw.MajorityVote().fit(votes), votes).save(folder)
    >>> cw.Run.load(folder).votes
    Annotations(3 annotations, 2 tasks, 2 workers, 2 classes)
    """

    result: Result
    votes: Votes[Any] | None = None
    history: pl.DataFrame | None = None
    ledger: Ledger = field(default_factory=lambda: Ledger(0, 0))
    folder: Path | None = None  # set for partitioned results only
    gold: pl.DataFrame | None = None

    def __post_init__(self) -> None:
        if self.votes is not None and self.ledger.rows_in == 0:
            object.__setattr__(self, "ledger", self.votes.ledger)

    def save(
        self, folder: str | Path, *, force: bool = False, more: More | None = None, names: tuple[str, ...] = ()
    ) -> Path:
        """Write tables (labels.parquet, labels.csv, workers.csv, ...) and the files that `load` reads.

        Tables of more than a million rows are written as Parquet only. The folder is written to a temporary place and
        renamed, so that an interrupted call leaves the old or the new folder.

        Args:
            folder: Folder to write.
            force: Whether to replace an existing run.
            more: Writes further files.
            names: Names of those files.

        Returns:
            The folder.
        """
        folder = Path(folder)
        refuse_to_overwrite(folder, (*TABLES, *FILES, *names), force)
        with atomic_folder(folder, (*OWN, *names)) as new:
            write_result(self.result, new)
            self._write_tables(new)
            if self.votes is not None:
                self.votes.to_frame().write_parquet(new / VOTES)
                tables = (self.votes.about_tasks, self.votes.about_workers, self.votes.links)
                for name, table in zip((*ABOUT, LINKS), tables, strict=True):
                    if table is not None:
                        table.write_parquet(new / name)
            if self.gold is not None:
                self.gold.with_columns(pl.all().cast(pl.String)).write_parquet(new / GOLD)
            if self.history is not None:
                to_csv(self.history, new / HISTORY)
            if more is not None:
                more(new)
        return folder

    def _write_tables(self, folder: Path) -> None:
        labels = self.result.to_table()
        with_gold(labels, self.result.gold).write_parquet(folder / LABELS)
        if labels.height <= MOST_CSV_ROWS:
            to_csv(labels, folder / "labels.csv")
        to_csv(self.result.worker_table(), folder / "workers.csv")
        for name, table in self.result.estimate.tables(self.result.tasks).items():
            to_csv(table, folder / name)
        if getattr(self.result.worker_summary, "confusion", None) is not None:
            write_confusion(self.result, folder)
        write_ledger(self.ledger, folder)

    @staticmethod
    def load(folder: str | Path) -> Run:
        """Load what `save`, `crowdwise aggregate -o` or `crowdwise train -o` wrote; `votes` may be None."""
        folder = Path(folder)
        result = load(folder)
        ledger = saved_ledger(folder / LEDGER) if (folder / LEDGER).is_file() else Ledger(0, 0)
        if in_parts(folder) is not None:
            return Run(result, ledger=ledger, folder=folder)
        votes = load_votes(folder, result) if (folder / VOTES).is_file() else None
        if votes is not None and ledger.rows_in:
            votes = replace(votes, ledger=ledger)
        history = None
        if (folder / HISTORY).is_file():
            table = open_table(folder / HISTORY)
            history = table.read(table.header)
        return Run(result, votes, history, ledger, gold=saved_about(folder, GOLD))

    def shown(self) -> tuple[Run, str | None]:
        """Return the run to display, and a note: a partitioned run is reduced to a sample of its tasks."""
        if self.folder is None:
            return self, None
        frame = read_columns(self.folder / SAMPLE, {"task": NAMES})
        result = self.result.for_tasks(frame["task"])
        votes = load_votes(self.folder, result, SAMPLE)
        n = self.result.n_tasks
        note = (
            f"{len(result.tasks):,} of {n:,} tasks, drawn at random, and their votes are shown"
            if (len(result.tasks) < n)
            else None
        )
        return Run(result, votes, None, votes.ledger), note

    def need_votes(self, folder: str | Path) -> Votes[Any]:
        """Return the votes, or raise an error that says what to do."""
        if self.votes is None:
            raise DataError(f"{folder} holds a result but not its votes ({VOTES}); name the file of votes instead")
        return self.votes


def with_gold(labels: pl.DataFrame, gold: Any) -> pl.DataFrame:
    """Add the column `gold` to the table of tasks, if the fit was given gold."""
    return labels if gold is None else labels.with_columns(gold=pl.Series(gold))


def write_confusion(result: Result, folder: Path) -> None:
    """Write the table of all confusion matrices as Parquet, and as CSV if it is small enough."""
    table = result.confusion_table()
    table.write_parquet(folder / CONFUSION)
    if table.height <= MOST_CSV_ROWS:
        to_csv(table, folder / "confusion.csv")


def load_votes(folder: Path, result: Result, name: str = VOTES) -> Any:
    """Load the votes that the result was fitted to. The file is not trusted: it is validated."""
    if not (folder / name).is_file():
        raise DataError(f"{folder} holds a result but not its votes ({name}); name the file of votes instead")
    kind = result.kind
    numbers = (pl.Float64(), pl.Int64())
    answer = result.estimate.answer_columns()
    types = dict.fromkeys(("task", "worker"), NAMES) | dict.fromkeys(answer, kind.dtypes or NAMES)
    types |= dict.fromkeys(NUMBERS, numbers)
    row_columns = [column for column in open_parquet(folder / name, name).header if is_row_column(column)]
    types |= dict.fromkeys((column for column in row_columns if column not in types), (*NAMES, *numbers, pl.Null()))
    try:
        frame = read_columns(folder / name, types)
        missing = [column for column in ("task", "worker", *answer) if column not in frame.columns]
        if missing:
            raise DataError(f"the column {missing[0]} is missing")
        coder = partial(kind.coder, **result.estimate.coder_options())
        columns: dict[str, Any] = {column: frame[column] for column in frame.columns if not is_row_column(column)}
        if len(columns) < frame.width:
            columns["about_rows"] = frame.select(column for column in frame.columns if is_row_column(column))
        votes = kind.votes._of(
            encode(columns, coder, tasks=result.tasks, workers=result.workers, duplicates="keep"),
        )
        if not np.array_equal(votes.labels_per_task > 0, result.labels_per_task > 0):
            raise DataError("its tasks are not those of the result")
        return _with_about(votes, folder)
    except DataError as error:
        raise DataError(f"{printable(str(folder / name))} is damaged ({error})") from error


def saved_about(folder: Path, name: str = ABOUT[0]) -> pl.DataFrame | None:
    """Return a table in a run folder, by default that about the tasks; None if there is none."""
    if not (folder / name).is_file():
        return None
    table = open_parquet(folder / name, name)
    return table.read(table.header)


def _with_about(votes: Votes[Any], folder: Path) -> Votes[Any]:
    links = saved_about(folder, LINKS)
    if links is not None:
        votes = votes.linked(links)
    tasks, workers = (saved_about(folder, name) for name in ABOUT)
    return votes if tasks is None and workers is None else votes.about(tasks=tasks, workers=workers)


def write_ledger(ledger: Ledger, folder: Path) -> None:
    """Write ledger.json."""
    text = json.dumps(ledger.to_dict(), indent=2, ensure_ascii=False) + "\n"
    (folder / LEDGER).write_text(text, encoding="utf-8")


def saved_ledger(path: Path) -> Ledger:
    """Load the ledger of a run."""
    stored = read_json(path)
    try:
        dropped = {reason: int(n) for reason, n in stored["dropped"].items()}
        notes, question = tuple(map(str, stored["notes"])), stored.get("question")
        question = None if question is None else str(question)
        ledger = Ledger(int(stored["rows_in"]), int(stored["rows_used"]), dropped, notes, question)
        if min(ledger.rows_in, ledger.rows_used, *dropped.values()) < 0:
            raise ValueError("a number of rows is negative")
    except (ValueError, KeyError, TypeError, AttributeError, AssertionError, OverflowError) as error:
        raise DataError(f"{path} cannot be read ({' '.join(str(error).split())[:120]}); run aggregate again") from None
    return ledger
