"""Who may do what: every address without a token, with the wrong scope, with a revoked token; forms, bodies, rates."""

from __future__ import annotations

import asyncio
import threading

import pytest

from crowdwise.server import auth
from crowdwise.server.api.hub import UNREAD
from crowdwise.server.api.who import COOKIE, RateLimiter
from crowdwise.server.problems import Problem
from crowdwise.server.project import Project
from tests.server.serving import wired

from .wired import connected, request

OPEN = {"/healthz", "/metrics", "/openapi.json"}
BODIES = {
    "/labels": {"task": "t0", "answer": "a"},
    "/labels/bulk": {"labels": [{"task": "t0", "answer": "a", "key": "k"}]},
    "/skips": {"task": "t0"},
    "/undo": {},
    "/tasks": {"tasks": [{"id": "x", "payload": {"text": "x"}}]},
    "/gold": {"task": "t0", "answer": "a"},
    "/checks": {"n": 2},
    "/checks/labels": {"task": "t0", "answer": "a"},
    "/workers": {"name": "x"},
    "/workers/{worker}/pause": {"reason": "x"},
    "/invites": {},
    "/reviews": {"task": "t0", "answer": "a"},
    "/returns": {"task": "t0", "note": "x"},
    "/comments": {"task": "t0", "text": "x"},
    "/reports": {"task": "t0", "text": "x"},
    "/exclusions": {"task": "t0"},
    "/requests": {"task": "t0"},
}


def routes(app):
    """(method, path, what it needs) of every address of the API."""
    for path, methods in app.openapi()["paths"].items():
        for method in methods:
            if path not in OPEN and (path.startswith("/projects") or path.startswith("/media")):
                yield method.upper(), path


def needed(method, path):
    short = path.removeprefix("/projects/{p}")
    if short in ("/next", "/labels", "/labels/bulk", "/skips", "/undo", "/reports"):
        return "annotate"
    if short in ("/reviews/next", "/returns", "/comments") or (short, method) == ("/reviews", "POST"):
        return "review"
    if short in ("/checks/next", "/checks/labels"):
        return "check"
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
    gone = p.project.queue.do(lambda s: auth.issue(s, "admin"))
    assert call(p, "GET", "/projects/{p}/status", gone[1]).status_code == 200
    p.project.queue.do(lambda s: auth.revoke(s, token=gone[0]))
    tokens = {scope: p.project.queue.do(lambda s, scope=scope: auth.issue(s, scope, note="x"))[1]
              for scope in ("read", "check", "review")} | {"annotate": p.tokens[0]}  # fmt: skip
    p.client.app.state.strangers = RateLimiter(1e6, 1e6)
    seen = 0
    for method, path in routes(p.client.app):
        need = needed(method, path)
        for token in (None, "cw_" + "A" * 43, gone[1], "x" * 5_000):
            got = call(p, method, path, token)
            assert got.status_code == 401, (method, path, token)
            assert got.headers["content-type"] == "application/problem+json"
        for scope, token in tokens.items():
            if need not in ("any", scope):
                assert call(p, method, path, token).status_code == 403, (method, path, scope)
        seen += 1
    assert seen >= 33
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
    desk = p.project.queue
    code = desk.do(lambda s: auth.invite(s, 1, 60))
    _, secret = desk.do(lambda s: auth.join(s, code, "ann"))
    assert p.get("/next", secret).status_code == 200
    with pytest.raises(Problem, match="used up"):
        desk.do(lambda s: auth.join(s, code, "bob"))
    late = desk.do(lambda s: auth.invite(s, 5, 60))
    now = desk.clock()
    desk.clock = lambda: now + 61
    with pytest.raises(Problem, match="expired"):
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
    commands = {row.act: row for row in rows}
    assert commands["pause"].token
    assert "spam" in commands["pause"].detail
    assert commands["settings"].detail == '{"cap":2}'


# ---------------------------------------------------------------- revocation
def test_what_was_looked_up_before_a_revocation_is_not_remembered_after_it(make):
    """The look-up has read the table, then the token is revoked, then the look-up goes on."""
    p = make(tasks=1, workers=1)
    door = p.project.authenticator
    read, go = threading.Event(), threading.Event()

    class Slow:
        """An engine whose rows arrive late."""

        def connect(self):
            return self

        def __enter__(self):
            self.connection = door.engine.connect()
            return self

        def __exit__(self, *_):
            self.connection.close()

        def execute(self, statement):
            row = self.connection.execute(statement).first()
            read.set()
            assert go.wait(30)
            return type("Rows", (), {"first": lambda _: row})()

    door.engine, door._engine = door._engine, Slow()
    thread = threading.Thread(target=door.look, args=(p.tokens[0],))
    thread.start()
    assert read.wait(30)
    door._engine = door.engine
    assert p.post("/workers/w0/revoke").json()["revoked"] == 1
    go.set()
    thread.join(30)
    assert door.remembered(p.tokens[0]) is None
    assert p.get("/next", 0).status_code == 401


