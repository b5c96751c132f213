"""Project: the requests of workers and leads as methods."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ..core.errors import unwritable
from .problems import problem
from .records import Batch, Receipt, Refused, Task
from .retry import Retry
from .stream import Event, events_of
from .transport import Transport, body_of, fresh_key, place_of


class Project:
    """A project on a server, with one token. `url` is that of the server (for its project `main`) or of the project."""

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        retry: Retry | None = None,
        timeout: float = 30.0,
        transport: Any = None,
    ) -> None:
        self.server, self.id = place_of(url)
        self.wire = Transport(self.server, token, retry=retry or Retry(), timeout=timeout, transport=transport)
        self.base = f"/projects/{self.id}"

    def close(self) -> None:
        """Close all connections."""
        self.wire.http.close()

    def __enter__(self) -> Project:
        return self

    def __exit__(self, *gone: object) -> None:
        self.close()

    # ---------------------------------------------------------------- for workers
    def about(self) -> dict[str, Any]:
        """Question, kind, classes, guidelines."""
        return dict(self.wire.json("GET", self.base))

    def next(self, n: int = 1) -> Batch:
        """Get the next tasks, which are then assigned to this worker."""
        return Batch.of(self.wire.json("GET", f"{self.base}/next", params={"n": n} if n != 1 else None))

    def answer(
        self,
        task: Task | str,
        answer: Any,
        *,
        ms: int | None = None,
        about: Mapping[str, Any] | None = None,
        worker: str | None = None,
        key: str | None = None,
        following: int = 0,
    ) -> Receipt:
        """Send an answer and return its receipt.

        Args:
            task: The task.
            answer: The answer.
            ms: Time taken in milliseconds.
            about: Metadata of the answer (cost, confidence).
            worker: The worker, with an admin's token.
            key: Idempotency key.
            following: Number of next tasks to return in `Receipt.next`.
        """
        body = label_of(task, answer, ms=ms, about=about, worker=worker)
        params = {"next": following} if following else None
        response = self.wire.send("POST", f"{self.base}/labels", body, key=key or fresh_key(), params=params)
        return Receipt.of(body_of(response, self.server), again=response.status_code == 200)

    def bulk(self, labels: Iterable[Mapping[str, Any]]) -> list[Receipt | Refused]:
        """Send many answers {"task", "answer", ...}, optionally with "worker" and "key"; a refused one gives `Refused`.

        Every answer has its own key, so that all may be sent again.
        """
        rows = [{"key": fresh_key(), **label} for label in labels]
        body = {"labels": rows}
        results = self.wire.json("POST", f"{self.base}/labels/bulk", body, safe=True)["results"]
        return [receipt_or_refusal(row, result) for row, result in zip(rows, results, strict=True)]

    def skip(self, task: Task | str, reason: str | None = None, *, key: str | None = None) -> dict[str, Any]:
        """Skip a task."""
        body = {"task": id_of(task)} | ({"reason": reason} if reason else {})
        return dict(self.wire.json("POST", f"{self.base}/skips", body, key=key or fresh_key()))

    def undo(self, task: Task | str | None = None, *, key: str | None = None) -> dict[str, Any]:
        """Undo the answer to a task, by default the last answer."""
        body = {} if task is None else {"task": id_of(task)}
        return dict(self.wire.json("POST", f"{self.base}/undo", body, key=key or fresh_key()))

    # ---------------------------------------------------------------- for leads
    def status(self) -> dict[str, Any]:
        """Counts, expected accuracy, the statement on label quality (`trust`), cost, forecast."""
        return dict(self.wire.json("GET", f"{self.base}/status"))

    def task(self, task: str) -> dict[str, Any]:
        """A task with its estimates and answers."""
        return dict(self.wire.json("GET", f"{self.base}/tasks/{quote(task, safe='')}"))

    def tasks(self, state: str | None = None, order: str = "given", page: int = 1000) -> Iterator[dict[str, Any]]:
        """All tasks with their estimates; `state`: open, sure, capped, ...; `order`: given or contested."""
        after: int | None = 0
        while after is not None:
            params = {"after": after, "limit": page, "order": order} | ({} if state is None else {"state": state})
            response = self.wire.json("GET", f"{self.base}/tasks", params=params)
            yield from response["tasks"]
            after = response.get("next")

    def add_tasks(self, tasks: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Add tasks {"id", "payload", ...}."""
        return dict(self.wire.json("POST", f"{self.base}/tasks", {"tasks": [dict(task) for task in tasks]}, safe=False))

    def gold(self, task: str, answer: Any, *, random: bool = False) -> dict[str, Any]:
        """Set the gold of a task. `random`: the task was drawn at random among the labelled ones, so that its gold may
        calibrate confidence."""
        body = {"task": task, "answer": answer} | ({"drawn": "random"} if random else {})
        return dict(self.wire.json("POST", f"{self.base}/gold", body, safe=True))

    def draw_checks(self, n: int = 60) -> dict[str, Any]:
        """Put n random labelled tasks into the check queue; return the numbers of tasks asked, checked and left."""
        return dict(self.wire.json("POST", f"{self.base}/checks", {"n": n}, safe=False))

    def checks(self) -> dict[str, Any]:
        """Numbers of tasks of the check queue: asked, checked and left."""
        return dict(self.wire.json("GET", f"{self.base}/checks"))

    def next_checks(self, n: int = 1) -> list[dict[str, Any]]:
        """The next tasks to check: {"id", "payload"}."""
        return list(self.wire.json("GET", f"{self.base}/checks/next", params={"n": n})["tasks"])

    def check(self, task: str, answer: Any) -> dict[str, Any]:
        """Set the true answer to a task of the check queue; None removes it."""
        body = {"task": task, "answer": answer}
        return dict(self.wire.json("POST", f"{self.base}/checks/labels", body, safe=True))

    def workers(self) -> list[dict[str, Any]]:
        """One row per worker."""
        body = self.wire.json("GET", f"{self.base}/workers")
        return list(body["workers"] if isinstance(body, dict) else body)

    def add_worker(self, name: str, kind: str = "human", cost: float | None = None) -> dict[str, Any]:
        """Add a worker; the response holds their token, which the server does not store."""
        body = {"name": name, "kind": kind} | ({} if cost is None else {"cost": cost})
        return dict(self.wire.json("POST", f"{self.base}/workers", body, safe=False))

    def worker(self, worker: str, act: str, **body: Any) -> dict[str, Any]:
        """Change a worker by `act`: pause (with a reason), resume, tokens (create another one), revoke."""
        at = f"{self.base}/workers/{quote(worker, safe='')}/{act}"
        return dict(self.wire.json("POST", at, body, safe=act != "tokens"))

    def invite(self, uses: int = 1, expires_in: int = 86400) -> str:
        """Create an invitation link."""
        body = {"uses": uses, "expires_in": expires_in}
        return str(self.wire.json("POST", f"{self.base}/invites", body, safe=False)["url"])

    def change(self, **settings: Any) -> dict[str, Any]:
        """Change settings such as target, cap, budget, paused."""
        return dict(self.wire.json("PATCH", self.base, settings, safe=True))

    def events(self) -> Iterator[Event]:
        """Stream of events."""
        with self.wire.stream(f"{self.base}/events", Accept="text/event-stream") as answer:
            yield from events_of(answer.iter_lines())

    def export(self, what: str, format: str = "csv", to: str | Path | None = None) -> bytes:
        """Export `events`, `labels`, `workers` or `votes` as csv, jsonl or parquet, optionally to a file."""
        data = self.wire.send("GET", f"{self.base}/export/{what}.{format}").content
        if to is not None:
            try:
                Path(to).write_bytes(data)
            except OSError as error:
                raise unwritable(to, error) from None
        return data

    def report(self) -> str:
        """The current HTML report."""
        return self.wire.send("GET", f"{self.base}/report").text

    def healthy(self) -> bool:
        """Whether the server is ready."""
        return self.wire.send("GET", "/healthz").status_code == 200


def id_of(task: Task | str) -> str:
    """A task's id."""
    return task.id if isinstance(task, Task) else task


def label_of(
    task: Task | str, answer: Any, *, ms: int | None, about: Mapping[str, Any] | None, worker: str | None
) -> dict[str, Any]:
    """The body of an answer, without missing values."""
    lease = task.lease if isinstance(task, Task) else None
    optional = {"lease": lease, "client_ms": ms, "about": dict(about) if about else None, "worker": worker}
    return {"task": id_of(task), "answer": answer} | {k: v for k, v in optional.items() if v is not None}


def receipt_or_refusal(row: Mapping[str, Any], result: dict[str, Any]) -> Receipt | Refused:
    """One result of a bulk request."""
    if "event" in result:
        return Receipt.of(result, again=result.get("status_code") == 200)
    return Refused(str(row["task"]), problem(int(result.get("status_code", 400)), json.dumps(result).encode()))
