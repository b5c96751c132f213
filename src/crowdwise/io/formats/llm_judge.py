"""Logs of LLM judges: one line per verdict, with item, judge and optionally score, order, prompt and version."""

from __future__ import annotations

from collections.abc import Iterable
from math import exp
from typing import Any

from ...core import kind as kinds
from ...core.errors import DataError
from ...core.options import ReadOptions
from ...core.vocabulary import quote
from ..detect_kind import columns_of_kind
from ..json.stream import objects
from ..sources import Source
from .base import LIKELY, NAN, NO_ANSWER, SURE, FileHead, FormatMatch, ParsedFile, RowBuilder
from .cells import moment, number, text, texts

NAMES = {
    "task": ("item", "item_id", "task", "task_id", "example_id", "prompt_id", "question_id", "sample_id", "id"),
    "worker": ("judge", "judge_model", "judge_id", "grader", "evaluator", "model", "model_name"),
    "label": ("verdict", "judgment", "judgement", "winner", "decision", "grade", "label", "rating", "score"),
}
SCORES = ("score", "confidence", "probability")
TIMES = ("time", "timestamp", "tstamp", "created_at")
JUDGED = ("model", "model_name")
# Facts about a verdict: our column and the fields that may hold it.
FACTS = {
    "repeat": ("repeat", "repetition", "run", "trial", "sample", "seed"),
    "prompt": ("prompt_name", "prompt_version", "template", "protocol", "prompt"),
    "order": ("order", "presentation_order"),
    "version": ("version", "model_version", "judge_version"),
    "cost": ("cost", "price", "price_per_example"),
}
# FastChat's grades of single answers: the judgment is a text, the grade is in `score`, -1 if it could not be parsed.
GRADED = {"question_id", "model", "judge", "judgment", "score"}
# Pairwise verdicts: FastChat writes both orders in a line, AlpacaEval a preference between 1 and 2.
FASTCHAT = {"question_id", "model_1", "model_2", "g1_winner", "g2_winner", "judge"}
ALPACA = {"instruction", "generator_1", "generator_2", "annotator", "preference"}
# FastChat's two games: the first shows model_1 first, the second model_2; winners name the model.
GAMES = {"g1_winner": "ab", "g2_winner": "ba"}
TIE = "tie"


def sniff(head: FileHead) -> FormatMatch | None:
    """Match an item, a judge or model, and a verdict; or a comparison of two models."""
    for record in head.objects[:1]:
        if _pair_fields(record):
            return FormatMatch(SURE, f"its records have {quote(_pair_fields(record))}")
        if columns_of_kind(kinds.get("comparisons"), list(record)):  # battles with a winner, also by people
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
        if not chosen and not options.columns and _pair_fields(record):
            _add_pair(rows, record, at)
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
    score = next((record[name] for name in SCORES if name in record and name != chosen["label"]), None)
    time = next((record[name] for name in TIMES if name in record), None)
    confidence = _from_logprob(record) if score is None else number(score)
    facts = _facts(record, chosen.values())
    rows.add(task, worker, [verdict], confidence=confidence, time=moment(time), facts=facts, source="model")
    return judged is not None


def _facts(record: dict[str, Any], taken: Iterable[str] = ()) -> dict[str, Any]:
    """Return repeat, prompt, order, version and cost; fields in `taken` have another role."""
    out: dict[str, Any] = {}
    for role, names in FACTS.items():
        value = next((record[n] for n in names if n in record and n not in taken), None)
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            out[role] = number(value) if role == "cost" else str(value)
    return out


def _from_logprob(record: dict[str, Any]) -> float:
    """Return the probability of the label's token, if its logarithm is given."""
    value = number(record.get("logprob"))
    return exp(value) if value <= 0 else NAN


def _pair_fields(record: dict[str, Any]) -> list[str]:
    """Return the fields that mark a comparison of two models; empty for other records."""
    return next((sorted(fields) for fields in (FASTCHAT, ALPACA) if fields <= set(record)), [])


def _add_pair(rows: RowBuilder, record: dict[str, Any], at: str) -> None:
    """Add one row per verdict. The task is the question and the two models; the label names a model, not a position."""
    if set(record) >= FASTCHAT:
        _fastchat(rows, record, at)
    else:
        _alpaca(rows, record, at)


def _fastchat(rows: RowBuilder, record: dict[str, Any], at: str) -> None:
    pair = [text(record[name], name, at) for name in ("question_id", "model_1", "model_2")]
    turn = record.get("turn")
    task = f"{pair[0]}{'' if turn in (None, 1) else f' turn {turn}'} / {pair[1]} vs {pair[2]}"
    judge = texts(record["judge"], "judge", at)
    if "m1_score" in record:  # both answers were graded alone: one verdict without an order
        row_facts = {"prompt": judge[1]} if len(judge) > 1 else {}
        verdict = text(record["g1_winner"], "g1_winner", at)
        _add_verdict(rows, task, judge[0] if judge else None, verdict, row_facts, time=moment(record.get("tstamp")))
        return
    for game, order in GAMES.items():
        verdict = text(record[game], game, at)
        row_facts = {"order": order} | ({"prompt": judge[1]} if len(judge) > 1 else {})
        _add_verdict(rows, task, judge[0] if judge else None, verdict, row_facts, time=moment(record.get("tstamp")))


def _alpaca(rows: RowBuilder, record: dict[str, Any], at: str) -> None:
    instruction, first, second = (text(record[n], n, at) for n in ("instruction", "generator_1", "generator_2"))
    preference = number(record["preference"])
    verdict = TIE if preference == 0 else None  # early versions wrote a draw as 0
    if 1 <= preference <= 2:
        verdict = TIE if preference == 1.5 else "model_1" if preference < 1.5 else "model_2"
    confidence = NAN if verdict in (None, TIE) or preference in (1, 2) else abs(preference - 1.5) + 0.5
    _add_verdict(
        rows,
        f"{instruction} / {first} vs {second}",
        text(record["annotator"], "annotator", at),
        verdict,
        _facts(record),
        confidence,
    )


def _add_verdict(
    rows: RowBuilder,
    task: str,
    judge: str | None,
    verdict: str | None,
    row_facts: dict[str, Any],
    confidence: float = NAN,
    time: float = NAN,
) -> None:
    rows.mention(task)
    if judge:
        rows.sources[judge] = "model"
    if verdict not in ("model_1", "model_2", TIE):  # FastChat writes "error" if nothing could be parsed
        rows.drop(NO_ANSWER, worker=judge)
        return
    rows.add(task, judge, [verdict], confidence=confidence, time=time, kind="classes", facts=row_facts)
