"""Gold on the server, kind by kind: the check queue takes the answer of the kind, and what it changes is what the
library's `fit` of the same votes and gold gives in memory."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from starlette.testclient import TestClient

import crowdwise as cw
from crowdwise.evaluation.statement import outlook, statement
from crowdwise.server.api.app import make_app
from crowdwise.server.live.answer_log import answers_at
from crowdwise.server.live.baseline import load_baseline
from crowdwise.server.live.replay import replay
from crowdwise.server.live.snapshot import _restored, take
from crowdwise.server.offline import import_gold
from crowdwise.server.refitter import Refitter
from crowdwise.server.store.log import events

TASKS, WORKERS, CHECKED = 120, 5, 40
CLASSES = ("a", "b", "c")
WORDS = [(0, 4), (5, 7), (8, 12), (13, 19)]
MEASURED = ("sets", "comparisons", "spans", "numbers")
UNMEASURED = ("rankings", "similarities")


def project(make, kind, **settings):
    classes = CLASSES if kind in ("sets", "spans") else ()
    return make(kind=kind, classes=classes, tasks=TASKS, workers=WORKERS, **{"cap": WORKERS} | settings)


def true_answer(kind, rng):
    if kind == "sets":
        return [name for name in CLASSES if rng.random() < 0.4]
    if kind == "comparisons":
        return str(rng.choice(["left", "right"]))
    if kind == "numbers":
        return float(rng.normal(50, 10))
    if kind == "rankings":
        return [str(item) for item in rng.permutation(["x", "y", "z"])]
    if kind == "similarities":
        return str(rng.choice(["same", "different"]))
    some = sorted(rng.choice(len(WORDS), 2, replace=False).tolist())
    return [{"start": WORDS[i][0], "end": WORDS[i][1], "label": str(rng.choice(CLASSES))} for i in some]


def answer(kind, true, rng):
    """Right in two of three cases, else drawn like a truth; numbers with noise."""
    if kind == "numbers":
        return true + float(rng.normal(0, 5))
    return true if rng.random() < 2 / 3 else true_answer(kind, rng)


def label_all(p, kind, tasks=TASKS, workers=WORKERS, seed=0):
    """Answers of a planted crowd, by the admin's token; the truth."""
    rng = np.random.default_rng(seed)
    truth = {f"t{t}": true_answer(kind, rng) for t in range(tasks)}
    rows = [
        {"task": task, "worker": f"w{w}", "answer": answer(kind, true, rng), "key": f"{task} {w}"}
        for task, true in truth.items()
        for w in range(workers)
    ]
    for at in range(0, len(rows), 200):
        got = p.post("/labels/bulk", {"labels": rows[at : at + 200]})
        assert {row["status_code"] for row in got.json()["results"]} == {201}
    return truth


def fit(p):
    refitter = Refitter(p.project, start=False)
    assert refitter.once(now=True), refitter.failed
    return p.get("/status").json()


def check(p, truth, n):
    """The next n tasks of the queue, answered with the truth; their gold."""
    gold = {}
    for _ in range(n):
        (task,) = p.get("/checks/next").json()["tasks"]
        got = p.post("/checks/labels", {"task": task["id"], "answer": truth[task["id"]]})
        assert got.status_code == 200, got.text
        gold[task["id"]] = truth[task["id"]]
    return gold


def labels(p):
    return [json.loads(line) for line in p.get("/export/labels.jsonl").text.splitlines()]


def votes_of(p, kind):
    """The votes of the project, made by the library's own functions."""
    with p.project.database.reader.connect() as connection:
        rows = answers_at(connection.execute, "main")
    task, worker, said, shown = (list(column) for column in zip(*(row[:4] for row in rows), strict=True))
    if kind == "sets":
        return cw.sets.set_votes(task, worker, said, classes=list(CLASSES))
    if kind == "numbers":
        return cw.numbers.number_votes(task, worker, said)
    if kind == "comparisons":
        left, right = ([each[side] for each in shown] for side in ("left", "right"))
        return cw.comparisons.comparison_votes(left, right, said, worker=worker, task=task)
    marks = [[[each["start"], each["end"], each["label"]] for each in some] for some in said]
    return cw.spans.span_votes(
        task, worker, marks, texts={t: each["text"] for t, each in zip(task, shown, strict=True)}
    )


