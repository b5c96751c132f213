"""Verdicts of judges on two systems, as tools write them, and their translation to systems."""

import json
from collections import defaultdict

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from crowdwise.core.errors import DataError, ParameterError
from crowdwise.kinds.comparisons.systems import as_systems
from crowdwise.workers.studied import study as study_workers

X, Y = "aurora", "borealis"
JUDGES = ("gpt", "claude", "local")


def panel(n=40, seed=0):
    """Verdicts as (prompt, judge, system shown first, winner), each prompt in both orders."""
    rng = np.random.default_rng(seed)
    return [
        (f"p{i:02}", judge, first, str(rng.choice([X, Y, "tie"], p=[0.5, 0.3, 0.2])))
        for i in range(n) for judge in JUDGES for first in (X, Y)
    ]  # fmt: skip


def other(system):
    return Y if system == X else X


def side(winner, left, names=("A", "B", "tie")):
    return names[2] if winner == "tie" else names[0] if winner == left else names[1]


def exchanged(prompt, judge, first, winner):
    return {"prompt_id": prompt, "judge": judge, "model_a": first, "model_b": other(first),
            "verdict": side(winner, first)}  # fmt: skip


def with_order(prompt, judge, first, winner):
    return {"prompt_id": prompt, "judge_model": judge, "model_a": X, "model_b": Y, "winner": side(winner, X),
            "order": "ab" if first == X else "ba"}  # fmt: skip


def with_flag(prompt, judge, first, winner):
    return {"question_id": prompt, "question": "What is it?", "evaluator": judge, "system_a": X, "system_b": Y,
            "winner": winner, "swapped": first == Y}  # fmt: skip


def with_reasons(prompt, judge, first, winner):
    places = {"A": "Assistant A is better. [[A]]", "B": "Assistant B is better. [[B]]", "tie": "Both are fine."}
    word = side(winner, first)
    return {"prompt_id": prompt, "model": judge, "judge_prompt": "v2", "model_a": first, "model_b": other(first),
            "winner": f"[[{'C' if word == 'tie' else word}]]", "judgment": places[word],
            "usage": {"tokens": 12}}  # fmt: skip


def as_arena(prompt, judge, first, winner):
    return {"prompt_id": prompt, "judge": judge, "model_a": first, "model_b": other(first),
            "winner": side(winner, first, ("model_a", "model_b", "tie (bothbad)")), "prompt": f"Text of {prompt}",
            "presentation_order": "original" if first == X else "swapped"}  # fmt: skip


