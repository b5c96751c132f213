"""Requests on raw sockets: one response to one request, whatever is sent with it and however it is split."""

from __future__ import annotations

import json
import random
import re
import threading
import time

import pytest
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from crowdwise.server.auth import issue
from crowdwise.server.commands import annotate as commands
from crowdwise.server.store.log import events
from tests.server.serving import wired

from .wired import answer, chunked, connected, request, undated, until


class Served:
    """A project behind a port, and one connection to it."""

    def __init__(self, made, server, port):
        self.made, self.server, self.port = made, server, port
        self.socket = connected(port)
        self.file = self.socket.makefile("rb")
        self.token = made.tokens[0]

    def send(self, *args, **headers):
        """The response to one request."""
        self.socket.sendall(request(*args, **headers))
        return answer(self.file)

    def labels(self):
        """The answers in the log."""
        with self.made.project.database.reader.connect() as connection:
            return [event for event in events(connection, "main") if event.kind == "label"]

    def leases(self):
        return dict(self.made.project.queue.live.leases.held)


@pytest.fixture
def served(make):
    made = make(tasks=30, workers=3, explore=0.0)
    with wired(made.client.app) as (server, port):
        found = Served(made, server, port)
        yield found
        found.socket.close()


def label(task="t0", choice="a", **more):
    return json.dumps({"task": task, "answer": choice, **more}).encode()


def held_back(desk):
    """No batch of the desk begins before the event that this returns is set."""
    batch, go = desk._batch, threading.Event()

    def waiting(given):
        assert not given or go.wait(60)
        return batch(given)

    desk._batch = waiting
    return go


# ---------------------------------------------------------------- smuggling
def inner(token):
    """What an attacker puts into a body: a request that takes a task."""
    return request("GET", "/next?n=5", token)


EARLY = {
    "GET with a body": lambda body: (request("GET", "/healthz", body=body), 200),
    "POST answered 404": lambda body: (request("POST", "/none", body=body), 404),
    "POST answered 413": lambda body: (request("POST", "/labels", body=body.ljust(70_000), Idempotency_Key="k"), 413),
    "GET with a chunked body": lambda body: (chunked("GET", "/healthz", "", body, size=4_000), 200),
    "chunked POST answered 404": lambda body: (chunked("POST", "/none", "", body, size=4_000), 404),
}


@pytest.mark.parametrize("name", EARLY)
def test_a_body_behind_an_early_response_is_not_a_request(served, name):
    """The head is answered before its body arrives; the body, a request with a valid token, must stay a body."""
    data, status = EARLY[name](inner(served.token))
    end = data.index(b"\r\n\r\n") + 4
    served.socket.sendall(data[:end])
    assert answer(served.file)[0] == status
    served.socket.sendall(data[end:])
    time.sleep(0.3)  # so that the body is read on its own, as a request would be
    # The next response on the connection belongs to the next request.
    assert served.send("GET", "/next?n=0", served.token)[0] == 422
    assert not served.leases()


@pytest.mark.parametrize("path", ["/none", "/labels"])
def test_a_malformed_chunk_behind_an_early_response_gets_none_of_its_own(served, path):
    """One request, one response; the connection is closed."""
    served.socket.sendall(chunked("POST", path, "", b"hello", Idempotency_Key=None)[: -len(b"5\r\nhello\r\n0\r\n\r\n")])
    if path == "/none":
        assert answer(served.file)[0] == 404  # before the body arrives
    served.socket.sendall(b"zz\r\nhello\r\n" + inner(served.token))
    if path != "/none":
        assert answer(served.file)[0] in (400, 401)  # whichever comes first
    assert served.file.read() == b""
    assert not served.leases()


def test_a_trailer_is_no_header(served):
    """A token behind a chunked body must not count: the head of the request had none."""
    task = served.made.next(0)[0]
    trailer = f"Authorization: Bearer {served.token}\r\n".encode()
    data = chunked("POST", "/labels", "", label(task), trailer=trailer, Idempotency_Key="k")
    served.socket.sendall(data)
    assert answer(served.file)[0] == 401
    assert not served.labels()