def test_a_stream_ends_when_its_token_is_revoked(make, database):
    """Over a connection; the revocation may come from another process of the same project."""
    p = make(database, tasks=3)
    reader, other = (p.project.queue.do(lambda s: auth.issue(s, "read")) for _ in range(2))
    with wired(p.client.app) as (_, port):
        streams = []
        for token in (reader[1], other[1]):
            wire = connected(port)
            wire.sendall(request("GET", "/events", token))
            file = wire.makefile("rb")
            while b"event: status" not in file.readline():
                pass
            streams.append((wire, file))
        with Project(p.path) as elsewhere:
            elsewhere.queue.do(lambda s: auth.revoke(s, token=reader[0]))
        (wire, file), (going, lines) = streams
        for line in file:  # to its end
            assert b"alive" not in line
            assert b"event: label" not in line
        assert p.label(0, p.next(0)[0]).status_code == 201
        while b"event: label" not in lines.readline():
            pass
        wire.close()
        going.close()


def test_nothing_of_the_batch_that_revokes_a_token_goes_to_it(make):
    p = make(tasks=3)
    allowed = True

    async def check():
        return allowed

    async def watched():
        nonlocal allowed
        lines = p.client.app.state.hub.watch(check)
        await anext(lines)

        def both(batch):
            auth.revoke(batch, worker=0)
            batch.enter("skip", task=0, worker=1, payload={"reason": ""})

        allowed = False
        await asyncio.to_thread(p.project.queue.do, both)
        return [line async for line in lines]

    assert asyncio.run(asyncio.wait_for(watched(), 30)) == []


@pytest.mark.parametrize("lines", [40, UNREAD + 40])
def test_lines_that_wait_are_not_delivered_after_a_revocation(make, lines):
    """A slow client: many lines wait in its queue, more than it may leave unread even, when its token is revoked."""
    p = make(tasks=3)
    reader = p.project.queue.do(lambda s: auth.issue(s, "read"))
    door = p.project.authenticator

    async def allowed():
        return await asyncio.to_thread(door.look, reader[1]) is not None

    def skips(n):
        def command(batch):
            for _ in range(n):
                batch.enter("skip", task=0, worker=1, payload={"reason": ""})

        return asyncio.to_thread(p.project.queue.do, command)

    async def watched():
        stream = p.client.app.state.hub.watch(allowed)
        before = [await anext(stream)]
        await skips(lines)
        await skips(1)
        before.append(await anext(stream))
        await asyncio.to_thread(p.project.queue.do, lambda s: auth.revoke(s, token=reader[0]))
        await skips(1)  # produced after the revocation
        return before, [line async for line in stream]

    before, after = asyncio.run(asyncio.wait_for(watched(), 60))
    assert [line.splitlines()[1] for line in before] == ["event: status", "event: skip"]
    assert after == []


def test_a_stream_of_a_token_that_was_revoked_before_its_first_line(make):
    """The request was let in, then the token was revoked, then the stream began."""
    p = make(tasks=3)

    async def watched():
        return [line async for line in p.client.app.state.hub.watch(lambda: asyncio.sleep(0, False))]

    assert asyncio.run(asyncio.wait_for(watched(), 30)) == []


# ---------------------------------------------------------------- names and links
MISLEADING = [".", "..", " .. ", "Ann\u202enna", "\u2066Ann\u2069", "Ann\u200f", "\u061cAnn"]
INVISIBLE = [
    "Ann\u200b",  # zero-width space
    "\u2060Ann",  # word joiner
    "A\ufeffnn",  # byte order mark
    "Ann\u00ad",  # soft hyphen
    "Ann\u3164",  # Hangul filler
    "\uffa0Ann",  # halfwidth Hangul filler
    "\u115fAnn",
    "A\u2028nn",  # line separator
    "A\u2029nn",  # paragraph separator
    "A\u034fnn",  # combining grapheme joiner
    "A\u2800nn",  # empty pattern of Braille
    "Ann\U000e0041",  # tag
]


def test_names_that_mislead_are_refused_at_joining(make):
    p = make(tasks=1, workers=0)
    desk = p.project.queue
    code = desk.do(lambda s: auth.invite(s, 1, 60))
    for name in MISLEADING + INVISIBLE:
        with pytest.raises(Problem, match="the name of a worker"):
            desk.do(lambda s, name=name: auth.join(s, code, name))
        refused = p.post("/workers", {"name": name})
        assert refused.status_code == 422, ascii(name)
        if name in INVISIBLE:
            assert "has an invisible character in it (U+" in refused.json()["detail"], ascii(name)
    assert not desk.live.crowd.workers
    # A Persian name with a joiner; the invitation was not used up.
    desk.do(lambda s: auth.join(s, code, "\u0639\u0644\u06cc\u200c\u0631\u0636\u0627"))


def test_invite_links_do_not_follow_the_host_header(make):
    p = make(tasks=1, app={"public_url": "https://label.example.org/"})
    for headers in ({}, {"Host": "evil.test"}, {"X-Forwarded-Host": "evil.test"}):
        got = p.call("POST", "/invites", json={}, headers=headers).json()
        assert got["url"] == f"https://label.example.org/join/{got['code']}"


@pytest.mark.parametrize("url", ["label.example.org", "ftp://x", "https://", "https://x/?a=1", "https://x\n", "//x"])
def test_a_public_url_that_is_none_is_refused(url):
    from crowdwise.cli.live.serve import is_public

    assert not is_public(url)
    assert is_public("https://label.example.org/team")
