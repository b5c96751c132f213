"""The log of a judge: one line per verdict, as `crowdwise judges` reads it. An interrupted log can be continued."""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from ...core.errors import DataError, unwritable
from .judge import Judge, Verdict

COLUMNS = ("verdict", "ranking", "spans")  # one of them is in every row, null without a verdict
Occasion = tuple[str, str, str, str]  # item, judge, prompt, order


class Log:
    """Appends to a file; `done` holds the verdicts of earlier runs."""

    def __init__(self, path: str | Path, *, force: bool = False) -> None:
        self.path, self.lock = Path(path), threading.Lock()
        self.done: set[Occasion] = set()
        try:
            if self.path.exists() and not force:
                self._continue()
            self.file = self.path.open("w" if force else "a", encoding="utf-8")
        except OSError as error:
            raise unwritable(path, error) from None

    def _continue(self) -> None:
        """Read the existing lines; an incomplete last line of an interrupted run is removed."""
        data = self.path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        for number, line in enumerate(whole.splitlines(), 1):
            self.done.add(_occasion(line, f"{self.path.name}, line {number}"))
        if len(whole) < len(data):
            with self.path.open("r+b") as file:
                file.truncate(len(whole))

    def has(self, item: str, judge: Judge) -> bool:
        """Whether all orders of this task were judged by this judge under this prompt."""
        return all((item, judge.model, judge.brief.mark, order) in self.done for order in judge.orders)

    def write(self, item: str, judge: Judge, verdicts: list[Verdict], refused: str = "") -> None:
        """Write the verdicts of a task, one line each; they are on disk when it returns."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        text = ""
        with self.lock:
            for verdict in verdicts:
                key = (item, judge.model, judge.brief.mark, verdict.order)
                if key not in self.done:
                    self.done.add(key)
                    text += json.dumps(row_of(item, judge, verdict, now, refused), ensure_ascii=False) + "\n"
            self.file.write(text)
            self.file.flush()

    def __enter__(self) -> Log:
        return self

    def __exit__(self, *gone: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.file.close()


def row_of(item: str, judge: Judge, verdict: Verdict, now: str, refused: str = "") -> dict[str, Any]:
    """A verdict as a row; a missing one is null, with its reason."""
    name, answer = column_of(judge.brief.form.kind, verdict.answer)
    row = {"item": item, "judge": judge.model, name: answer, **verdict.about(), "prompt": judge.brief.mark,
           "time": now, "reason": refused or verdict.why or None, "raw": verdict.raw or None}  # fmt: skip
    return {name: value for name, value in row.items() if value is not None or name in COLUMNS}


def column_of(kind: str, answer: Any) -> tuple[str, Any]:
    """The column and the value of an answer as the library reads them: sets as a|b, rankings and spans as lists."""
    if kind == "rankings":
        return "ranking", answer
    if kind == "spans":
        marks = [[span["start"], span["end"], span["label"]] for span in answer] if answer is not None else None
        return "spans", marks
    return "verdict", "|".join(answer) if isinstance(answer, list) else answer


def _occasion(line: bytes, at: str) -> Occasion:
    try:
        row = json.loads(line)
        return str(row["item"]), str(row["judge"]), str(row.get("prompt", "")), str(row.get("order", ""))
    except (ValueError, KeyError, TypeError):
        raise DataError(f"{at}: not a verdict of a judge; choose another file, or start over with --force") from None
