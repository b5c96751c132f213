"""Limits of connections: heads, slow clients, half-open requests; and the internals of uvicorn that they rest on."""

from __future__ import annotations

import hashlib
import inspect
import re
import socket
import time
import tomllib
from importlib.metadata import version

import httptools
import pytest
from uvicorn.protocols.http import httptools_impl

from crowdwise.server import run
from crowdwise.server.api.connection import PIPELINED, SLICE, Connection, Limits
from tests.data import ROOT
from tests.server.serving import wired

from .wired import answer, chunked, connected, request, until

SHORT = Limits(head_seconds=0.2, body_seconds=0.2)


@pytest.fixture
def port(make):
    """port(limits) of a server with these limits."""
    made, stack = make(tasks=5, workers=1), []

    def serve(limits, **options):
        context = wired(made.client.app, limits, **options)
        server, number = context.__enter__()
        stack.append(context)
        serve.server, serve.made = server, made
        return number

    yield serve
    for context in stack:
        context.__exit__(None, None, None)


def healthy(port):
    """An honest request on a new connection."""
    with connected(port) as wire, wire.makefile("rb") as file:
        wire.sendall(request("GET", "/healthz"))
        return answer(file)[0] == 200


def sent(wire, data, most):
    """How many bytes could be sent, in parts, before the server closed the connection."""
    n = 0
    try:
        while n < most:
            wire.sendall(data)
            n += len(data)
    except OSError:
        pass
    return n


# ---------------------------------------------------------------- heads
def test_a_head_may_have_64_kb(port):
    where = port(Limits())
    with connected(where) as wire, wire.makefile("rb") as file:
        wire.sendall(request("GET", "/healthz", X_Long="x" * 60_000))
        assert answer(file)[0] == 200
        wire.sendall(request("GET", "/healthz", X_Long="x" * (64 * 1024 + 2 * SLICE)))
        status, headers, _ = answer(file)
        assert (status, headers["connection"]) == (431, "close")


@pytest.mark.parametrize("begin", [b"GET /", b"GET /healthz HTTP/1.1\r\nX-Long: ", b"GET /healthz HTTP/1.1\r\nX-Lo"])
def test_an_endless_head_is_cut_off(port, begin):
    """The line never ends; without a limit the server would keep every byte of it."""
    where = port(Limits())
    with connected(where) as wire:
        wire.sendall(begin)
        assert sent(wire, b"x" * 64_000, 30_000_000) < 30_000_000
    assert healthy(where)


def test_many_headers_and_endless_trailers_are_cut_off(port):
    where = port(Limits())
    with connected(where) as wire:
        wire.sendall(b"GET /healthz HTTP/1.1\r\n")
        assert sent(wire, b"a: b\r\n" * 10_000, 30_000_000) < 30_000_000
    with connected(where) as wire:
        wire.sendall(chunked("POST", "/none", "", b"{}")[:-2] + b"X-Trailer: ")
        assert sent(wire, b"x" * 64_000, 30_000_000) < 30_000_000
    assert healthy(where)


def test_a_body_is_no_head(port):
    """A long body in parts of every size is taken."""
    where = port(Limits(head=8_192))
    token = port.made.admin
    body = b'{"tasks": [{"id": "long", "payload": {"text": "%b"}}]}' % (b"x" * 50_000)
    with connected(where) as wire, wire.makefile("rb") as file:
        wire.sendall(request("POST", "/tasks", token, body))
        assert answer(file)[0] == 201
        wire.sendall(chunked("POST", "/tasks", token, body, size=3))
        assert answer(file)[0] == 201


def test_a_pipeline_has_an_end(port):
    """A client that sends requests without reading responses does not fill the memory."""
    where = port(Limits())
    with connected(where) as wire:
        wire.settimeout(20)
        few = request("GET", "/healthz")
        assert sent(wire, few * 10 * PIPELINED, 1_000_000_000) < 1_000_000_000
    assert healthy(where)


