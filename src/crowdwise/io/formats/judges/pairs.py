"""Pairwise verdicts of judges: FastChat (both orders in a line) and AlpacaEval (a preference between 1 and 2)."""

from __future__ import annotations

from typing import Any

from ..base import NAN, NO_ANSWER, RowBuilder
from ..cells import moment, number, text, texts
from .facts import facts

FASTCHAT = {"question_id", "model_1", "model_2", "g1_winner", "g2_winner", "judge"}
ALPACA = {"instruction", "generator_1", "generator_2", "annotator", "preference"}
# FastChat's two games: the first shows model_1 first, the second model_2; winners name the model.
GAMES = {"g1_winner": "ab", "g2_winner": "ba"}
TIE = "tie"


def pair_fields(record: dict[str, Any]) -> list[str]:
    """Return the fields that mark a comparison of two models; empty for other records."""
    return next((sorted(fields) for fields in (FASTCHAT, ALPACA) if fields <= set(record)), [])


def add_pair(rows: RowBuilder, record: dict[str, Any], at: str) -> None:
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
        _add(rows, task, judge[0] if judge else None, verdict, row_facts, time=moment(record.get("tstamp")))
        return
    for game, order in GAMES.items():
        verdict = text(record[game], game, at)
        row_facts = {"order": order} | ({"prompt": judge[1]} if len(judge) > 1 else {})
        _add(rows, task, judge[0] if judge else None, verdict, row_facts, time=moment(record.get("tstamp")))


def _alpaca(rows: RowBuilder, record: dict[str, Any], at: str) -> None:
    instruction, first, second = (text(record[n], n, at) for n in ("instruction", "generator_1", "generator_2"))
    preference = number(record["preference"])
    verdict = TIE if preference == 0 else None  # early versions wrote a draw as 0
    if 1 <= preference <= 2:
        verdict = TIE if preference == 1.5 else "model_1" if preference < 1.5 else "model_2"
    confidence = NAN if verdict in (None, TIE) or preference in (1, 2) else abs(preference - 1.5) + 0.5
    _add(
        rows,
        f"{instruction} / {first} vs {second}",
        text(record["annotator"], "annotator", at),
        verdict,
        facts(record),
        confidence,
    )


def _add(
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
