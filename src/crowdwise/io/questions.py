"""Exports with several questions, and the folders of their runs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from ..core.errors import DataError
from ..core.options import ReadOptions
from .formats.records import SeveralQuestions
from .reading import read_all

_UNSAFE = re.compile(r"[^\w.-]+")


def questions_of(path: str | Path, options: ReadOptions) -> tuple[str, ...]:
    """Return the questions of an export that can be aggregated.

    Raises:
        DataError: If the file has no named questions, or is standard input, which cannot be read once per question.
    """
    if str(path) == "-":
        raise DataError("--question all reads a file once for each question; save standard input to a file first")
    try:
        reading = read_all(path, replace(options, question=None))
    except SeveralQuestions as several:
        return several.questions
    if reading.question is None:
        raise DataError(f"{path} has no named questions; leave --question all out")
    return (reading.question,)


def folder_names(questions: Iterable[str]) -> dict[str, str]:
    """Return a folder name for each question: its own name, where that is one.

    >>> folder_names(["mood", "a/b", "a?b"])
    {'mood': 'mood', 'a/b': 'a_b', 'a?b': 'a_b_2'}
    """
    names: dict[str, str] = {}
    for question in questions:
        plain = _UNSAFE.sub("_", question).strip(".") or "question"
        taken, name, number = {*names.values()}, plain, 1
        while name in taken:
            number += 1
            name = f"{plain}_{number}"
        names[question] = name
    return names


def runs_in(folder: str | Path) -> list[Path]:
    """Return the runs in a folder that is no run itself, as `aggregate --question all` writes them."""
    folder = Path(folder)
    if not folder.is_dir() or (folder / "result.json").is_file():
        return []
    return sorted(run for run in folder.iterdir() if (run / "result.json").is_file())