@pytest.mark.parametrize(
    "line",
    [
        "a header without a colon",
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Content-Length: 5\r\nContent-Length: 6",
        "Content-Length: +5",
        "Transfer-Encoding: chunked, identity",
        "Odd Name: 1",
        "X: a\x00b",
        "Host: there",
    ],
)
def test_a_head_that_can_be_read_in_two_ways_is_refused(served, line):
    served.socket.sendall(f"GET /healthz HTTP/1.1\r\nHost: here\r\n{line}\r\n\r\n".encode() + inner(served.token))
    status, headers, _ = answer(served.file)
    assert (status, headers["connection"]) == (400, "close")
    assert served.file.read() == b""
    assert not served.leases()


@pytest.mark.parametrize(
    "host", ["", "Host: [\r\n", "Host: a b\r\n", "Host: a/b\r\n", "Host: a:99999\r\n", "Host: [1]\r\n"]
)
def test_a_request_has_one_valid_host(served, host):
    served.socket.sendall(f"GET /healthz HTTP/1.1\r\n{host}\r\n".encode() + inner(served.token))
    status, headers, body = answer(served.file)
    assert (status, headers["connection"]) == (400, "close")
    assert "Host" in json.loads(body)["detail"]
    assert served.file.read() == b""
    assert not served.leases()


@pytest.mark.parametrize(
    "host", ["", "label.example.org", "127.0.0.1:8000", "[::1]:8000", "[::1]", "xn--bcher-kva.example:"]
)
def test_hosts_that_are_valid(served, host):
    served.socket.sendall(f"GET /healthz HTTP/1.1\r\nHost: {host}\r\n\r\nGET /healthz HTTP/1.0\r\n\r\n".encode())
    assert answer(served.file)[0] == 200
    assert answer(served.file)[0] == 200  # HTTP/1.0 needs no Host


def test_another_protocol_is_not_spoken(served):
    upgrade = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec_WebSocket_Key": "x", "Sec_WebSocket_Version": "13"}
    served.socket.sendall(request("GET", "/healthz", **upgrade) + inner(served.token))
    status, headers, _ = answer(served.file)
    assert (status, headers["connection"]) == (200, "close")
    assert served.file.read() == b""
    assert not served.leases()


def test_bytes_that_are_no_request_do_not_lose_the_response_before_them(served):
    task = served.made.next(0)[0]
    go = held_back(served.made.project.queue)
    served.socket.sendall(request("POST", "/labels", served.token, label(task), Idempotency_Key="k") + b"\x00odd\r\n")
    go.set()
    status, headers, _ = answer(served.file)
    assert (status, headers["connection"]) == (201, "close")
    assert served.file.read() == b""


BAD_BODIES = {
    "malformed": chunked("POST", "/labels", "", b"{}", Idempotency_Key="b")[:-5] + b"zz\r\n\r\n",
    "after others": request("GET", "/healthz") * 3 + chunked("POST", "/none", "", b"{}")[:-5] + b"zz\r\n\r\n",
}


@pytest.mark.parametrize("name", BAD_BODIES)
def test_a_malformed_body_does_not_lose_the_responses_before_it(served, name):
    """A is carried out; B, pipelined behind it, has a malformed chunk: A gets its response, then it is over."""
    task = served.made.next(0)[0]
    go = held_back(served.made.project.queue)
    first = request("POST", "/labels", served.token, label(task), Idempotency_Key="k")
    served.socket.sendall(first + BAD_BODIES[name])
    until(lambda: all(c._ended for c in list(served.server.server_state.connections)))  # the bad body is parsed
    go.set()
    got = [answer(served.file) for _ in range(1 if name == "malformed" else 4)]
    assert [status for status, _, _ in got] == [201, 200, 200, 200][: len(got)]
    assert got[-1][1]["connection"] == "close"
    assert served.file.read() == b""
    assert [event.key for event in served.labels()] == ["k"]


# ---------------------------------------------------------------- splits and pipelines
def conversation(served):
    """Requests of all kinds whose responses do not change when they are repeated."""
    task = served.made.next(0)[0]
    first = served.made.call(
        "POST", "/labels", 0, content=label(task), headers={"Idempotency-Key": "k1", "Content-Type": "application/json"}
    )
    assert first.status_code == 201
    token, body = served.token, label(task)
    return [
        (request("POST", "/labels", token, body, Idempotency_Key="k1"), 200),
        (chunked("POST", "/labels", token, body, Idempotency_Key="k1"), 200),
        (request("GET", "/next?n=0", token), 422),
        (request("GET", "/healthz"), 200),
        (request("GET", "/healthz", body=inner(token)), 200),
        (request("POST", "/none", body=body), 404),
        (chunked("POST", "/none", token, inner(token)), 404),
        (request("POST", "/labels", "cw_unknown", body, Idempotency_Key="k"), 401),
        (request("POST", "/labels", token, body), 400),
        (request("POST", "/labels", token, b"{", Idempotency_Key="k"), 400),
        (request("PUT", "/next", token), 405),
    ]


