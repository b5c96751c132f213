"""The table of tasks, reviews, comments, exclusions, further answers: who may, what changes, what the log says."""

from __future__ import annotations

import json

import numpy as np
import pytest

from crowdwise.server import auth
from crowdwise.server.live.baseline import load_baseline
from crowdwise.server.live.replay import replay
from crowdwise.server.live.snapshot import _restored, take
from crowdwise.server.offline import token_for
from crowdwise.server.refitter import Refitter
from crowdwise.server.store.log import events

CLASSES = "abc"


def vote(p, rows):
    """Answers (task, worker, label) by the admin's token."""
    body = [{"task": f"t{t}", "worker": f"w{w}", "answer": a, "key": f"{t} {w} {a}"} for t, w, a in rows]
    got = p.post("/labels/bulk", {"labels": body}).json()["results"]
    assert {row["status_code"] for row in got} == {201}, got


def crowd(p, tasks, workers=4, skill=0.75, seed=0):
    """Votes of a simulated crowd; the truth."""
    rng = np.random.default_rng(seed)
    truth = [CLASSES[i] for i in rng.integers(3, size=tasks)]
    vote(p, [(t, w, truth[t] if rng.random() < skill else str(rng.choice(list(CLASSES))))
             for t in range(tasks) for w in range(workers)])  # fmt: skip
    return truth


def fit(p):
    refitter = Refitter(p.project, start=False)
    assert refitter.once(now=True), refitter.failed


def reviewer(p, name):
    return p.project.queue.do(lambda batch: token_for(batch, name, "review", "human", None))


def browse(p, **params):
    got = p.get("/browse", params=params)
    assert got.status_code == 200, got.json()
    return got.json()


# ---------------------------------------------------------------- the table of tasks
def all_pages(p, **params):
    rows, after = [], ""
    while after is not None:
        page = browse(p, limit=7, after=after, **params)
        rows, after = rows + page["tasks"], page["next"]
    assert len(rows) == page["total"]
    return rows


@pytest.mark.parametrize("order", ["given", "confidence", "answers", "disagreement"])
def test_pages_hold_every_task_once_and_in_order(make, order):
    p = make(tasks=60, cap=4)
    crowd(p, 45)
    fit(p)
    rows = all_pages(p, order=order)
    assert sorted(row["id"] for row in rows) == sorted(f"t{i}" for i in range(60))
    if order == "given":
        assert [row["id"] for row in rows] == [f"t{i}" for i in range(60)]
    if order == "confidence":
        sure = [row["settled"]["confidence"] for row in rows if row["answers"]]
        assert sure == sorted(sure)
        assert not any(row["answers"] for row in rows[45:])
    if order == "disagreement":
        shares = [-1 if row["disagreement"] is None else row["disagreement"] for row in rows]
        assert shares == sorted(shares, reverse=True)


def test_filters_agree_with_the_rows_they_leave(make):
    p = make(tasks=40, cap=4)
    crowd(p, 40)
    fit(p)
    rows = all_pages(p)

    def ids(**params):
        return {row["id"] for row in all_pages(p, **params)}

    assert ids(label="b") == {r["id"] for r in rows if r["settled"]["label"] == "b"} != set()
    assert ids(below=0.8) == {r["id"] for r in rows if r["settled"]["confidence"] < np.float32(0.8)} != set()
    assert ids(above=0.8) | ids(below=0.8) == {r["id"] for r in rows}
    assert ids(state="capped") == {r["id"] for r in rows if r["state"] == "capped"}
    assert ids(disagreement=0.5) == {r["id"] for r in rows if r["disagreement"] >= 0.5} != set()
    for task in ("t3", "t9"):
        p.post("/gold", {"task": task, "answer": "a"})
    assert ids(state="gold") == {"t3", "t9"}
    assert p.get("/browse", params={"label": "z"}).status_code == 422
    assert p.get("/browse", params={"state": "z"}).status_code == 422
    assert p.get("/browse", params={"after": "x"}).status_code == 422


