"""Judges against a stub on a real socket: refusals, faults, both orders, cost; nothing is guessed or asked twice."""

from __future__ import annotations

import json
import random
import time

import pytest

from crowdwise.client.judging.endpoint import Endpoint, Pace, Prices, reply_of
from crowdwise.client.judging.files import judge_file, tasks_of
from crowdwise.client.judging.forms import form_of
from crowdwise.client.judging.judge import Judge, Verdict, joint_verdict
from crowdwise.client.judging.log import Log
from crowdwise.client.judging.prompt import Brief
from crowdwise.client.problems import ServerProblem, Unreachable
from crowdwise.client.retry import Retry
from crowdwise.core.errors import DataError, ParameterError

from .stub import broken, busy, running, said

QUICK = {"first": 0.001, "most": 0.002, "dice": random.Random(0)}


def judge_at(stub, form=None, brief=None, *, tries=4, pace=None, timeout=10.0, **more):
    brief = brief or Brief("Which mood?", form or form_of("classes", ("happy", "sad")))
    endpoint = Endpoint(stub.url, "secret", Retry(tries=tries, **QUICK), pace or Pace(), timeout)
    return Judge(endpoint, "model-x", brief, Prices(2.0, 10.0), **more)


def test_a_verdict_with_cost_and_time():
    with running(lambda body, n: said('{"verdict": "sad", "confidence": 0.75}')) as stub:
        (seen,) = judge_at(stub).verdicts({"text": "Rain again."})
    assert (seen.answer, seen.confidence, seen.why) == ("sad", 0.75, "")
    assert seen.cost == pytest.approx((100 * 2 + 10 * 10) / 1e6)
    assert seen.about()["tokens_in"] == 100
    assert stub.auth == ["Bearer secret"]
    asked = stub.seen[0]
    assert asked["model"] == "model-x"
    assert asked["temperature"] == 0
    system, user = (each["content"] for each in asked["messages"])
    assert "Which mood?" in system
    assert '"happy", "sad"' in system
    assert user == "Task:\nRain again."


def test_faults_are_tried_again():
    plays = [busy("0"), broken(500), (0, "", {}), broken(502), busy(None), said("happy")]
    with running(lambda body, n: plays[n]) as stub:
        (seen,) = judge_at(stub, tries=6).verdicts({"text": "x"})
        assert seen.answer == "happy"
        assert len(stub.seen) == 6


def test_a_lasting_fault_is_one_line():
    with running(lambda body, n: broken(500)) as stub:
        with pytest.raises(ServerProblem, match="500"):
            judge_at(stub, tries=3).verdicts({"text": "x"})
        assert len(stub.seen) == 3
    with pytest.raises(Unreachable, match="does not answer") as error:
        judge_at(stub, tries=2).verdicts({"text": "x"})  # nobody is there any more
    assert "\n" not in str(error.value)


def test_a_wrong_key_is_not_tried_again():
    with running(lambda body, n: (401, {"error": {"message": "bad key"}}, {})) as stub:
        with pytest.raises(ServerProblem) as error:
            judge_at(stub).verdicts({"text": "x"})
        assert error.value.status == 401
        assert len(stub.seen) == 1


def test_a_slow_answer_is_asked_again():
    def slow_once(body, n):
        if n == 0:
            time.sleep(0.6)
        return said("sad")

    with running(slow_once) as stub:
        (seen,) = judge_at(stub, timeout=0.2).verdicts({"text": "x"})
        assert seen.answer == "sad"
        assert len(stub.seen) == 2


@pytest.mark.parametrize(
    ("play", "why"),
    [
        (said("As an AI, I cannot say."), "names no class"),
        (said(None, refusal="I can't help with that"), "refused: I can't help"),
        (said('{"verdict": "ha', finish="length"), "cut off"),
        (said("", finish="content_filter"), "content filter"),
        (said("   "), "empty"),
        ((200, "<html>", {}), "no JSON"),
        ((200, [1], {}), "no JSON object"),
        ((200, {"choices": []}, {}), "choices"),
        ((200, {"choices": [{"message": None}], "usage": "?"}, {}), "choices"),
        ((400, {"title": "too long", "detail": "context of 8192"}, {}), "refuses this task"),
    ],
)
def test_what_is_no_verdict_is_null_with_its_reason(play, why):
    with running(lambda body, n: play) as stub:
        (seen,) = judge_at(stub).verdicts({"text": "x"})
    assert seen.answer is None
    assert why in seen.why


def test_odd_usage_counts_as_nothing():
    assert reply_of({"choices": [], "usage": {"prompt_tokens": True, "completion_tokens": -3}}, 0.1, 1).tokens_in == 0


def test_pace_keeps_to_its_rate():
    now, slept = [0.0], []
    pace = Pace(4.0, clock=lambda: now[0], sleep=slept.append)
    for _ in range(3):
        pace.wait()
    assert slept == [0.25, 0.5]
    now[0] = 10.0
    pace.wait()
    assert slept == [0.25, 0.5]


# ---------------------------------------------------------------- pairs
PAIR = form_of("comparisons")


def prefers(word):
    """A judge who sees which side holds a word."""

    def answer(body, n):
        left, right = body["messages"][-1]["content"].split("[right]")
        return said("left" if word in left else "right" if word in right else "tie")

    return answer


def test_both_orders_are_asked_and_named_by_the_thing():
    with running(prefers("good")) as stub:
        judge = judge_at(stub, PAIR, swap=True)
        seen = judge.verdicts({"left": "bad", "right": "good"})
        assert [(each.order, each.answer) for each in seen] == [("ab", "right"), ("ba", "right")]
        both = judge.join(seen)
    assert (both.answer, both.tokens_in, both.tokens_out) == ("right", 200, 20)
    assert "[left]\ngood" in stub.task(1)


