"""The quick lane and the routes are one: same answers, same refusals, whatever the request looks like."""

from __future__ import annotations

import json

import pytest

from crowdwise.server.api import lane
from crowdwise.server.auth import issue
from crowdwise.server.store.log import events


@pytest.fixture
def ways(make, monkeypatch):
    """A project whose requests go both ways: (method, path, ...) -> the answer of the lane and that of the routes."""
    made = make(tasks=30, workers=3, explore=0.0)

    def slow(*args, **more):
        with monkeypatch.context() as patch:
            patch.setattr(lane, "_asked", lambda scope, name: None)
            return made.call(*args, **more)

    return made, slow


def test_plain_requests_take_the_lane(ways, monkeypatch):
    made, _ = ways
    took = []
    found = lane.told
    monkeypatch.setattr(lane, "told", lambda hand: took.append(1) or found(hand))
    assert made.get("/next", 0).status_code == 200  # the door does not know the token yet
    assert made.get("/next?n=2", 0).status_code == 200
    assert took
    assert made.get("/next?n=2&worker=w1", 0).status_code == 403


def test_the_same_receipt_both_ways(ways):
    made, slow = ways
    made.next(0)
    task = made.next(0)[0]
    body, headers = {"task": task, "answer": "a"}, {"Idempotency-Key": "k1"}
    first = made.call("POST", "/labels?next=1", 0, json=body, headers=headers)
    again = slow("POST", "/labels?next=1", 0, json=body, headers=headers)
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json() == again.json()
    assert dict(first.headers).keys() == dict(again.headers).keys()
    other = {"task": task, "answer": "b"}
    for way in (made.call, slow):
        assert way("POST", "/labels", 0, json=other, headers=headers).status_code == 422


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (b"{", {"Idempotency-Key": "k"}),
        (b"[]", {"Idempotency-Key": "k"}),
        (b'{"task": "t0"}', {"Idempotency-Key": "k"}),
        (b'{"task": "t0", "answer": "a", "odd": 1}', {"Idempotency-Key": "k"}),
        (b'{"task": 7, "answer": "a"}', {"Idempotency-Key": "k"}),
        (b'{"task": "t0", "answer": "zebra"}', {"Idempotency-Key": "k"}),
        (b'{"task": "nowhere", "answer": "a"}', {"Idempotency-Key": "k"}),
        (b'{"task": "t29", "answer": "a", "worker": "w1"}', {"Idempotency-Key": "k"}),
        (b'{"task": "t0", "answer": "a", "about": {"cost": NaN}}', {"Idempotency-Key": "k"}),
        (b'{"task": "t0", "answer": "a", "about": {"cost": [1]}}', {"Idempotency-Key": "k"}),
        (b'{"task": "t0", "answer": "a", "about": {"cost": true}}', {"Idempotency-Key": "k"}),
        (b'{"task": "t0", "answer": "a"}', {}),
        (b'{"task": "t0", "answer": "a"}', {"Idempotency-Key": "a b"}),
        (b'{"task": "t0", "answer": "a"}', {"Idempotency-Key": "x" * 500}),
        (b"[" * 20_000, {"Idempotency-Key": "k"}),
        (b" " * 70_000, {"Idempotency-Key": "k"}),
    ],
)
def test_the_same_refusals_both_ways(ways, body, headers):
    made, slow = ways
    made.next(0)
    made.next(0)
    headers = {"Content-Type": "application/json", **headers}
    quick, usual = (way("POST", "/labels", 0, content=body, headers=headers) for way in (made.call, slow))
    assert quick.status_code == usual.status_code >= 400
    assert quick.json() == usual.json()
    assert quick.headers["content-type"] == "application/problem+json"
    assert quick.headers["x-content-type-options"] == "nosniff"


def test_strangers_and_readers_are_refused(ways):
    made, _ = ways
    made.next(0)
    for token in ("cw_unknown", ""):
        assert made.get("/next", token).status_code == 401
    reader = made.project.desk.do(lambda shift: issue(shift, "read")[1])
    for _ in range(2):
        assert made.get("/next", reader).status_code == 403
    assert made.get("/next", 0).status_code == 200
    made.post("/workers/w0/revoke")
    assert made.get("/next", 0).status_code == 401  # what was remembered is forgotten


def test_what_is_known_of_an_answer_is_kept(make):
    made = make(tasks=3, workers=1)
    task = made.next(0)[0]
    about = {"cost": 0.002, "model": "judge-1", "confidence": 0.75}
    said = made.post("/labels", {"task": task, "answer": "a", "about": about}, 0)
    assert said.status_code == 201, said.text
    with made.project.database.reader.connect() as connection:
        (kept,) = [e.payload for e in events(connection, "main") if e.kind == "label"]
    assert kept["about"] == about
    assert json.dumps(kept)
