"""Requests and responses as bytes, for a server on a port of its own."""

from __future__ import annotations

import re
import socket
import time


def request(method, path, token="", body=b"", **headers):
    """The bytes of a request; headers with _ for -, None for one that is left out."""
    given = {"Host": "here"}
    if token:
        given["Authorization"] = f"Bearer {token}"
    if body:
        given |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    path = path if path.startswith(("/healthz", "/none")) else f"/projects/main{path}"
    lines = [f"{method} {path} HTTP/1.1", *(f"{k}: {v}" for k, v in given.items() if v is not None)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body


def chunked(method, path, token, body, size=7, trailer=b"", **headers):
    """The same with a chunked body."""
    head = request(method, path, token, Content_Type="application/json", Transfer_Encoding="chunked", **headers)
    parts = [body[i : i + size] for i in range(0, len(body), size)]
    return head + b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n" + trailer + b"\r\n"


def answer(file):
    """(status, headers, body) of the next response of a connection."""
    line = file.readline()
    if not line:
        raise ConnectionError("the server closed the connection")
    status = int(line.split()[1])
    headers = {}
    while line := file.readline().strip():
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.lower()] = value.strip()
    return status, headers, file.read(int(headers["content-length"]))


def connected(port):
    """A connection that sends every write at once."""
    made = socket.create_connection(("127.0.0.1", port), timeout=30)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def undated(data):
    """Bytes of responses without the time at which they were made."""
    return re.sub(rb"\r\ndate: [^\r]*", b"", data)


def until(condition, seconds=30.0):
    """Wait for something that happens in the server."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)
