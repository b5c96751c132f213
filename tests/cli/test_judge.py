"""crowdwise judge over a file: verdicts that crowdwise judges reads, resumable, one line for whatever is wrong."""

from __future__ import annotations

import json

import pytest

import crowdwise as cw

from ..client.stub import broken, busy, running, said


@pytest.fixture
def tasks(tmp_path):
    rows = [{"task": f"t{i}", "text": "what a good day" if i % 3 else "a bad day"} for i in range(9)]
    (tmp_path / "tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "tasks.csv").write_text("id,text,gold\n" + "".join(f"{r['task']},{r['text']},x\n" for r in rows))
    return tmp_path


def mood(body, n):
    if n == 1:
        return busy("0")
    text = body["messages"][-1]["content"]
    return said(json.dumps({"verdict": "happy" if "good" in text else "sad", "confidence": 0.9}))


def test_a_file_of_tasks(tasks, crowdwise_cli, monkeypatch):
    out = tasks / "verdicts.jsonl"
    for model in ("one", "two"):
        with running(mood) as stub:
            monkeypatch.setenv("CROWDWISE_JUDGE_URL", stub.url)
            monkeypatch.setenv("OPENAI_API_KEY", "k")
            command = ["judge", tasks / "tasks.jsonl", "--model", model, "--classes", "happy,sad", "-o", out]
            code, shown, err = crowdwise_cli(*command, "--price-in", 1, "--price-out", 10, "--rate", "500/s")
            assert (code, shown) == (0, "")
            assert f"{model}: 9 verdicts for 0.0018; every task was judged" in err
            assert set(stub.auth) == {"Bearer k"}
            asked = len(stub.seen)
            code, shown, err = crowdwise_cli(*command, "--json")
            assert json.loads(shown)["verdicts"] == 0
            assert "9 of 9 tasks were judged before" in err
            assert len(stub.seen) == asked
    code, shown, err = crowdwise_cli("judges", out, "--json")
    assert code == 0, err
    votes = cw.read(out)
    assert (votes.n_tasks, votes.n_workers, len(votes)) == (9, 2, 18)


def test_a_table_and_what_the_judge_may_not_see(tasks, crowdwise_cli, monkeypatch):
    with running(lambda body, n: said("dunno") if n else said("sad")) as stub:
        monkeypatch.delenv("CROWDWISE_JUDGE_URL", raising=False)
        monkeypatch.setenv("OPENAI_BASE_URL", stub.url)
        (tasks / "guide.md").write_text("Rain is *sad*.")
        (tasks / "prompt.txt").write_text("$guidelines\n---\n$task ($instruct)")
        given = ["--guidelines", tasks / "guide.md", "--prompt", tasks / "prompt.txt", "--limit", 3]
        command = [
            "judge",
            tasks / "tasks.csv",
            "--model",
            "m",
            "--classes",
            "happy,sad",
            "-o",
            tasks / "v.jsonl",
            *given,
        ]
        code, _, err = crowdwise_cli(*command)
        assert code == 0
        assert "the judge does not see gold" in err
        assert "1 verdicts; 6 tasks are left for another time" in err
        assert "no verdict on 2: names no class: 'dunno'" in err
        assert "Rain is *sad*." in stub.seen[0]["messages"][0]["content"]
        assert stub.task(0).startswith("a bad day (The verdict is exactly one of")


def test_pairs_in_both_orders(tmp_path, crowdwise_cli, monkeypatch):
    rows = [{"task": f"p{i}", "left": "good", "right": "bad"} for i in range(4)]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def answer(body, n):
        return said("left" if "good" in body["messages"][-1]["content"].split("[right]")[0] else "right")

    with running(answer) as stub:
        monkeypatch.setenv("CROWDWISE_JUDGE_URL", stub.url)
        command = ["judge", tmp_path / "pairs.jsonl", "--model", "m", "--kind", "comparisons"]
        code, _, err = crowdwise_cli(*command, "--swap", "-o", tmp_path / "v.jsonl")
        assert code == 0, err
    found = [json.loads(line) for line in (tmp_path / "v.jsonl").read_text().splitlines()]
    assert len(found) == 8
    assert {(row["order"], row["verdict"]) for row in found} == {("ab", "left"), ("ba", "left")}


def test_orders_and_marks(tmp_path, crowdwise_cli, monkeypatch):
    (tmp_path / "lists.csv").write_text("task,items\na,fig|pear\nb,plum|fig\n")
    (tmp_path / "texts.csv").write_text("task,text\na,Ann sings\nb,It rains\n")
    out = {"rankings": tmp_path / "orders.jsonl", "spans": tmp_path / "marks.jsonl"}
    files = {"rankings": "lists.csv", "spans": "texts.csv"}
    plays = ['{"verdict": [2, 1]}', "fig", '{"verdict": [{"text": "Ann", "label": "PER"}]}', '{"verdict": []}']
    with running(lambda body, n: said(plays[n])) as stub:
        monkeypatch.setenv("CROWDWISE_JUDGE_URL", stub.url)
        for kind, more in (("rankings", []), ("spans", ["--classes", "PER"])):
            command = ["judge", tmp_path / files[kind], "--model", "m", "--kind", kind, *more, "-o", out[kind]]
            code, _, err = crowdwise_cli(*command)
            assert code == 0, err
    assert [json.loads(line).get("ranking") for line in out["rankings"].read_text().splitlines()] == [
        ["pear", "fig"],
        None,
    ]
    orders, marks = cw.read(out["rankings"]), cw.read(out["spans"])
    assert (orders.kind.name, len(orders)) == ("rankings", 1)
    assert (marks.kind.name, len(marks)) == ("spans", 2)
    assert marks.to_frame()["spans"].to_list() == ['[[0, 3, "PER"]]', "[]"]


def test_errors_are_one_line(tasks, fails, monkeypatch):
    monkeypatch.delenv("CROWDWISE_JUDGE_URL", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    command = ["judge", tasks / "tasks.jsonl", "--model", "m", "--classes", "happy,sad"]
    fails(*command, words="CROWDWISE_JUDGE_URL")
    with running(lambda body, n: broken(500)) as stub:
        monkeypatch.setenv("CROWDWISE_JUDGE_URL", stub.url)
        fails(*command, words="-o FILE")
        out = ["-o", tasks / "v.jsonl"]
        fails(*command, *out, "--tries", 1, words="the server says 500")
        fails(*command, *out, "--rate", "fast", words="--rate 'fast' | 2/s")
        fails(*command, *out, "--swap", words="two orders")
        fails(*command[:-2], *out, words="two classes")
        fails("judge", tasks / "none.jsonl", *command[2:], *out, words="none.jsonl")
        fails("judge", "http://127.0.0.1:9", "--model", "m", "--tries", 1, words="does not answer")
    fails(*command, *out, "--tries", 1, words="does not answer")