def test_a_request_may_be_split_at_every_byte(served):
    requests = conversation(served)
    for data, status in (requests[0], requests[1], requests[4]):
        whole = None
        for at in range(1, len(data)):
            served.socket.sendall(data[:at])
            time.sleep(0.0005)  # so that most parts arrive on their own; the result must be the same in any case
            served.socket.sendall(data[at:])
            got = answer(served.file)
            got[1].pop("date")
            whole = whole or got
            assert got == whole, at
            assert got[0] == status


def test_pipelines_get_the_bytes_that_the_framework_alone_sends(served):
    """Sequences of requests, in random parts: the same responses as over uvicorn's own protocol, in their order."""
    requests, dice = conversation(served), random.Random(0)
    with wired(served.made.client.app, http=HttpToolsProtocol) as (_, plain):
        for _ in range(25):
            some = [dice.choice(requests) for _ in range(dice.randint(2, 12))]
            data = b"".join(one for one, _ in some) + request("GET", "/healthz", Connection="close")
            cuts = sorted(dice.sample(range(1, len(data)), dice.randint(0, 6)))
            got = [over(port, data, cuts) for port in (served.port, plain)]
            assert undated(got[0]) == undated(got[1])
            statuses = [int(code) for code in re.findall(rb"HTTP/1.1 (\d{3})", got[0])]
            assert statuses == [*(status for _, status in some), 200]


def over(port, data, cuts):
    """All that a server sends to these bytes, sent in parts."""
    with connected(port) as wire, wire.makefile("rb") as file:
        for begin, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
            wire.sendall(data[begin:end])
        return file.read()


def test_requests_that_do_not_wait_are_answered_in_their_order(served):
    n = 12
    tasks = [task["id"] for task in served.made.get(f"/next?n={n}", 0).json()["tasks"]]
    go = held_back(served.made.project.queue)
    for i, task in enumerate(tasks):
        served.socket.sendall(request("POST", "/labels", served.token, label(task), Idempotency_Key=f"k{i}"))
        if i % 3 == 0:
            served.socket.sendall(request("GET", f"/tasks/{task}", served.token))
    go.set()
    for i, task in enumerate(tasks):
        status, _, body = answer(served.file)
        assert (status, json.loads(body)["task"]) == (201, task)
        if i % 3 == 0:
            assert answer(served.file)[0] == 403
    assert len(served.labels()) == n


# ---------------------------------------------------------------- what the routes answer
def test_the_same_receipt_for_the_same_key(served):
    task = served.made.next(0)[0]
    first = served.send("POST", "/labels?next=1", served.token, label(task), Idempotency_Key="k1")
    again = served.send("POST", "/labels?next=1", served.token, label(task), Idempotency_Key="k1")
    assert (first[0], again[0]) == (201, 200)
    assert json.loads(first[2]) == json.loads(again[2])
    assert first[1]["content-type"] == "application/json"
    assert first[1]["x-content-type-options"] == "nosniff"
    assert len(served.labels()) == 1
    assert served.send("POST", "/labels", served.token, label(task, "b"), Idempotency_Key="k1")[0] == 422


