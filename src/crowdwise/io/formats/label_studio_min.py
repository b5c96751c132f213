"""Label Studio's JSON_MIN export: one object an annotation."""

from __future__ import annotations

from ..json.stream import objects
from ..sources import Source
from .base import OF_TASKS, SURE, Ask, Found, Guess, Head, Rows
from .label_studio_flat import add, choose_question, finish, questions


def sniff(head: Head) -> Guess | None:
    """Objects with `annotation_id`, `annotator` and `lead_time`."""
    if head.objects and {"annotation_id", "annotator", "lead_time"} <= set(head.objects[0]):
        return Guess(SURE, "its objects have `annotation_id`, `annotator` and `lead_time`")
    return None


def read(source: Source, where: str, ask: Ask) -> Found:
    """Once for the questions, once for the answers."""
    ask.only(where, "task", *OF_TASKS)
    name = ask.columns.get("task", "id")
    certain, possible = questions((record for _, record in objects(source, where)), name)
    question, notes = choose_question(certain, possible, ask, where)
    rows = Rows()
    controls = {add(rows, record, question, name, at) for at, record in objects(source, where)}
    again = lambda: (r for _, r in objects(source, where))  # noqa: E731
    return finish(rows, where, ask, question, notes, again, certain, controls)
