"""Two servers on one PostgreSQL, and a disk that is full: what was acknowledged is in the log, once."""

from __future__ import annotations

import collections
import os
import random
import shutil
import threading
import time
import uuid

from crowdwise.server.commands.annotate import MAX_ASSIGNED
from tests.server.postgres import BIN, Postgres

from ..kills import held
from .served import Client, folder, health, project_in, served


def two_servers(seconds=10.0, clients=4, seed=0):
    """Each answer goes to one server and, under the same key, to the other; None where PostgreSQL is not installed."""
    if BIN is None:
        return None
    postgres = Postgres()
    receipts, different, counts = {}, [], collections.Counter()
    try:
        with folder() as path:
            tokens = project_in(path, workers=clients, database=postgres.fresh())
            other = path.parent / "q"
            shutil.copytree(path, other)
            with served(path) as (one, _), served(other) as (two, _), health(one, two) as statuses:
                until = time.monotonic() + seconds
                shared = ((one, two), until, receipts, different, counts)
                threads = [
                    threading.Thread(target=_both, args=(token, seed + i, *shared)) for i, token in enumerate(tokens)
                ]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
            lost, doubled, sound = held(path, receipts, 0)
    finally:
        postgres.close()
    return {"statuses": dict(counts), "acknowledged": len(receipts), "different": len(different), "lost": lost,
            "doubled": doubled, "sound": sound, "health": dict(statuses)}  # fmt: skip


def _both(token, seed, ports, until, receipts, different, counts):
    dice, clients = random.Random(seed), [Client(port, token) for port in ports]
    while time.monotonic() < until:
        dice.shuffle(clients)
        for task in clients[0].call("GET", "/next?n=3")[1].get("tasks", ()):
            key, body = uuid.uuid4().hex, {"task": task["id"], "answer": dice.choice("abc")}
            got = [client.call("POST", "/labels", body, key) for client in clients]
            counts.update(status for status, _ in got)
            if [status for status, _ in got] == [201, 200] and got[0][1] == got[1][1]:
                receipts[key] = (got[0][1]["event"], body["answer"], got[0][1]["status"])
            else:
                different.append(got)


def full_disk(seconds=20.0, room=2_000_000, workers=4, refusals=50):
    """The server's files may grow by so many bytes, then every write fails, as on a full disk; then there is room
    again, and answers that were refused are sent once more. `refusals` of /next end the first part."""
    counts = {name: collections.Counter() for name in ("next", "answers", "again")}
    receipts, refused, n = {}, {}, 10
    with folder() as path:
        tokens = project_in(path, workers=workers)
        largest = max(os.path.getsize(file) for file in path.rglob("*") if file.is_file())
        until = time.monotonic() + seconds
        with served(path, file_size=largest + room) as (port, _):
            clients = [Client(port, token) for token in tokens]
            while time.monotonic() < until and counts["next"][503] < refusals:
                hands = []  # all take tasks before anybody answers: some hold tasks when the disk is full
                for client in clients:
                    status, got = client.call("GET", f"/next?n={n}")
                    counts["next"][status] += 1
                    hands += [(client, task["id"]) for task in got.get("tasks", ())]
                n = min(n + 1, MAX_ASSIGNED)  # more than a client has in hand: /next writes in every round
                for client, task in hands:
                    key = uuid.uuid4().hex
                    _send(client, key, {"task": task, "answer": "a"}, counts["answers"], receipts, refused)
        with served(path) as (port, _), health(port) as statuses:
            for key, (token, body) in list(refused.items()):
                _send(Client(port, token), key, body, counts["again"], receipts, {})
        lost, doubled, sound = held(path, receipts, 0)
    return {**{name: dict(counter) for name, counter in counts.items()}, "acknowledged": len(receipts),
            "lost": lost, "doubled": doubled, "sound": sound, "health": dict(statuses)}  # fmt: skip


def _send(client, key, body, counts, receipts, refused):
    status, got = client.call("POST", "/labels", body, key)
    counts[status] += 1
    if status in (200, 201):
        receipts[key] = (got["event"], body["answer"], got["status"])
    else:
        refused[key] = (client.token, body)
