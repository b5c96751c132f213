"""Slow clients: half-open requests, responses that are not read, heads without end; honest requests beside them."""

from __future__ import annotations

import collections
import contextlib
import http.client
import socket
import threading
import time

from .served import Client, folder, health, memory, project_in, served

LIMIT = 300


def measure(half_open=1_100, not_reading=400, heads=10, megabytes=200, honest=200):
    """How honest requests fare beside each attack, and what the attacks cost the server."""
    found = {"half_open": half_open, "not_reading": not_reading, "heads": heads, "megabytes": megabytes}
    with folder() as path:
        (token,) = project_in(path, workers=1)
        options = ("--connections", str(LIMIT), "--head-seconds", "3", "--body-seconds", "3")
        with served(path, *options) as (port, process), health(port) as statuses:
            Client(port, token).call("GET", "/next")
            found["memory"] = memory(process)
            for name, n, attack in (("half_open", half_open, _half_open), ("not_reading", not_reading, _not_reading)):
                over, opened = threading.Event(), []
                thread = threading.Thread(target=attack, args=(port, n, over, opened))
                thread.start()
                _until(lambda n=n, opened=opened: len(opened) >= n)
                found[f"beside_{name}"] = _honest(port, token, honest)
                found[f"memory_{name}"] = memory(process)
                over.set()
                thread.join()
                found[f"opened_{name}"] = len(opened)
            found["accepted"] = max(_head(port, megabytes) for _ in range(heads))
            found["memory_heads"] = memory(process)
            found["after"] = Client(port, token).call("GET", "/next")[0]
    return found | {"health": dict(statuses)}


def _until(condition, seconds=120.0):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError("the attack did not begin")
        time.sleep(0.01)


def _attack(port, n, over, opened, begins, pause, buffer=None):
    """Open so many connections, each with one of these beginnings, then replace the oldest by a new one again and
    again; with a pause before each, since a flood of new connections is another attack."""
    wires = collections.deque()
    while not over.wait(pause if len(opened) >= n else 0.0):
        with contextlib.suppress(OSError):
            wire = socket.socket()
            if buffer is not None:
                wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
            wire.settimeout(5)
            wires.append(wire)
            wire.connect(("127.0.0.1", port))
            wire.sendall(begins[len(opened) % len(begins)])
            opened.append(1)
        if len(wires) > n:
            wires.popleft().close()
    for wire in wires:
        wire.close()


def _half_open(port, n, over, opened):
    """Requests that never end."""
    host = b"Host: here\r\n"
    begins = (
        b"GET /healthz HTTP/1.1\r\nX-Slow: ",
        b"",
        b"POST /none HTTP/1.1\r\n" + host + b"Content-Length: 1000\r\n\r\n",
    )
    _attack(port, n, over, opened, begins, pause=0.002)


def _not_reading(port, n, over, opened):
    """Clients without a token that send many requests at once and never read the responses."""
    requests = b"GET /openapi.json HTTP/1.1\r\nHost: here\r\n\r\n" * 90
    _attack(port, n, over, opened, (requests,), pause=0.1, buffer=4_096)


def _honest(port, token, n):
    """Requests on new connections, one after the other; each up to five times, where it is refused with 503 or cut
    off, as clients do."""
    answered, retried, times = 0, 0, []
    for _ in range(n):
        begun = time.monotonic()
        for _ in range(5):
            client = Client(port, token)
            try:
                if client.call("GET", "/next")[0] == 200:
                    answered += 1
                    break
            except (OSError, http.client.HTTPException):
                pass
            finally:
                client.close()
            retried += 1
        times.append(time.monotonic() - begun)
    return {"honest": n, "answered": answered, "retried": retried, "slowest": max(times)}


def _head(port, megabytes):
    """Bytes of a head without end that a connection takes."""
    sent, part = 0, b"x" * 65_536
    with socket.create_connection(("127.0.0.1", port), timeout=10) as wire, contextlib.suppress(OSError):
        wire.sendall(b"GET /healthz HTTP/1.1\r\nX-Long: ")
        while sent < megabytes * 1_000_000:
            wire.sendall(part)
            sent += len(part)
    return sent
