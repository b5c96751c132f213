"""Short forms of `python -m benchmarks.live.attack`; those of slow clients are in test_limits.py."""

from __future__ import annotations

import pytest

from benchmarks.live.attack import damage, poison, sessions, storage


def test_sessions_get_the_bytes_of_the_plain_protocol():
    found = sessions.measure(well_formed=40, malformed=20, behind=10, later=15, last=10, seed=1)
    assert found["requests"] > 100
    assert not found["different"] + found["miscounted"] + found["smuggled"] + found["malformed_different"], found
    assert not found["behind_wrong"] + found["later_wrong"] + found["last_wrong"], found
    assert set(found["health"]) == {200}


def test_no_damaged_snapshot_is_used():
    assert damage.measure(100, seed=1) == {"damaged": 100, "used": 0, "errors": 0, "discarded": 100}


def test_poison_beside_honest_load():
    found = poison.measure(3.0, honest=2, poison=1, seed=1, kinds=("classes", "spans"))
    assert set(found["poison"]) <= {400, 422}
    assert set(found["honest"]) <= {200, 201}
    assert set(found["health"]) == {200}
    assert found["acknowledged"] > 0
    assert not found["lost"] + found["doubled"] + found["faults"] + found["failed"] + found["unsound"]


def test_a_full_disk_loses_nothing():
    found = storage.full_disk(30.0, room=400_000, workers=2, refusals=4)
    assert set(found["answers"]) == {201, 503}
    assert set(found["next"]) == {200, 503}
    assert found["again"] == {201: found["answers"][503]}
    assert found["sound"]
    assert not found["lost"] + found["doubled"]


def test_two_servers_on_one_postgresql():
    found = storage.two_servers(2.0, clients=2, seed=1)
    if found is None:
        pytest.skip("PostgreSQL is not installed: apt-get install postgresql")
    assert found["acknowledged"] > 0
    assert found["sound"]
    assert set(found["health"]) == {200}
    assert not found["different"] + found["lost"] + found["doubled"]
