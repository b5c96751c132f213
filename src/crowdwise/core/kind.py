"""A kind of answer: its columns, its default method, and the hooks through which other packages work on it.

A kind is one folder of `kinds/`. Its `kind.py` holds a `Kind` and a subclass of `KindHooks`; the registry names the
module. Packages from outside register theirs by an entry point of the group `crowdwise.kinds`, or by `register`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl

from .answers import Coder
from .errors import ParameterError
from .registry import get, names, register, resolve
from .votes import Votes

if TYPE_CHECKING:
    from ..active.plan import Plan
    from ..evaluation.calibration import Decided
    from ..evaluation.guarantee.verdicts import Verdicts
    from ..evaluation.scores import Table
    from ..evaluation.statement import Statement
    from ..judges.study import Judges
    from ..report.sheet import Sheet
    from ..workers.flags import Flag
    from ..workers.studied import Studied
    from .estimate import Estimate, WorkerPicture
    from .method import Method
    from .model import Model
    from .result import Result

__all__ = ["Kind", "KindHooks", "get", "names", "register", "resolve"]

T = TypeVar("T")
F8 = npt.NDArray[np.float64]


class KindHooks:
    """What the other packages do for a kind of answer, one method per service.

    A method that a kind does not override refuses in one line. Overrides import what they need inside the method, so
    that importing a kind stays cheap.
    """

    display_name: ClassVar[str] = "these answers"

    def supports(self, hook: Callable[..., Any]) -> bool:
        """Whether a hook is there: `kind.hooks.supports(KindHooks.plan)`."""
        return getattr(type(self), hook.__name__) is not hook

    def require(self, hook: Callable[..., Any]) -> None:
        """Refuse in one line where a hook is missing."""
        if not self.supports(hook):
            raise self._missing(hook.__name__)

    def call(self, function: Callable[..., T], *args: Any, **options: Any) -> T:
        """Call a function; an option that it does not take is refused in one line."""
        parameters = signature(function).parameters
        if all(parameter.kind is not Parameter.VAR_KEYWORD for parameter in parameters.values()):
            for name in options:
                if name not in parameters:
                    raise ParameterError(f"{name} does not go with {self.display_name}")
        return function(*args, **options)

    def coerce(self, votes: Any) -> Votes[Any]:
        """Votes of this kind from a table; votes are returned as they are."""
        if isinstance(votes, Votes):
            return votes
        raise ParameterError(f"votes are needed, got {type(votes).__name__}; read them first: cw.read(path)")

    def _missing(self, what: str) -> ParameterError:
        return ParameterError(f"{what} is not available for {self.display_name}")

    def estimate_types(self) -> tuple[type[Estimate], type[WorkerPicture]]:
        """The classes of the estimates and of the worker summary that a run folder holds."""
        raise self._missing("estimate")

    def describe(self, votes: Votes[Any]) -> dict[str, Any]:  # noqa: ARG002
        """Facts about the votes for `inspect`."""
        raise self._missing("describe")

    def votes_html(self, votes: Votes[Any]) -> str:  # noqa: ARG002
        """The votes in a notebook."""
        raise self._missing("votes_html")

    def result_html(self, result: Result) -> str:  # noqa: ARG002
        """A result in a notebook."""
        raise self._missing("result_html")

    def plots(self, result: Result) -> Any:  # noqa: ARG002
        """The plots of a result."""
        raise self._missing("plots")

    def model(self, result: Result) -> Model[Any] | None:  # noqa: ARG002
        """The fitted model behind a result; None where there is none to judge other tasks by."""
        return None

    def infer(self, result: Result, votes: Votes[Any], unknown_workers: Any) -> Result:  # noqa: ARG002
        """The tasks of other votes, judged by the fitted workers."""
        raise self._missing("infer")

    def evaluate(self, result: Result | pl.DataFrame, truth: Any, **options: Any) -> Any:  # noqa: ARG002
        """Scores of a result, or of its table, against the truth."""
        raise self._missing("evaluate")

    def compare(self, votes: Votes[Any], methods: Sequence[str] | None = None, **options: Any) -> Any:  # noqa: ARG002
        """Scores of several methods on the same votes."""
        raise self._missing("compare")

    def calibrate(self, result: Result, votes: Votes[Any], gold: Any = None, *, prior: Any = None) -> Result:  # noqa: ARG002
        """The result with confidence calibrated on gold."""
        raise self._missing("calibrate")

    def decisions(self) -> Decided:
        """The decisions of a result that can be right or wrong, and where their confidence goes."""
        raise self._missing("decisions")

    def statement(self, result: Result, error: float) -> Statement:  # noqa: ARG002
        """What is known about how many answers are right."""
        raise self._missing("statement")

    def sentences(self, votes: Votes[Any], result: Result) -> list[str]:  # noqa: ARG002
        """The summary of a result, line by line."""
        raise self._missing("sentences")

    def worker_rows(self, result: Result, limit: int = 5) -> tuple[list[str], list[list[str]]]:  # noqa: ARG002
        """Header and rows of the best and the worst workers."""
        raise self._missing("worker_rows")

    def show(self, result: Result) -> tuple[str, list[Table]]:  # noqa: ARG002
        """Summary and tables of a result."""
        raise self._missing("show")

    def inspect(self, facts: dict[str, Any], limit: int) -> tuple[list[list[str]], list[Table], list[str]]:  # noqa: ARG002
        """Rows, tables and advice from the facts of `describe`."""
        raise self._missing("inspect")

    def study(self, votes: Votes[Any], result: Result, **options: Any) -> Studied:  # noqa: ARG002
        """Quality, agreement and flags of the workers."""
        raise self._missing("study")

    def flags(self, votes: Votes[Any], result: Result) -> list[Flag]:  # noqa: ARG002
        """The flags of `study` alone."""
        raise self._missing("flags")

    def check_grades(self, votes: Votes[Any], **options: Any) -> None:  # noqa: ARG002
        """Refuse options of agreement that do not fit the votes."""
        raise self._missing("check_grades")

    def page(self, votes: Votes[Any], result: Result, **options: Any) -> Sheet:  # noqa: ARG002
        """The kind's part of the report."""
        raise self._missing("page")

    def plan(self, votes: Votes[Any], **options: Any) -> Plan:  # noqa: ARG002
        """Which tasks to ask again, and whom."""
        raise self._missing("plan")

    def default_method(self, votes: Votes[Any], gold: Any) -> str:  # noqa: ARG002
        """The default method for these votes."""
        return votes.kind.default

    def verdicts(self, result: Result) -> Verdicts:  # noqa: ARG002
        """The result as verdicts for estimates and guarantees."""
        raise self._missing("verdicts")

    def one_worker(self) -> Method:
        """The method that takes a single worker's answers as they are."""
        raise self._missing("one_worker")

    def judges(self, votes: Votes[Any], gold: Any = None, **options: Any) -> Judges:  # noqa: ARG002
        """A study of LLM judges."""
        raise self._missing("judges")

    def truth_table(self, frame: pl.DataFrame) -> pl.DataFrame | None:  # noqa: ARG002
        """Truth from the columns of a file; None where they hold none."""
        raise self._missing("truth_table")

    def read_truth_file(self, path: Path, missing: Sequence[str]) -> pl.DataFrame:  # noqa: ARG002
        """Truth from a file."""
        raise self._missing("read_truth_file")

    def offered(self, tasks: Any, offered: Any) -> list[Any]:  # noqa: ARG002
        """The classes offered for every answer."""
        raise self._missing("offered")

    def distance(self, answers: Any, i: Any, j: Any) -> F8:  # noqa: ARG002
        """Distances between answers i and j, 0 to 1."""
        raise self._missing("distance")

    def estimated_answers(self, votes: Votes[Any], result: Result) -> Any:  # noqa: ARG002
        """The estimates of a result as one answer per task."""
        raise self._missing("estimated_answers")

    def gold_answers(self, votes: Votes[Any], gold: Any) -> tuple[Any, Any]:  # noqa: ARG002
        """Codes of the gold tasks, and their answers."""
        raise self._missing("gold_answers")


