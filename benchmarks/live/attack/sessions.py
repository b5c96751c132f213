"""Differential fuzzing: the same bytes to this server and to uvicorn's own protocol over the same application.

Well-formed sessions are pipelines of requests, many of them answered before their bodies arrive, sent in random parts:
both must send the same bytes, one response to each request, and no request inside a body may be carried out. Malformed
sessions are single requests with random damage: both must send the same statuses. In three more kinds of sessions the
expected statuses are known, and uvicorn's own protocol is not the reference, since it answers one request twice or
loses responses there: bodies that are damaged or never end behind an early response, damaged bodies behind pipelined
requests that are still being answered, and whole bodies that are written behind an early response that is the last
one of its connection.
"""

from __future__ import annotations

import json
import random
import re
import socket
import time

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from crowdwise.server.api.app import make_app
from crowdwise.server.api.connection import Limits, is_host
from crowdwise.server.api.guard import BODY as LONGEST
from crowdwise.server.project import Project
from tests.server.serving import wired

from .served import folder, health, project_in

HOST = "Host: here\r\n"
# Seconds without a byte after which a server is taken to wait for more of a malformed request.
SILENT = 0.15


class Plain(HttpToolsProtocol):
    """uvicorn's own protocol, with the same rule about Host headers."""

    def on_headers_complete(self):
        hosts = [value for name, value in self.headers if name == b"host"]
        if len(hosts) > 1 or not all(map(is_host, hosts)) or (not hosts and self.parser.get_http_version() == "1.1"):
            raise ValueError
        super().on_headers_complete()


def message(method, path, token="", body=b"", chunk=0, more=""):
    """A request; `chunk`: its body in chunks of so many bytes."""
    lines = f"{method} {path} HTTP/1.1\r\n{HOST}{more}"
    if token:
        lines += f"Authorization: Bearer {token}\r\n"
    if body or chunk:
        lines += "Content-Type: application/json\r\n"
        lines += "Transfer-Encoding: chunked\r\n" if chunk else f"Content-Length: {len(body)}\r\n"
    data = (lines + "\r\n").encode()
    if not chunk:
        return data + body
    parts = [body[at : at + chunk] for at in range(0, len(body), chunk)]
    return data + b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def requests_of(own, victim, task):
    """(bytes, status) of requests that may be repeated; `victim`: a token that stands in bodies only."""
    label = json.dumps({"task": task, "answer": "a"}).encode()
    inner = message("GET", "/projects/main/next?n=5", victim)
    labels, key = "/projects/main/labels", "Idempotency-Key: k1\r\n"
    return [
        (message("POST", labels, own, label, more=key), 200),
        (message("POST", labels, own, label, chunk=11, more=key), 200),
        (message("POST", labels, own, label), 400),
        (message("POST", labels, "cw_unknown", label, more=key), 401),
        (message("POST", labels, own, b'{"task": "\\ud800"}', more=key), 422),
        (message("POST", labels, "", inner.ljust(70_000), more=key), 413),
        (message("POST", labels, "", inner.ljust(70_000), chunk=4_000, more=key), 413),
        (message("GET", "/projects/main/next?n=0", own), 422),
        (message("GET", "/healthz"), 200),
        (message("GET", "/healthz", "", inner), 200),
        (message("GET", "/healthz", "", inner, chunk=64), 200),
        (message("POST", "/none", "", inner), 404),
        (message("POST", "/none", "", inner * 3, chunk=100), 404),
        (message("PUT", "/projects/main/next", own, inner), 405),
        (message("HEAD", "/healthz"), 405),
    ]


LAST = message("GET", "/healthz", more="Connection: close\r\n")


def exchange(port, data, cuts, pauses, timeout=30.0):
    """What the server sends until it closes the connection, or is silent for so long."""
    with connected(port, timeout) as wire:
        out = b""
        try:
            for begin, end, pause in zip([0, *cuts], [*cuts, len(data)], [*pauses, 0.0], strict=True):
                wire.sendall(data[begin:end])
                time.sleep(pause)
            while part := wire.recv(1 << 16):
                out += part
        except OSError:  # silent, or closed while more was sent
            pass
    return re.sub(rb"\r\ndate: [^\r]*", b"", out)


