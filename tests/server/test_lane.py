"""The quick lane and the routes are one: same answers, same refusals, whatever the request looks like."""

from __future__ import annotations

import json
import socket
import threading
import time

import pytest
from benchmarks.live.wired import wired

from crowdwise.server.api import lane as lanes
from crowdwise.server.auth import issue
from crowdwise.server.store.log import events

from .wired import answer, request


def connected(port):
    return socket.create_connection(("127.0.0.1", port), timeout=10)


class Lined:
    """A project whose requests go both ways: over a connection with a lane, and through the routes."""

    def __init__(self, made, server, port):
        self.made, self.server, self.port = made, server, port
        self.socket = connected(port)
        self.file = self.socket.makefile("rb")
        self.quick = []  # commands of the lane

    def say(self, *args, **headers):
        """What the server says to one request."""
        self.socket.sendall(request(*args, **headers))
        return answer(self.file)

    def answers(self):
        """How often something was answered in the log."""
        with self.made.project.database.reader.connect() as connection:
            return [e for e in events(connection, "main") if e.kind == "label"]


@pytest.fixture
def lined(make, monkeypatch):
    made = make(tasks=30, workers=3, explore=0.0)
    made.next(0)  # the door knows the token from now on
    with wired(made.client.app) as (server, port):
        found = Lined(made, server, port)
        read = lanes.Lane.read

        def noted(self, data):
            command = read(self, data)
            if command is not None and not isinstance(command, lanes.More):
                found.quick.append(command)
            return command

        monkeypatch.setattr(lanes.Lane, "read", noted)
        yield found
        found.socket.close()


def label(task="t0", said="a", **more):
    return json.dumps({"task": task, "answer": said, **more}).encode()


def slowed(desk, seconds):
    """Every batch of the desk takes so long."""
    batch = desk._batch

    def slow(given):
        time.sleep(seconds if given else 0)
        return batch(given)

    desk._batch = slow


def held(desk):
    """No batch of the desk begins before the event that this returns is set."""
    batch, go = desk._batch, threading.Event()

    def waiting(given):
        assert not given or go.wait(60)
        return batch(given)

    desk._batch = waiting
    return go


def test_plain_requests_take_the_lane(lined):
    token = lined.made.tokens[0]
    status, headers, body = lined.say("GET", "/next?n=2", token)
    assert status == 200
    assert len(json.loads(body)["tasks"]) == 2
    assert len(lined.quick) == 1
    assert headers["content-type"] == "application/json"
    assert headers["x-content-type-options"] == "nosniff"
    assert "date" in headers
    usual = lined.made.get("/next?n=2", 0)
    assert usual.json() == json.loads(body)
    assert set(usual.headers) <= set(headers)


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        ("GET", "/next?n=2&worker=w1", {}),
        ("GET", "/next?n=0", {}),
        ("GET", "/next?n=201", {}),
        ("GET", "/next?next=1", {}),
        ("GET", "/next/", {}),
        ("GET", "/labels", {}),
        ("PUT", "/next", {}),
        ("GET", "/next", {"Cookie": "crowdwise=odd"}),
        ("GET", "/next", {"Connection": "close"}),
        ("GET", "/next", {"Expect": "100-continue"}),
        ("GET", "/next", {"Host": None}),
        ("GET", "/next", {"Content_Length": "0"}),
        ("GET", "/next", {"Transfer_Encoding": "chunked"}),
        ("GET", "/next", {"Authorization": "Basic odd"}),
        ("GET", "/next", {"Accept": "text/plain\x01"}),
        ("GET", "/next", {"Accept": "text/plain\r\nHost: there"}),
        ("GET", "/next", {"Accept": "text/plain\r\n folded"}),
        ("POST", "/labels", {}),
        ("POST", "/labels?next=1", {"Idempotency_Key": "k", "Content_Length": "+3"}),
        ("POST", "/labels?next=1", {"Idempotency_Key": "k", "Content_Length": "9" * 5_000}),
        ("POST", "/labels?next=1", {"Idempotency_Key": "k", "Content_Length": "70000"}),
        ("POST", "/labels?next=1", {"Idempotency_Key": "k", "Content_Length": "3"}),
    ],
)
def test_odd_requests_go_the_usual_way(lined, method, path, headers):
    lane, token = lanes.Lane(lined.made.client.app), lined.made.tokens[0]
    body = label() if method == "POST" else b""
    assert lane.read(request(method, path, token, body, **headers)) is None
    # The same without what is odd about it is plain.
    assert isinstance(lane.read(request("GET", "/next", token)), lanes.Next)
    assert isinstance(lane.read(request("POST", "/labels", token, label(), Idempotency_Key="k")), lanes.Answer)


