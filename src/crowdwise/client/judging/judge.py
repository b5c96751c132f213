"""Judge: a model behind an endpoint that gives a verdict on a task, or the reason why there is none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ...core.errors import ParameterError
from ..problems import ServerProblem
from .endpoint import Endpoint, Prices, Reply
from .form import NoVerdict
from .pictures import Look, on_the_net
from .prompt import Brief

# The answers for a swapped pair in the names of the original one.
MIRROR = {"left": "right", "right": "left"}
OF_THE_TASK = (400, 413, 422)  # refusals caused by the task (too long, filtered), not by the key or the model
SHOWN = 200  # characters of unreadable output that are recorded


@dataclass(frozen=True)
class Verdict:
    """`answer` is None if there is none, for the reason `why`. `order`: ab as given, ba swapped, "" for the joint
    verdict of both orders."""

    answer: Any
    why: str = ""
    confidence: float | None = None
    order: str = ""
    cost: float = 0.0
    ms: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    raw: str = ""

    def about(self) -> dict[str, Any]:
        """The metadata of the answer, without missing values."""
        rest = {"confidence": self.confidence, "cost": round(self.cost, 9) or None, "latency_ms": self.ms,
                "tokens_in": self.tokens_in or None, "tokens_out": self.tokens_out or None,
                "order": self.order or None}  # fmt: skip
        return {name: value for name, value in rest.items() if value is not None}


@dataclass
class Judge:
    """`swap`: pairs are shown in both orders; `flip` is the joint verdict of two different ones: `tie` or `null`."""

    endpoint: Endpoint
    model: str
    brief: Brief
    prices: Prices = field(default_factory=Prices)
    settings: dict[str, Any] = field(default_factory=lambda: {"temperature": 0, "max_tokens": 512})
    swap: bool = False
    flip: str = "tie"
    look: Look = on_the_net  # how pictures of tasks are loaded

    def __post_init__(self) -> None:
        if self.flip not in ("tie", "null"):
            raise ParameterError(f"where both orders differ there can be a tie or null, got {self.flip!r}")
        if self.swap and self.brief.form.kind != "comparisons":
            raise ParameterError(f"only comparisons have two orders; this is a question of {self.brief.form.kind}")
        if self.swap and self.flip == "tie" and not self.brief.form.takes("tie"):
            raise ParameterError("this question knows no tie; say what two different verdicts make: --flip null")

    def verdicts(self, payload: Mapping[str, Any]) -> list[Verdict]:
        """One verdict, or with `swap` one for each order, in the names of the original order."""
        first = self._one(payload, self.orders[0])
        return [first, _unswapped(self._one(self.brief.swapped(payload), "ba"))] if self.swap else [first]

    @property
    def orders(self) -> tuple[str, ...]:
        """The orders in which a task is shown."""
        if self.brief.form.kind != "comparisons":
            return ("",)
        return ("ab", "ba") if self.swap else ("ab",)

    def join(self, verdicts: list[Verdict]) -> Verdict:
        """The joint verdict of both orders."""
        return joint_verdict(verdicts, self.flip)

    def _one(self, payload: Mapping[str, Any], order: str) -> Verdict:
        try:
            form, messages = self.brief.form.of(payload), self.brief.messages(payload, self.look)
        except NoVerdict as error:  # the task cannot be answered
            return Verdict(None, str(error), order=order)
        try:
            reply = self.endpoint.ask(self.model, messages, **self.settings)
        except ServerProblem as error:
            if error.status not in OF_THE_TASK:
                raise
            reply = Reply(None, f"the endpoint refuses this task ({error.status}, {error.detail or error.title})")
        answer, sure, why = None, None, reply.why
        if reply.text is not None:
            try:
                answer, sure = form.parse(reply.text)
            except NoVerdict as error:
                why = str(error)
        return self._verdict(reply, answer, sure, why, order)

    def _verdict(self, reply: Reply, answer: Any, sure: float | None, why: str, order: str) -> Verdict:
        raw = "" if answer is not None else " ".join((reply.text or "").split())[:SHOWN]
        cost = self.prices.of(reply.tokens_in, reply.tokens_out)
        return Verdict(
            answer, why, sure, order, cost, round(1000 * reply.seconds), reply.tokens_in, reply.tokens_out, raw
        )


def _unswapped(verdict: Verdict) -> Verdict:
    """A verdict on a swapped pair in the names of the original pair."""
    answer = MIRROR.get(verdict.answer, verdict.answer) if isinstance(verdict.answer, str) else verdict.answer
    return replace(verdict, answer=answer)


def joint_verdict(verdicts: list[Verdict], flip: str) -> Verdict:
    """The joint verdict of both orders: the common one, else a tie or none. If one is unreadable, so is the joint one,
    because a single order would be biased."""
    if len(verdicts) == 1:
        return verdicts[0]
    failed = next((verdict for verdict in verdicts if verdict.answer is None), None)
    answer, why, sure = None, "", None
    if failed is not None:
        why = f"{failed.why} (order {failed.order})"
    elif len({verdict.answer for verdict in verdicts}) == 1:
        answer = verdicts[0].answer
        confidences = [verdict.confidence for verdict in verdicts if verdict.confidence is not None]
        sure = sum(confidences) / len(confidences) if len(confidences) == len(verdicts) else None
    elif flip == "tie":
        answer = "tie"
    else:
        why = f"the order decides: {verdicts[0].answer} as given, {verdicts[1].answer} the other way round"
    total = [sum(getattr(verdict, name) for verdict in verdicts) for name in ("cost", "ms", "tokens_in", "tokens_out")]
    raw = failed.raw if failed is not None else ""
    return Verdict(answer, why, sure, "", total[0], int(total[1]), int(total[2]), int(total[3]), raw)