def connected(port, timeout=30.0):
    wire = socket.create_connection(("127.0.0.1", port), timeout=timeout)
    wire.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return wire


def statuses(data):
    return [int(code) for code in re.findall(rb"HTTP/1\.1 (\d{3}) ", data)]


def damaged(data, dice):
    """The same with one to three bytes changed, removed, repeated or inserted, most of them in the head."""
    out = bytearray(data)
    end = data.index(b"\r\n\r\n") + 4
    for _ in range(dice.randint(1, 3)):
        at = dice.randrange(min(end, len(out)) if dice.random() < 0.8 else len(out))
        kind = dice.randrange(5)
        if kind == 0:
            out[at] = dice.randrange(256)
        elif kind == 1:
            del out[at]
        elif kind == 2:
            out[at:at] = dice.choice([b"\r\n", b"\n", b":", b" ", b"\x00", b"\t", b"chunked", b"0", b"\r"])
        elif kind == 3:
            out[at:at] = out[at : at + dice.randint(1, 30)]
        else:
            out[at:at] = b"\r\n" + dice.choice([
                b"Content-Length: 5", b"Content-Length: 0", b"Transfer-Encoding: chunked", b"Connection: close",
                b"Transfer-Encoding: identity", b"Upgrade: h2c\r\nConnection: Upgrade", b"Expect: 100-continue", b"X"
            ])  # fmt: skip
    return bytes(out)


def measure(well_formed=3_000, malformed=1_500, behind=300, later=300, last=300, seed=0):
    """How many sessions of each kind there were, and how many of them are not as they must be."""
    dice = random.Random(seed)
    names = ("sessions", "requests", "different", "miscounted", "malformed", "malformed_different", "order", "twice",
             "behind", "behind_wrong", "later", "later_wrong", "last", "last_wrong", "smuggled")  # fmt: skip
    found = {**dict.fromkeys(names, 0), "examples": []}
    with folder() as path:
        own, victim = project_in(path, workers=2)
        with Project(path) as project:
            app = make_app(project, rate=1e9, burst=1e9)
            app.state.strangers.rate = app.state.strangers.burst = 1e9
            short = Limits(head_seconds=0.5, body_seconds=0.5)
            with wired(app) as (_, ours), wired(app, http=Plain) as (_, plain), wired(app, short) as (_, strict):
                first = message("GET", "/projects/main/next", own, more="Connection: close\r\n")
                shown = exchange(ours, first, [], []).split(b"\r\n\r\n", 1)[1]
                task = json.loads(shown)["tasks"][0]["id"]
                known = requests_of(own, victim, task)
                exchange(ours, known[0][0] + LAST, [], [])  # the first is stored, all others are repetitions
                with health(ours) as counts:
                    for _ in range(well_formed):
                        _session(found, dice, known, ours, plain)
                    for _ in range(behind):
                        _behind(found, dice, victim, strict)
                    for _ in range(later):
                        _later(found, dice, known, victim, strict)
                    for _ in range(last):
                        _last(found, dice, victim, ours)
                    # Damage may open a body by chance, so that leases of malformed sessions say nothing.
                    worker = project.queue.live.crowd.worker_code["w1"]
                    found["smuggled"] = sum(who == worker for _, who in project.queue.live.leases.held)
                    for _ in range(malformed):
                        _malformed(found, dice, known, ours, plain)
    return found | {"health": dict(counts)}


# What stands where the next chunk of a body should: no chunk, too much for one, or nothing until the deadline.
DAMAGES = (b"zz\r\n", b"5;\x00\r\nhello\r\n", b"-1\r\n", b"fffffffffffffffff\r\n", b"5\r\nhelloXX", b"\n\n", b"")


def _open_body(dice, path, victim):
    """The head of a chunked request and a first chunk, which is itself a request."""
    inner = message("GET", "/projects/main/next?n=5", victim)
    whole = message("POST", path, "", inner, chunk=len(inner), more="Idempotency-Key: k\r\n")
    return whole[: whole.index(b"\r\n\r\n") + 4 if dice.random() < 0.5 else -len(b"0\r\n\r\n")]


