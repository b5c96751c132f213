"""Who may do what: every address without a token, with the wrong scope, with a revoked token; forms, bodies, rates."""

from __future__ import annotations

import pytest

from crowdwise.server import auth
from crowdwise.server.api.who import COOKIE, Rates

OPEN = {"/healthz", "/metrics", "/openapi.json"}
BODIES = {
    "/labels": {"task": "t0", "answer": "a"},
    "/labels/bulk": {"labels": [{"task": "t0", "answer": "a", "key": "k"}]},
    "/skips": {"task": "t0"},
    "/undo": {},
    "/tasks": {"tasks": [{"id": "x", "payload": {"text": "x"}}]},
    "/gold": {"task": "t0", "answer": "a"},
    "/workers": {"name": "x"},
    "/workers/{worker}/pause": {"reason": "x"},
    "/invites": {},
}


def routes(app):
    """(method, path, what it needs) of every address of the API."""
    for path, methods in app.openapi()["paths"].items():
        for method in methods:
            if path not in OPEN and (path.startswith("/projects") or path.startswith("/media")):
                yield method.upper(), path


def needed(method, path):
    short = path.removeprefix("/projects/{p}")
    if short in ("/next", "/labels", "/labels/bulk", "/skips", "/undo"):
        return "annotate"
    if method == "GET":
        return "any" if short == "" or path.startswith("/media") else "read"
    return "admin"


def call(p, method, path, token):
    short = path.removeprefix("/projects/{p}")
    filled = path.format(p="main", task="t0", worker="w0", what="labels", format="csv", name="x.png")
    headers = {"Idempotency-Key": "k"} | ({"Authorization": f"Bearer {token}"} if token else {})
    body = BODIES.get(short, {}) if method in ("POST", "PATCH") else None
    return p.client.request(method, filled, headers=headers, json=body)


def test_every_address_asks_who_it_is(make):
    p = make(tasks=2)
    reader = p.project.desk.do(lambda s: auth.issue(s, "read"))[1]
    gone = p.project.desk.do(lambda s: auth.issue(s, "admin"))
    assert call(p, "GET", "/projects/{p}/status", gone[1]).status_code == 200
    p.project.desk.do(lambda s: auth.revoke(s, token=gone[0]))
    wrong = {"annotate": reader, "read": p.tokens[0], "admin": p.tokens[0]}
    p.client.app.state.strangers = Rates(1e6, 1e6)
    seen = 0
    for method, path in routes(p.client.app):
        need = needed(method, path)
        for token in (None, "cw_" + "A" * 43, gone[1], "x" * 5_000):
            got = call(p, method, path, token)
            assert got.status_code == 401, (method, path, token)
            assert got.headers["content-type"] == "application/problem+json"
        if need != "any":
            assert call(p, method, path, wrong[need]).status_code == 403, (method, path)
        if need == "admin":
            assert call(p, method, path, reader).status_code == 403, (method, path)
        seen += 1
    assert seen >= 20
    assert p.get("/status").json()["answers"]["counted"] == 0


def test_secrets_are_kept_as_hashes_only(make):
    p = make(tasks=1, workers=1)
    p.project.close()
    kept = b"".join(each.read_bytes() for each in p.path.rglob("*") if each.is_file())
    assert p.admin.encode() not in kept
    assert p.tokens[0].encode() not in kept
    assert auth.digest(p.admin).encode() in kept
    p.project = type(p.project)(p.path)


def test_a_worker_sees_neither_gold_nor_others(make):
    p = make(tasks=3, gold_rate=1.0)
    p.post("/gold", {"task": "t0", "answer": "c"})
    shown = p.get("/next?n=3", 0)
    assert {each["id"] for each in shown.json()["tasks"]} >= {"t0"}
    got = p.label(0, "t0", "c")
    for text in (shown.text, got.text, p.get("", 0).text):
        assert "gold" not in text
        assert "posterior" not in text
    assert got.json()["stopped"] is None
    for path in ("/tasks", "/tasks/t0", "/workers", "/status", "/events", "/report", "/export/votes.csv"):
        assert p.get(path, 0).status_code == 403


def test_a_cookie_needs_the_forms_token(make):
    p = make(tasks=2)
    p.client.cookies.set(COOKIE, p.tokens[0])
    task = p.client.get("/projects/main/next").json()["tasks"][0]["id"]
    body, headers = {"task": task, "answer": "a"}, {"Idempotency-Key": "k"}
    assert p.client.post("/projects/main/labels", json=body, headers=headers).status_code == 403
    csrf = p.client.get("/projects/main").json()["csrf"]
    headers["X-CSRF-Token"] = csrf
    assert p.client.post("/projects/main/labels", json=body, headers=headers).status_code == 201


def test_invitations_are_used_up_and_end(make):
    p = make(tasks=1, workers=0)
    desk = p.project.desk
    code = desk.do(lambda s: auth.invite(s, 1, 60))
    _, secret = desk.do(lambda s: auth.join(s, code, "ann"))
    assert p.get("/next", secret).status_code == 200
    from crowdwise.server.problems import Problem

    with pytest.raises(Problem, match="used up"):
        desk.do(lambda s: auth.join(s, code, "bob"))
    late = desk.do(lambda s: auth.invite(s, 5, 60))
    now = desk.clock()
    desk.clock = lambda: now + 61
    with pytest.raises(Problem, match="over"):
        desk.do(lambda s: auth.join(s, late, "bob"))


def test_too_much_and_too_often(make):
    p = make(tasks=1, app={"rate": 1.0, "burst": 3.0})
    got = [p.get("/status").status_code for _ in range(5)]
    assert got[:3] == [200] * 3
    assert got[-1] == 429
    refused = p.get("/status")
    assert int(refused.headers["retry-after"]) >= 1
    q = make(tasks=1)
    assert q.call("POST", "/labels", 0, content=b"x" * 70_000, headers={"Idempotency-Key": "k"}).status_code == 413
    assert q.call("POST", "/tasks", content=b"x" * 9_000_000).status_code == 413

    def parts():
        for _ in range(100):
            yield b" " * 1_000

    got = q.call("POST", "/labels", 0, content=parts(), headers={"Idempotency-Key": "k"})
    assert got.status_code == 413


def test_every_answer_has_the_headers_that_browsers_obey(make):
    p = make(tasks=1)
    for got in (p.get("/status"), p.client.get("/nowhere"), p.client.get("/healthz")):
        assert got.headers["x-content-type-options"] == "nosniff"
        assert "script-src 'self'" in got.headers["content-security-policy"]
        assert got.headers["x-frame-options"] == "DENY"


def test_admin_acts_are_written_down(make):
    import sqlalchemy as sa

    from crowdwise.server.store import tables as t

    p = make(tasks=1)
    p.post("/workers/w1/pause", {"reason": "spam"})
    p.call("PATCH", "", json={"cap": 2})
    with p.project.database.reader.connect() as connection:
        rows = connection.execute(sa.select(t.audit.c.act, t.audit.c.token, t.audit.c.detail)).all()
    acts = {row.act: row for row in rows}
    assert acts["pause"].token
    assert "spam" in acts["pause"].detail
    assert acts["settings"].detail == '{"cap":2}'
