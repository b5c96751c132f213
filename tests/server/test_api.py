"""Bad requests, the OpenAPI document, and what schemathesis makes of it."""

from __future__ import annotations

import json

import pytest

from tests.data import ROOT

BAD = [
    ("/labels", {"task": "t0"}, 422),
    ("/labels", {"task": "t0", "answer": "z"}, 422),
    ("/labels", {"task": "t0", "answer": ["a"]}, 422),
    ("/labels", {"task": "t0", "answer": "a", "more": 1}, 422),
    ("/labels", {"task": "no such", "answer": "a"}, 404),
    ("/labels", {"task": "t0\x00", "answer": "a"}, 404),
    ("/labels", {"task": "t" * 201, "answer": "a"}, 422),
    ("/labels", {"task": "t0", "answer": "a", "client_ms": -1}, 422),
    ("/labels", {"task": "t0", "answer": "a", "worker": "nobody"}, 404),
    ("/gold", {"task": "t0", "answer": 5}, 422),
    ("/tasks", {"tasks": [{"id": "x", "payload": {"text": "a\x07b"}}]}, 422),
    ("/tasks", {"tasks": [{"id": "x\n", "payload": {}}]}, 422),
    ("/tasks", {"tasks": [{"id": "y", "payload": {}}, {"id": "y", "payload": {}}]}, 422),
    ("/tasks", {"tasks": [{"id": "t0", "payload": {"text": "other"}}]}, 409),
    ("/workers", {"name": "w0"}, 409),
    ("/workers", {"name": " "}, 422),
    ("/workers", {"name": "n", "cost": -1}, 422),
    ("/invites", {"uses": 0}, 422),
]


@pytest.mark.parametrize(("path", "body", "status"), BAD)
def test_bad_requests_are_problems_and_leave_nothing(make, path, body, status):
    p = make(tasks=2)
    before = p.project.queue.live.last
    if path == "/labels":
        body = {"worker": "w0"} | body
    got = p.post(path, body)
    assert got.status_code == status
    assert got.headers["content-type"] == "application/problem+json"
    shown = got.json()
    assert shown["status"] == status
    assert len(shown["detail"]) > 10
    assert p.project.queue.live.last == before


def test_what_is_no_json_is_said_to_be_none(make):
    p = make(tasks=1)
    got = p.call(
        "POST", "/labels", 0, content=b"{", headers={"Idempotency-Key": "k", "Content-Type": "application/json"}
    )
    assert got.status_code == 400
    assert p.client.get("/nowhere").json()["status"] == 404
    assert p.client.put("/healthz").json()["status"] == 405


def test_the_document_is_encoded_once(make):
    """Anybody may ask for it, also many times."""
    p = make(tasks=1)
    first, second = (p.client.get("/openapi.json") for _ in range(2))
    assert first.status_code == 200
    assert first.headers["content-type"] == "application/json"
    assert first.json() == p.client.app.openapi()
    text = (ROOT / "docs" / "openapi.json").read_text(encoding="utf-8")
    assert first.json() == json.loads(text), "python -m benchmarks.live.fuzz --write"
    assert first.content == second.content == p.client.app.document
    assert p.client.app.document is p.client.app.document