def _behind(found, dice, victim, port):
    """A request is answered before its body arrives; then the body is damaged, or never ends. One response, no more."""
    damage = dice.choice(DAMAGES)
    tail = damage + message("GET", "/projects/main/next?n=5", victim) if damage else b""
    with connected(port) as wire:
        wire.sendall(_open_body(dice, "/none", victim))
        out = wire.recv(1 << 16)  # the early response
        try:
            wire.sendall(tail)
            while part := wire.recv(1 << 16):
                out += part
        except ConnectionError:  # closed while more was sent
            pass
    found["behind"] += 1
    if statuses(out) != [404]:
        found["behind_wrong"] += 1
        found["examples"].append(repr((tail[:40], statuses(out))))


def _later(found, dice, known, victim, port):
    """Requests, and behind them one whose body is damaged: all before it are answered, it gets one response at most."""
    some = [dice.choice(known) for _ in range(dice.randint(1, 6))]
    damage = dice.choice(DAMAGES[:-1])
    path = dice.choice(("/none", "/projects/main/labels"))
    tail = message("GET", "/projects/main/next?n=5", victim)
    data = b"".join(one for one, _ in some) + _open_body(dice, path, victim) + damage + tail
    cuts = sorted(dice.sample(range(1, len(data)), dice.randint(0, 3)))
    got = statuses(exchange(port, data, cuts, [dice.choice((0.0, 0.0, 0.01)) for _ in cuts]))
    before = [status for _, status in some]
    found["later"] += 1
    if got[: len(before)] != before or len(got) > len(before) + 1:
        found["later_wrong"] += 1
        found["examples"].append(repr((data[-80:], before, got)))


def _last(found, dice, victim, port):
    """An early response that ends its connection reaches a client that writes all of its body before it reads."""
    inner = message("GET", "/projects/main/next?n=5", victim)
    n = int(10 ** dice.uniform(3, 6.5))
    chunk, old = dice.choice(((0, False), (0, True), (4_000, False)))
    path, status = ("/none", 404) if chunk or n <= LONGEST else ("/projects/main/labels", 413)
    data = message("POST", path, "", (inner * (n // len(inner) + 1))[:n], chunk, "Connection: close\r\n" * (not old))
    if old:
        data = data.replace(b"HTTP/1.1", b"HTTP/1.0", 1)
    end = data.index(b"\r\n\r\n") + 4
    with connected(port) as wire:
        out = b""
        try:
            wire.sendall(data[:end])
            time.sleep(dice.choice((0.0, 0.01)))  # the response may have been written by then
            wire.sendall(data[end:] + inner)
            while part := wire.recv(1 << 16):
                out += part
        except ConnectionError:
            pass
    found["last"] += 1
    if statuses(out) != [status]:
        found["last_wrong"] += 1
        found["examples"].append(repr((data[:end], n, statuses(out))))


def _session(found, dice, known, ours, plain):
    some = [dice.choice(known) for _ in range(dice.randint(1, 8))]
    data = b"".join(one for one, _ in some) + LAST
    cuts = sorted(dice.sample(range(1, len(data)), dice.randint(0, 5)))
    pauses = [dice.choice((0.0, 0.0, 0.002, 0.01)) for _ in cuts]
    got = [exchange(port, data, cuts, pauses) for port in (ours, plain)]
    found["sessions"] += 1
    found["requests"] += len(some) + 1
    if got[0] != got[1]:
        found["different"] += 1
        found["examples"].append(repr((data[:200], got[0][:100], got[1][:100])))
    if statuses(got[0]) != [*(status for _, status in some), 200]:
        found["miscounted"] += 1


def _malformed(found, dice, known, ours, plain):
    data = damaged(dice.choice(known)[0], dice) + LAST
    got = [statuses(exchange(port, data, [], [], SILENT)) for port in (ours, plain)]
    found["malformed"] += 1
    if got[0] == got[1]:
        return
    if got[1] in ([400], []) and 400 not in got[0][:1]:
        found["order"] += 1  # uvicorn alone refuses the second request before it has answered the first
        return
    if got[1] == [*got[0], 400]:
        found["twice"] += 1  # uvicorn alone answers a request again when the rest of its body is malformed
        return
    found["malformed_different"] += 1
    found["examples"].append(repr((data[:300], *got)))
