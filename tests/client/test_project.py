"""The client by itself, against answers that are played to it: keys, repeats, one-line errors, streams."""

from __future__ import annotations

import json
import random

import httpx
import pytest

from crowdwise.client.problems import ServerProblem, Unreachable, problem
from crowdwise.client.project import Project
from crowdwise.client.records import Receipt, Refused, Task
from crowdwise.client.retry import Retry, seconds_of
from crowdwise.client.stream import events_of
from crowdwise.client.transport import place_of
from crowdwise.core.errors import ParameterError


def project_of(play, tries=4, waits=None):
    """A project whose requests go to `play(request, number)`."""
    seen = []

    def handle(request):
        seen.append(request)
        return play(request, len(seen) - 1)

    retry = Retry(tries=tries, sleep=(waits if waits is not None else []).append, dice=random.Random(0))
    made = Project("http://server.test", "cw_token", retry=retry, transport=httpx.MockTransport(handle))
    return made, seen


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("http://127.0.0.1:8000", ("http://127.0.0.1:8000", "main")),
        ("127.0.0.1:8000/", ("http://127.0.0.1:8000", "main")),
        ("https://x.org/label/projects/birds", ("https://x.org/label", "birds")),
        ("https://x.org/projects/birds/next", ("https://x.org", "birds")),
        ("https://x.org/p/birds/annotate", ("https://x.org", "birds")),
        ("https://x.org/projects", ("https://x.org", "main")),
    ],
)
def test_addresses(url, place):
    assert place_of(url) == place


@pytest.mark.parametrize("url", ["ftp://x.org", "http://", "http://me:secret@x.org"])
def test_odd_addresses_are_refused(url):
    with pytest.raises(ParameterError) as error:
        Project(url)
    assert "secret" not in str(error.value)


def test_a_task_comes_and_its_answer_goes():
    def play(request, n):
        assert request.headers["Authorization"] == "Bearer cw_token"
        if n == 0:
            task = {"id": "t 1", "payload": {"text": "x"}, "lease": "L7", "expires_at": "soon"}
            return httpx.Response(200, json={"tasks": [task], "stopped": None, "progress": {"open": 3}})
        body = json.loads(request.content)
        assert body == {"task": "t 1", "answer": "cat", "lease": "L7", "client_ms": 12}
        assert request.headers["Idempotency-Key"]
        return httpx.Response(201, json={"event": 9, "task": "t 1", "status": "counted", "stopped": "sure"})

    project, _ = project_of(play)
    batch = project.next()
    assert batch.tasks[0] == Task("t 1", {"text": "x"}, "L7", "soon")
    assert batch.progress == {"open": 3}
    assert project.answer(batch.tasks[0], "cat", ms=12) == Receipt(9, "t 1", "counted", "sure")


def test_a_lost_response_is_sent_again_under_the_same_key():
    """The server commits and the answer is lost: the repeat has the same key and body, and gets the same event."""
    counted = {}

    def play(request, n):
        key = request.headers["Idempotency-Key"]
        again = key in counted
        counted.setdefault(key, (len(counted), request.content))
        assert counted[key][1] == request.content
        if n == 0:
            raise httpx.ReadTimeout("gone")
        if n == 1:
            return httpx.Response(502)
        body = {"event": counted[key][0], "task": "t", "status": "counted", "stopped": None}
        return httpx.Response(200 if again else 201, json=body)

    project, seen = project_of(play)
    told = project.answer("t", "cat")
    assert (told.event, told.again, len(seen), len(counted)) == (0, True, 3, 1)


def test_what_is_not_safe_is_not_sent_twice():
    def play(request, n):
        raise httpx.ReadTimeout("gone")

    project, seen = project_of(play)
    with pytest.raises(Unreachable):
        project.add_worker("Ana")
    assert len(seen) == 1

    def refused(request, n):
        raise httpx.ConnectError("nobody")

    project, seen = project_of(refused)  # it never left: it may go again
    with pytest.raises(Unreachable, match="is it running"):
        project.add_worker("Ana")
    assert len(seen) == 4


def test_pauses_follow_the_server_and_grow():
    waits = []
    replies = [
        httpx.Response(429, headers={"Retry-After": "7"}),
        *[httpx.Response(503)] * 2,
        httpx.Response(200, json={}),
    ]
    project, _ = project_of(lambda request, n: replies[n], waits=waits)
    project.status()
    assert waits[0] == 7.0
    assert 0.25 <= waits[1] <= 0.5 <= waits[2] <= 1.0
    assert seconds_of("Wed, 21 Oct 2015 07:28:00 GMT") == 0.0
    assert seconds_of("soon") is None


