"""Doubts about votes: input that can be read and is most likely not what the user means."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from .errors import DataError, ParameterError

# What `allow` (--allow NAME) accepts, and what it is about.
DOUBTS = {
    "swapped": "tasks and workers are in each other's column",
    "ids": "the labels are ids",
    "dates": "the labels are dates or times",
    "units": "the labels are numbers with units",
    "case": "classes differ in case or blanks only",
    "code": "a number such as -1 or 99 stands for no answer",
    "spreadsheet": "cells hold the errors of a spreadsheet",
    "rounded": "ids are in scientific notation",
    "questions": "the labels belong to several questions",
    "one-class": "every label is the same",
    "one-worker": "every row has the same worker",
    "own-worker": "every row has a worker of its own",
    "own-task": "every row has a task of its own",
    "names": "a worker is called truth, majority, mean, ...",
    "empty": "most rows have no label",
    "repeats": "most rows repeat the task and worker of another row",
    "scales": "some workers use fractions, others percentages",
}
ALL = "all"
# Doubts about aggregation only: the verdicts of one judge are measured, and single labels train a classifier.
OF_AGGREGATION = ("one-worker", "own-task")


@dataclass(frozen=True)
class InputDoubt:
    """A reason to ask before votes are used.

    Args:
        name: The name by which `allow` accepts it, one of `DOUBTS`.
        message: What is seen in the votes, and what to do if it is wrong.
    """

    name: str
    message: str

    def sentence(self) -> str:
        """Return the message and how to accept the votes as they are."""
        return f"{self.message} (--allow {self.name}, in Python allow=[{self.name!r}], reads the file as it is)"


def check_allowed(names: Sequence[str]) -> None:
    """Raise unless these are names of doubts."""
    if isinstance(names, str):
        raise ParameterError(f"allow must be a list of names, got {names!r}; write [{names!r}]")
    for name in names:
        if name != ALL and name not in DOUBTS:
            raise ParameterError(f"allow must be among {', '.join([*DOUBTS, ALL])}; got {name!r}")


def refuse(doubts: Sequence[InputDoubt], allowed: Collection[str], where: str) -> None:
    """Raise the first doubt that is not allowed."""
    for doubt in doubts:
        if ALL not in allowed and doubt.name not in allowed:
            raise DataError(f"{where}: {doubt.sentence()}")
