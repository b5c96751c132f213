"""Logs of LLM judges: one line per verdict, with item, judge and optionally score, order, prompt and version."""

from __future__ import annotations

from typing import Any

from ...core import kind as kinds
from ...core.errors import DataError
from ...core.options import ReadOptions
from ...core.vocabulary import quote
from ..json.stream import objects
from ..sources import Source
from .base import LIKELY, NO_ANSWER, SURE, FileHead, FormatMatch, ParsedFile, RowBuilder
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
# FastChat's grades of single answers: the judgment is a text, the grade is in `score`, -1 if it could not be parsed.
GRADED = {"question_id", "model", "judge", "judgment", "score"}


def sniff(head: FileHead) -> FormatMatch | None:
    """Match an item, a judge or model, and a verdict; or a comparison of two models."""
    for record in head.objects[:1]:
        if pair_fields(record):
            return FormatMatch(SURE, f"its records have {quote(pair_fields(record))}")
        if {"model_a", "model_b"} <= set(record):  # battles with a winner are comparisons, also by people
            return None
        fields = [next((n for n in names if n in record), None) for names in NAMES.values()]
        if all(fields) and fields[2] in NAMES["label"][:6] and fields[1] not in (None, "id"):
            return FormatMatch(LIKELY, f"its lines have {quote(fields)}")
    return None


def read(source: Source, where: str, options: ReadOptions) -> ParsedFile:
    """Read one row per verdict; the workers are models."""
    options.allow_columns(where, "task", "worker", "label")
    rows, chosen, several, pairs = RowBuilder(), dict[str, str](), False, False
    for at, record in objects(source, where):
        if not chosen and not options.columns and pair_fields(record):
            add_pair(rows, record, at)
            pairs = True
            continue
        if not chosen:
            chosen = _choose(record, options, where)
        several = _add(rows, record, chosen, options, at) or several
    if pairs and not chosen:
        return rows.finish(where, options, "winner", ("a task is a question and the two models that are compared",))
    if not chosen:
        raise DataError(f"{where} has no verdicts; is it the right file?")
    notes = tuple(f"{role} is read from {name!r}" for role, name in chosen.items())
    if several:
        notes += ("a task is an item and the model that is judged",)
    return rows.finish(where, options, chosen["label"], notes)


def _choose(record: dict[str, Any], options: ReadOptions, where: str) -> dict[str, str]:
    chosen = dict(options.columns)
    if options.question is not None:
        chosen.setdefault("label", options.question)
    answers = ("score",) if set(record) >= GRADED and options.question is None else _answers(options.expected_kind)
    for role, names in (NAMES | {"label": answers}).items():
        name = chosen.get(role) or next((candidate for candidate in names if candidate in record), None)
        if name is None or name not in record:
            raise DataError(
                f"{where} has no {name or role!r} for the {role}; it has {quote(list(record), 8)}; "
                f"name it: --columns {role}=NAME"
            )
        chosen[role] = name
    return chosen


def _answers(kind: str | None) -> tuple[str, ...]:
    """Return the fields that may hold the answer; for numbers a score is preferred to a verdict in words."""
    columns = [] if kind is None else [name for names in kinds.get(kind).columns.values() for name in names.split()]
    preferred = [name for name in columns if name in NAMES["label"]]
    return (*NAMES["label"],) if "label" in preferred else (*preferred, *NAMES["label"])


def _add(rows: RowBuilder, record: dict[str, Any], chosen: dict[str, str], options: ReadOptions, at: str) -> bool:
    """Add one verdict; return whether the record also names the judged model."""
    task = text(record.get(chosen["task"]), chosen["task"], at)
    judge = record.get(chosen["worker"])
    # MT-Bench writes the judge as [model, prompt].
    worker = (
        "/".join(texts(judge, chosen["worker"], at)) if isinstance(judge, list) else text(judge, chosen["worker"], at)
    )
    judged = (
        next((n for n in JUDGED if n in record and n != chosen["worker"]), None)
        if "task" not in options.columns
        else None
    )
    if judged is not None and task is not None:
        task = f"{task} / {text(record[judged], judged, at)}"
    graded = set(record) >= GRADED and chosen["label"] == "score"
    if graded and record.get("turn") not in (None, 1):
        task = f"{task} turn {record['turn']}"
    rows.mention(task)
    verdict = text(record.get(chosen["label"]), chosen["label"], at)
    if verdict is None or not verdict.strip() or (graded and verdict in ("-1", "-1.0")):
        rows.drop(NO_ANSWER, worker=worker)
        return judged is not None
    if worker:
        rows.sources[worker] = "model"
    score = next((record[name] for name in SCORES if name in record and name != chosen["label"]), None)
    time = next((record[name] for name in TIMES if name in record), None)
    confidence = from_logprob(record) if score is None else number(score)
    rows.add(task, worker, [verdict], confidence=confidence, time=moment(time), facts=facts(record, chosen.values()))
    return judged is not None
