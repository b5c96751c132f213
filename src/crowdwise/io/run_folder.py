"""Run: everything about one fit in one folder. The one owner of such folders, for Python and the command line alike."""

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
from ..core.intake.repeats import is_of_rows
from ..core.ledger import Ledger
from ..core.result import Result
from ..core.votes import Votes
from .beside import refuse_to_overwrite, written_beside
from .csv.cells import to_csv
from .parquet import NAMES, open_parquet, read_columns
from .result_files import FILES, in_parts, load, read_json, write_result
from .sources import printable
from .tables import open_table

VOTES, LEDGER, HISTORY = "votes.parquet", "ledger.json", "history.csv"
# Votes of a sample of tasks, where all of them lie in parts.
SAMPLE = "votes_sample.parquet"
# A table of all rows always, and as CSV where it has at most MOST_CSV_ROWS; of a fit in parts LABELS is a folder of
# Parquet files, which are read like one.
LABELS, CONFUSION = "labels.parquet", "confusion.parquet"
MOST_CSV_ROWS = 1_000_000
# Of a fit in parts, what the fit without gold says of each task: rows as in LABELS.
BLIND = "blind.parquet"
TABLES = (LABELS, "labels.csv", "workers.csv", CONFUSION, "confusion.csv", LEDGER)
ABOUT = ("about_tasks.parquet", "about_workers.parquet")
# All that a run may write; what else lies in its folder is somebody else's.
LINKS = "links.parquet"
OWN = (*TABLES, *FILES, VOTES, SAMPLE, BLIND, *ABOUT, LINKS, HISTORY, "items.csv")
# More files of the run, each written into the folder that is being filled.
More = Callable[[Path], None]


