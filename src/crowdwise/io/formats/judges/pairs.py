"""Pairs as judges compared them: FastChat's (both orders in a line), AlpacaEval's (a preference between 1 and 2)."""

from __future__ import annotations

from typing import Any

from ..base import NAN, NO_ANSWER, Rows
from ..cells import moment, number, text, texts
from .facts import facts

FASTCHAT = {"question_id", "model_1", "model_2", "g1_winner", "g2_winner", "judge"}
ALPACA = {"instruction", "generator_1", "generator_2", "annotator", "preference"}
# FastChat's names of the two games: the first shows model_1 first, the second model_2; winners name the model.
GAMES = {"g1_winner": "ab", "g2_winner": "ba"}
TIE = "tie"


def pair_fields(record: dict[str, Any]) -> list[str]:
    """The fields that tell a comparison of two models; none where it is another record."""
    return next((sorted(wanted) for wanted in (FASTCHAT, ALPACA) if wanted <= set(record)), [])


def add_pair(rows: Rows, record: dict[str, Any], at: str) -> None:
    """A row a verdict: a task is what was asked and the two models; the label names the option, never the place."""
    if set(record) >= FASTCHAT:
        _fastchat(rows, record, at)
    else:
        _alpaca(rows, record, at)


def _fastchat(rows: Rows, record: dict[str, Any], at: str) -> None:
    pair = [text(record[name], name, at) for name in ("question_id", "model_1", "model_2")]
    turn = record.get("turn")
    task = f"{pair[0]}{'' if turn in (None, 1) else f' turn {turn}'} / {pair[1]} vs {pair[2]}"
    judge = texts(record["judge"], "judge", at)
    if "m1_score" in record:  # both answers were graded alone, and who has more won: one verdict, seen in no order
        own = {"prompt": judge[1]} if len(judge) > 1 else {}
        said = text(record["g1_winner"], "g1_winner", at)
        _add(rows, task, judge[0] if judge else None, said, own, when=moment(record.get("tstamp")))
        return
    for game, order in GAMES.items():
        said = text(record[game], game, at)
        own = {"order": order} | ({"prompt": judge[1]} if len(judge) > 1 else {})
        _add(rows, task, judge[0] if judge else None, said, own, when=moment(record.get("tstamp")))


def _alpaca(rows: Rows, record: dict[str, Any], at: str) -> None:
    asked, first, second = (text(record[n], n, at) for n in ("instruction", "generator_1", "generator_2"))
    preference = number(record["preference"])
    said = TIE if preference == 0 else None  # 0 is how early versions wrote a draw
    if 1 <= preference <= 2:
        said = TIE if preference == 1.5 else "model_1" if preference < 1.5 else "model_2"
    sure = NAN if said in (None, TIE) or preference in (1, 2) else abs(preference - 1.5) + 0.5
    _add(rows, f"{asked} / {first} vs {second}", text(record["annotator"], "annotator", at), said, facts(record), sure)


def _add(
    rows: Rows,
    task: str,
    judge: str | None,
    said: str | None,
    own: dict[str, Any],
    sure: float = NAN,
    when: float = NAN,
) -> None:
    rows.mention(task)
    if judge:
        rows.sources[judge] = "model"
    if said not in ("model_1", "model_2", TIE):  # FastChat writes "error" where nothing could be parsed
        rows.drop(NO_ANSWER, who=judge)
        return
    rows.add(task, judge, [said], confidence=sure, time=when, kind="classes", facts=own)
