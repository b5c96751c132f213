"""What requests and answers look like; the OpenAPI document is made from it."""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from ..problems import Problem
from ..serialization import KEY, NAME, value_of

Name = Annotated[str, Field(min_length=1, max_length=NAME)]
Key = Annotated[str, Field(min_length=1, max_length=KEY)]
# What else is known of an answer: its cost, a stated confidence, the tokens of a model.
Real = Annotated[float, Field(allow_inf_nan=False)]
Fact = Annotated[str, Field(min_length=1, max_length=100)]
# What the databases hold of whole numbers.
Whole = Annotated[int, Field(ge=0, le=2**53)]


def _storable(value: Any) -> Any:
    """Refuse what no database, no JSON document or no number of the model can hold, before it is queued."""
    try:
        return value_of(value, "the value")
    except Problem as problem:
        raise ValueError(problem.detail) from problem


Value = Annotated[Any, AfterValidator(_storable)]


class Form(BaseModel):
    """Requests: nothing that is not known is taken, no text becomes a number."""

    model_config = ConfigDict(extra="forbid", strict=True)


def digest(form: Form) -> str:
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


class LabelIn(Form):
    """An answer; its form depends on the project's kind. Only an admin names the worker. `about`: cost, tokens, ..."""

    task: Name
    answer: Value
    lease: Whole | None = None
    client_ms: Annotated[int, Field(ge=0, le=86_400_000 * 30)] | None = None
    worker: Name | None = None
    about: Annotated[dict[Fact, Fact | Real | None], Field(max_length=16)] | None = None


class KeyedLabel(LabelIn):
    """An answer among many, with its own key."""

    key: Key


class BulkIn(Form):
    """Many answers."""

    labels: Annotated[list[KeyedLabel], Field(min_length=1, max_length=10_000)]


class TaskOut(BaseModel):
    """A task in the worker's hands."""

    id: str
    payload: dict[str, Any]
    lease: int
    expires_at: float


class StoppedOut(BaseModel):
    """Why there is no task; `final`: for nobody."""

    reason: str
    final: bool


class NextOut(BaseModel):
    """Tasks in the worker's hands."""

    tasks: list[TaskOut]
    stopped: StoppedOut | None
    progress: dict[str, Any]


class Receipt(BaseModel):
    """What became of an answer: counted, replaced (an earlier one of theirs), or surplus (kept, not counted)."""

    event: int
    task: str
    status: Literal["counted", "replaced", "surplus"]
    stopped: str | None
    next: NextOut | None = None


class BulkOut(BaseModel):
    """A receipt or a problem for each, in their order."""

    results: list[dict[str, Any]]


class SkipIn(Form):
    """A task that the worker does not want."""

    task: Name
    reason: Annotated[str, Field(max_length=500)] = ""
    worker: Name | None = None


class UndoIn(Form):
    """The task whose answer is taken back; without one, the last."""

    task: Name | None = None
    worker: Name | None = None


class TaskIn(Form):
    """A task: what it shows, and its truth where that is known."""

    id: Name
    payload: dict[str, Any]
    gold: Value = None


class TasksIn(Form):
    """Tasks."""

    tasks: Annotated[list[TaskIn], Field(min_length=1, max_length=10_000)]


class GoldIn(Form):
    """The truth of a task; null takes it back. `drawn` "random": the task was drawn at random among the labelled ones,
    so that its gold may calibrate confidence."""

    task: Name
    answer: Value
    drawn: Literal["chosen", "random"] = "chosen"


class ChecksIn(Form):
    """How many random tasks to put into the check queue."""

    n: Annotated[int, Field(ge=1, le=5_000)] = 60


class CheckIn(Form):
    """The true answer to a task of the check queue; null takes it back."""

    task: Name
    answer: Value


class WorkerIn(Form):
    """A worker: a person or a model, and what an answer of theirs costs."""

    name: Name
    kind: Literal["human", "model"] = "human"
    cost: Annotated[float, Field(gt=0, le=1e9)] | None = None


class PauseIn(Form):
    """Why a worker gets no more tasks."""

    reason: Annotated[str, Field(max_length=500)] = ""


class TokenIn(Form):
    """What a token may."""

    scope: Literal["annotate", "read", "check", "admin"] = "annotate"


class InviteIn(Form):
    """How many may use it, and for how many seconds."""

    uses: Annotated[int, Field(ge=1, le=10_000)] = 1
    expires_in: Annotated[float, Field(gt=0, le=90 * 86_400)] = 86_400


class ChangeIn(Form):
    """Settings that may be changed while the project runs; what is left out stays."""

    target: Annotated[float, Field(gt=0, le=1)] | None = None
    cap: Annotated[int, Field(ge=1, le=10_000)] | None = None
    budget: Annotated[float, Field(ge=0, le=1e12)] | None = None
    accuracy: Annotated[float, Field(gt=0, le=1)] | None = None
    paused: bool | None = None
    gold_rate: Annotated[float, Field(ge=0, le=1)] | None = None
    floor: Annotated[float, Field(ge=0, le=1)] | None = None
    guidelines: Annotated[str, Field(max_length=60_000)] | None = None