# ---------------------------------------------------------------- deadlines
@pytest.mark.parametrize(
    ("begin", "what"),
    [
        (b"GET /healthz HTTP/1.1\r\nHost: here\r\n", "head"),
        (b"G", "head"),
        (request("POST", "/labels", "", b'{"task": "t0"}', Idempotency_Key="k")[:-3], "body"),
        (chunked("POST", "/labels", "", b'{"task": "t0"}', Idempotency_Key="k")[:-9], "body"),
    ],
)
def test_a_request_that_does_not_arrive_in_time(port, begin, what):
    where = port(SHORT)
    with connected(where) as wire, wire.makefile("rb") as file:
        wire.sendall(begin)
        status, headers, body = answer(file)
        assert (status, headers["connection"]) == (408, "close")
        assert f"the {what} of a request must arrive" in body.decode()
        assert file.read() == b""
    assert healthy(where)


def test_slow_bytes_do_not_move_the_deadline(port):
    """A byte every few milliseconds: the deadline counts from the first one."""
    where = port(SHORT)
    with connected(where) as wire:
        wire.sendall(b"GET /healthz HTTP/1.1\r\nX-Slow: ")
        until(lambda: sent(wire, b"x", 1) == 0)


@pytest.mark.parametrize("data", [b"", b"\r\n"])
def test_a_connection_without_a_request_is_closed(port, data):
    where = port(SHORT)
    with connected(where) as wire, wire.makefile("rb") as file:
        wire.sendall(data)
        assert file.read() == b""


def test_the_rest_of_a_body_that_was_answered_early_has_a_deadline(port):
    where = port(SHORT)
    with connected(where) as wire, wire.makefile("rb") as file:
        wire.sendall(request("POST", "/none", "", b"x" * 1_000)[:-500])
        assert answer(file)[0] == 404
        assert file.read() == b""  # closed, without a second response to the same request


def test_a_client_that_waits_for_100_continue_gets_one_response(port):
    """The request is answered before its body; the client never sends it."""
    where = port(SHORT)
    with connected(where) as wire, wire.makefile("rb") as file:
        wire.sendall(request("POST", "/none", "", Content_Length="5", Expect="100-continue"))
        assert answer(file)[0] == 404
        assert file.read() == b""


def test_a_response_that_takes_long_has_no_deadline(port):
    """The request has arrived: the time that the server needs is its own."""
    where = port(SHORT)
    desk, token = port.made.project.queue, port.made.tokens[0]
    batch = desk._batch

    def slow(given):
        time.sleep(0.6 if given else 0.0)
        return batch(given)

    desk._batch = slow
    with connected(where) as wire, wire.makefile("rb") as file:
        wire.sendall(request("GET", "/next", token) * 3 + b"GET /healthz HTTP/1.1\r\n")
        assert [answer(file)[0] for _ in range(3)] == [200] * 3
        got = file.read()  # the unfinished request behind them is refused, or not answered at all
        assert not got or got.startswith(b"HTTP/1.1 408")


def not_reading(port, n=90):
    """A client that sends requests and never reads the responses."""
    wire = socket.socket()
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    wire.connect(("127.0.0.1", port))
    wire.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: here\r\n\r\n" * n)
    return wire


def test_a_client_that_does_not_read_is_cut_off(port):
    """Its responses fill the buffers; then the connection is closed, not kept for ever."""
    where = port(SHORT)
    with not_reading(where):
        until(lambda: any(c.flow.write_paused for c in port.server.server_state.connections))
        until(lambda: not port.server.server_state.connections)


def test_clients_that_do_not_read_lock_nobody_out(port):
    """They occupy all connections; each new client takes the place of one of them, and honest ones keep theirs."""
    where = port(Limits(connections=8))
    connections = port.server.server_state.connections
    with connected(where) as honest, honest.makefile("rb") as file:
        honest.sendall(request("GET", "/healthz"))
        assert answer(file)[0] == 200
        wires = [not_reading(where) for _ in range(7)]
        until(lambda: sum(c.flow.write_paused for c in list(connections)) == 7)
        for _ in range(20):
            assert healthy(where)
        honest.sendall(request("GET", "/healthz"))  # the connection of the honest client was not closed for them
        assert answer(file)[0] == 200
        wires += [not_reading(where) for _ in range(20)]
        until(lambda: len(connections) <= 8)  # the loop may still be closing the one that gives way
        honest.sendall(request("GET", "/healthz"))
        assert answer(file)[0] == 200
        for wire in wires:
            wire.close()