@pytest.mark.parametrize("kind", MEASURED)
def test_checked_tasks_change_statement_interval_and_export_as_in_memory(make, kind):
    p = project(make, kind)
    truth = label_all(p, kind)
    before = fit(p)["trust"]
    assert before["checked"] == 0
    assert "no task has been checked" in before["sentence"]
    assert p.post("/checks", {"n": CHECKED + 5}).json()["left"] == CHECKED + 5
    gold = check(p, truth, CHECKED)
    assert p.project.queue.live.refit_due(0.0)
    status = fit(p)
    votes = votes_of(p, kind)
    given = {task: json.dumps(true) for task, true in gold.items()} if kind == "spans" else gold
    result = cw.fit(votes, gold=given, sampling="random")
    level = statement(result)
    for name, value in level.to_dict().items():
        assert status["trust"][name] == pytest.approx(value), name
    assert status["trust"]["sentence"] == outlook(result)
    assert status["trust"]["checked"] == CHECKED
    assert f"measured on {CHECKED} checked tasks" in status["trust"]["sentence"]
    assert status["trust"]["sentence"] != before["sentence"]
    assert status["checks"] == {"asked": CHECKED + 5, "checked": CHECKED, "left": 5}
    assert status["need"] is None
    assert len(status["advice"]) == 1
    rows = {row["task"]: row for row in labels(p)}
    for row in result.to_table().to_dicts():
        for name, value in row.items():
            assert rows[row["task"]][name] == pytest.approx(value), (row["task"], name)
    assert {task for task, row in rows.items() if row["gold_drawn"] == "check"} == set(gold)
    assert {task: row["gold"] for task, row in rows.items() if row["gold"] is not None} == gold
    ships = [row.get("can_ship") for row in rows.values()]
    if kind == "numbers":
        assert ships == [None] * TASKS
        assert any("not right or wrong" in line for line in status["trust"]["notes"])
        assert status["trust"]["ship"] is None
    else:
        flat = np.concatenate([np.atleast_1d(each) for each in ships])
        assert flat.sum() == status["trust"]["ship"] == level.n_ship
        assert len(flat) == status["trust"]["of"]
    report = p.get("/report").text
    assert f"measured on {CHECKED} checked tasks" in report


def test_the_calibrated_confidence_of_spans_stands_beside_each(make):
    p = project(make, "spans")
    truth = label_all(p, "spans")
    fit(p)
    p.post("/checks", {"n": CHECKED})
    own = {row["task"]: row["sure"] for row in labels(p)}
    gold = check(p, truth, CHECKED)
    fit(p)
    calibrated = {row["task"]: row["sure"] for row in labels(p)}
    result = cw.fit(votes_of(p, "spans"), gold={t: json.dumps(a) for t, a in gold.items()}, sampling="random")
    assert np.concatenate(list(calibrated.values())).sum() == pytest.approx(result.sure.sum())
    assert calibrated != own


@pytest.mark.parametrize("kind", MEASURED)
def test_few_checked_tasks_and_chosen_gold_measure_nothing_and_say_so(make, kind):
    p = project(make, kind)
    truth = label_all(p, kind)
    for task in list(truth)[:CHECKED]:
        assert p.post("/gold", {"task": task, "answer": truth[task]}).status_code == 200
    status = fit(p)
    assert status["trust"]["checked"] == 0
    assert status["tasks"]["gold"] == CHECKED
    unused = any("40 gold answers are not drawn at random and not used" in line for line in status["trust"]["notes"])
    assert unused == (kind == "numbers")
    assert {row["gold_drawn"] for row in labels(p) if row["gold"] is not None} == {"chosen"}
    p.post("/checks", {"n": 30})
    check(p, truth, 5)
    few = fit(p)["trust"]
    assert few["checked"] == 0
    assert few["sentence"].startswith("5 checked tasks are too few")


@pytest.mark.parametrize("kind", MEASURED)
def test_random_gold_beside_chosen_gold_is_judged_alone(make, kind):
    p = project(make, kind)
    truth = label_all(p, kind)
    for t in range(20):
        p.post("/gold", {"task": f"t{t}", "answer": truth[f"t{t}"]})
    p.post("/checks", {"n": 30})
    check(p, truth, 30)
    level = fit(p)["trust"]
    assert level["checked"] == 30
    assert "measured on 30 checked tasks" in level["sentence"]


