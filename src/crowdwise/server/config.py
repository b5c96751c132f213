"""Config: the settings of a project, such as its question, classes, policy and stopping rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from ..active.records import Settings
from ..active.rules import POLICIES
from ..active.stopping import Stopping
from ..core.errors import CrowdwiseError, ParameterError
from ..core.registry import FORMER_KINDS
from .problems import Problem
from .serialization import LINE, TEXT, name_of, text_of

KINDS = ("classes", "ordered", "sets", "numbers", "comparisons", "similarities", "rankings", "spans")
# Kinds whose answers are one of a few classes: the online model is updated, and a task may stop as sure.
SURE_KINDS = ("classes", "ordered")
# Kinds whose answers are right or wrong as a whole: a task may stop as sure once checked tasks have measured accuracy.
WHOLE_KINDS = ("sets", "comparisons")
NEED_CLASSES = ("classes", "ordered", "sets", "spans")
MOST_CLASSES = 200
# What may be changed while the project runs.
CHANGEABLE = ("target", "cap", "budget", "accuracy", "paused", "gold_rate", "floor", "guidelines", "reviewers",
              "review_below", "review_disagreement", "review_flagged")  # fmt: skip


@dataclass(frozen=True)
class Config:
    """Settings of a project. `lease` is in seconds; with `refit_minutes` 0, refits depend on the growth of the answers
    only. A closed task goes to review if its confidence is below `review_below`, if at least the share
    `review_disagreement` of its answers differ from the commonest one, or with `review_flagged` if a flagged worker
    answered it; `reviewers` is the number of agreeing decisions that make gold. The others are those of
    `active.Settings` and `active.Stopping`."""

    question: str
    kind: str = "classes"
    classes: tuple[str, ...] = ()
    guidelines: str = ""
    policy: str = "information"
    target: float = 0.95
    cap: int | None = 7
    budget: float | None = None
    accuracy: float | None = None
    explore: float = 0.05
    load: int | None = None
    gold_rate: float = 0.0
    qualify: int = 0
    floor: float = 0.0
    cost: float = 1.0
    lease: float = 900.0
    low: float | None = None
    high: float | None = None
    method: str = ""
    refit_minutes: float = 10.0
    seed: int = 0
    paused: bool = False
    reviewers: int = 1
    review_below: float = 0.9
    review_disagreement: float = 0.4
    review_flagged: bool = False

    def __post_init__(self) -> None:
        text_of(self.question, "the question", LINE)
        text_of(self.guidelines, "the guidelines", TEXT)
        if self.kind not in KINDS:
            raise ParameterError(f"kind must be one of {', '.join(KINDS)}, got {self.kind!r}")
        _check_classes(self.kind, self.classes)
        if self.policy not in POLICIES:
            raise ParameterError(f"policy must be one of {', '.join(POLICIES)}, got {self.policy!r}")
        if not 1 <= self.lease <= 30 * 86_400:
            raise ParameterError(f"lease must be between 1 second and 30 days, got {self.lease:g}")
        if self.low is not None and self.high is not None and not self.low < self.high:
            raise ParameterError(f"low must be below high, got {self.low:g} and {self.high:g}")
        if self.kind not in SURE_KINDS and self.cap is None:
            raise ParameterError(f"a project of kind {self.kind} stops by its cap; give one")
        if self.reviewers not in (1, 2):
            raise ParameterError(f"reviewers must be 1 or 2, got {self.reviewers!r}")
        for name in ("review_below", "review_disagreement"):
            if not 0 <= getattr(self, name) <= 1:
                raise ParameterError(f"{name} must be between 0 and 1, got {getattr(self, name)!r}")
        _ = self.stopping, self.settings

    @property
    def sure(self) -> bool:
        """Whether the project has an online model."""
        return self.kind in SURE_KINDS

    @property
    def stops_sure(self) -> bool:
        """Whether tasks may stop as sure, and the project at its target accuracy."""
        return self.kind in SURE_KINDS + WHOLE_KINDS

    @property
    def n_classes(self) -> int:
        """Number of classes of the online model; for other kinds 1, so that it only counts answers."""
        return len(self.classes) if self.sure else 1

    @property
    def stopping(self) -> Stopping:
        """The stopping rule."""
        if self.stops_sure:
            return Stopping(target=self.target, cap=self.cap, budget=self.budget, accuracy=self.accuracy)
        return Stopping(target=1.0, fewest=10**9, cap=self.cap, budget=self.budget)

    @property
    def settings(self) -> Settings:
        """The settings of the session; sweeps and pauses by the floor are done by the server."""
        floor = self.floor if self.sure else 0.0
        return Settings(explore=self.explore, load=self.load, gold_rate=self.gold_rate, qualify=self.qualify,
                        floor=floor, cost=self.cost, seed=self.seed, sweep_at=0.0)  # fmt: skip

    @property
    def asks_by(self) -> str:
        """The policy; kinds without an online model distribute the answers evenly."""
        return self.policy if self.sure else "round_robin"

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self) | {"classes": list(self.classes)}

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Config:
        """From a mapping; unknown names are refused."""
        names = {field.name for field in fields(cls)}
        if given.get("kind") in FORMER_KINDS:  # a project that was stored under the former name
            given = {**given, "kind": FORMER_KINDS[given["kind"]]}
        for name in given:
            if name not in names:
                raise ParameterError(f"a project has no setting {name!r}; there are {', '.join(sorted(names))}")
        try:
            return cls(**{**given, "classes": tuple(given.get("classes", ()))})
        except TypeError as error:
            raise ParameterError(f"a setting has a value of the wrong kind ({error})") from error

    def refuse_unused(self) -> None:
        """Raise an error for a setting that this kind cannot use. Existing projects with it remain valid."""
        if self.accuracy is not None and not self.stops_sure:
            raise ParameterError(
                f"accuracy does not stop a project of kind {self.kind}: its answers are not right or wrong as a whole; "
                "it stops by cap and budget"
            )

    def changed(self, given: Mapping[str, Any]) -> Config:
        """A copy with some settings changed; a Problem if they are invalid."""
        for name in given:
            if name not in CHANGEABLE:
                raise Problem(422, f"{name} cannot be changed; {', '.join(CHANGEABLE)} can")
        try:
            return replace(self, **given)
        except CrowdwiseError as error:
            raise Problem(422, str(error)) from error


def _check_classes(kind: str, classes: tuple[str, ...]) -> None:
    if kind not in NEED_CLASSES:
        if classes:
            raise ParameterError(f"a project of kind {kind} has no classes; leave them out")
        return
    for name in classes:
        name_of(name, "a class")
    least = 2 if kind in SURE_KINDS else 1
    if not least <= len(classes) <= MOST_CLASSES:
        raise ParameterError(f"a project of kind {kind} needs {least} to {MOST_CLASSES} classes, got {len(classes)}")
    if len(set(classes)) != len(classes):
        raise ParameterError("a class is named twice")