def test_a_closed_connection_whose_last_bytes_are_not_read_ends(port):
    """Fewer bytes are left than the transport reports as unread: closing alone would wait for the client for ever."""
    where = port(SHORT, timeout_keep_alive=0.2)
    connections = port.server.server_state.connections
    with connected(where) as wire:
        until(lambda: connections)
        (connection,) = connections
        wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        connection.pause_writing = lambda: None  # as if the bytes stayed below the limit of the transport
        wire.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: here\r\n\r\n" * 90)
        until(lambda: connection.transport.is_closing() and connection.transport.get_write_buffer_size())
        until(lambda: not connections)


def test_the_last_response_reaches_a_client_that_is_still_sending(port):
    """A connection that is closed with unread input is reset by the system, and the response is lost on its way."""
    where = port(Limits())
    for _ in range(20):
        with connected(where) as wire, wire.makefile("rb") as file:
            wire.sendall(request("GET", "/healthz") + b"\x00 is not HTTP\r\n")
            assert sent(wire, b"x" * 1_000, 200_000) == 200_000  # read and discarded
            status, headers, _ = answer(file)
            assert status == 200
            if headers.get("connection") != "close":
                assert answer(file)[0] == 400
            assert file.read() == b""
            wire.shutdown(socket.SHUT_WR)
        until(lambda: not port.server.server_state.connections)  # it ends with the client


CLOSE, LONG, SHORTER = {"Connection": "close"}, 3_000_000, 60_000
EARLY = {
    "404": (request("POST", "/none", Content_Length=SHORTER, **CLOSE), SHORTER, 404),
    "chunked 404": (request("POST", "/none", Transfer_Encoding="chunked", **CLOSE), LONG, 404),
    "401": (request("GET", "/next", "cw_unknown", Content_Length=SHORTER, **CLOSE), SHORTER, 401),
    "413": (request("POST", "/labels", Content_Length=LONG, **CLOSE), LONG, 413),
    "413 of HTTP/1.0": (request("POST", "/labels", Content_Length=LONG).replace(b"/1.1\r", b"/1.0\r"), LONG, 413),
    "413 that does not close": (request("POST", "/labels", Content_Length=LONG), LONG, 413),
}


