"""python -m benchmarks.live.interleavings [--sequences 5000]: what holds whatever order requests come in.

A fifth of the sequences is on PostgreSQL, which takes longer; with `--only DATABASE` all are on that one. Runs of
several seeds (`--seed N`) add up.

A Hypothesis state machine over one or two servers of the same project (two processes' worth on PostgreSQL, a server and
the command line on SQLite): workers take tasks, answer, repeat themselves, skip, take back; time runs; leads pause,
change caps, add gold; servers are closed and opened. After every step the log, the table of leases and the live states
are held against a model of a few dictionaries.
"""

from __future__ import annotations

import argparse
import collections
import json
import time

import hypothesis.strategies as st
import sqlalchemy as sa
from hypothesis import HealthCheck, Phase, settings
from hypothesis import seed as seeded
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from crowdwise.server.commands import annotate, manage
from crowdwise.server.config import Config
from crowdwise.server.problems import Problem
from crowdwise.server.project import Project, create, load_tasks
from crowdwise.server.store import tables as t

from .grounds import Ground
from .kept import keep, section

TASKS, WORKERS = 4, 4
BEGIN = 1_700_000_000.0
WHO, WHAT, SERVER = st.integers(0, WORKERS - 1), st.integers(0, TASKS - 1), st.integers(0, 1)
SAID = st.sampled_from(("a", "b"))


def stored(what, table, task=True, payload=False):
    """Rows of a table with what is looked at, under one name each: (what, id, task, worker, payload)."""
    nothing = sa.null()
    which = (table.c.task, table.c.worker) if task else (nothing.label("task"), nothing.label("worker"))
    text = table.c.payload if payload else sa.literal("").label("payload")
    return sa.select(sa.literal(what).label("what"), table.c.id, *which, text)


# What is stored, in one look: a database elsewhere is asked once a step.
STORED = sa.union_all(stored("event", t.event, False), stored("current", t.current, payload=True),
                      stored("lease", t.lease))  # fmt: skip


def made(folder, address):
    """A project of a few tasks and workers."""
    config = Config("Which?", classes=("a", "b"), cap=2, target=0.9999, lease=60, qualify=1, gold_rate=0.2)
    create(folder, config, database=address)
    with Project(folder, clock=lambda: BEGIN) as first:
        load_tasks(first, [{"id": f"t{i}", "payload": {"text": "x"}} for i in range(TASKS)])
        for i in range(WORKERS):
            first.queue.do(lambda s, i=i: manage.add_worker(s, f"w{i}"))


class Machine(RuleBasedStateMachine):
    """`ground`: the project that each sequence begins with."""

    ground = None
    runs = 0

    def __init__(self):
        super().__init__()
        type(self).runs += 1
        self.now = BEGIN
        self.cap, self.key = 2, 0
        self.ground.renew()
        self.servers = [self.ground.open(server, lambda: self.now) for server in range(2)]
        self.current, self.counted, self.gold = {}, set(), set()
        self.receipts = {}
        self.most = collections.defaultdict(int)

    def teardown(self):
        for each in self.servers:
            each.close()

    def do(self, server, act, *given):
        try:
            return self.servers[server].queue.do(lambda batch: act(batch, *given))
        except Problem as problem:
            if problem.status >= 500:
                raise
            return None

    # ---------------------------------------------------------------- what happens
    @rule(server=SERVER, who=WHO, n=st.integers(1, 3))
    def take(self, server, who, n):
        before = self.in_hand()
        got = self.do(server, annotate.take, who, n)
        for task in (int(name[1:]) for name in got.names):
            assert (task, who) not in self.current or (task, who) in before
            if (task, who) not in before and task not in self.gold:
                others = {w for (u, w) in before if u == task} | {w for (u, w) in self.counted if u == task}
                assert len(others | {who}) <= self.cap

    @rule(server=SERVER, who=WHO, task=WHAT, said=SAID, trusted=st.booleans())
    def answer(self, server, who, task, said, trusted):
        self.key += 1
        given = annotate.Submission(f"t{task}", said, f"k{self.key}", f"{task} {said}", trusted=trusted)
        got = self.do(server, annotate.label, who, given)
        if got is not None:
            self.took(who, task, said, got[1]["status"])
            self.receipts[f"k{self.key}"] = (who, given, got[1])

    def took(self, who, task, said, status):
        assert (status == "replaced") == ((task, who) in self.counted)
        self.current[task, who] = said
        if status != "surplus":
            self.counted.add((task, who))

    @rule(server=SERVER, data=st.data())
    def repeat(self, server, data):
        if self.receipts:
            who, given, before = self.receipts[data.draw(st.sampled_from(sorted(self.receipts)))]
            new, again = self.do(server, annotate.label, who, given)
            assert not new
            assert again == before

    @rule(server=SERVER, who=WHO, task=st.none() | WHAT)
    def undo(self, server, who, task):
        self.key += 1
        got = self.do(server, annotate.undo, who, None if task is None else f"t{task}", f"k{self.key}", "u")
        mine = [u for (u, w) in self.current if w == who and task in (None, u)]
        assert (got is None) == (not mine)
        if got is not None:
            gone = (int(got[1]["task"][1:]), who)
            assert self.current.pop(gone) == got[1]["answer"]
            self.counted.discard(gone)

    @rule(server=SERVER, who=WHO, task=WHAT)
    def skip(self, server, who, task):
        self.key += 1
        self.do(server, annotate.skip, who, f"t{task}", "", f"k{self.key}", "s")

    @rule(seconds=st.sampled_from((1, 35, 61, -50)))
    def time_runs(self, seconds):
        self.now += seconds

    @rule(server=SERVER, cap=st.integers(1, 3))
    def another_cap(self, server, cap):
        self.do(server, manage.change, {"cap": cap})
        self.cap = cap

    @rule(server=SERVER, task=WHAT, said=st.none() | SAID)
    def known(self, server, task, said):
        self.do(server, manage.set_gold, f"t{task}", said)
        (self.gold.discard if said is None else self.gold.add)(task)

    @rule(server=SERVER, who=WHO, on=st.booleans())
    def pause(self, server, who, on):
        self.do(server, *((manage.pause, f"w{who}", "why") if on else (manage.resume, f"w{who}")))

    @rule(server=SERVER)
    def restart(self, server):
        self.servers[server].close()
        self.servers[server] = self.ground.open(server, lambda: self.now)

    # ---------------------------------------------------------------- what holds
    def in_hand(self, look=str):
        """Pairs that either server holds, both brought up to date first; the first has a look at what is stored."""
        self.servers[1].queue.do(str)
        self.seen = self.servers[0].queue.do(look)
        one, two = (set(each.queue.live.leases.held) for each in self.servers)
        assert one == two
        return one

    @invariant()
    def holds(self):
        self.in_hand(lambda batch: batch.query(STORED).all())
        of = {what: [row for row in self.seen if row.what == what] for what in ("event", "current", "lease")}
        assert sorted(row.id for row in of["event"]) == list(range(1, len(of["event"]) + 1))
        lent = [(row.task, row.worker) for row in of["lease"]]
        assert len(lent) == len(set(lent))
        found = {(row.task, row.worker): json.loads(row.payload) for row in of["current"]}
        assert len(found) == len(of["current"])
        assert {pair: each["answer"] for pair, each in found.items()} == self.current
        assert {pair for pair, each in found.items() if each["status"] != "surplus"} == self.counted
        for each in self.servers:
            self.follows(each.queue.live)
        self.cap_holds()

    def follows(self, live):
        chains = live.session.model.answer_lists
        task, worker, _, _ = chains.rows()
        assert set(zip(task.tolist(), worker.tolist(), strict=True)) == self.counted
        assert live.n_answers == len(self.counted)
        assert live.surplus == len(self.current) - len(self.counted)
        for who in range(WORKERS):
            assert live.crowd.workers[who].answers == sum(w == who for _, w in self.counted)

    def cap_holds(self):
        for task in range(TASKS):
            n = sum(u == task for u, _ in self.counted)
            before = self.most[task]
            if task not in self.gold:  # a cap that was lowered, or gold taken back, cannot make answers go away
                assert n <= max(self.cap, before)
            self.most[task] = n