@pytest.mark.parametrize(
    ("body", "key", "status"),
    [
        (b"{", "k", 400),
        (b"[]", "k", 422),
        (b'{"task": "t0"}', "k", 422),
        (b'{"task": "t0", "answer": "a", "odd": 1}', "k", 422),
        (b'{"task": 7, "answer": "a"}', "k", 422),
        (b'{"task": "t0", "answer": "zebra"}', "k", 422),
        (b'{"task": "nowhere", "answer": "a"}', "k", 404),
        (b'{"task": "t29", "answer": "a", "worker": "w1"}', "k", 403),
        (b'{"task": "t0", "answer": "a", "about": {"cost": NaN}}', "k", 422),
        (b'{"task": "t0", "answer": "a", "about": {"cost": 1' + b"0" * 400 + b"}}", "k", 422),
        (b'{"task": "t0", "answer": "a", "about": {"cost": [1]}}', "k", 422),
        (b'{"task": "t0", "answer": "a", "about": {"cost": true}}', "k", 422),
        (b'{"task": "t0", "answer": "a"}', None, 400),
        (b'{"task": "t0", "answer": "a"}', "a b", 400),
        (b'{"task": "t0", "answer": "a"}', "x" * 500, 400),
        (b"[" * 20_000, "k", 400),
        (b" " * 70_000, "k", 413),
    ],
)
def test_refusals(served, body, key, status):
    assert "t0" in served.made.next(0, 30)
    got = served.send("POST", "/labels", served.token, body, Idempotency_Key=key)
    assert got[0] == status, got
    assert got[1]["content-type"] == "application/problem+json"
    assert len(json.loads(got[2])["detail"]) > 10
    assert not served.labels()


def test_unknown_tokens_and_readers_are_refused(served):
    made = served.made
    reader = made.project.queue.do(lambda batch: issue(batch, "read")[1])
    for token, status in (("cw_unknown", 401), ("", 401), (reader, 403), (reader, 403)):
        assert served.send("GET", "/next", token)[0] == status
    assert served.send("GET", "/next", served.token)[0] == 200
    made.post("/workers/w0/revoke")
    assert served.send("GET", "/next", served.token)[0] == 401


def test_too_many_requests(make):
    made = make(tasks=5, workers=1, app={"rate": 0.001, "burst": 3.0})
    with wired(made.client.app) as (_, port), connected(port) as wire, wire.makefile("rb") as file:
        got = []
        for _ in range(5):
            wire.sendall(request("GET", "/next", made.tokens[0]))
            got.append(answer(file))
    assert [status for status, _, _ in got] == [200, 200, 200, 429, 429]
    assert int(got[-1][1]["retry-after"]) >= 1


def test_a_fault_is_reported_and_the_server_goes_on(served, monkeypatch):
    def broken(batch, worker, n):
        raise RuntimeError("planted")

    with monkeypatch.context() as patch:
        patch.setattr(commands, "take", broken)
        status, _, body = served.send("GET", "/next", served.token)
    assert status == 500
    assert "planted" not in body.decode()
    with connected(served.port) as wire, wire.makefile("rb") as file:
        wire.sendall(request("GET", "/next", served.token))
        assert answer(file)[0] == 200


def test_an_answer_whose_sender_is_gone_is_stored(served):
    task = served.made.next(0)[0]
    with connected(served.port) as gone:
        gone.sendall(request("POST", "/labels", served.token, label(task), Idempotency_Key="k"))
    until(served.labels)
    assert [event.key for event in served.labels()] == ["k"]
    assert served.send("GET", "/next", served.token)[0] == 200


def test_idle_connections_are_closed(make):
    made = make(tasks=5, workers=1)
    options = {"timeout_keep_alive": 1}
    with wired(made.client.app, **options) as (_, port), connected(port) as wire, wire.makefile("rb") as file:
        wire.sendall(request("GET", "/next", made.tokens[0]))
        assert answer(file)[0] == 200
        assert file.read() == b""  # the server closes the connection


def test_the_end_of_the_server_waits_for_an_answer(served):
    go = held_back(served.made.project.queue)
    served.socket.sendall(request("GET", "/next", served.token))
    until(lambda: served.server.server_state.tasks)
    served.server.should_exit = True
    until(lambda: not all(c.cycle is None or c.cycle.keep_alive for c in served.server.server_state.connections))
    go.set()
    status, headers, _ = answer(served.file)
    assert (status, headers["connection"]) == (200, "close")
    assert served.file.read() == b""


def test_what_is_known_of_an_answer_is_kept(make):
    made = make(tasks=3, workers=1)
    task = made.next(0)[0]
    about = {"cost": 0.002, "model": "judge-1", "confidence": 0.75}
    got = made.post("/labels", {"task": task, "answer": "a", "about": about}, 0)
    assert got.status_code == 201, got.text
    with made.project.database.reader.connect() as connection:
        (kept,) = [event.payload for event in events(connection, "main") if event.kind == "label"]
    assert kept["about"] == about