@pytest.mark.parametrize("end", [b"", b"GET", b"\r\n", b"x", b"GET / HTTP/1.1\r\n\r\n"])
def test_more_bytes_than_the_request_has_are_not_plain(lined, end):
    app, token = lined.made.client.app, lined.made.tokens[0]
    get, post = request("GET", "/next", token), request("POST", "/labels", token, label(), Idempotency_Key="k")
    assert (lanes.Lane(app).read(get + end) is None) == bool(end)
    assert (lanes.Lane(app).read(post + end) is None) == bool(end)


def test_the_same_receipt_both_ways(lined):
    made, token = lined.made, lined.made.tokens[0]
    task = made.next(0)[0]
    body, headers = label(task), {"Idempotency-Key": "k1", "Content-Type": "application/json"}
    first = lined.say("POST", "/labels?next=1", token, body, Idempotency_Key="k1")
    again = made.call("POST", "/labels?next=1", 0, content=body, headers=headers)
    third = lined.say("POST", "/labels?next=1", token, body, Idempotency_Key="k1")
    assert (first[0], again.status_code, third[0]) == (201, 200, 200)
    assert len(lined.quick) == 2
    assert len(lined.answers()) == 1
    assert json.loads(first[2]) == again.json() == json.loads(third[2])
    assert set(again.headers) <= set(first[1])
    other = label(task, "b")
    assert lined.say("POST", "/labels", token, other, Idempotency_Key="k1")[0] == 422
    assert made.call("POST", "/labels", 0, content=other, headers=headers).status_code == 422


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (b"{", {"Idempotency-Key": "k"}),
        (b"[]", {"Idempotency-Key": "k"}),
        (b'{"task": "t0"}', {"Idempotency-Key": "k"}),
        (b'{"task": "t0", "answer": "a", "odd": 1}', {"Idempotency-Key": "k"}),
        (b'{"task": 7, "answer": "a"}', {"Idempotency-Key": "k"}),
        (b'{"task": "t0", "answer": "zebra"}', {"Idempotency-Key": "k"}),
        (b'{"task": "nowhere", "answer": "a"}', {"Idempotency-Key": "k"}),
        (b'{"task": "t29", "answer": "a", "worker": "w1"}', {"Idempotency-Key": "k"}),
        (b'{"task": "t0", "answer": "a", "about": {"cost": NaN}}', {"Idempotency-Key": "k"}),
        (b'{"task": "t0", "answer": "a", "about": {"cost": [1]}}', {"Idempotency-Key": "k"}),
        (b'{"task": "t0", "answer": "a", "about": {"cost": true}}', {"Idempotency-Key": "k"}),
        (b'{"task": "t0", "answer": "a"}', {}),
        (b'{"task": "t0", "answer": "a"}', {"Idempotency-Key": "a b"}),
        (b'{"task": "t0", "answer": "a"}', {"Idempotency-Key": "x" * 500}),
        (b"[" * 20_000, {"Idempotency-Key": "k"}),
        (b" " * 70_000, {"Idempotency-Key": "k"}),
    ],
)
def test_the_same_refusals_both_ways(lined, body, headers):
    made = lined.made
    key = {"Idempotency_Key": headers.get("Idempotency-Key")}
    quick = lined.say("POST", "/labels", made.tokens[0], body, **key)
    usual = made.call("POST", "/labels", 0, content=body, headers={"Content-Type": "application/json", **headers})
    assert quick[0] == usual.status_code >= 400
    assert json.loads(quick[2]) == usual.json()
    assert quick[1]["content-type"] == "application/problem+json"
    assert quick[1]["x-content-type-options"] == "nosniff"
    assert not lined.answers()


def test_strangers_and_readers_are_refused(lined):
    made = lined.made
    reader = made.project.desk.do(lambda shift: issue(shift, "read")[1])
    for token, status in (("cw_unknown", 401), ("", 401), (reader, 403), (reader, 403)):
        assert lined.say("GET", "/next", token)[0] == status
    assert not lined.quick
    assert lined.say("GET", "/next", made.tokens[0])[0] == 200
    made.post("/workers/w0/revoke")
    assert lined.say("GET", "/next", made.tokens[0])[0] == 401  # what was remembered is forgotten


def test_a_body_that_comes_later(lined):
    """Many programs send head and body one after the other."""
    task, token = lined.made.next(0)[0], lined.made.tokens[0]
    data = request("POST", "/labels", token, label(task), Idempotency_Key="k")
    middle = data.index(b"\r\n\r\n") + 4
    for part in (data[:middle], data[middle : middle + 5], data[middle + 5 :]):
        lined.socket.sendall(part)
        time.sleep(0.05)
    assert answer(lined.file)[0] == 201
    assert len(lined.quick) == 1
    assert len(lined.answers()) == 1


def test_a_head_that_comes_in_pieces(lined):
    data = request("GET", "/next", lined.made.tokens[0])
    for part in (data[:10], data[10:40], data[40:]):
        lined.socket.sendall(part)
        time.sleep(0.05)
    assert answer(lined.file)[0] == 200
    assert not lined.quick
    assert lined.say("GET", "/next", lined.made.tokens[0])[0] == 200
    assert len(lined.quick) == 1


