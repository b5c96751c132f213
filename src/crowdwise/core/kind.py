"""Kinds of answers: one record each. Everything that differs between kinds is asked of the record, nowhere by name.

A kind is added by one module with its answers, its estimate and a `Kind`, and by one line in kind_table.BUILT_IN (or,
from outside, by an entry point of the group `crowdwise.kinds`, or by `register`). What belongs to rooms above (scores,
the workers' picture, the sections of the report) is named as "module:function" and looked up when first asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import Parameter, signature
from typing import Any

import polars as pl

from .answers import Coder
from .errors import ParameterError
from .kind_table import Door, get, names, register, resolve
from .votes import Votes

__all__ = ["Door", "Kind", "get", "names", "register", "resolve"]


@dataclass(frozen=True)
class Kind:
    """What a kind of answer is.

    `columns` are the columns of an answer with the names that files give them, best first (`more_roles`: further ones
    it may have, `value_*`); `told_by(header)` says which of a file's columns these are when nobody said, or None,
    `fits(column)` whether what stands in one can be meant, and `claims(answers)` why distinct answers can hardly be
    of another kind ("" where they can); `dtypes` are the types of the stored columns (names, unless said);
    `coder(columns, **options)` reads them. `doors` lead to what other rooms do for this kind: describe, html (votes
    in a notebook), estimate, picture, model, infer, evaluate, compare, sentences, worker_rows, show, inspect, study (of
    the workers), grades (checks how agreement is to be graded), page (its part of the report), plots and card (a result
    in a notebook), plan (what to ask next), truth (known answers from the columns of a file).
    `fits_table(columns)` says whether what stands in several columns can be meant; `may_lack` are roles (task, worker)
    that a file of this kind need not have, and `complete(columns)` then fills them in: it returns notes, what is known
    of the tasks, and whether one worker may answer a task again. `from_labels`: a column of labels that it `claims` is
    read as this kind, with a note.
    With distance(answers, i, j), how far answers are apart, 0 to 1, said(votes, result), the estimates
    as one answer a task, and known(votes, gold), codes of known tasks with their answers, a kind gets its study and its
    comparison from workers/alike and scoring/alike.
    """

    name: str
    people: str
    columns: Mapping[str, str]
    coder: Callable[..., Coder]
    default: str
    answers_word: str = "answers"
    votes: type[Votes[Any]] = Votes
    told_by: Callable[[Sequence[str]], Mapping[str, str] | None] | None = None
    doors: Mapping[str, Door] = field(default_factory=dict)
    more_roles: tuple[str, ...] = ()
    fits: Callable[[pl.Series], bool] | None = None
    dtypes: tuple[pl.DataType, ...] = ()
    claims: Callable[[pl.Series], str] | None = None
    fits_table: Callable[[dict[str, pl.Series]], bool] | None = None
    complete: Callable[[dict[str, Any]], tuple[tuple[str, ...], pl.DataFrame | None, bool]] | None = None
    may_lack: tuple[str, ...] = ()
    # What an answer that names nothing is in a file ("[]": nothing is to be marked); None: it is no answer.
    blank: str | None = None
    # Columns about the tasks (text, url) that are taken along where a file has them by this name.
    along: tuple[str, ...] = ()
    from_labels: bool = False

    @property
    def roles(self) -> tuple[str, ...]:
        """Names of the answer's columns, those that parts may have included: value, value_*."""
        return (*self.columns, *self.more_roles)

    def can(self, what: str) -> bool:
        """Whether there is a door of this name."""
        return what in self.doors

    def door(self, what: str) -> Callable[..., Any]:
        """What another room does for this kind; one line of refusal where it does nothing."""
        if what not in self.doors:
            raise ParameterError(f"{what} does not know {self.people}")
        return resolve(self.doors[what])

    def ask(self, what: str, *given: Any, **options: Any) -> Any:
        """Go through a door; an option that it does not know is refused in one line."""
        way = self.door(what)
        known = signature(way).parameters
        if all(each.kind is not Parameter.VAR_KEYWORD for each in known.values()):
            for name in options:
                if name not in known:
                    raise ParameterError(f"{name} does not go with {self.people}")
        return way(*given, **options)
