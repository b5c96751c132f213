"""python -m benchmarks.live.attack [NAME...]: the attacks of a security review, in their long form.

sessions (differential fuzzing), slow (slow clients), poison (beside honest load), snapshots (damaged ones), servers
(two on one PostgreSQL), disk (full). All traffic is on the loopback of this machine. Writes docs/benchmarks/live.md;
exits with 1 where an attack succeeds.
"""

from __future__ import annotations

import argparse
import json
import os

from ..kept import keep, section
from . import damage, poison, sessions, slow, storage

AFTER = (
    "Differential fuzzing compares the responses with those of uvicorn's own protocol (with the same rule about Host "
    "headers) over the same application, byte by byte apart from the date. Malformed sessions are compared by status; "
    "those in which uvicorn alone refuses a malformed second request before it has answered the first, or answers one "
    "request twice, are counted apart. Damage behind an early response and in a body behind pipelined requests is "
    "compared with the statuses that are expected. Behind an early response that is the last one of its connection "
    "(404 or 413, `Connection: close` or HTTP/1.0), clients write whole bodies of 1 kB to 3 MB before they read. "
    "Poison is sent to a project of each kind in turn. The full disk is "
    "a limit on the size of the server's files; its `/healthz` is asked after there is room again. In the other "
    "attacks that give its statuses, `/healthz` is asked throughout, each time on a new connection 20 ms after the "
    "last answer. Held means: no request smuggled, answered twice or lost, no acknowledged answer lost or doubled, no "
    "damaged snapshot used, every honest request answered, and `/healthz` 200 wherever its statuses are given."
)