@dataclass(frozen=True, eq=False)
class Run:
    """A result with the votes it rests on, their ledger and, of a trained net, the history of its epochs.

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
    folder: Path | None = None  # where the tasks are, where they lie in parts

    def __post_init__(self) -> None:
        if self.votes is not None and self.ledger.rows_in == 0:
            object.__setattr__(self, "ledger", self.votes.ledger)

    def save(
        self, folder: str | Path, *, force: bool = False, more: More | None = None, names: tuple[str, ...] = ()
    ) -> Path:
        """Write everything: tables (labels.parquet, labels.csv, workers.csv, ...) and files that `load` reads again.

        Tables of more than a million rows are written as Parquet alone.

        Never over an existing run without `force`. It is written beside and renamed: an interrupted run leaves the old
        folder or the new one. `more` writes further files, which are called `names`.
        """
        folder = Path(folder)
        refuse_to_overwrite(folder, (*TABLES, *FILES, *names), force)
        with written_beside(folder, (*OWN, *names)) as new:
            write_result(self.result, new)
            self._write_tables(new)
            if self.votes is not None:
                self.votes.to_frame().write_parquet(new / VOTES)
                for name, table in zip(ABOUT, (self.votes.about_tasks, self.votes.about_workers), strict=True):
                    if table is not None:
                        table.write_parquet(new / name)
                if self.votes.links is not None:
                    self.votes.links.write_parquet(new / LINKS)
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
        if getattr(self.result.picture, "confusion", None) is not None:
            write_confusion(self.result, folder)
        text = json.dumps(self.ledger.to_dict(), indent=2, ensure_ascii=False) + "\n"
        (folder / LEDGER).write_text(text, encoding="utf-8")

    @staticmethod
    def load(folder: str | Path) -> Run:
        """Read what `save`, `crowdwise aggregate -o` or `crowdwise train -o` wrote; without its votes they are None."""
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
        return Run(result, votes, history, ledger)

    def shown(self) -> tuple[Run, str | None]:
        """The run as far as it can be looked at, and what to say of it: of a run in parts, a sample of its tasks."""
        if self.folder is None:
            return self, None
        frame = read_columns(self.folder / SAMPLE, {"task": NAMES})
        result = self.result.for_tasks(frame["task"])
        votes = load_votes(self.folder, result, SAMPLE)
        n = self.result.n_tasks
        said = (
            f"{len(result.tasks):,} of {n:,} tasks, drawn at random, and their votes are looked at"
            if (len(result.tasks) < n)
            else None
        )
        return Run(result, votes, None, votes.ledger), said

    def need_votes(self, folder: str | Path) -> Votes[Any]:
        """The votes, or one line that says what to do without them."""
        if self.votes is None:
            raise DataError(f"{folder} holds a result but not its votes ({VOTES}); name the file of votes instead")
        return self.votes


def with_gold(labels: pl.DataFrame, gold: Any) -> pl.DataFrame:
    """The table of the tasks, with a column `gold` where the fit was given some."""
    return labels if gold is None else labels.with_columns(gold=pl.Series(gold))


def write_confusion(result: Result, folder: Path) -> None:
    """The table of all confusion matrices: as Parquet, and as CSV where it is small enough."""
    table = result.confusion_table()
    table.write_parquet(folder / CONFUSION)
    if table.height <= MOST_CSV_ROWS:
        to_csv(table, folder / "confusion.csv")


def load_votes(folder: Path, result: Result, name: str = VOTES) -> Any:
    """The votes that the result in this folder was fitted on; a stranger may have had them in between."""
    if not (folder / name).is_file():
        raise DataError(f"{folder} holds a result but not its votes ({name}); name the file of votes instead")
    kind = result.kind
    numbers = (pl.Float64(), pl.Int64())
    answer = result.estimate.answer_columns()
    types = dict.fromkeys(("task", "worker"), NAMES) | dict.fromkeys(answer, kind.dtypes or NAMES)
    types |= dict.fromkeys(NUMBERS, numbers)
    own = [each for each in open_parquet(folder / name, name).header if is_of_rows(each)]
    types |= dict.fromkeys((each for each in own if each not in types), (*NAMES, *numbers, pl.Null()))
    try:
        frame = read_columns(folder / name, types)
        missing = [each for each in ("task", "worker", *answer) if each not in frame.columns]
        if missing:
            raise DataError(f"the column {missing[0]} is missing")
        coder = partial(kind.coder, **result.estimate.coder_options())
        columns: dict[str, Any] = {each: frame[each] for each in frame.columns if not is_of_rows(each)}
        if len(columns) < frame.width:
            columns["about_rows"] = frame.select(each for each in frame.columns if is_of_rows(each))
        votes = kind.votes._of(
            encode(columns, coder, tasks=result.tasks, workers=result.workers, duplicates="keep"),
        )
        if not np.array_equal(votes.labels_per_task > 0, result.labels_per_task > 0):
            raise DataError("its tasks are not those of the result")
        return _with_about(votes, folder)
    except DataError as error:
        raise DataError(f"{printable(str(folder / name))} is damaged ({error})") from error


def saved_about(folder: Path) -> pl.DataFrame | None:
    """What a run folder tells of its tasks besides their answers."""
    from .parquet import open_parquet

    if not (folder / ABOUT[0]).is_file():
        return None
    table = open_parquet(folder / ABOUT[0], ABOUT[0])
    return table.read(table.header)


def _with_about(votes: Votes[Any], folder: Path) -> Votes[Any]:
    tables: dict[str, Any] = {}
    for name, key in zip(ABOUT, ("tasks", "workers"), strict=True):
        if (folder / name).is_file():
            table = open_parquet(folder / name, name)
            tables[key] = table.read(table.header)
    if (folder / LINKS).is_file():
        table = open_parquet(folder / LINKS, LINKS)
        votes = votes.linked(table.read(table.header))
    return votes.about(**tables) if tables else votes


def saved_ledger(path: Path) -> Ledger:
    """What became of every row, as the run wrote it down."""
    told = read_json(path)
    try:
        dropped = {reason: int(n) for reason, n in told["dropped"].items()}
        ledger = Ledger(int(told["rows_in"]), int(told["rows_used"]), dropped, tuple(map(str, told["notes"])))
        if min(ledger.rows_in, ledger.rows_used, *dropped.values()) < 0:
            raise ValueError("a number of rows is negative")
    except (ValueError, KeyError, TypeError, AttributeError, AssertionError, OverflowError) as error:
        raise DataError(f"{path} cannot be read ({' '.join(str(error).split())[:120]}); run aggregate again") from None
    return ledger