def test_problems_are_one_line():
    body = {
        "type": "about:blank",
        "title": "no such task",
        "status": 404,
        "detail": "there is no task\n'x'",
        "task": "x",
    }
    project, _ = project_of(lambda request, n: httpx.Response(404, json=body))
    with pytest.raises(ServerProblem) as error:
        project.answer("x", "cat")
    assert str(error.value) == "the server says 404, no such task: there is no task 'x'"
    assert error.value.more == {"task": "x"}
    assert str(problem(500, b"<html>\n" + b"y" * 1000, "Oops")).startswith("the server says 500, Oops: <html> yyy")
    assert len(str(problem(500, b"y" * 10_000))) < 400
    project, _ = project_of(lambda request, n: httpx.Response(302, headers={"Location": "http://elsewhere.test"}))
    with pytest.raises(ServerProblem, match="302"):  # a token never goes elsewhere
        project.status()
    project, _ = project_of(lambda request, n: httpx.Response(200, text="<html>"))
    with pytest.raises(Unreachable, match="is it a crowdwise server"):
        project.status()


def test_bulk_says_what_became_of_each():
    def play(request, n):
        rows = json.loads(request.content)["labels"]
        assert len({row["key"] for row in rows}) == 2
        assert request.url.path == "/projects/main/labels/bulk"
        first = {"event": 1, "task": "a", "status": "counted", "stopped": None}
        return httpx.Response(
            200, json={"results": [first | {"status_code": 201}, {"status_code": 422, "title": "no class"}]}
        )

    project, _ = project_of(play)
    good, bad = project.bulk([{"task": "a", "answer": "dog"}, {"task": "b", "answer": "dgo"}])
    assert isinstance(good, Receipt)
    assert isinstance(bad, Refused)
    assert (bad.task, bad.problem.status) == ("b", 422)


def test_the_lead_s_requests():
    def play(request, n):
        path = request.url.raw_path.decode()
        if path.endswith("/workers") and request.method == "GET":
            return httpx.Response(200, json={"workers": [{"id": "w1"}]})
        if path.endswith("/invites"):
            return httpx.Response(201, json={"url": "http://x/join/abc"})
        return httpx.Response(200, json={"path": path, "method": request.method}, headers={})

    project, _ = project_of(play)
    assert project.workers() == [{"id": "w1"}]
    assert project.invite().endswith("/join/abc")
    assert project.task("a/b c")["path"] == "/projects/main/tasks/a%2Fb%20c"
    assert project.worker("w1", "pause", reason="tired")["path"] == "/projects/main/workers/w1/pause"
    assert project.change(target=0.9)["method"] == "PATCH"
    assert project.gold("t", "cat")["path"] == "/projects/main/gold"
    assert project.skip("t", "blurred")["path"] == "/projects/main/skips"
    assert project.undo()["path"] == "/projects/main/undo"
    assert project.healthy()


def test_exports_are_written(tmp_path):
    project, _ = project_of(lambda request, n: httpx.Response(200, content=b"task,label\n"))
    assert project.export("labels", to=tmp_path / "labels.csv") == b"task,label\n"
    assert (tmp_path / "labels.csv").read_bytes() == b"task,label\n"


def test_events_are_read_as_they_come():
    text = ': hello\n\nevent: status\nid: 4\ndata: {"open": 3}\n\ndata: two\ndata: lines\n\nevent: label\n'
    found = list(events_of(text.split("\n")))
    assert [(each.kind, each.data, each.id) for each in found] == [
        ("status", {"open": 3}, "4"),
        ("message", "two\nlines", "4"),
    ]
    project, _ = project_of(lambda request, n: httpx.Response(200, text=text))
    assert next(iter(project.events())).data == {"open": 3}
    project, _ = project_of(lambda request, n: httpx.Response(403, json={"title": "read scope needed"}))
    with pytest.raises(ServerProblem, match="read scope"):
        next(iter(project.events()))


def test_a_request_that_did_not_arrive_in_time_is_sent_again():
    """408: the server did not carry it out, so that even what has no key may be repeated."""
    replies = [httpx.Response(408), httpx.Response(201, json={"token": "cw_x", "id": "Ana", "token_id": "x"})]
    project, seen = project_of(lambda request, n: replies[n])
    assert project.add_worker("Ana")
    assert len(seen) == 2