@pytest.mark.parametrize("name", EARLY)
def test_a_client_that_sends_its_whole_body_first_gets_an_early_response(port, name):
    """The response is written before the body has arrived. The client writes all of the body before it reads, as
    urllib does; the body, and what stands behind it, is a request that must not be carried out."""
    where = port(Limits())
    head, length, status = EARLY[name]
    inner = request("GET", "/next?n=5", port.made.tokens[0])
    with connected(where) as wire, wire.makefile("rb") as file:
        wire.sendall(head)
        until(lambda: status in port.made.client.app.state.answered)
        part = inner.ljust(length // 100)
        for _ in range(100):
            wire.sendall(b"%x\r\n%b\r\n" % (len(part), part) if "chunked" in name else part)
        if "chunked" in name:
            wire.sendall(b"0\r\n\r\n")
        if "not close" in name:
            wire.sendall(request("GET", "/healthz", Connection="close"))
        wire.sendall(inner)
        assert answer(file)[0] == status
        if "not close" in name:
            assert answer(file)[0] == 200
        assert file.read() == b""
    until(lambda: not port.server.server_state.connections)
    assert not port.made.project.queue.live.leases.held


LAST = {
    "close": request("GET", "/healthz", Connection="close"),
    "HTTP/1.0": b"GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",  # uvicorn closes after it in any case
}


@pytest.mark.parametrize("name", LAST)
def test_requests_behind_the_last_response_are_not_carried_out(port, name):
    """They were received together with the request that ends the connection."""
    where = port(Limits())
    with connected(where) as wire, wire.makefile("rb") as file:
        wire.sendall(LAST[name] + request("GET", "/next", port.made.tokens[0]))
        assert answer(file)[0] == 200
        assert file.read() == b""
    state = port.server.server_state
    until(lambda: not state.connections and not state.tasks)
    assert not port.made.project.queue.live.leases.held


def test_the_rest_of_a_body_after_the_last_response_has_a_deadline(port):
    where = port(SHORT)
    with connected(where) as wire:
        wire.sendall(request("POST", "/none", Connection="close", Content_Length="1000000000000"))
        until(lambda: sent(wire, b"x" * 1_000, 1_000) == 0)


def test_what_is_discarded_after_the_last_response_is_limited(port):
    where = port(Limits())
    with connected(where) as wire:
        wire.sendall(b"\x00 is not HTTP\r\n")
        assert sent(wire, b"x" * 64_000, 30_000_000) < 30_000_000
    with connected(where) as wire, wire.makefile("rb") as file:
        wire.sendall(b"\x00 is not HTTP\r\n")
        assert answer(file)[0] == 400
        until(lambda: not port.server.server_state.connections)  # after a moment, though the client keeps it open


def test_refused_requests_lock_nobody_out(port):
    """Each holds its connection for a moment after its response; new clients take their places."""
    where = port(Limits(connections=5))
    wires = []
    for _ in range(30):
        wires.append(connected(where))
        wires[-1].sendall(b"\x00 is not HTTP\r\n")
        assert healthy(where)
    for wire in wires:
        wire.close()


# ---------------------------------------------------------------- half-open connections
def test_half_open_requests_lock_nobody_out(port):
    where = port(Limits(connections=8))
    with connected(where) as honest, honest.makefile("rb") as file:
        honest.sendall(request("GET", "/healthz"))
        assert answer(file)[0] == 200
        half_open = []
        for _ in range(60):
            half_open.append(connected(where))
            half_open[-1].sendall(b"GET /healthz HTTP/1.1\r\nX-Slow: ")
        until(lambda: len(port.server.server_state.connections) <= 8)
        assert healthy(where)
        honest.sendall(request("GET", "/healthz"))  # a connection between two requests was not closed for them
        assert answer(file)[0] == 200
        for wire in half_open:
            wire.close()


def test_connections_that_are_all_at_work_refuse_one_more(port):
    """Event streams are requests that the server answers: they are not closed for a new connection."""
    where = port(Limits(connections=3))
    streams = [connected(where) for _ in range(3)]
    for wire in streams:
        wire.sendall(request("GET", "/events", port.made.admin))
        assert wire.recv(100).startswith(b"HTTP/1.1 200")
    for _ in range(10):
        with connected(where) as wire, wire.makefile("rb") as file:
            assert sent(wire, b"x" * 1_000, 200_000) == 200_000  # read, so that the response is not lost
            status, headers, _ = answer(file)
            assert (status, headers["retry-after"]) == (503, "1")
    for wire in streams:
        wire.close()
    until(lambda: not port.server.server_state.connections)
    assert healthy(where)


def test_the_server_asks_for_the_files_that_its_connections_need():
    import resource

    from crowdwise.server.process import OTHER_FILES, reserve_files

    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (400, before[1]))
        assert reserve_files(500) == 500
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 500 + OTHER_FILES
        assert reserve_files(10**9) == before[1] - OTHER_FILES
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


# ---------------------------------------------------------------- from the command line to uvicorn
@pytest.fixture
def configured(monkeypatch):
    """What uvicorn is configured with; the server does not run, and the process stays as it is."""
    found = {}

    class Server:
        def __init__(self, config):
            pass

        def run(self, sockets):
            (listening,) = sockets
            found["send_buffer"] = listening.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
            listening.close()

    def config(app, **options):
        found.update(options)

    monkeypatch.setattr(run.uvicorn, "Config", config)
    monkeypatch.setattr(run.uvicorn, "Server", Server)
    monkeypatch.setattr(run.signal, "signal", lambda *_: None)
    for name in ("prepare", "opened"):
        monkeypatch.setattr(run.process, name, lambda: None)
    monkeypatch.setattr(run.process, "reserve_files", lambda connections: min(connections, 700))
    return found


