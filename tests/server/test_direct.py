"""Plain requests whose arguments are read directly get what FastAPI would answer, and so do all others."""

from __future__ import annotations

import json

import fastapi.routing
import pytest

from crowdwise.server.api import direct
from crowdwise.server.auth import issue

KEY, JSON = {"Idempotency-Key": "k"}, {"Content-Type": "application/json"}


def label(task="t0", answer="a", **more):
    return json.dumps({"task": task, "answer": answer, **more}).encode()


def requests():
    """(method, path, headers, body): some that are read directly, many that are not, and many that are refused."""
    ways = (
        "/next",
        "/next?n=2",
        "/next?n=002",
        "/next?n=0",
        "/next?n=201",
        "/next?n=-1",
        "/next?n=",
        "/next?n=1.0",
        "/next?n=1&n=2",
        "/next?n=1&worker=w1",
        "/next?worker=w1",
        "/next?next=1",
        "/next?N=1",
        "/next?n=%31",
    )
    yield from (("GET", way, {}, b"") for way in ways)
    plain = {**KEY, **JSON}
    for way in ("", "?next=1", "?next=0", "?next=201", "?next=x", "?next=1&next=0", "?next", "?n=1", "?next=1&x=2"):
        yield "POST", f"/labels{way}", plain, label()
    for key in ("", " ", "a b", "k" * 200, "k" * 201, "k\u00e9", "k\t", "\x7f"):
        yield "POST", "/labels", {"Idempotency-Key": key.encode("latin-1"), **JSON}, label("t1")
    yield "POST", "/labels", JSON, label("t1")
    yield "POST", "/labels", [("Idempotency-Key", "a1"), ("Idempotency-Key", "a2"), *JSON.items()], label("t1")
    for kind in ("application/json; charset=utf-8", "APPLICATION/JSON", "text/plain", "application/problem+json", ""):
        yield "POST", "/labels", {"Idempotency-Key": f"c {kind}".replace(" ", ""), "Content-Type": kind}, label("t2")
    yield "POST", "/labels", KEY, label("t2")
    bodies = (
        b"",
        b"{",
        b"[]",
        b"null",
        b"7",
        b'"x"',
        b"{}",
        b"\xff",
        b"[" * 3_000,
        label("nowhere"),
        label("t3", "z"),
        label("t3", 7),
        label("t3", None),
        label("t3", "\ud800"),
        label("t3", [[[[[1]]]]]),
        label(7),
        label(""),
        label("x" * 201),
        label("t3", odd=1),
        label("t3", lease="7"),
        label("t3", lease=-1),
        label("t3", lease=2**60),
        label("t3", client_ms=1.5),
        label("t3", client_ms=900),
        label("t3", worker="w1"),
        label("t3", about={}),
        label("t3", about={"cost": 1, "model": "m", "more": None}),
        label("t3", about={"cost": True}),
        b'{"task": "t3", "answer": NaN}',
        b'{"task": "t3", "answer": 1e400}',
        b"\xef\xbb\xbf" + label("t3"),
        label("t3").decode().encode("utf-16"),
        b'{"task": "t4", "answer": "a", "task": "t3"}',
        label("t3") + b" x",
    )
    for i, body in enumerate(bodies):
        yield "POST", "/labels", {"Idempotency-Key": f"b{i}", **JSON}, body
    yield "POST", "/labels", {"Idempotency-Key": "b0", **JSON}, label("t4", "b")
    yield "PUT", "/labels", plain, label()
    yield "GET", "/labels", plain, b""


def answers(p, whose):
    """What a project answers to all of them."""
    out = []
    for method, path, headers, body in requests():
        given = [*(headers.items() if isinstance(headers, dict) else headers)]
        if whose:
            given.append(("Authorization", f"Bearer {whose}"))
        got = p.client.request(method, f"/projects/main{path}", headers=given, content=body)
        out.append((method, path, body[:60], got.status_code, dict(got.headers), got.text))
    for name in ("other", "x" * 300):
        given = {**KEY, **JSON, "Authorization": f"Bearer {whose}"}
        got = p.client.post(f"/projects/{name}/labels", headers=given, content=label())
        out.append((name, got.status_code, got.text))
    return out


@pytest.mark.parametrize("who", ["worker", "admin", "reader", "revoked", "nobody"])
def test_the_same_answers_as_by_the_framework_alone(make, monkeypatch, who):
    found = []
    for by_framework in (False, True):
        # Tokens have so many requests that the number that is left tells how many were counted.
        p = make(tasks=12, workers=2, seed=1, app={"rate": 1e-9, "burst": 1e4})
        p.client.app.state.strangers.burst = 1e4
        reader = p.project.queue.do(lambda batch: issue(batch, "read")[1])
        token = {"worker": p.tokens[0], "admin": p.admin, "reader": reader, "revoked": p.tokens[1], "nobody": ""}[who]
        if who == "revoked":
            p.post("/workers/w1/revoke")
        p.project.queue.clock = lambda: 4e9  # so that leases end at the same time
        assert len(p.next(0, 12)) == 12
        with monkeypatch.context() as patch:
            if by_framework:
                patch.setattr(direct, "number", lambda *_: None)
            got = answers(p, token)
        rates = sorted(round(left) for left, _ in p.client.app.state.rates._left.values())
        found.append((got, rates, p.get("/status").json()["answers"]))
    for one, two in zip(found[0][0], found[1][0], strict=True):
        assert one == two
    assert found[0][1:] == found[1][1:]
    statuses = {row[3] for row in found[0][0] if len(row) > 3}
    expected = {
        "worker": {200, 201, 400, 403, 404, 405, 422},
        "admin": {200, 201, 400, 405, 422},
        "reader": {400, 403, 405},
        "revoked": {400, 401, 405},
        "nobody": {400, 401, 405},
    }
    assert statuses >= expected[who]


def test_plain_requests_do_not_go_through_the_framework(make, monkeypatch):
    p = make(tasks=5, workers=1)

    async def fails(**_):
        raise RuntimeError("planted")

    monkeypatch.setattr(fastapi.routing, "solve_dependencies", fails)
    (task,) = p.next(0)
    got = p.call("POST", "/labels?next=1", 0, content=label(task), headers={**KEY, **JSON})
    assert got.status_code == 201
    assert got.json()["next"]["tasks"]
    assert p.get("/next?worker=w0", 0).status_code == 500