def run(address, sequences, steps=20, *, shrink=False, seed=None):
    """So many sequences; how many ran, and how long they took."""
    ground = Ground(lambda folder: made(folder, address))
    machine = type("Of", (Machine,), {"ground": ground, "runs": 0})
    if seed is not None:
        machine = seeded(seed)(machine)
    began = time.perf_counter()
    how = settings(
        max_examples=sequences, stateful_step_count=steps, deadline=None, database=None, print_blob=True,
        suppress_health_check=list(HealthCheck), phases=[Phase.generate, *([Phase.shrink] if shrink else [])],
    )  # fmt: skip
    try:
        run_state_machine_as_test(machine, settings=how)
    finally:
        ground.close()
    return machine.runs, time.perf_counter() - began


def measure(name, sequences, steps, seed):
    """How many ran, in how many seconds, and of how much CPU here (PostgreSQL's own comes on top)."""
    began = time.process_time()
    if name == "sqlite":
        found = run(None, sequences, steps, seed=seed)
    else:
        from tests.server.postgres import Postgres

        postgres = Postgres(fsync=False)
        try:
            found = run(postgres.fresh(), sequences, steps, seed=seed)
        finally:
            postgres.close()
    return *found, time.process_time() - began


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sequences", type=int, default=5_000)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=("sqlite", "postgresql"))
    given = parser.parse_args()
    share = given.sequences // 5
    for name in (given.only,) if given.only else ("sqlite", "postgresql"):
        n = given.sequences if given.only else share if name == "postgresql" else given.sequences - share
        n, took, cpu = measure(name, n, given.steps, given.seed)
        print(name, n, "sequences", f"{took:.0f} s, {cpu:.0f} s of CPU", flush=True)
        kept = keep("interleavings", f"{name} {given.seed}", {"sequences": n, "steps": given.steps})
    rows = []
    for name in ("sqlite", "postgresql"):
        mine = [each for key, each in kept.items() if key.startswith(name)]
        if mine:
            n, steps = sum(each["sequences"] for each in mine), max(each["steps"] for each in mine)
            rows.append([name, f"{n:,}", str(steps), "0"])
    header = ["database", "sequences", "steps each, at most", "broken rules"]
    after = (
        "Two write queues on one project. Held: the cap is never exceeded by a new answer, one current answer of a "
        "task and a worker, live counts equal the log, leases are exclusive, the log has no gap, a repeated key the "
        "same receipt."
    )
    section("interleavings", "In any order", "python -m benchmarks.live.interleavings --seed N", header, rows, after)


if __name__ == "__main__":
    main()