def test_search_by_words_ids_and_workers(make, database):
    p = make(tasks=12, database=database, cap=4)
    p.post("/tasks", {"tasks": [{"id": "über-1", "payload": {"text": "A café in Zürich", "page": 7}}]})
    vote(p, [(1, 0, "a"), (2, 0, "b"), (2, 1, "b")])

    def ids(**params):
        return [row["id"] for row in browse(p, **params)["tasks"]]

    assert ids(q="number 1") == ["t1", "t10", "t11"]
    assert ids(q="t7") == ["t7"]
    assert ids(q="Zürich café") == ["über-1"]
    assert ids(q="nothing like it") == []
    assert ids(worker="w0") == ["t1", "t2"]
    assert ids(worker="w0", q="number 2") == ["t2"]
    assert p.get("/browse", params={"q": "?!"}).status_code == 422
    assert p.get("/browse", params={"q": '" OR *'}).status_code == 200
    assert p.get("/browse", params={"worker": "nobody"}).status_code == 404


def test_history_tells_who_answered_what_and_when(make):
    p = make(tasks=2, workers=2, cap=4)
    assert p.next(0) == ["t0"]
    p.label(0, "t0", "a")
    p.post("/undo", {}, 0)
    p.label(0, "t0", "b")
    p.post("/gold", {"task": "t0", "answer": "c"})
    events_ = p.get("/history/t0").json()["events"]
    assert [(e["kind"], e["worker"], e.get("answer")) for e in events_] == [
        ("label", "w0", "a"), ("undo", "w0", "a"), ("label", "w0", "b"), ("gold", None, "c"),
    ]  # fmt: skip
    assert p.get("/history/t0", 0).status_code == 403


# ---------------------------------------------------------------- reviews
def test_the_queue_begins_with_the_least_sure_task_and_hides_names(make):
    p = make(tasks=50, cap=4, review_below=0.95)
    crowd(p, 50)
    fit(p)
    anna = reviewer(p, "anna")
    got = p.get("/reviews/next?n=50", anna).json()["tasks"]
    assert got
    assert got[0]["payload"]["text"]
    sure = [row["settled"]["confidence"] for row in got]
    assert sure == sorted(sure)
    waiting = {row["id"] for row in all_pages(p, review="waiting")}
    assert {row["id"] for row in got} == waiting
    assert "w0" not in json.dumps(got)
    assert len(got[0]["answers"]) == 4
    assert p.get("/status").json()["reviews"]["waiting"] == len(waiting)


def test_a_decision_is_gold_and_can_be_withdrawn(make):
    p = make(tasks=30, cap=4)
    crowd(p, 30)
    fit(p)
    anna = reviewer(p, "anna")
    first = p.get("/reviews/next", anna).json()["tasks"][0]
    label = first["settled"]["label"]
    other = next(name for name in CLASSES if name != label)
    got = p.post("/reviews", {"task": first["id"], "answer": other, "note": "see page 3"}, anna)
    assert got.status_code == 201
    assert got.json() == {"task": first["id"], "answer": other, "accepted": False, "gold": other}
    again = p.post("/reviews", {"task": first["id"], "answer": other}, anna).json()
    assert again == got.json()
    row = p.get(f"/tasks/{first['id']}").json()
    assert (row["gold"], row["state"]) == (other, "gold")
    assert row["review"]["decisions"] == [{"by": "anna", "answer": other, "accepted": False}]
    assert p.get("/reviews/next", anna).json()["tasks"][0]["id"] != first["id"]
    assert p.post("/reviews", {"task": first["id"], "answer": "a"}, reviewer(p, "ben")).status_code == 409
    kinds = [event["kind"] for event in p.get(f"/history/{first['id']}").json()["events"]]
    assert kinds[-2:] == ["review", "gold"]
    withdrawn = p.post("/reviews", {"task": first["id"], "answer": None}, anna).json()
    assert withdrawn["gold"] is None
    row = p.get(f"/tasks/{first['id']}").json()
    assert row["gold"] is row["review"] is None
    assert p.get("/reviews").json()["tasks"] == 0


def test_two_reviewers_who_differ_go_to_a_third(make):
    p = make(tasks=30, cap=4, reviewers=2)
    crowd(p, 30)
    fit(p)
    anna, ben, cleo = (reviewer(p, name) for name in ("anna", "ben", "cleo"))
    one, two = (row["id"] for row in p.get("/reviews/next?n=2", anna).json()["tasks"])
    assert p.post("/reviews", {"task": one, "answer": "a"}, anna).json()["gold"] is None
    # Another reviewer gets the begun task first, the same one does not get it again.
    assert p.get("/reviews/next", ben).json()["tasks"][0]["id"] == one
    assert p.get("/reviews/next", ben).json()["tasks"][0]["decided"] == 1
    assert "anna" not in p.get("/reviews/next", ben).text  # nobody is to follow the first reviewer
    assert p.get("/reviews/next", anna).json()["tasks"][0]["id"] == two
    assert p.post("/reviews", {"task": one, "answer": "b"}, ben).json()["gold"] is None
    assert p.get("/reviews/next", cleo).json()["tasks"][0]["id"] == one
    assert p.post("/reviews", {"task": one, "answer": "c"}, cleo).json()["gold"] == "c"
    assert p.post("/reviews", {"task": two, "answer": "a"}, anna).json()["gold"] is None
    assert p.post("/reviews", {"task": two, "answer": "a"}, ben).json()["gold"] == "a"
    progress = p.get("/reviews").json()
    assert (progress["tasks"], progress["settled"], progress["pairs"], progress["agreement"]) == (2, 2, 2, 0.5)
    assert progress["by"] == {"anna": 2, "ben": 2, "cleo": 1}


