"""Logs of judges: generic lines, FastChat's pairs, AlpacaEval's annotations."""

from __future__ import annotations

import json

import pytest

import crowdwise as cw


def written(path, records, lines=True):
    text = "\n".join(json.dumps(r) for r in records) if lines else json.dumps(records)
    path.write_text(text, encoding="utf-8")
    return path


def test_a_line_may_say_its_occasion(tmp_path):
    records = [
        {"item": "q1", "judge": "g", "verdict": "A", "order": o, "protocol": p, "cost": 0.01, "logprob": -0.1}
        for o in ("ab", "ba")
        for p in ("plain", "rubric")
    ]
    votes = cw.read(written(tmp_path / "v.jsonl", records))
    assert len(votes) == 4
    assert set(votes.about_rows.columns) == {"prompt", "order", "cost"}
    assert votes.weight.tolist() == [0.25] * 4
    assert votes.confidence[0] == pytest.approx(0.9048, abs=1e-4)
    assert votes.about_workers.to_dicts() == [{"worker": "g", "source": "model"}]


def test_versions_of_a_judge_in_a_log(tmp_path):
    records = [{"item": "q1", "judge": "g", "verdict": "A", "version": v} for v in ("1", "2")]
    assert cw.read(written(tmp_path / "v.jsonl", records)).workers.to_list() == ["g@1", "g@2"]


def test_fastchat_pairs_have_both_orders_and_errors_are_unusable(tmp_path):
    base = {"question_id": 81, "model_1": "m1", "model_2": "m2", "turn": 1, "tstamp": 1.5}
    records = [
        base | {"judge": ["gpt-4", "pair-v2"], "g1_winner": "model_1", "g2_winner": "tie"},
        base | {"judge": ["gpt-4", "pair-v2"], "g1_winner": "error", "g2_winner": "model_2", "turn": 2},
    ]
    reading = cw.read_all(written(tmp_path / "pairs.jsonl", records))
    votes = reading.annotations
    assert reading.format == "llm_judge"
    assert votes.tasks.to_list() == ["81 / m1 vs m2", "81 turn 2 / m1 vs m2"]
    assert votes.about_rows["order"].to_list() == ["ab", "ba", "ba"]
    assert votes.ledger.dropped == {"no answer to the question": 1}
    assert votes.about_workers.to_dicts() == [{"worker": "gpt-4", "source": "model", "unusable": 1}]


def test_alpaca_eval_preferences(tmp_path):
    base = {"instruction": "Say hi", "output_1": "a", "output_2": "b", "generator_1": "ref", "generator_2": "new"}
    records = [
        base | {"annotator": "j1", "preference": 2.0},
        base | {"annotator": "j2", "preference": 1.2},
        base | {"annotator": "j3", "preference": 1.5},
        base | {"annotator": "j4", "preference": None},
    ]
    votes = cw.read(written(tmp_path / "annotations.json", records, lines=False))
    assert votes.to_frame()["label"].to_list() == ["model_2", "model_1", "tie"]
    assert votes.confidence[1] == pytest.approx(0.8)
    assert votes.ledger.rows_dropped == 1


def test_occasions_are_written_and_read_again(tmp_path):
    records = [{"item": "q", "judge": "g", "verdict": v, "order": o} for v, o in (("A", "ab"), ("B", "ba"))]
    reading = cw.read_all(written(tmp_path / "v.jsonl", records))
    from crowdwise.io.export.platforms import write_judgments

    write_judgments(reading, tmp_path / "again.jsonl")
    again = cw.read(tmp_path / "again.jsonl")
    assert again.about_rows["order"].to_list() == ["ab", "ba"]
