"""An endpoint with the chat-completions protocol: requests with retries; tokens, cost and time."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...core.errors import ParameterError
from ..problems import problem
from ..retry import Retry, http

if TYPE_CHECKING:
    import httpx


@dataclass(frozen=True)
class Prices:
    """Prices of a million input and output tokens."""

    read: float = 0.0
    written: float = 0.0

    def of(self, tokens_in: int, tokens_out: int) -> float:
        """The cost of so many tokens."""
        return (tokens_in * self.read + tokens_out * self.written) / 1e6


@dataclass(frozen=True)
class Reply:
    """A response: the text, or None and the reason `why`; tokens, time and attempts."""

    text: str | None
    why: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    tries: int = 1
    model: str = ""


class Pace:
    """At most `rate` requests a second, over all threads; 0 for no limit."""

    def __init__(self, rate: float = 0.0, clock: Callable[[], float] = time.monotonic,
                 sleep: Callable[[float], None] = time.sleep) -> None:  # fmt: skip
        self.gap = 1 / rate if rate > 0 else 0.0
        self.clock, self.sleep = clock, sleep
        self.free, self.lock = clock(), threading.Lock()

    def wait(self) -> None:
        """Wait until the next request is allowed."""
        with self.lock:
            now = self.clock()
            turn = max(self.free, now)
            self.free = turn + self.gap
        if turn > now:
            self.sleep(turn - now)


@dataclass
class Endpoint:
    """An endpoint at `url`, without /chat/completions. Requests are idempotent, so lost responses are retried."""

    url: str
    key: str | None = field(default=None, repr=False)
    retry: Retry = field(default_factory=Retry)
    pace: Pace = field(default_factory=Pace)
    timeout: float = 120.0
    transport: Any = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not self.url.startswith(("http://", "https://")):
            raise ParameterError(f"{self.url!r} is no address of an endpoint; write it like http://127.0.0.1:8080/v1")
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        self.http: httpx.Client = http().Client(headers=headers, timeout=self.timeout, transport=self.transport)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ, **more: Any) -> Endpoint:
        """An endpoint at CROWDWISE_JUDGE_URL or OPENAI_BASE_URL, with OPENAI_API_KEY if set."""
        url = environment.get("CROWDWISE_JUDGE_URL") or environment.get("OPENAI_BASE_URL")
        if not url:
            raise ParameterError(
                "the endpoint of the judge is not set; set CROWDWISE_JUDGE_URL (or OPENAI_BASE_URL) to one with the "
                "chat-completions protocol, like http://127.0.0.1:8080/v1"
            )
        return cls(url, environment.get("OPENAI_API_KEY"), **more)

    def ask(self, model: str, messages: Sequence[Mapping[str, Any]], **settings: Any) -> Reply:
        """Send a request. Refusals and failed connections raise errors; an invalid response is a Reply without text."""
        body = {"model": model, "messages": list(messages), **settings}
        begun = time.monotonic()

        def once() -> httpx.Response:
            self.pace.wait()
            return self.http.post(f"{self.url.rstrip('/')}/chat/completions", json=body)

        answer, tries = self.retry.send(once, self.url, safe=True)
        took = time.monotonic() - begun
        if answer.status_code >= 300:
            raise problem(answer.status_code, answer.content, answer.reason_phrase)
        try:
            completion = answer.json()
        except ValueError:
            return Reply(None, "the endpoint's answer is no JSON", seconds=took, tries=tries)
        return reply_of(completion, took, tries)


def reply_of(body: Any, seconds: float, tries: int) -> Reply:
    """A chat completion as a Reply; missing parts give a reason, not an error."""
    if not isinstance(body, dict):
        return Reply(None, "the endpoint's answer is no JSON object", seconds=seconds, tries=tries)
    usage = body.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    spent = [_count(usage.get(name)) for name in ("prompt_tokens", "completion_tokens")]
    text, why = _text_of(body.get("choices"))
    return Reply(text, why, spent[0], spent[1], seconds, tries, str(body.get("model") or ""))


def _text_of(choices: Any) -> tuple[str | None, str]:
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    if not isinstance(first, dict) or not isinstance(message, dict):
        return None, "the endpoint's answer has no choices[0].message"
    if message.get("refusal"):
        return None, f"refused: {' '.join(str(message['refusal']).split())[:120]}"
    if first.get("finish_reason") == "content_filter":
        return None, "withheld by a content filter"
    if first.get("finish_reason") == "length":
        return None, "cut off before its end; raise --max-tokens"
    text = message.get("content")
    if not isinstance(text, str) or not text.strip():
        return None, "empty answer"
    return text, ""


def _count(value: Any) -> int:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) and value > 0 else 0