def fuzzed(given):
    fifth = given.sessions // 5
    found = sessions.measure(given.sessions, given.sessions // 2, fifth, fifth, fifth, given.seed)
    wrong = ("different", "miscounted", "smuggled", "malformed_different", "behind_wrong", "later_wrong", "last_wrong")
    what = (
        f"{found['requests']:,} requests in {found['sessions']:,} sessions: {found['different']} different, "
        f"{found['miscounted']} miscounted, {found['smuggled']} smuggled; {found['malformed']:,} malformed: "
        f"{found['malformed_different']} different, {found['order']} answered in order and {found['twice']} answered "
        f"once where uvicorn alone does not; {found['behind']:,} damaged behind an early response: "
        f"{found['behind_wrong']} with another response; {found['later']:,} damaged behind pipelined requests: "
        f"{found['later_wrong']} with lost or additional responses; {found['last']:,} bodies written whole behind an "
        f"early last response: {found['last_wrong']} responses lost; /healthz {_by(found['health'])}"
    )
    return found, what, not any(found[name] for name in wrong) and set(found["health"]) == {200}


def slowed(given):
    found = slow.measure(given.half_open, given.not_reading)
    beside = {name: found[f"beside_{name}"] for name in ("half_open", "not_reading")}
    lines = [
        f"{found[name]:,} {what} at a limit of {slow.LIMIT} connections ({found[f'opened_{name}']:,} in all): "
        f"{beside[name]['answered']} of {beside[name]['honest']} honest requests answered, {beside[name]['retried']} "
        f"sent again, the slowest {1000 * beside[name]['slowest']:.0f} ms, memory {found['memory']:.0f} to "
        f"{found[f'memory_{name}']:.0f} MB"
        for name, what in (("half_open", "half-open requests"), ("not_reading", "clients that read no responses"))
    ]
    what = "; ".join(lines) + (
        f"; {found['heads']} heads of {found['megabytes']} MB: at most {found['accepted'] / 1e6:.1f} MB taken, buffers "
        f"of the system included, memory {found['memory_heads']:.0f} MB; /healthz {_by(found['health'])}"
    )
    answered = all(group["answered"] == group["honest"] for group in beside.values())
    grown = found["memory_heads"] - max(found["memory"], found["memory_not_reading"])
    return found, what, answered and found["after"] == 200 and grown < 60 and set(found["health"]) == {200}


def poisoned(given):
    found = poison.measure(given.seconds * 2, seed=given.seed)
    fine = set(found["honest"]) <= {200, 201} and set(found["health"]) == {200} and set(found["poison"]) <= {400, 422}
    what = (
        f"projects of {found['kinds']} kinds: {_by(found['poison'])} poisoned beside {_by(found['honest'])} honest; "
        f"/healthz {_by(found['health'])}; {found['acknowledged']:,} acknowledged, {found['lost']} lost, "
        f"{found['doubled']} doubled; {found['faults']} batches refused, {found['failed']} commands failed"
    )
    bad = found["lost"] + found["doubled"] + found["faults"] + found["failed"] + found["unsound"]
    return found, what, fine and not bad


def snapshots(given):
    found = damage.measure(given.damages, given.seed)
    what = f"{found['damaged']:,} damaged: {found['used']} used, {found['errors']} other errors, the rest discarded"
    return found, what, found["used"] == found["errors"] == 0


def servers(given):
    found = storage.two_servers(given.seconds, seed=given.seed)
    if found is None:
        return None, "PostgreSQL is not installed", True
    what = (
        f"{found['acknowledged']:,} answers, each sent to both: {found['different']} different receipts, "
        f"{found['lost']} lost, {found['doubled']} doubled; /healthz of both {_by(found['health'])}"
    )
    fine = found["sound"] and set(found["health"]) == {200}
    return found, what, fine and not (found["different"] + found["lost"] + found["doubled"])


def disk(given):
    found = storage.full_disk(4 * given.seconds)
    what = (
        f"answers {_by(found['answers'])}, /next {_by(found['next'])}; the refused answers sent again when there was "
        f"room {_by(found['again'])}; {found['acknowledged']:,} acknowledged, {found['lost']} lost, "
        f"{found['doubled']} doubled; /healthz after it {_by(found['health'])}"
    )
    fine = set(found["answers"]) == {201, 503} and set(found["next"]) <= {200, 503} and set(found["again"]) == {201}
    fine = fine and found["sound"] and set(found["health"]) <= {200}
    return found, what, fine and not (found["lost"] + found["doubled"])


ATTACKS = {"sessions": fuzzed, "slow": slowed, "poison": poisoned, "snapshots": snapshots, "servers": servers,
           "disk": disk}  # fmt: skip


def _by(counts):
    return ", ".join(f"{status}: {n:,}" for status, n in sorted(counts.items(), key=str))


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.live.attack")
    parser.add_argument("names", nargs="*", help=", ".join(ATTACKS))
    parser.add_argument("--sessions", type=int, default=3_000)
    parser.add_argument("--half-open", type=int, default=1_100)
    parser.add_argument("--not-reading", type=int, default=400)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--damages", type=int, default=1_500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--try", dest="trial", action="store_true", help="print only")
    given = parser.parse_args()
    for name in given.names:
        if name not in ATTACKS:
            parser.error(f"there is no attack {name!r}; there are {', '.join(ATTACKS)}")
    kept, all_fine = {}, True
    for name in given.names or ATTACKS:
        found, what, fine = ATTACKS[name](given)
        print(json.dumps({name: found}), what, "held" if fine else "NOT HELD", sep="\n", flush=True)
        all_fine &= fine
        if not given.trial:
            kept = keep("attack", name, {"what": what, "fine": fine, "seed": given.seed})
    if not given.trial:
        rows = [[name, kept[name]["what"], "yes" if kept[name]["fine"] else "NO"] for name in ATTACKS if name in kept]
        header = ["attack", f"found (seed {given.seed}, {os.cpu_count()} cores)", "held"]
        command = f"python -m benchmarks.live.attack --seed {given.seed}"
        section("attack", "Attacks", command, header, rows, AFTER, numbers=False)
    raise SystemExit(not all_fine)


if __name__ == "__main__":
    main()
