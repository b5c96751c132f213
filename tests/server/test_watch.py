"""What leads see: status, tables, files, the report, events as they come."""

from __future__ import annotations

import asyncio
import io
import json
import threading

import polars as pl
import pytest

import crowdwise as cw
from crowdwise.server import auth, export
from crowdwise.server.problems import Problem
from tests.server.serving import wired

from .wired import answer, connected, request, until

ANSWERS = {
    "classes": lambda i, w: "ab"[(i + (w == 3)) % 2],
    "ordered": lambda i, w: "abc"[min(i % 3 + (w == 3), 2)],
    "sets": lambda i, w: [["a"], ["a", "b"], []][(i + (w == 3)) % 3],
    "numbers": lambda i, w: i + 0.1 * w,
    "comparisons": lambda i, w: ["left", "right", "tie"][(i + (w == 3)) % 3],
    "similarities": lambda i, w: ["same", "different"][(i + (w == 3)) % 2],
    "rankings": lambda i, w: [["x", "y", "z"], ["z", "y", "x"]][(i + (w == 3)) % 2],
    "spans": lambda i, w: [{"start": 0, "end": 4, "label": "a"}] if w < 3 else [],
}
CLASSES = ("classes", "ordered", "sets", "spans")


def filled(make, kind, tasks=8, **more):
    classes = ("a", "b", "c") if kind in CLASSES else ()
    p = make(kind=kind, classes=classes, tasks=tasks, cap=4, **more)
    labels = [
        {"task": f"t{i}", "answer": ANSWERS[kind](i, w), "worker": f"w{w}", "key": f"{i} {w}", "client_ms": 900 + w}
        for i in range(tasks)
        for w in range(4)
    ]
    got = p.call("POST", "/labels/bulk", json={"labels": labels}).json()["results"]
    assert {each["status_code"] for each in got} == {201}
    return p


@pytest.mark.parametrize("kind", ANSWERS)
def test_every_kind_is_stored_settled_and_exported(make, kind, tmp_path):
    from crowdwise.server.refitter import Refitter

    p = filled(make, kind)
    refitter = Refitter(p.project)
    try:
        assert refitter.once(now=True) or refitter.fits
        assert not refitter.failed
    finally:
        refitter.close()
    shown = p.get("/tasks/t1").json()
    assert shown["settled"]
    assert len(shown["by_worker"]) == 4
    path = tmp_path / "votes.csv"
    path.write_bytes(p.get("/export/votes.csv").content)
    votes = cw.read(path)
    assert len(votes) == 32
    library = {"ordered": "classes"}
    assert votes.kind.name == library.get(kind, kind)
    labels = pl.read_ndjson(io.BytesIO(p.get("/export/labels.jsonl").content))
    assert len(labels) == 8
    assert b"<html" in p.get("/report").content


@pytest.mark.parametrize("kind", ["classes", "comparisons", "similarities"])
def test_votes_carry_what_was_said_about_them(make, kind, tmp_path):
    p = make(kind=kind, classes=("a", "b") if kind == "classes" else (), tasks=2, cap=4)
    shown = {"left": "x", "right": "y", "prompt": "Write a line."}
    p.post("/tasks", {"tasks": [{"id": "pair", "payload": shown}]})
    about = {"cost": 0.25, "confidence": 0.7, "model": "m-1", "latency_ms": 40, "order": "ab"}
    answer = ANSWERS[kind](0, 0)
    for who, more in (("w0", {}), ("w1", {"about": about})):
        assert p.post("/labels", {"task": "pair", "answer": answer, "worker": who, **more}).status_code == 201
    path = tmp_path / "votes.csv"
    path.write_bytes(p.get("/export/votes.csv").content)
    (judged,) = [row for row in pl.read_csv(path).to_dicts() if row["worker"] == "w1"]
    assert judged | about == judged
    votes = cw.read(path)
    facts = votes.about_rows.to_dicts()
    assert [each["cost"] and float(each["cost"]) for each in facts] == [None, 0.25]
    assert votes.confidence[1] == 0.7
    if kind == "comparisons":
        assert judged["prompt"] == "Write a line."
        assert votes.about_tasks["prompt"].to_list() == ["Write a line."]