def test_a_judge_who_goes_by_the_place():
    with running(lambda body, n: said("left")) as stub:
        tie, null = judge_at(stub, PAIR, swap=True), judge_at(stub, PAIR, swap=True, flip="null")
        pair = {"left": "x", "right": "y"}
        assert tie.join(tie.verdicts(pair)).answer == "tie"
        nothing = null.join(null.verdicts(pair))
    assert nothing.answer is None
    assert "the order decides" in nothing.why


def test_half_a_swap_is_no_verdict():
    seen = [Verdict("left", order="ab", cost=1.0), Verdict(None, "empty answer", order="ba", cost=2.0)]
    both = joint_verdict(seen, "tie")
    assert (both.answer, both.why, both.cost) == (None, "empty answer (order ba)", 3.0)


def test_orders_need_pairs_and_ties_must_be_allowed():
    with running(lambda body, n: said("happy")) as stub:
        with pytest.raises(ParameterError, match="two orders"):
            judge_at(stub, swap=True)
        with pytest.raises(ParameterError, match="knows no tie"):
            judge_at(stub, form_of("comparisons", (), {"tie": False}), swap=True)
        with pytest.raises(ParameterError, match="tie or null"):
            judge_at(stub, flip="coin")


# ---------------------------------------------------------------- prompts
def test_a_prompt_of_ones_own():
    form = form_of("classes", ("a", "b"))
    brief = Brief("Q?", form, "Be kind.", "Sys $question\n---\nUser $task costs $$5")
    assert [each["content"] for each in brief.messages({"text": "T"})] == ["Sys Q?", "User T costs $5"]
    assert [each["role"] for each in Brief("Q?", form, "", "$task").messages({"text": "T"})] == ["user"]
    assert brief.mark != Brief("Q?", form, "Be kind.").mark
    with pytest.raises(ParameterError, match="no \\$task"):
        Brief("Q?", form, "", "only $question")
    with pytest.raises(ParameterError, match="mood"):
        Brief("Q?", form, "", "$mood $task")


def test_a_tasks_words_are_not_filled_in():
    brief = Brief("Q?", form_of("classes", ("a", "b")))
    assert brief.messages({"text": "$question ${task} $$"})[-1]["content"] == "Task:\n$question ${task} $$"


# ---------------------------------------------------------------- files
def write_tasks(path, n=6):
    rows = [{"task": f"t{i}", "text": "good" if i % 2 else "bad", "label": "secret"} for i in range(n)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_file_is_judged_and_gone_on_with(tmp_path):
    tasks, hidden = tasks_of(write_tasks(tmp_path / "tasks.jsonl"))
    assert hidden == ["label"]
    assert all("label" not in payload for _, payload in tasks)

    def answer(body, n):
        assert "secret" not in json.dumps(body)
        text = body["messages"][-1]["content"]
        return said("hm") if n == 2 else said("happy" if "good" in text else "sad")

    out = tmp_path / "verdicts.jsonl"
    with running(answer) as stub:
        judge = judge_at(stub)
        with Log(out) as log:
            first = judge_file(tasks, judge, log, limit=4)
        assert (first.verdicts, first.nulls, len(stub.seen)) == (3, 1, 4)
        with out.open("a") as file:
            file.write('{"item": "t4", "ju')  # killed in the middle of a line
        with Log(out) as log:
            second = judge_file(tasks, judge, log, parallel=3)
        assert (second.verdicts, len(stub.seen)) == (2, 6)
        with Log(out) as log:
            assert judge_file(tasks, judge, log).asked == 0
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert sorted(row["item"] for row in rows) == [f"t{i}" for i in range(6)]
    null = next(row for row in rows if row["verdict"] is None)
    assert null["reason"].startswith("names no class")
    assert null["raw"] == "hm"
    assert all(row["cost"] > 0 and row["latency_ms"] >= 0 for row in rows)


def test_many_at_a_time(tmp_path):
    def answer(body, n):
        time.sleep(0.1)
        return said("happy")

    tasks, _ = tasks_of(write_tasks(tmp_path / "tasks.jsonl", 12))
    with running(answer) as stub, Log(tmp_path / "out.jsonl") as log:
        assert judge_file(tasks, judge_at(stub), log, parallel=4).verdicts == 12
        assert 2 <= stub.most <= 4


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "is empty"),
        ('{"text": "x"}\n', "no column of ids"),
        ('{"task": "a", "text": "x"}\n{"task": "a", "text": "y"}\n', "twice"),
        ('{"task": "a", "text": "x"}\n{"task": null, "text": "y"}\n', "no 'task'"),
        ('{"task": "a", "label": "x"}\n', "nothing to show"),
        ("[1]\n", "JSON object"),
    ],
)
def test_odd_files_are_one_line(tmp_path, text, why):
    (tmp_path / "tasks.jsonl").write_text(text)
    with pytest.raises(DataError, match=why):
        tasks_of(tmp_path / "tasks.jsonl")


def test_a_log_of_something_else_is_refused(tmp_path):
    (tmp_path / "out.jsonl").write_text("not a verdict\n")
    with pytest.raises(DataError, match="not a verdict of a judge"):
        Log(tmp_path / "out.jsonl")
    Log(tmp_path / "out.jsonl", force=True).file.close()
    assert (tmp_path / "out.jsonl").read_text() == ""
