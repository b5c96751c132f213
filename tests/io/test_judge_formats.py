"""Logs of judges: generic lines, FastChat's pairs, AlpacaEval's annotations."""

from __future__ import annotations

import json

import polars as pl
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


GRADE = {"question_id": 81, "model": "m1", "judge": ["gpt-4", "single-v1"], "user_prompt": "[Question] ...",
         "judgment": "Clear and correct. Rating: [[8]]", "score": 8, "turn": 1, "tstamp": 1.687e9}  # fmt: skip


def test_fastchat_grades_of_single_answers_are_numbers(tmp_path):
    """The judgment is the judge's prose; -1 is how a grade that could not be parsed is written."""
    lines = [GRADE, {**GRADE, "turn": 2, "score": 6.5}, {**GRADE, "model": "m2", "score": -1}]
    path = tmp_path / "gpt-4_single.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in lines), encoding="utf-8")
    votes = cw.read(path)
    assert votes.kind.name == "numbers"
    assert votes.tasks.to_list() == ["81 / m1", "81 / m1 turn 2", "81 / m2"]
    assert votes.answers.value.ravel().tolist() == [8.0, 6.5]
    assert sum(votes.ledger.dropped.values()) == 1


def test_fastchat_pairs_graded_alone_are_one_verdict(tmp_path):
    line = {"question_id": 81, "model_1": "m1", "model_2": "m2", "g1_winner": "model_2", "g2_winner": "model_2",
            "judge": ["gpt-4", "single-v1"], "m1_score": 5, "m2_score": 8, "tstamp": 1.687e9}  # fmt: skip
    path = tmp_path / "pair.jsonl"
    path.write_text(json.dumps(line) + "\n", encoding="utf-8")
    votes = cw.read(path)
    assert votes.to_frame()["label"].to_list() == ["model_2"]
    assert "order" not in votes.about_rows.columns


def test_a_draw_of_early_alpaca_eval_is_a_tie(tmp_path):
    line = {"instruction": "q", "generator_1": "a", "generator_2": "b", "annotator": "judge", "preference": 0}
    path = tmp_path / "annotations.json"
    path.write_text(json.dumps([line, {**line, "instruction": "r", "preference": 1}]), encoding="utf-8")
    assert cw.read(path).to_frame()["label"].to_list() == ["tie", "model_1"]


def test_battles_that_people_judged_are_comparisons(tmp_path):
    """MT-bench's human judgments: a question has several pairs, and who judges is a person."""
    line = {"question_id": 81, "model_a": "m1", "model_b": "m2", "winner": "model_b", "judge": "expert_1",
            "conversation_a": [{"role": "user", "content": "x"}], "conversation_b": [], "turn": 1}  # fmt: skip
    path = tmp_path / "human.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in (line, {**line, "model_b": "m3"})), encoding="utf-8")
    votes = cw.read(path)
    assert votes.kind.name == "comparisons"
    assert votes.n_tasks == 2
    assert votes.answers.items.to_list() == ["m1", "m2", "m3"]
    assert votes.about_workers is None


ARENA = "id,model_a,model_b,prompt,response_a,response_b,winner_model_a,winner_model_b,winner_tie\n"


def test_arenas_winner_in_three_columns(tmp_path):
    path = tmp_path / "train.csv"
    rows = ["1,m1,m2,p,x,y,1,0,0", "2,m2,m3,q,x,y,0,1,0", "3,m1,m3,r,x,y,0,0,1", "4,m1,m3,s,x,y,,,"]
    path.write_text(ARENA + "\n".join(rows) + "\n", encoding="utf-8")
    votes = cw.read(path)
    assert votes.kind.name == "comparisons"
    said = votes.to_frame().sort("left", "right")
    assert said.select("left", "right", "winner").rows() == [
        ("m1", "m2", "left"),
        ("m1", "m3", "tie"),
        ("m2", "m3", "right"),
    ]
    assert sum(votes.ledger.dropped.values()) == 1
    table = pl.read_csv(path)[:3]
    assert cw.method("bradley_terry").fit(table).to_table()["winner"].len() == 3
    path.write_text(ARENA + "1,m1,m2,p,x,y,0.4,0.4,0.2\n", encoding="utf-8")
    with pytest.raises(cw.DataError, match="one of these columns must be 1 and the others 0"):
        cw.read(path)