@pytest.mark.parametrize("what", ["events", "labels", "workers", "votes"])
def test_files_hold_the_same_in_every_format(make, what):
    p = filled(make, "classes")
    frames = {
        "csv": pl.read_csv(io.BytesIO(p.get(f"/export/{what}.csv").content)),
        "jsonl": pl.read_ndjson(io.BytesIO(p.get(f"/export/{what}.jsonl").content)),
        "parquet": pl.read_parquet(io.BytesIO(p.get(f"/export/{what}.parquet").content)),
    }
    sizes = {name: frame.shape for name, frame in frames.items()}
    assert len(set(sizes.values())) == 1, sizes
    assert frames["csv"].columns == frames["parquet"].columns
    if what == "events":
        assert frames["parquet"]["id"].to_list() == list(range(1, len(frames["parquet"]) + 1))


def test_a_spreadsheet_runs_nothing(make):
    p = make(tasks=1)
    p.post("/workers", {"name": "=HYPERLINK(1)"})
    assert b"\n'=HYPERLINK(1)" in p.get("/export/workers.csv").content


def test_events_come_as_they_are_stored(make):
    p = make(tasks=3)

    async def watched():
        lines = p.client.app.state.hub.watch()
        first = await anext(lines)
        (task,) = await asyncio.to_thread(p.next, 0)
        await asyncio.to_thread(p.label, 0, task)
        second = await asyncio.wait_for(anext(lines), 10)
        third = await asyncio.wait_for(anext(lines), 10)
        await lines.aclose()
        return first, second, third

    first, second, third = asyncio.run(watched())
    assert first.splitlines()[1] == "event: status"
    assert json.loads(second.splitlines()[2].removeprefix("data: "))["worker"] == "w0"
    assert json.loads(third.splitlines()[2].removeprefix("data: "))["answers"]["counted"] == 1


def test_pictures_are_shown_from_the_folder_and_from_nowhere_else(make):
    p = make(tasks=1)
    (p.path / "media" / "a.png").write_bytes(b"\x89PNG")
    (p.path / "media" / "a.html").write_bytes(b"<script>")

    def get(name):
        return p.client.get(f"/media/{name}", headers={"Authorization": f"Bearer {p.tokens[0]}"})

    assert get("a.png").headers["content-type"] == "image/png"
    assert p.client.get("/media/a.png").status_code == 401
    for name in ("a.html", "b.png", "..%2fproject.json", "%2e%2e%2fproject.db", "a.png%00"):
        assert get(name).status_code == 404, name


def test_a_guesser_is_flagged_with_evidence(make):
    import numpy as np

    from crowdwise.server.refitter import Refitter

    p = make(tasks=60, workers=6, cap=9)
    rng = np.random.default_rng(0)
    truth = rng.integers(3, size=60)
    labels = [
        {"task": f"t{i}", "worker": f"w{w}", "key": f"{i} {w}",
         "answer": "abc"[int(rng.integers(3)) if w == 5 else truth[i] if rng.random() < 0.9 else int(rng.integers(3))]}
        for i in range(60) for w in range(6)
    ]  # fmt: skip
    p.call("POST", "/labels/bulk", json={"labels": labels})
    refitter = Refitter(p.project)
    refitter.close()
    assert refitter.once(now=True)
    rows = {each["name"]: each for each in p.get("/workers").json()["workers"]}
    assert rows["w5"]["flags"]
    assert rows["w5"]["flags"][0]["evidence"]
    assert not any(rows[f"w{w}"]["flags"] for w in range(5))
    assert rows["w5"]["skill"]["high"] < rows["w0"]["skill"]["low"]


def test_workers_who_copy_are_named_together(make):
    """w9 hands on what w8 said; the others err on their own."""
    import numpy as np

    from crowdwise.server.refitter import Refitter

    p = make(tasks=150, workers=10, cap=10, method="dawid_skene")
    rng = np.random.default_rng(1)
    said = np.where(rng.random((10, 150)) < 0.6, rng.integers(3, size=150), rng.integers(3, size=(10, 150)))
    said[9] = np.where(rng.random(150) < 0.95, said[8], said[9])
    labels = [{"task": f"t{i}", "worker": f"w{w}", "key": f"{i} {w}", "answer": "abc"[said[w, i]]}
              for i in range(150) for w in range(10)]  # fmt: skip
    p.call("POST", "/labels/bulk", json={"labels": labels})
    assert p.get("/status").json()["groups"] == []
    refitter = Refitter(p.project)
    refitter.close()
    assert refitter.once(now=True)
    assert p.get("/status").json()["groups"] == [["w8", "w9"]]
    rows = {each["name"]: each["flags"] for each in p.get("/workers").json()["workers"]}
    (flag,) = [each for each in rows["w9"] if each["flag"] in ("copying", "colluding")]
    assert flag["evidence"].startswith("gives the same answer as w8 on ")
    assert not any(each["flag"] in ("copying", "colluding") for w in range(8) for each in rows[f"w{w}"])


