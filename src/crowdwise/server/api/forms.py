"""Models of requests and responses, from which the OpenAPI document is generated."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from ..problems import Problem
from ..serialization import KEY, NAME, value_of

Name = Annotated[str, Field(min_length=1, max_length=NAME)]
Key = Annotated[str, Field(min_length=1, max_length=KEY)]
# Metadata of an answer: its cost, a stated confidence, the tokens of a model.
Real = Annotated[float, Field(allow_inf_nan=False)]
Fact = Annotated[str, Field(min_length=1, max_length=100)]
Note = Annotated[str, Field(max_length=2_000)]
# Integers that JSON and the databases can hold.
Whole = Annotated[int, Field(ge=0, le=2**53)]


def _storable(value: Any) -> Any:
    """Refuse values that cannot be stored, before they are queued."""
    try:
        return value_of(value, "the value")
    except Problem as problem:
        raise ValueError(problem.detail) from problem


Value = Annotated[Any, AfterValidator(_storable)]


class RequestForm(BaseModel):
    """Base class of requests: unknown fields are refused, and text is not converted to numbers."""

    model_config = ConfigDict(extra="forbid", strict=True)


def digest(form: RequestForm) -> str:
    """A hash that distinguishes two requests with the same key."""
    return hashlib.sha256(form.model_dump_json().encode()).hexdigest()[:32]


class ProblemOut(BaseModel):
    """RFC 9457."""

    type: str
    title: str
    status: int
    detail: str
    errors: list[dict[str, Any]] | None = None
    retry_after: int | None = None


class LabelIn(RequestForm):
    """An answer; its form depends on the project's kind. Only an admin may name the worker. `about` is metadata."""

    task: Name
    answer: Value
    lease: Whole | None = None
    client_ms: Annotated[int, Field(ge=0, le=86_400_000 * 30)] | None = None
    worker: Name | None = None
    about: Annotated[dict[Fact, Fact | Real | None], Field(max_length=16)] | None = None


class KeyedLabel(LabelIn):
    """An answer of a bulk request, with its own key."""

    key: Key


class BulkIn(RequestForm):
    """A bulk of answers."""

    labels: Annotated[list[KeyedLabel], Field(min_length=1, max_length=10_000)]


class TaskOut(BaseModel):
    """An assigned task; `note` is why a reviewer sent an earlier answer back."""

    id: str
    payload: dict[str, Any]
    lease: int
    expires_at: float
    note: str | None = None


class StoppedOut(BaseModel):
    """The reason why there is no task; with `final`, for all workers."""

    reason: str
    final: bool


class NextOut(BaseModel):
    """The assigned tasks of a worker."""

    tasks: list[TaskOut]
    stopped: StoppedOut | None
    progress: dict[str, Any]


class Receipt(BaseModel):
    """The status of an answer: counted, replaced (it replaces an earlier one), or surplus (stored, not counted)."""

    event: int
    task: str
    status: Literal["counted", "replaced", "surplus"]
    stopped: str | None
    next: NextOut | None = None


class BulkOut(BaseModel):
    """A receipt or a problem for each answer, in their order."""

    results: list[dict[str, Any]]


class SkipIn(RequestForm):
    """A task that the worker skips."""

    task: Name
    reason: Annotated[str, Field(max_length=500)] = ""
    worker: Name | None = None


class UndoIn(RequestForm):
    """The task whose answer is undone; by default that of the last answer."""

    task: Name | None = None
    worker: Name | None = None


class TaskIn(RequestForm):
    """A task: its payload, and optionally its gold."""

    id: Name
    payload: dict[str, Any]
    gold: Value = None


class TasksIn(RequestForm):
    """Tasks."""

    tasks: Annotated[list[TaskIn], Field(min_length=1, max_length=10_000)]


class GoldIn(RequestForm):
    """Gold of a task; null removes it. With `drawn` "random", the task was drawn at random among the labelled ones, so
    that its gold may calibrate confidence."""

    task: Name
    answer: Value
    drawn: Literal["chosen", "random"] = "chosen"


class ChecksIn(RequestForm):
    """Number of random tasks for the check queue."""

    n: Annotated[int, Field(ge=1, le=5_000)] = 60


class CheckIn(RequestForm):
    """The true answer to a task of the check queue; null removes it."""

    task: Name
    answer: Value


class ReviewIn(RequestForm):
    """A reviewer's decision on a task: its true answer; null withdraws the decision."""

    task: Name
    answer: Value
    note: Note = ""


class ReturnIn(RequestForm):
    """Answers that are sent back to their workers: those of the named ones, or all; the note says why."""

    task: Name
    note: Annotated[str, Field(min_length=1, max_length=2_000)]
    workers: Annotated[list[Name], Field(max_length=100)] | None = None


class ReportIn(RequestForm):
    """What is wrong with a task, by a worker to whom it was given."""

    task: Name
    text: Annotated[str, Field(min_length=1, max_length=2_000)]
    worker: Name | None = None


class CommentIn(RequestForm):
    """A comment on a task; `resolved` ends the workers' reports of it."""

    task: Name
    text: Note = ""
    resolved: bool = False


class ExcludeIn(RequestForm):
    """Whether a task is left out of fits and exports and given to nobody, and why."""

    task: Name
    excluded: bool = True
    reason: Note = ""


class MoreIn(RequestForm):
    """The number of further answers that a task gets, also when it is closed."""

    task: Name
    answers: Annotated[int, Field(ge=1, le=100)] = 1


class WorkerIn(RequestForm):
    """A worker: a person or a model, and the cost of an answer."""

    name: Name
    kind: Literal["human", "model"] = "human"
    cost: Annotated[float, Field(gt=0, le=1e9)] | None = None


class PauseIn(RequestForm):
    """The reason of a pause."""

    reason: Annotated[str, Field(max_length=500)] = ""


class InviteIn(RequestForm):
    """The number of uses of an invitation, and its validity in seconds."""

    uses: Annotated[int, Field(ge=1, le=10_000)] = 1
    expires_in: Annotated[float, Field(gt=0, le=90 * 86_400)] = 86_400


class ChangeIn(RequestForm):
    """Settings to change; omitted ones stay."""

    target: Annotated[float, Field(gt=0, le=1)] | None = None
    cap: Annotated[int, Field(ge=1, le=10_000)] | None = None
    budget: Annotated[float, Field(ge=0, le=1e12)] | None = None
    accuracy: Annotated[float, Field(gt=0, le=1)] | None = None
    paused: bool | None = None
    gold_rate: Annotated[float, Field(ge=0, le=1)] | None = None
    floor: Annotated[float, Field(ge=0, le=1)] | None = None
    guidelines: Annotated[str, Field(max_length=60_000)] | None = None
    reviewers: Annotated[int, Field(ge=1, le=2)] | None = None
    review_below: Annotated[float, Field(ge=0, le=1)] | None = None
    review_disagreement: Annotated[float, Field(ge=0, le=1)] | None = None
    review_flagged: bool | None = None
