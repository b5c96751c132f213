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
import polars as pl

from .answers import Coder
from .arrays import F8
from .errors import DataError, ParameterError
from .intake.coding import encode
from .intake.columns import pick
from .intake.frames import to_polars
from .registry import get, names, register, resolve
from .votes import Votes

if TYPE_CHECKING:
    from ..active.by_loss import LossPlan
    from ..active.plan import Plan
    from ..evaluation.calibration import DecisionHooks
    from ..evaluation.guarantee.verdicts import Verdicts
    from ..evaluation.scores import Table
    from ..evaluation.statement import Statement
    from ..judges.study import Judges
    from ..report.sheet import Sheet
    from ..workers.flags import Coefficient, Flag
    from ..workers.studied import Studied
    from .doubt import InputDoubt
    from .estimate import Estimate, WorkerSummary
    from .method import Method
    from .model import Model
    from .result import Result

__all__ = ["Kind", "KindHooks", "get", "names", "register", "resolve"]

T = TypeVar("T")


class KindHooks:
    """The operations of other packages on a kind of answer, one method each.

    A method that a kind does not override raises a one-line error. Overrides import what they need inside the method,
    so that importing a kind stays cheap.
    """

    display_name: ClassVar[str] = "these answers"
    # What `task_scores` returns, for messages.
    score_name: ClassVar[str] = "score"
    # What `expected_loss` returns, for messages.
    loss_name: ClassVar[str] = "distance of the estimate from the truth"
    # The kind that these hooks belong to.
    kind: Kind

    def supports(self, hook: Callable[..., Any]) -> bool:
        """Whether the kind implements a hook: `kind.hooks.supports(KindHooks.plan)`."""
        return getattr(type(self), hook.__name__) is not hook

    def require(self, hook: Callable[..., Any]) -> None:
        """Raise if the kind does not implement a hook."""
        if not self.supports(hook):
            raise self._missing(hook.__name__)

    def call(self, function: Callable[..., T], *args: Any, **options: Any) -> T:
        """Call a function; raise if it does not take one of the options."""
        parameters = signature(function).parameters
        if all(parameter.kind is not Parameter.VAR_KEYWORD for parameter in parameters.values()):
            for name in options:
                if name not in parameters:
                    raise ParameterError(f"{name} does not go with {self.display_name}")
        return function(*args, **options)

    def coerce(self, votes: Any) -> Votes[Any]:
        """Return votes of this kind unchanged; convert a table to votes.

        Raises:
            DataError: If the votes are of another kind, or neither votes nor a table.
        """
        if isinstance(votes, Votes):
            if votes.answers.kind == self.kind.name:
                return votes
            raise DataError(
                f"{self.kind.name} are needed, got {votes.kind.display_name}; read the file with "
                f"kind={self.kind.name!r} (--kind {self.kind.name}), or use a method for them"
            )
        if isinstance(votes, str | Path):
            raise DataError(f"votes are needed, got the path {str(votes)!r}; read the file first: cw.read(path)")
        if isinstance(votes, np.ndarray | list | tuple):
            raise DataError(f"votes are needed, got {type(votes).__name__}; {self.kind.how_to_build}")
        return self.from_table(to_polars(votes))

    def from_table(self, table: pl.DataFrame) -> Votes[Any]:
        """Convert a table with the columns task, worker and those of an answer to votes."""
        kind = self.kind
        roles = None if kind.detect_columns is None else kind.detect_columns(table.columns)
        columns, _ = pick(table, roles, "the frame", (), ("task", "worker", *kind.columns))
        return kind.votes._of(encode(columns, kind.coder)) if kind.constructor is None else kind.constructor(**columns)

    def _missing(self, what: str) -> ParameterError:
        return ParameterError(f"{what} is not available for {self.display_name}")

    def estimate_types(self) -> tuple[type[Estimate], type[WorkerSummary]]:
        """Return the classes of the estimates and of the worker summary, for loading."""
        raise self._missing("estimate")

    def doubts(self, votes: Votes[Any]) -> list[InputDoubt]:  # noqa: ARG002
        """Return what looks like a mistake in votes from a file."""
        return []

    def describe(self, votes: Votes[Any]) -> dict[str, Any]:  # noqa: ARG002
        """Return facts about the votes for `inspect`."""
        raise self._missing("describe")

    def votes_html(self, votes: Votes[Any]) -> str:  # noqa: ARG002
        """Render the votes for a notebook."""
        raise self._missing("votes_html")

    def result_html(self, result: Result) -> str:  # noqa: ARG002
        """Render a result for a notebook."""
        raise self._missing("result_html")

    def class_table(self, result: Result) -> pl.DataFrame:  # noqa: ARG002
        """Return the expected quality of every class."""
        raise self._missing("class_table")

    def soft_labels(self, result: Result, tasks: Any = None) -> Any:  # noqa: ARG002
        """Return targets for training a classifier."""
        raise self._missing("soft_labels")

    def plots(self, result: Result) -> Any:  # noqa: ARG002
        """Return the plots of a result."""
        raise self._missing("plots")

    def model(self, result: Result) -> Model[Any] | None:  # noqa: ARG002
        """Return the fitted model behind a result; None if there is none that can score other tasks."""
        return None

    def infer(self, result: Result, votes: Votes[Any], unknown_workers: Any) -> Result:  # noqa: ARG002
        """Estimate the tasks of other votes with the fitted worker parameters."""
        raise self._missing("infer")

    def evaluate(self, result: Result | pl.DataFrame, truth: Any, **options: Any) -> Any:  # noqa: ARG002
        """Score a result, or its table, against the truth."""
        raise self._missing("evaluate")

    def compare(self, votes: Votes[Any], methods: Sequence[str] | None = None, **options: Any) -> Any:  # noqa: ARG002
        """Score several methods on the same votes."""
        raise self._missing("compare")

    def calibrate(self, result: Result, votes: Votes[Any], gold: Any = None, *, prior: Any = None) -> Result:  # noqa: ARG002
        """Return the result with confidence calibrated on gold."""
        raise self._missing("calibrate")

    def decisions(self) -> DecisionHooks:
        """Return how to read the decisions of a result that can be right or wrong, and their confidence."""
        raise self._missing("decisions")

    def statement(self, result: Result, error: float) -> Statement:  # noqa: ARG002
        """Return an estimate of how many answers are right, for the given error rate."""
        raise self._missing("statement")

    def sentences(self, votes: Votes[Any], result: Result) -> list[str]:  # noqa: ARG002
        """Return the summary of a result, line by line."""
        raise self._missing("sentences")

    def worker_rows(self, result: Result, limit: int = 5) -> tuple[list[str], list[list[str]]]:  # noqa: ARG002
        """Return the header and the rows of the best and the worst workers."""
        raise self._missing("worker_rows")

    def show(self, result: Result) -> tuple[str, list[Table]]:  # noqa: ARG002
        """Return the summary and the tables of a result."""
        raise self._missing("show")

    def inspect(self, facts: dict[str, Any], limit: int) -> tuple[list[list[str]], list[Table], list[str]]:  # noqa: ARG002
        """Return rows, tables and advice from the facts of `describe`."""
        raise self._missing("inspect")

    def study(self, votes: Votes[Any], result: Result, **options: Any) -> Studied:  # noqa: ARG002
        """Return quality, agreement and flags of the workers."""
        raise self._missing("study")

    def agreement(self, votes: Votes[Any], **options: Any) -> list[Coefficient]:  # noqa: ARG002
        """Return the coefficients of the workers' agreement, which need no fit."""
        raise self._missing("agreement")

    def flags(self, votes: Votes[Any], result: Result) -> list[Flag]:  # noqa: ARG002
        """Return only the flags of `study`."""
        raise self._missing("flags")

    def alpha(self, votes: Votes[Any]) -> float | None:  # noqa: ARG002
        """Return Krippendorff's alpha by the kind's own distance; None if it is undefined."""
        raise self._missing("alpha")

    def check_grades(self, votes: Votes[Any], **options: Any) -> None:  # noqa: ARG002
        """Raise if options of agreement do not fit the votes."""
        raise self._missing("check_grades")

    def page(self, votes: Votes[Any], result: Result, **options: Any) -> Sheet:  # noqa: ARG002
        """Return the kind's part of the report."""
        raise self._missing("page")

    def plan(self, votes: Votes[Any], **options: Any) -> Plan | LossPlan:  # noqa: ARG002
        """Return which tasks need further votes, and which workers should give them."""
        raise self._missing("plan")

    def expected_loss(self, votes: Votes[Any], result: Result) -> F8:  # noqa: ARG002
        """Return the expected loss of each task's estimate, for plans of further votes."""
        raise self._missing("expected_loss")

    def default_method(self, votes: Votes[Any], gold: Any) -> str:  # noqa: ARG002
        """Return the default method for these votes."""
        return votes.kind.default

    def verdicts(self, result: Result) -> Verdicts:  # noqa: ARG002
        """Return the result as verdicts for estimates and guarantees."""
        raise self._missing("verdicts")

    def one_worker(self) -> Method:
        """Return the method that takes a single worker's answers unchanged."""
        raise self._missing("one_worker")

    def as_classes(self, votes: Votes[Any], gold: Any = None, systems: Sequence[str] | None = None) -> tuple[Any, Any]:  # noqa: ARG002
        """Return the votes and the gold as classes, for studies that need classes."""
        raise self._missing("as_classes")

    def judges(self, votes: Votes[Any], gold: Any = None, **options: Any) -> Judges:  # noqa: ARG002
        """Return a study of LLM judges."""
        raise self._missing("judges")

    def truth_table(self, frame: pl.DataFrame) -> pl.DataFrame | None:  # noqa: ARG002
        """Read the truth from the columns of a file; None if there is none."""
        raise self._missing("truth_table")

    def read_truth_file(self, path: Path, missing: Sequence[str]) -> pl.DataFrame:  # noqa: ARG002
        """Read the truth from a file."""
        raise self._missing("read_truth_file")

    def offered(self, tasks: Any, offered: Any) -> list[Any]:  # noqa: ARG002
        """Return the classes offered for every answer."""
        raise self._missing("offered")

    def distance(self, answers: Any, i: Any, j: Any) -> F8:  # noqa: ARG002
        """Return the distances between answers i and j, 0 to 1."""
        raise self._missing("distance")

    def task_scores(self, votes: Votes[Any], result: Result, gold: Any) -> tuple[Any, F8]:  # noqa: ARG002
        """Return the codes of the gold tasks, and the score of their estimates: 1 for equal answers."""
        raise self._missing("task_scores")

    def score_of_distance(self, distance: F8) -> F8:
        """Return the score of answers at a distance from the truth."""
        return 1.0 - distance

    def estimated_answers(self, votes: Votes[Any], result: Result) -> Any:  # noqa: ARG002
        """Return the estimates of a result as one answer per task."""
        raise self._missing("estimated_answers")

    def gold_answers(self, votes: Votes[Any], gold: Any) -> tuple[Any, Any]:  # noqa: ARG002
        """Return the codes of the gold tasks, and their answers."""
        raise self._missing("gold_answers")