@pytest.mark.parametrize("kind", UNMEASURED)
def test_kinds_that_gold_cannot_measure_say_so_in_one_line(make, kind):
    p = project(make, kind)
    truth = label_all(p, kind, tasks=30)
    p.post("/gold", {"task": "t0", "answer": truth["t0"]})
    got = p.post("/checks", {"n": 5})
    assert got.status_code == 409
    assert got.json()["detail"].startswith(f"answers of kind {kind} have no check queue: ")
    assert p.get("/checks/next").status_code == 409
    status = fit(p)
    assert status["checks"] is None
    assert status["unmeasured"] in got.json()["detail"]
    assert status["trust"]["checked"] == 0
    assert "crowdwise evaluate" in status["trust"]["sentence"]
    assert any("no share of them can ship" in line for line in status["trust"]["notes"])
    if kind == "similarities":
        assert any(line.startswith("1 gold answer is not used") for line in status["trust"]["notes"])
    page = client(p).get("/p/main/lead").text
    assert "There is no check queue" in page
    assert labels(p)[0]["gold"] == truth["t0"]


def client(p):
    made = TestClient(make_app(p.project, rate=1e6, burst=1e6), follow_redirects=False, base_url="https://testserver")
    made.cookies.set("crowdwise", p.admin)
    return made


FORMS = {
    "sets": {"answer": ["a", "c"]},
    "comparisons": {"answer": "right"},
    "numbers": {"answer": "3.5"},
    "spans": {"start": ["0", ""], "end": ["4", ""], "tag": ["b", "a"]},
}
SPELLED = {"sets": ["a", "c"], "comparisons": "right", "numbers": 3.5,
           "spans": [{"start": 0, "end": 4, "label": "b"}]}  # fmt: skip
WRONG = {"sets": ["zebra"], "comparisons": "up", "numbers": "3", "spans": [{"start": 0, "end": 999, "label": "a"}]}


@pytest.mark.parametrize("kind", MEASURED)
def test_the_check_page_takes_the_answer_of_the_kind(make, kind):
    p = project(make, kind)
    label_all(p, kind, tasks=12)
    fit(p)
    browser = client(p)
    lead = browser.get("/p/main/lead").text
    assert "o task has been checked" in lead
    csrf = lead.split('name="csrf" value="')[1].split('"')[0]
    assert browser.post("/p/main/lead", data={"csrf": csrf, "action": "check", "n": "3"}).status_code == 303
    page = browser.get("/p/main/check").text
    task = page.split('data-task="')[1].split('"')[0]
    csrf = page.split('name="csrf" value="')[1].split('"')[0]
    got = browser.post("/p/main/check", data={"csrf": csrf, "task": task, **FORMS[kind]})
    assert got.status_code == 303, got.text
    row = p.get(f"/tasks/{task}").json()
    assert (row["gold"], row["drawn"]) == (SPELLED[kind], "check")
    last = p.project.queue.live.last
    assert p.post("/checks/labels", {"task": task, "answer": SPELLED[kind]}).status_code == 200
    assert p.project.queue.live.last == last  # the same again is no event
    refused = p.post("/checks/labels", {"task": task, "answer": WRONG[kind]})
    assert refused.status_code == 422
    assert "\n" not in refused.json()["detail"]
    assert p.post("/checks/labels", {"task": task, "answer": None}).json()["progress"]["checked"] == 0


