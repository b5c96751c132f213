"""Requests and answers as bytes, for a server that is there under its own port."""

from __future__ import annotations


def request(method, path, token, body=b"", **headers):
    """The bytes of a request; headers with _ for -, None for one that is left out."""
    given = {"Host": "here", "Authorization": f"Bearer {token}"}
    if body:
        given |= {"Content-Type": "application/json", "Content-Length": str(len(body))}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = [f"{method} /projects/main{path} HTTP/1.1", *(f"{k}: {v}" for k, v in given.items() if v is not None)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body


def answer(file):
    """(status, headers, body) of the next answer that comes over a connection."""
    status = int(file.readline().split()[1])
    headers = {}
    while line := file.readline().strip():
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.lower()] = value.strip()
    return status, headers, file.read(int(headers["content-length"]))