def test_contested_tasks_come_with_everyone_s_answers_in_one_request(make):
    p = filled(make, "classes", tasks=8)
    page = p.get("/tasks?order=contested&limit=3&answers=true").json()["tasks"]
    assert len(page) == 3
    for row in page:
        assert row == p.get(f"/tasks/{row['id']}").json()
        assert len(row["by_worker"]) == 4
    assert "by_worker" not in p.get("/tasks").json()["tasks"][0]


def test_the_report_is_made_once_for_the_same_answers_and_not_too_often(make, monkeypatch):
    from crowdwise.server.api.app import REPORTS

    p = filled(make, "classes", tasks=8)
    made = []
    render = export.report
    monkeypatch.setattr(export, "report", lambda project: made.append(1) or render(project))
    pages = {p.get("/report").text for _ in range(4)}
    assert len(pages) == len(made) == 1
    said = {"worker": "w0", "task": "t0"}
    assert p.post("/labels", {**said, "answer": "c"}).json()["status"] == "replaced"  # as many answers, another report
    assert p.get("/report").text not in pages
    assert len(made) == 2
    for i in range(int(REPORTS[1])):
        p.post("/labels", {**said, "answer": "ab"[i % 2]})
        got = p.get("/report")
    assert got.status_code == 429
    assert int(got.headers["retry-after"]) >= 1
    assert len(made) == REPORTS[1]


def held_up(monkeypatch):
    """Reports wait until the event that this returns is set; the list has an entry for each that was begun."""
    go, begun = threading.Event(), []

    def slow(project):
        begun.append(project)
        assert go.wait(60)
        return "<html>the report</html>"

    monkeypatch.setattr(export, "report", slow)
    return go, begun


def test_many_who_ask_for_the_report_hold_up_nobody_else(make, monkeypatch):
    """More requests than the server has threads wait for one fit; a token that was never looked up is looked up."""
    p = make(tasks=5, workers=2)
    reader = p.project.queue.do(lambda s: auth.issue(s, "read"))[1]
    go, begun = held_up(monkeypatch)
    with wired(p.client.app) as (server, port):
        wires = [connected(port) for _ in range(60)]
        for wire in wires:
            wire.sendall(request("GET", "/report", reader))
        until(lambda: begun and len(server.server_state.tasks) == len(wires))
        with connected(port) as other, other.makefile("rb") as file:
            other.settimeout(10)
            other.sendall(request("GET", "/next", p.tokens[1]))
            assert answer(file)[0] == 200
        go.set()
        for wire in wires:
            with wire, wire.makefile("rb") as file:
                assert answer(file)[::2] == (200, b"<html>the report</html>")
    assert len(begun) == 1


def test_who_leaves_does_not_end_the_report_of_the_others(make, monkeypatch):
    p = make(tasks=5)
    go, begun = held_up(monkeypatch)
    reports = p.client.app.state.reports

    async def several():
        asked = [asyncio.create_task(reports.page()) for _ in range(3)]
        await asyncio.sleep(0)
        asked[0].cancel()
        await asyncio.wait(asked[:1])
        go.set()
        return await asyncio.wait_for(asyncio.gather(*asked[1:]), 30)

    assert asyncio.run(several()) == ["<html>the report</html>"] * 2
    assert len(begun) == 1


def test_a_report_that_fails_fails_for_those_who_wait_and_is_tried_again(make, monkeypatch):
    p = make(tasks=5)

    def fails(_):
        raise Problem(409, "there is no report yet")

    monkeypatch.setattr(export, "report", fails)
    assert p.get("/report").status_code == 409
    monkeypatch.setattr(export, "report", lambda _: "page")
    assert p.get("/report").text == "page"