@pytest.mark.parametrize("kind", ["sets", "comparisons"])
def test_tasks_and_projects_stop_by_measured_confidence(make, kind):
    p = project(make, kind, cap=WORKERS + 3, target=0.5)
    truth = label_all(p, kind)
    status = fit(p)
    assert status["tasks"]["sure"] == 0  # a confidence that nothing measured stops nothing
    assert status["expected_accuracy"] is None
    p.post("/checks", {"n": CHECKED})
    check(p, truth, CHECKED)
    status = fit(p)
    measured = status["trust"]
    expected = status["expected_accuracy"]
    assert expected["mean"] == pytest.approx(measured["right"], abs=0.02)
    # The live interval is of the open tasks only; which tasks were checked is drawn at random.
    assert [expected["low"], expected["high"]] == pytest.approx([measured["low"], measured["high"]], abs=0.06)
    # A set has one confidence, a pair a probability of each outcome.
    names = {"sets": ["confidence"], "comparisons": ["p_left", "p_right", "p_tie"]}[kind]
    unchecked = {row["task"]: max(row[name] for name in names) for row in labels(p) if row["gold"] is None}
    target = float(np.median(list(unchecked.values())))
    p.call("PATCH", "", json={"target": target})
    sure = {row["task"] for row in labels(p) if row["state"] == "sure"}
    assert 0 < len(sure) == p.get("/status").json()["tasks"]["sure"] < TASKS
    assert sure & set(unchecked) == {task for task, confidence in unchecked.items() if confidence >= target}
    assert sure - set(unchecked)  # checked tasks go on and stop like the others
    assert not p.project.queue.live.session.finished()
    assert p.call("PATCH", "", json={"accuracy": round(measured["low"] - 0.05, 2)}).status_code == 200
    assert "expected to be right" in p.get("/status").json()["stopped"]
    more = [{"id": f"new{i}", "payload": p.shown(p.project.queue.live.config, i)} for i in range(TASKS)]
    p.post("/tasks", {"tasks": more})
    assert p.get("/status").json()["stopped"] is None  # a task without answers is not right


@pytest.mark.parametrize("kind", ["spans", "numbers", *UNMEASURED])
def test_an_accuracy_that_cannot_stop_a_project_is_refused(make, kind):
    p = project(make, kind)
    got = p.call("PATCH", "", json={"accuracy": 0.9})
    assert got.status_code == 422
    assert got.json()["detail"].startswith(f"accuracy does not stop a project of kind {kind}")
    with pytest.raises(cw.CrowdwiseError, match="accuracy does not stop"):
        project(make, kind, accuracy=0.9)


@pytest.mark.parametrize("kind", MEASURED)
def test_the_state_follows_from_the_log_and_from_a_snapshot(make, kind):
    p = project(make, kind, cap=WORKERS + 1, target=0.6)
    truth = label_all(p, kind)
    p.post("/checks", {"n": CHECKED})
    check(p, truth, CHECKED)
    fit(p)
    live = p.project.queue.live
    arrays = take(live)
    restored = _restored(arrays, json.loads(arrays["plain"].tobytes()))
    with p.project.database.reader.connect() as connection:
        log = list(events(connection, "main"))
        how = {"answers": lambda until: answers_at(connection.execute, "main", until)}
        kept = replay(log, live.config, stored=lambda event: load_baseline(connection.execute, "main", event.id), **how)
        refitted = replay(log, live.config, **how)
    for other in (restored, kept, refitted):
        assert other.checks == live.checks
        board, mine = other.session.task_index, live.session.task_index
        assert board.doubt == mine.doubt
        for name in ("fitted", "posterior", "reason"):
            np.testing.assert_array_equal(getattr(board, name), getattr(mine, name), name)
        assert board.progress.accuracy == pytest.approx(mine.progress.accuracy, nan_ok=True)
        np.testing.assert_array_equal(other.baseline["json"], live.baseline["json"])


@pytest.mark.parametrize("kind", MEASURED)
def test_random_gold_of_a_file_measures_as_the_queue_does(make, kind, tmp_path):
    p = project(make, kind)
    truth = label_all(p, kind)
    column = {"sets": "labels", "comparisons": "winner", "numbers": "value", "spans": "spans"}[kind]
    cells = [json.dumps(truth[f"t{t}"]) if kind in ("sets", "spans") else truth[f"t{t}"] for t in range(30)]
    path = tmp_path / "gold.csv"
    pl.DataFrame({"task": [f"t{t}" for t in range(30)], column: cells}).write_csv(path)
    assert import_gold(p.project, path, random=True) == 30
    assert fit(p)["trust"]["checked"] == 30


def test_winners_are_read_by_item_whatever_the_items_are_called(make):
    p = make(kind="comparisons", classes=(), tasks=0, workers=3)
    shown = {"left": "right", "right": "left"}
    p.post("/tasks", {"tasks": [{"id": f"t{i}", "payload": shown} for i in range(12)]})
    for t in range(12):
        for w in range(3):
            got = p.post("/labels", {"task": f"t{t}", "answer": "right", "worker": f"w{w}"})
            assert got.status_code == 201
    p.post("/gold", {"task": "t0", "answer": "left", "drawn": "random"})
    fit(p)
    row = p.get("/tasks/t0").json()["settled"]
    assert row["p_left"] == pytest.approx(1.0)