def test_an_answer_that_is_sent_back_comes_to_its_worker_with_the_note(make):
    p = make(tasks=4, workers=3, cap=3)
    for w in range(2):
        for task in p.next(w, 4):
            p.label(w, task, "ab"[w])
    anna = reviewer(p, "anna")
    got = p.post("/returns", {"task": "t1", "note": "Read the second line.", "workers": ["w1"]}, anna)
    assert got.json() == {"task": "t1", "returned": 1}
    assert [row["worker"] for row in p.get("/tasks/t1").json()["by_worker"]] == ["w0"]
    (task,) = p.get("/next", 1).json()["tasks"]
    assert (task["id"], task["note"]) == ("t1", "Read the second line.")
    assert "note" not in p.get("/next", 2).json()["tasks"][0]
    p.label(1, "t1", "a")
    assert not p.project.queue.live.reviews.returned
    assert p.post("/returns", {"task": "t1", "note": "x", "workers": ["w2"]}, anna).status_code == 409
    assert p.post("/returns", {"task": "t1", "note": "all of it"}, anna).json()["returned"] == 2
    assert p.get("/tasks/t1").json()["by_worker"] == []


def test_reports_of_workers_come_first_and_end_with_a_comment(make):
    p = make(tasks=30, cap=4)
    crowd(p, 30)
    fit(p)
    anna = reviewer(p, "anna")
    assert p.post("/reports", {"task": "t20", "text": "The text is cut off.", "worker": "w0"}).status_code == 201
    (first,) = p.get("/reviews/next", anna).json()["tasks"]
    assert first["id"] == "t20"
    assert [row["text"] for row in first["comments"]] == ["The text is cut off."]
    assert browse(p, review="reported")["total"] == 1
    p.post("/comments", {"task": "t20", "text": "Mended.", "resolved": True}, anna)
    assert browse(p, review="reported")["total"] == 0
    assert p.post("/reports", {"task": "t21", "text": " ", "worker": "w0"}).status_code == 422
    assert p.post("/comments", {"task": "t21"}, anna).status_code == 422
    fresh = p.post("/workers", {"name": "new"}).json()["token"]
    assert p.post("/reports", {"task": "t1", "text": "x"}, fresh).status_code == 403


def test_a_task_of_the_check_queue_is_not_reviewed(make):
    p = make(tasks=30, cap=4, review_below=1.0)
    crowd(p, 30)
    fit(p)
    anna = reviewer(p, "anna")
    before = {row["id"] for row in p.get("/reviews/next?n=30", anna).json()["tasks"]}
    p.post("/checks", {"n": 30})
    assert before
    assert p.get("/reviews/next", anna).json()["tasks"] == []
    assert p.post("/reviews", {"task": before.pop(), "answer": "a"}, anna).status_code == 409


# ---------------------------------------------------------------- exclusions and further answers
def test_an_excluded_task_is_in_no_fit_and_comes_back(make):
    p = make(tasks=30, cap=4)
    crowd(p, 29)
    p.post("/exclusions", {"task": "t3", "reason": "a duplicate"})
    assert p.post("/exclusions", {"task": "t29"}).json() == {"task": "t29", "excluded": True}
    fit(p)
    assert p.get("/tasks/t3").json()["state"] == "excluded"
    assert p.get("/tasks/t3").json()["settled"] is None
    assert p.get("/status").json()["tasks"]["excluded"] == 2
    assert "t29" not in p.next(0, 30)
    votes = p.get("/export/votes.jsonl").text
    assert '"t3"' not in votes
    assert '"t4"' in votes
    p.post("/exclusions", {"task": "t3", "excluded": False})
    fit(p)
    assert p.get("/tasks/t3").json()["settled"] is not None
    assert '"t3"' in p.get("/export/votes.jsonl").text