@dataclass(frozen=True)
class Kind:
    """A kind of answer: its columns, its checks, its default method and its hooks.

    Args:
        name: Name of the kind, as in `--kind NAME`.
        columns: Maps each column of an answer to the names that files give it, the best one first.
        coder: `coder(columns, **options)` reads the columns into answers.
        default: Name of the default method.
        hooks: The services of this kind (see `KindHooks`).
        constructor: `constructor(task, worker, ...)` builds votes from columns (`cw.numbers.number_votes`); None: the
            columns are those of the coder.
        answers_word: What messages call its answers in the plural.
        votes: Class of its votes.
        detect_columns: `detect_columns(header)` returns which columns of a file hold an answer where the caller did
            not choose any, or None. It is not called for an answer of one column of which the header has no name.
        more_roles: Further columns that a file may have (`value_*`).
        accepts: `accepts(column)` tells whether the values of a column can be answers of this kind.
        dtypes: Types of the stored columns (vocabulary names unless given).
        explain_detection: `explain_detection(answers)` returns why distinct answers can hardly be of another kind, or
            "" where they can.
        accepts_table: The same as `accepts` for a kind with several columns.
        fill_columns: `fill_columns(columns)` fills in the roles of `may_lack` and returns notes, a table about the
            tasks, and whether one worker may answer a task more than once.
        may_lack: Roles (task, worker) that a file of this kind may lack.
        blank: How an empty answer is written in a file ("[]": nothing to mark); None if an answer cannot be empty.
        along: Columns about the tasks (text, url) that are read too where a file has them by this name.
        from_labels: A column of labels for which `explain_detection` gives a reason is read as this kind, with a note.
    """

    name: str
    columns: Mapping[str, str]
    coder: Callable[..., Coder]
    default: str
    hooks: KindHooks
    constructor: Callable[..., Votes[Any]] | None = None
    answers_word: str = "answers"
    votes: type[Votes[Any]] = Votes
    detect_columns: Callable[[Sequence[str]], Mapping[str, str] | None] | None = None
    more_roles: tuple[str, ...] = ()
    accepts: Callable[[pl.Series], bool] | None = None
    dtypes: tuple[pl.DataType, ...] = ()
    explain_detection: Callable[[pl.Series], str] | None = None
    accepts_table: Callable[[dict[str, pl.Series]], bool] | None = None
    fill_columns: Callable[[dict[str, Any]], tuple[tuple[str, ...], pl.DataFrame | None, bool]] | None = None
    may_lack: tuple[str, ...] = ()
    blank: str | None = None
    along: tuple[str, ...] = ()
    from_labels: bool = False

    def __post_init__(self) -> None:
        self.hooks.kind = self

    @property
    def display_name(self) -> str:
        """What messages call answers of this kind."""
        return self.hooks.display_name

    @property
    def how_to_build(self) -> str:
        """How to build votes from columns, for messages."""
        if self.constructor is None:
            return f"pass a table with the columns task, worker, {', '.join(self.columns)}"
        parameters = signature(self.constructor).parameters
        columns = [name for name, p in parameters.items() if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
        worker = ["worker=..."] if "worker" in parameters and "worker" not in columns else []
        return f"columns go through cw.{self.name}.{self.constructor.__name__}({', '.join(columns + worker)})"

    @property
    def roles(self) -> tuple[str, ...]:
        """Names of the answer's columns, those that parts may have included: value, value_*."""
        return (*self.columns, *self.more_roles)