def test_requests_that_do_not_wait_are_answered_in_their_order(lined):
    token, n = lined.made.tokens[0], 12
    tasks = [each["id"] for each in lined.made.get(f"/next?n={n}", 0).json()["tasks"]]
    go = held(lined.made.project.desk)
    for i, task in enumerate(tasks):
        lined.socket.sendall(request("POST", "/labels", token, label(task), Idempotency_Key=f"k{i}"))
        if i == 0:
            time.sleep(0.1)  # it is under way when all the others come
        elif i % 3 == 0:
            lined.socket.sendall(request("GET", f"/tasks/{task}", token))
    time.sleep(0.2)
    assert len(lined.quick) == 1
    go.set()
    for i, task in enumerate(tasks):
        status, _, body = answer(lined.file)
        assert (status, json.loads(body)["task"]) == (201, task)
        if i and i % 3 == 0:
            assert answer(lined.file)[0] in (200, 403)
    assert len(lined.answers()) == n
    before = len(lined.quick)
    assert lined.say("GET", "/next", token)[0] == 200
    assert len(lined.quick) == before + 1


def test_too_many_requests_are_refused_on_the_lane_too(make):
    made = make(tasks=5, workers=1, app={"rate": 0.001, "burst": 3.0})
    made.next(0)
    with wired(made.client.app) as (_, port), connected(port) as wire, wire.makefile("rb") as file:
        found = []
        for _ in range(4):
            wire.sendall(request("GET", "/next", made.tokens[0]))
            found.append(answer(file))
    assert [status for status, _, _ in found] == [200, 200, 429, 429]
    assert int(found[-1][1]["retry-after"]) >= 1


def test_a_fault_is_told_and_the_connection_goes_on(lined, monkeypatch):
    def broken(shift, worker, n):
        raise RuntimeError("planted")

    token = lined.made.tokens[0]
    with monkeypatch.context() as patch:
        patch.setattr(lanes.acts, "take", broken)
        status, _, body = lined.say("GET", "/next", token)
    assert status == 500
    assert "planted" not in body.decode()
    assert lined.say("GET", "/next", token)[0] == 200


def test_an_answer_that_cannot_be_said_holds_up_nobody(lined, monkeypatch):
    told, odd = lanes.told, lined.made.next(0)[0]

    def broken(hand):
        if hand.names == [odd]:
            raise ValueError("planted")
        return told(hand)

    monkeypatch.setattr(lanes, "told", broken)
    lined.made.next(1)
    slowed(lined.made.project.desk, 0.3)  # both are told of in one go
    other = connected(lined.port)
    lined.socket.sendall(request("GET", "/next", lined.made.tokens[0]))
    other.sendall(request("GET", "/next", lined.made.tokens[1]))
    assert answer(lined.file)[0] == 500
    with other.makefile("rb") as file:
        assert answer(file)[0] == 200
    other.close()


def test_an_answer_whose_sender_is_gone_is_stored(lined):
    task = lined.made.next(0)[0]
    gone = connected(lined.port)
    gone.sendall(request("POST", "/labels", lined.made.tokens[0], label(task), Idempotency_Key="k"))
    gone.close()
    for _ in range(200):
        if lined.answers():
            break
        time.sleep(0.02)
    assert [e.key for e in lined.answers()] == ["k"]
    assert lined.say("GET", "/next", lined.made.tokens[0])[0] == 200


def test_idle_connections_are_closed_and_used_ones_are_not(make):
    made = make(tasks=5, workers=1)
    made.next(0)
    end = {"timeout_keep_alive": 1}
    with wired(made.client.app, **end) as (_, port), connected(port) as wire, wire.makefile("rb") as file:
        for _ in range(5):
            wire.sendall(request("GET", "/next", made.tokens[0]))
            assert answer(file)[0] == 200
            time.sleep(0.4)
        assert file.read() == b""  # nothing more: the server hangs up


def test_the_end_of_the_server_waits_for_an_answer(lined):
    token = lined.made.tokens[0]
    go = held(lined.made.project.desk)
    lined.socket.sendall(request("GET", "/next", token))
    time.sleep(0.2)
    lined.server.should_exit = True
    time.sleep(0.5)  # it looks every tenth of a second
    go.set()
    status, headers, _ = answer(lined.file)
    assert (status, headers["connection"]) == (200, "close")
    assert lined.file.read() == b""


def test_what_is_known_of_an_answer_is_kept(make):
    made = make(tasks=3, workers=1)
    task = made.next(0)[0]
    about = {"cost": 0.002, "model": "judge-1", "confidence": 0.75}
    said = made.post("/labels", {"task": task, "answer": "a", "about": about}, 0)
    assert said.status_code == 201, said.text
    with made.project.database.reader.connect() as connection:
        (kept,) = [e.payload for e in events(connection, "main") if e.kind == "label"]
    assert kept["about"] == about
    assert json.dumps(kept)