def test_a_closed_task_can_be_asked_for_again(make):
    p = make(tasks=3, workers=4, cap=2)
    for w in range(2):
        for task in p.next(w, 3):
            p.label(w, task, "a")
    assert p.get("/next", 2).json()["stopped"]["final"]
    assert p.post("/requests", {"task": "t1", "answers": 2}).status_code == 201
    assert p.next(2, 3) == ["t1"]
    assert p.label(2, "t1", "b").json()["status"] == "counted"
    assert p.next(3) == ["t1"]
    assert p.label(3, "t1", "b").json()["status"] == "counted"
    assert p.get("/tasks/t1").json()["answers"] == 4
    assert p.get("/status").json()["tasks"]["open"] == 0
    p.post("/gold", {"task": "t0", "answer": "a"})
    assert p.post("/requests", {"task": "t0"}).status_code == 409


# ---------------------------------------------------------------- rights, the log, restarts
def test_reviewers_review_and_do_nothing_else(make):
    p = make(tasks=5, cap=4)
    crowd(p, 5)
    anna = reviewer(p, "anna")
    assert p.get("/reviews/next", anna).status_code == 200
    for path in ("/browse", "/status", "/reviews", "/history/t0", "/workers", "/checks/next"):
        assert p.get(path, anna).status_code == 403, path
    for path, body in (("/gold", {"task": "t0", "answer": "a"}), ("/exclusions", {"task": "t0"}),
                       ("/requests", {"task": "t0"}), ("/labels", {"task": "t0", "answer": "a"})):  # fmt: skip
        assert p.post(path, body, anna).status_code == 403, path
    for path, body in (("/reviews", {"task": "t0", "answer": "a"}), ("/returns", {"task": "t0", "note": "x"}),
                       ("/comments", {"task": "t0", "text": "x"})):  # fmt: skip
        assert p.post(path, body, 0).status_code == 403, path
    with pytest.raises(Exception, match="name one"):
        p.project.queue.do(lambda batch: auth.issue(batch, "review"))


def test_the_log_alone_gives_the_state_and_a_snapshot_holds_it(make):
    p = make(tasks=30, cap=4, reviewers=2)
    crowd(p, 28)
    fit(p)
    anna = reviewer(p, "anna")
    for row in p.get("/reviews/next?n=3", anna).json()["tasks"]:
        p.post("/reviews", {"task": row["id"], "answer": "b"}, anna)
    p.post("/returns", {"task": "t5", "note": "again", "workers": ["w2"]}, anna)
    p.post("/reports", {"task": "t6", "text": "odd", "worker": "w1"})
    p.post("/exclusions", {"task": "t7"})
    p.post("/requests", {"task": "t8", "answers": 2})
    live = p.project.queue.live
    with p.project.database.reader.connect() as connection:
        log = list(events(connection, "main"))
        again = replay(log, live.config, stored=lambda event: load_baseline(connection.execute, "main", event.id))
    arrays = take(live)
    restored = _restored(arrays, json.loads(arrays["plain"].tobytes()))
    for other in (again, restored):
        assert other.reviews == live.reviews
        assert other.excluded == live.excluded == {7}
        assert other.session.task_index.least == live.session.task_index.least == {8: 6}
        np.testing.assert_array_equal(other.session.task_index.reason, live.session.task_index.reason)
        assert list(other.columns.waiting(other, "ben")) == list(live.columns.waiting(live, "ben"))


def test_kinds_without_classes_are_browsed_and_reviewed(make):
    p = make(tasks=10, workers=3, kind="numbers", classes=(), cap=3)
    vote(p, [(t, w, float(t + w)) for t in range(10) for w in range(3)])
    fit(p)
    p.post("/reports", {"task": "t4", "text": "not a number", "worker": "w0"})
    anna = reviewer(p, "anna")
    (first,) = p.get("/reviews/next", anna).json()["tasks"]
    assert first["id"] == "t4"
    assert p.post("/reviews", {"task": "t4", "answer": 3.5}, anna).json()["gold"] == 3.5
    assert p.post("/reviews", {"task": "t5", "answer": "x"}, anna).status_code == 422
    assert browse(p, order="answers")["total"] == 10


def test_a_project_of_the_former_schema_is_searched_after_its_migration(make):
    p = make(tasks=5)
    p.project.database.migrate("0001")
    p.again()
    assert [row["id"] for row in browse(p, q="number 3")["tasks"]] == ["t3"]