def written(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def verdicts_of(annotations):
    frame = annotations.to_frame()
    return sorted(zip(frame["task"], frame["worker"], frame["order"], frame["label"], strict=True))


@pytest.mark.parametrize("form", [exchanged, with_order, with_flag, with_reasons, as_arena])
def test_every_form_gives_the_same_verdicts(tmp_path, form):
    rows = panel()
    votes = cw.read(written(tmp_path / "verdicts.jsonl", [form(*row) for row in rows]))
    annotations, _ = as_systems(votes)
    assert verdicts_of(annotations) == sorted(rows)
    assert annotations.classes.to_list() == [X, Y, "tie"]
    assert annotations.weight is not None
    assert np.allclose(annotations.weight, 0.5)


def test_copies_of_one_order_still_contradict(tmp_path):
    rows = [("p0", "gpt", X, X), ("p0", "gpt", X, Y)]
    with pytest.raises(DataError, match="contradictory"):
        cw.read(written(tmp_path / "verdicts.jsonl", [exchanged(*row) for row in rows]))


def test_verdicts_without_a_winner_are_counted(tmp_path):
    records = [exchanged(*row) for row in panel()]
    records[0]["verdict"], records[1]["verdict"], records[2]["verdict"] = "error", None, "ERROR"
    votes = cw.read(written(tmp_path / "verdicts.jsonl", records))
    assert len(votes) == len(records) - 3
    unusable = dict(votes.about_workers.select("worker", "unusable").iter_rows())
    assert sum(count or 0 for count in unusable.values()) == 3


def test_answers_that_follow_the_place_are_noted(tmp_path):
    rows = [(f"p{i}", "gpt", first, first) for i in range(30) for first in (X, Y)]
    votes = cw.read(written(tmp_path / "verdicts.jsonl", [with_order(*row) for row in rows]))
    assert any("100% of the answers name the other item" in note for note in votes.ledger.notes)
    steady = [(f"p{i}", "gpt", first, X) for i in range(30) for first in (X, Y)]
    votes = cw.read(written(tmp_path / "verdicts.jsonl", [with_order(*row) for row in steady]))
    assert not any("name the other item" in note for note in votes.ledger.notes)


def test_gold_names_systems_or_sides():
    left, right = [X] * 12, [Y] * 12
    tasks = [f"p{i:02}" for i in range(12)]
    votes = cw.comparisons.comparison_votes(left, right, ["left", "right", "tie"] * 4, task=tasks, worker=["gpt"] * 12)
    for labels in (["A", "B", "tie"] * 4, ["Aurora", "borealis", "both"] * 4, ["left", "right", "equal"] * 4):
        _, gold = as_systems(votes, dict(zip(tasks, labels, strict=True)))
        assert gold["label"].to_list() == [X, Y, "tie"] * 4
    with pytest.raises(DataError, match="neither one of the two systems"):
        as_systems(votes, {"p00": "zephyr"})


def test_a_side_in_the_gold_is_unclear_where_both_orders_were_shown(tmp_path):
    votes = cw.read(written(tmp_path / "verdicts.jsonl", [exchanged(*row) for row in panel()]))
    with pytest.raises(DataError, match="both orders"):
        as_systems(votes, {"p00": "A"})
    assert as_systems(votes, {"p00": "tie"})[1]["label"].to_list() == ["tie"]


def test_two_of_several_systems(tmp_path):
    records = [
        {"prompt_id": f"p{i}", "judge": "gpt", "model_a": a, "model_b": b, "winner": a}
        for i in range(5) for a, b in ((X, Y), (Y, "zephyr"), (X, "zephyr"))
    ]  # fmt: skip
    votes = cw.read(written(tmp_path / "verdicts.jsonl", records))
    with pytest.raises(DataError, match="3 systems"):
        as_systems(votes)
    with pytest.raises(ParameterError, match="boreal"):
        as_systems(votes, systems=[X, "boreal"])
    annotations, gold = as_systems(votes, {"p1": Y}, systems=[Y, "zephyr"])
    assert annotations.tasks.to_list() == [f"p{i}" for i in range(5)]
    assert gold["label"].to_list() == [Y]
    assert annotations.to_frame()["label"].to_list() == [Y] * 5


def test_estimates_are_those_of_the_translated_verdicts(tmp_path):
    rng = np.random.default_rng(1)
    truth = rng.choice([X, Y, "tie"], 300, p=[0.5, 0.35, 0.15])
    shown = [(i, first) for i in range(300) for first in (X, Y)]
    winners = [str(truth[i]) if rng.random() < 0.8 else str(rng.choice([X, Y, "tie"])) for i, _ in shown]
    records = [exchanged(f"p{i:03}", "gpt", first, w) for (i, first), w in zip(shown, winners, strict=True)]
    votes = cw.read(written(tmp_path / "verdicts.jsonl", records))
    gold = {f"p{i:03}": str(truth[i]) for i in range(0, 300, 4)}
    rows = pl.DataFrame({"task": [f"p{i:03}" for i, _ in shown], "worker": "gpt", "label": winners,
                         "order": [first for _, first in shown]})  # fmt: skip
    classes = cw.Annotations.from_frame(rows)
    for metric in (f"winrate:{X}", f"share:{Y}", f"difference:{X},{Y}"):
        one, two = (cw.estimate(given, gold=gold, metric=metric, sampling="random") for given in (votes, classes))
        assert (one.value, one.low, one.high) == (two.value, two.low, two.high)
    assert cw.judges(votes, gold=gold).table.equals(cw.judges(classes, gold=gold).table)
    assert cw.accept(votes, gold=gold, error=0.3, sampling="random").accepted.equals(
        cw.accept(classes, gold=gold, error=0.3, sampling="random").accepted
    )


def two_item_crowd(seed=6):
    """One system wins 85 % of the prompts: a worker who reads (90 % right), and one who always votes for it."""
    rng = np.random.default_rng(seed)
    truth = np.where(rng.random(200) < 0.85, X, Y)
    rows = []
    for i in range(200):
        for first in (X, Y):
            seen = str(truth[i]) if rng.random() < 0.9 else other(str(truth[i]))
            guess = str(rng.choice([X, Y]))
            rows += [
                (f"p{i:03}", name, first, label) for name, label in (("reader", seen), ("fan", X), ("coin", guess))
            ]
    return rows, {f"p{i:03}": str(truth[i]) for i in range(200)}


def test_voting_for_the_winner_is_not_reliability(tmp_path):
    rows, truth = two_item_crowd()
    votes = cw.read(written(tmp_path / "verdicts.jsonl", [exchanged(*row) for row in rows]))
    result = cw.fit(votes)
    gold = {task: label for task, label in truth.items() if int(task[1:]) % 2}
    study = study_workers(votes, result, gold=gold)
    quality = {row["worker"]: row["reliability"] for row in study.quality.to_dicts()}
    shares = {
        worker: np.mean([label == truth[task] for task, name, _, label in rows if name == worker and task in gold])
        for worker in quality
    }
    assert quality == pytest.approx(shares)
    assert "gold tasks right" in study.worker_tables(5)[0].title
    swaps = {row["worker"]: row["reliability"] for row in study_workers(votes, result).quality.to_dicts()}
    by_pair = defaultdict(set)
    for task, worker, _, label in rows:
        by_pair[task, worker].add(label)
    for worker, share in swaps.items():
        assert share == pytest.approx(np.mean([len(by_pair[task, worker]) == 1 for task in truth]))
    once = cw.read(written(tmp_path / "once.jsonl", [exchanged(*row) for row in rows if row[2] == X]))
    study = study_workers(once, cw.fit(once))
    assert study.quality["reliability"].null_count() == 3
    assert study.to_dict()["reliability_basis"].startswith("not measured")
    assert not {flag.name for flag in study.flags} & {"random", "reversed"}


def test_nobody_copies_themselves(tmp_path):
    rows = list(panel(120, seed=8)) + [(f"p{i:02}", "coin", f, Y) for i in range(120) for f in (X, Y)]
    votes = cw.read(written(tmp_path / "verdicts.jsonl", [exchanged(*row) for row in rows]))
    flags = study_workers(votes, cw.fit(votes)).flags
    assert all(flag.worker not in flag.partners for flag in flags)


def test_position_is_counted_from_both_orders(tmp_path):
    rows = panel(60, seed=3)
    study = cw.judges(cw.read(written(tmp_path / "verdicts.jsonl", [with_order(*row) for row in rows])))
    first_twice = defaultdict(int)
    for judge in JUDGES:
        by_prompt = defaultdict(dict)
        for prompt, name, first, winner in rows:
            if name == judge:
                by_prompt[prompt][first] = winner
        first_twice[judge] = sum(pair[X] == X and pair[Y] == Y for pair in by_prompt.values())
    notes = dict(study.bias.select("judge", "note").iter_rows())
    assert all(notes[judge].startswith(f"first won twice {first_twice[judge]},") for judge in JUDGES)