def check_limits(options, limits):
    """The protocol has these limits, and uvicorn's own limit stands behind them."""
    protocol = options["http"]
    assert (protocol.func, protocol.args) == (Connection, (limits,))
    assert options["limit_concurrency"] == 2 * limits.connections
    assert options["ws"] == "none"
    assert options["timeout_keep_alive"] == 75
    assert options["proxy_headers"] is False
    assert options["send_buffer"] <= 2 * run.SEND_BUFFER  # of each connection, which Linux doubles


def test_run_hands_the_limits_to_uvicorn(make, configured):
    path = make(tasks=1, workers=0).path
    limits = Limits(head=1_000, head_seconds=1.5, body_seconds=2.5, connections=40)
    run.run(path, "127.0.0.1", 0, limits=limits)
    check_limits(configured, limits)
    run.run(path, "127.0.0.1", 0)  # as many connections as the process may have files for
    check_limits(configured, Limits(connections=700))


def test_the_command_line_hands_the_limits_to_uvicorn(make, configured):
    from crowdwise.cli import main

    path = str(make(tasks=1, workers=0).path)
    with pytest.raises(SystemExit, match="0"):
        main(["serve", path, "--port", "0"])
    check_limits(configured, Limits(connections=700))
    options = ["--connections", "30", "--head-seconds", "2", "--body-seconds", "3"]
    with pytest.raises(SystemExit, match="0"):
        main(["serve", path, "--port", "0", *options])
    check_limits(configured, Limits(head_seconds=2.0, body_seconds=3.0, connections=30))


# ---------------------------------------------------------------- internals
# The sources of uvicorn's protocol and cycle, which `Connection` extends, and httptools' list of callbacks. Where this
# fails after an upgrade: read what changed, run the attacks (python -m benchmarks.live.attack), renew the hash.
SOURCES = "70e7393260abf01c"
CALLBACKS = ("on_message_begin", "on_url", "on_header", "on_headers_complete", "on_body", "on_message_complete")


def test_the_internals_of_uvicorn_are_those_that_were_read():
    classes = (httptools_impl.HttpToolsProtocol, httptools_impl.RequestResponseCycle)
    source = "".join(inspect.getsource(of) for of in classes)
    assert hashlib.sha256(source.encode()).hexdigest()[:16] == SOURCES


def test_httptools_calls_back_in_the_known_order():
    class Calls(list):
        def __getattr__(self, name):
            if name not in (*CALLBACKS, "on_chunk_header", "on_chunk_complete"):
                raise AttributeError(name)
            return lambda *given: self.append((name, *given))

    calls = Calls()
    parser = httptools.HttpRequestParser(calls)
    parser.feed_data(b"POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nX: y\r\n\r\n")
    names = [name for name, *_ in calls if name in CALLBACKS]
    assert names == [*CALLBACKS[:5], "on_header", "on_message_complete"]
    with pytest.raises(httptools.HttpParserError):
        httptools.HttpRequestParser(calls).feed_data(b"GET / HTTP/1.1\r\nno colon\r\n\r\n")


# The first versions with these sources (uvicorn's are the same in 0.53 and 0.54) and with this behaviour.
LOWEST = {"uvicorn": (0, 53), "httptools": (0, 9)}


@pytest.mark.parametrize("name", LOWEST)
def test_the_versions_of_what_is_extended_are_bounded(name):
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["serve"]
    (wanted,) = [line for line in extras if re.match(rf"{name}\b", line)]
    bounds = re.search(r">=(\d+)\.(\d+)[\d.]*,<(\d+)\.(\d+)", wanted)
    assert bounds, wanted
    low, high = (tuple(map(int, pair)) for pair in (bounds.group(1, 2), bounds.group(3, 4)))
    installed = tuple(map(int, version(name).split(".")[:2]))
    assert LOWEST[name] <= low <= installed < high <= (installed[0], installed[1] + 1)