@dataclass(frozen=True)
class Kind:
    """A kind of answer.

    `columns` maps each column of an answer to the names that it has in files, best first; `more_roles` are further
    columns it may have (`value_*`). `coder(columns, **options)` reads them into answers, `dtypes` are the types of the
    stored columns (names, unless stated). `told_by(header)` returns which columns of a file hold an answer where nobody
    said so, or None; `fits(column)` whether the values of a column can be such answers, `fits_table(columns)` the same
    for several columns; `claims(answers)` why distinct answers can hardly be of another kind ("" where they can).
    `may_lack` are roles (task, worker) that a file of this kind need not have; `complete(columns)` then fills them in
    and returns notes, a table about the tasks, and whether one worker may answer a task again. With `from_labels`, a
    column of labels that it `claims` is read as this kind, with a note.
    """

    name: str
    columns: Mapping[str, str]
    coder: Callable[..., Coder]
    default: str
    hooks: KindHooks
    answers_word: str = "answers"
    votes: type[Votes[Any]] = Votes
    told_by: Callable[[Sequence[str]], Mapping[str, str] | None] | None = None
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
    def people(self) -> str:
        """What messages call answers of this kind."""
        return self.hooks.display_name

    @property
    def roles(self) -> tuple[str, ...]:
        """Names of the answer's columns, those that parts may have included: value, value_*."""
        return (*self.columns, *self.more_roles)
