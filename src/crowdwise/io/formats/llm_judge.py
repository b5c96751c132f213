"""Logs of LLM judges: a line a verdict, with the item, the judge and perhaps a score, an order, a prompt, a version."""

from __future__ import annotations

from typing import Any

from ...core import kind as kinds
from ...core.errors import DataError
from ...core.vocabulary import quote
from ..json.stream import objects
from ..sources import Source
from .base import LIKELY, NO_ANSWER, SURE, Ask, Found, Guess, Head, Rows
from .cells import moment, number, text, texts
from .judges.facts import facts, from_logprob
from .judges.pairs import add_pair, pair_fields

NAMES = {
    "task": ("item", "item_id", "task", "task_id", "example_id", "prompt_id", "question_id", "sample_id", "id"),
    "worker": ("judge", "judge_model", "judge_id", "grader", "evaluator", "model", "model_name"),
    "label": ("verdict", "judgment", "judgement", "winner", "decision", "grade", "label", "rating", "score"),
}
SCORES = ("score", "confidence", "probability")
TIMES = ("time", "timestamp", "tstamp", "created_at")
JUDGED = ("model", "model_name")
# FastChat's grades of single answers: the judgment is a text, the grade stands in score, -1 where none could be read.
GRADED = {"question_id", "model", "judge", "judgment", "score"}


def sniff(head: Head) -> Guess | None:
    """An item, a judge or model, and a verdict; or two models that are compared."""
    for each in head.objects[:1]:
        if pair_fields(each):
            return Guess(SURE, f"its records have {quote(pair_fields(each))}")
        if {"model_a", "model_b"} <= set(each):  # battles with a winner are comparisons, and people judge them too
            return None
        found = [next((n for n in names if n in each), None) for names in NAMES.values()]
        if all(found) and found[2] in NAMES["label"][:6] and found[1] not in (None, "id"):
            return Guess(LIKELY, f"its lines have {quote(found)}")
    return None


def read(source: Source, where: str, ask: Ask) -> Found:
    """One row a verdict; who judges is a model."""
    ask.only(where, "task", "worker", "label")
    rows, chosen, several, pairs = Rows(), dict[str, str](), False, False
    for at, record in objects(source, where):
        if not chosen and not ask.columns and pair_fields(record):
            add_pair(rows, record, at)
            pairs = True
            continue
        if not chosen:
            chosen = _choose(record, ask, where)
        several = _add(rows, record, chosen, ask, at) or several
    if pairs and not chosen:
        return rows.found(where, ask, "winner", ("a task is a question and the two models that are compared",))
    if not chosen:
        raise DataError(f"{where} has no verdicts; is it the right file?")
    notes = tuple(f"{role} is read from {name!r}" for role, name in chosen.items())
    if several:
        notes += ("a task is an item and the model that is judged",)
    return rows.found(where, ask, chosen["label"], notes)


def _choose(record: dict[str, Any], ask: Ask, where: str) -> dict[str, str]:
    chosen = dict(ask.columns)
    if ask.question is not None:
        chosen.setdefault("label", ask.question)
    answers = ("score",) if set(record) >= GRADED and ask.question is None else _answers(ask.kind)
    for role, names in (NAMES | {"label": answers}).items():
        name = chosen.get(role) or next((each for each in names if each in record), None)
        if name is None or name not in record:
            raise DataError(
                f"{where} has no {name or role!r} for the {role}; it has {quote(list(record), 8)}; "
                f"name it: --columns {role}=NAME"
            )
        chosen[role] = name
    return chosen


def _answers(kind: str | None) -> tuple[str, ...]:
    """Where the answer stands; a verdict may come with words and a score, and who asks for numbers means the score."""
    own = [] if kind is None else [name for names in kinds.get(kind).columns.values() for name in names.split()]
    asked = [name for name in own if name in NAMES["label"]]
    return (*NAMES["label"],) if "label" in asked else (*asked, *NAMES["label"])


def _add(rows: Rows, record: dict[str, Any], chosen: dict[str, str], ask: Ask, at: str) -> bool:
    """One verdict; whether the record also names a model that is judged."""
    task = text(record.get(chosen["task"]), chosen["task"], at)
    who = record.get(chosen["worker"])
    # MT-Bench writes the judge as [model, prompt].
    worker = "/".join(texts(who, chosen["worker"], at)) if isinstance(who, list) else text(who, chosen["worker"], at)
    judged = (
        next((n for n in JUDGED if n in record and n != chosen["worker"]), None) if "task" not in ask.columns else None
    )
    if judged is not None and task is not None:
        task = f"{task} / {text(record[judged], judged, at)}"
    graded = set(record) >= GRADED and chosen["label"] == "score"
    if graded and record.get("turn") not in (None, 1):
        task = f"{task} turn {record['turn']}"
    rows.mention(task)
    said = text(record.get(chosen["label"]), chosen["label"], at)
    if said is None or not said.strip() or (graded and said in ("-1", "-1.0")):
        rows.drop(NO_ANSWER, who=worker)
        return judged is not None
    if worker:
        rows.sources[worker] = "model"
    score = next((record[name] for name in SCORES if name in record and name != chosen["label"]), None)
    when = next((record[name] for name in TIMES if name in record), None)
    sure = from_logprob(record) if score is None else number(score)
    rows.add(task, worker, [said], confidence=sure, time=moment(when), facts=facts(record, chosen.values()))
    return judged is not None
