"""Comparison over several sets of votes, for `crowdwise compare`."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ..core.errors import DataError, ParameterError, unwritable
from ..core.options import ReadOptions
from .loading import add_classes
from .progress import count_progress
from .terminal import info, print_blocks, print_json
from .vote_options import read_known_labels, read_votes

if TYPE_CHECKING:
    import polars as pl

# Names, without their endings, of the files in the folder of a set.
VOTES_FILES, TRUTH_FILES = ("labels", "votes", "annotations"), ("truth", "gold")


class StudyTest(StrEnum):
    """Test behind the bars of the picture of ranks."""

    wilcoxon = "wilcoxon"
    nemenyi = "nemenyi"


@dataclass(frozen=True)
class SeveralSets:
    """What is compared: sets, methods, and how votes and truth are read."""

    sets: list[str]
    methods: list[str] | None
    truth: Path | None
    truth_columns: str | None
    read_options: ReadOptions
    seeds: int
    against: str | None
    test: Literal["wilcoxon", "nemenyi"]

    def sources(self) -> dict[str, Callable[[], tuple[Any, Any]]]:
        """Return a function for each set, by name, that loads its votes and truth."""
        sources: dict[str, Callable[[], tuple[Any, Any]]] = {}
        for given in self.sets:
            path = Path(given)
            if os.path.isdir(path):
                votes, truth = _file_in(path, VOTES_FILES), _file_in(path, TRUTH_FILES)
            elif self.truth is None or len(self.sets) > 1:
                raise ParameterError(
                    f"{path.name}: over several sets, each is a folder with labels.csv and truth.csv; one file needs "
                    "--truth FILE"
                )
            else:
                votes, truth = path, self.truth
            name = path.resolve().name if os.path.isdir(path) else path.stem
            if name in sources:
                raise ParameterError(f"two sets are called {name}; rename one of the folders")
            sources[name] = partial(self._load, votes, truth)
        return sources

    def _load(self, votes: Path, truth: Path) -> tuple[Any, Any]:
        answers = read_votes(str(votes), self.read_options).annotations
        labels = read_known_labels(self.read_options, truth, self.truth_columns, answers.kind)
        assert labels is not None
        return add_classes(answers, labels), labels


def is_set(path: str) -> bool:
    """Whether this is a folder with votes and truth."""
    folder = Path(path)
    return os.path.isdir(path) and all(_files_in(folder, names) for names in (VOTES_FILES, TRUTH_FILES))


def compare_several(
    study: SeveralSets, output: Path | None, texts: tuple[Path | None, Path | None], force: bool, json: bool
) -> None:
    """Run the comparison, write its files and print its tables."""
    from ..evaluation.sets_compared import FILES, RUNS, compare_sets
    from ..io.atomic import refuse_to_overwrite

    if output is not None:
        if force:
            (output / RUNS).unlink(missing_ok=True)
        elif not (output / RUNS).exists():  # a folder with finished runs is continued
            refuse_to_overwrite(output, FILES, force)
    _refuse_texts(texts, force)
    with count_progress("compare") as on_progress:
        comparison = compare_sets(
            study.sources(), study.methods or (), seeds=study.seeds, against=study.against, test=study.test,
            folder=output, watch=on_progress,
        )  # fmt: skip
    if output is not None:
        comparison.save(output, force=True)
    for path, text in zip(texts, (comparison.latex, comparison.markdown), strict=True):
        if path is not None:
            _write(path, text() + "\n")
    if json:
        print_json(comparison.to_dict())
        return
    print_blocks(comparison.tables())
    info(comparison.caption())
    for note in comparison.notes:
        info("note:", note)
    for path in filter(None, (output, *texts)):
        info(f"written to {path}")


def write_texts(table: pl.DataFrame, texts: tuple[Path | None, Path | None], force: bool) -> None:
    """Write a table as LaTeX and Markdown, where a file is named."""
    from ..io import table_text

    _refuse_texts(texts, force)
    for path, form in zip(texts, (table_text.latex, table_text.markdown), strict=True):
        if path is not None:
            _write(path, form(table) + "\n")
            info(f"written to {path}")


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise unwritable(path, error) from error


def _refuse_texts(texts: tuple[Path | None, Path | None], force: bool) -> None:
    for path in texts:
        if path is not None and path.exists() and not force:
            raise DataError(f"{path} exists already; --force overwrites it")


def _files_in(folder: Path, names: tuple[str, ...]) -> list[Path]:
    return sorted(file for file in folder.iterdir() if file.name.partition(".")[0] in names and file.is_file())


def _file_in(folder: Path, names: tuple[str, ...]) -> Path:
    files = _files_in(folder, names)
    if len(files) != 1:
        listed = ", ".join(file.name for file in files) or "none"
        raise DataError(f"the set {folder} needs one file {names[0]}.csv (or another table), it has {listed}")
    return files[0]
