"""Poisoned requests beside honest load: what cannot be stored fails alone, and health does not change."""

from __future__ import annotations

import collections
import http.client
import random
import threading
import time
import uuid

from crowdwise.server.config import KINDS

from ..kills import held
from .served import ANSWERS, CLASSES, Client, folder, health, project_in, served

VALUES = (
    b'"\\ud800"',
    b'["a", "\\ud800"]',
    b'{"\\ud800": 1}',
    b'[{"start": 0, "end": 1, "label": "\\udfff"}]',
    b"[" * 260 + b"]" * 260,
    b'{"a":' * 900 + b"1" + b"}" * 900,
    b"1" + b"0" * 400,
    b"9" * 5_000,
    b"1e400",
    b"NaN",
    b'[{"start": 0, "end": 1' + b"0" * 400 + b', "label": "a"}]',
)
BODIES = (
    *(b'{"task": "t0", "answer": %b}' % value for value in VALUES),
    *(b'{"labels": [{"task": "t0", "answer": %b, "key": "k"}]}' % value for value in VALUES),
    b'{"task": "t0", "answer": "a", "about": {"cost": 1' + b"0" * 320 + b"}}",
    b'{"task": "t0", "answer": "a", "client_ms": 1e400}',
    b'{"task": "\\udfff", "answer": "a"}',
    b'{"task": "t0", "answer": "a", "worker": "\\ud800"}',
)


def measure(seconds=10.0, honest=6, poison=3, seed=0, kinds=KINDS):
    """Statuses of honest and of poisoned requests and of /healthz, and acknowledged answers against the log: of each
    kind of project for its part of the time, summed."""
    counts = {name: collections.Counter() for name in ("honest", "poison", "health")}
    total = collections.Counter()
    for kind in kinds:
        total.update(_project(kind, seconds / len(kinds), honest, poison, seed, counts))
    return {**{name: dict(counter) for name, counter in counts.items()}, "kinds": len(kinds), **total}


def _project(kind, seconds, honest, poison, seed, counts):
    receipts = {}
    with folder() as path:
        tokens = project_in(path, workers=honest + poison, kind=kind)
        with served(path) as (port, _):
            with health(port) as statuses:
                until = time.monotonic() + seconds
                numbered = list(enumerate(tokens, seed))
                jobs = [(_honest, port, token, until, counts, receipts, i, kind) for i, token in numbered[:honest]]
                jobs += [(_poison, port, token, until, counts, i) for i, token in numbered[honest:]]
                threads = [threading.Thread(target=job[0], args=job[1:]) for job in jobs]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
            counts["health"].update(statuses)
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
            connection.request("GET", "/metrics")
            lines = connection.getresponse().read().decode().splitlines()
            values = dict(line.split() for line in lines if line.startswith("crowdwise_fa"))
        lost, doubled, sound = held(path, receipts, 0)
    return {
        "acknowledged": len(receipts), "lost": lost, "doubled": doubled, "unsound": not sound,
        "faults": int(values["crowdwise_faults_total"]), "failed": int(values["crowdwise_failed_commands_total"]),
    }  # fmt: skip


def _honest(port, token, until, counts, receipts, seed, kind):
    client, dice = Client(port, token), random.Random(seed)
    while time.monotonic() < until:
        status, got = client.call("GET", "/next?n=5")
        counts["honest"][status] += 1
        for task in got.get("tasks", ()):
            key, choice = uuid.uuid4().hex, dice.choice(ANSWERS.get(kind, CLASSES))
            status, got = client.call("POST", "/labels", {"task": task["id"], "answer": choice}, key)
            counts["honest"][status] += 1
            if status in (200, 201):
                receipts[key] = (got["event"], choice, got["status"])


def _poison(port, token, until, counts, seed):
    client, dice = Client(port, token), random.Random(seed)
    while time.monotonic() < until:
        body = dice.choice(BODIES)
        path = "/labels/bulk" if body.startswith(b'{"labels"') else "/labels"
        counts["poison"][client.call("POST", path, body, uuid.uuid4().hex)[0]] += 1
