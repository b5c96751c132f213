"""python -m benchmarks.live.interleavings [--sequences 5000]: what holds whatever order requests come in.

A fifth of the sequences is on PostgreSQL, which takes about ten times as long.

A Hypothesis state machine over one or two desks of the same project (two processes' worth on PostgreSQL, a server and
the command line on SQLite): workers take tasks, answer, repeat themselves, skip, take back; time runs; leads pause,
change caps, add gold; desks are closed and opened. After every step the log, the table of leases and the live states
are held against a model of a few dictionaries.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import shutil
import tempfile
import time
from pathlib import Path

import hypothesis.strategies as st
import sqlalchemy as sa
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from crowdwise.server.acts import annotate, manage
from crowdwise.server.config import Config
from crowdwise.server.problems import Problem
from crowdwise.server.project import Project, create, load_tasks
from crowdwise.server.store import tables as t

from .kept import keep, section

TASKS, WORKERS = 4, 4
# Where writing costs nothing; what is on the disk when is not the question here.
SHM = "/dev/shm" if os.path.isdir("/dev/shm") else None
WHO, WHAT, DESK = st.integers(0, WORKERS - 1), st.integers(0, TASKS - 1), st.integers(0, 1)
SAID = st.sampled_from(("a", "b"))


class Machine(RuleBasedStateMachine):
    """`address`: of a database for all sequences, a project each; None: SQLite, each a copy of one folder."""

    address = None
    runs = 0
    ready = None

    def __init__(self):
        super().__init__()
        type(self).runs += 1
        self.folder = Path(tempfile.mkdtemp(dir=SHM)) / "p"
        self.now = 1_700_000_000.0
        self.cap, self.key = 2, 0
        self.prepare(self.folder, f"p{self.runs}")
        self.desks = [Project(self.folder, clock=lambda: self.now) for _ in range(2)]
        self.current, self.counted, self.gold = {}, set(), set()
        self.receipts = {}
        self.most = collections.defaultdict(int)

    def prepare(self, folder, name):
        cls = type(self)
        if cls.address is None and cls.ready is not None:
            shutil.copytree(cls.ready, folder)
            return
        config = Config("Which?", classes=("a", "b"), cap=2, target=0.9999, lease=60, qualify=1, gold_rate=0.2)
        create(folder, config, name=name, database=cls.address)
        with Project(folder, clock=lambda: self.now) as first:
            load_tasks(first, [{"id": f"t{i}", "payload": {"text": "x"}} for i in range(TASKS)])
            for i in range(WORKERS):
                first.desk.do(lambda s, i=i: manage.add_worker(s, f"w{i}"))
        if cls.address is None:
            cls.ready = Path(tempfile.mkdtemp(dir=SHM)) / "ready"
            shutil.copytree(folder, cls.ready)

    def teardown(self):
        for each in self.desks:
            each.close()
        shutil.rmtree(self.folder.parent, ignore_errors=True)

    def do(self, desk, act, *given):
        try:
            return self.desks[desk].desk.do(lambda shift: act(shift, *given))
        except Problem as problem:
            if problem.status >= 500:
                raise
            return None

    # ---------------------------------------------------------------- what happens
    @rule(desk=DESK, who=WHO, n=st.integers(1, 3))
    def take(self, desk, who, n):
        before = self.in_hand()
        got = self.do(desk, annotate.next_tasks, who, n)
        for task in (int(each["id"][1:]) for each in got["tasks"]):
            assert (task, who) not in self.current or (task, who) in before
            if (task, who) not in before and task not in self.gold:
                others = {w for (u, w) in before if u == task} | {w for (u, w) in self.counted if u == task}
                assert len(others | {who}) <= self.cap

    @rule(desk=DESK, who=WHO, task=WHAT, said=SAID, trusted=st.booleans())
    def answer(self, desk, who, task, said, trusted):
        self.key += 1
        given = annotate.Said(f"t{task}", said, f"k{self.key}", f"{task} {said}", trusted=trusted)
        got = self.do(desk, annotate.label, who, given)
        if got is not None:
            self.took(who, task, said, got[1]["status"])
            self.receipts[f"k{self.key}"] = (who, given, got[1])

    def took(self, who, task, said, status):
        assert (status == "replaced") == ((task, who) in self.counted)
        self.current[task, who] = said
        if status != "surplus":
            self.counted.add((task, who))

    @rule(desk=DESK, data=st.data())
    def repeat(self, desk, data):
        if self.receipts:
            who, given, before = self.receipts[data.draw(st.sampled_from(sorted(self.receipts)))]
            new, again = self.do(desk, annotate.label, who, given)
            assert not new
            assert again == before

    @rule(desk=DESK, who=WHO, task=st.none() | WHAT)
    def undo(self, desk, who, task):
        self.key += 1
        got = self.do(desk, annotate.undo, who, None if task is None else f"t{task}", f"k{self.key}", "u")
        mine = [u for (u, w) in self.current if w == who and task in (None, u)]
        assert (got is None) == (not mine)
        if got is not None:
            gone = (int(got[1]["task"][1:]), who)
            assert self.current.pop(gone) == got[1]["answer"]
            self.counted.discard(gone)

    @rule(desk=DESK, who=WHO, task=WHAT)
    def skip(self, desk, who, task):
        self.key += 1
        self.do(desk, annotate.skip, who, f"t{task}", "", f"k{self.key}", "s")

    @rule(seconds=st.sampled_from((1, 35, 61, -50)))
    def time_runs(self, seconds):
        self.now += seconds

    @rule(desk=DESK, cap=st.integers(1, 3))
    def another_cap(self, desk, cap):
        self.do(desk, manage.change, {"cap": cap})
        self.cap = cap

    @rule(desk=DESK, task=WHAT, said=st.none() | SAID)
    def known(self, desk, task, said):
        self.do(desk, manage.set_gold, f"t{task}", said)
        (self.gold.discard if said is None else self.gold.add)(task)

    @rule(desk=DESK, who=WHO, on=st.booleans())
    def pause(self, desk, who, on):
        self.do(desk, *((manage.pause, f"w{who}", "why") if on else (manage.resume, f"w{who}")))

    @rule(desk=DESK)
    def restart(self, desk):
        self.desks[desk].close()
        self.desks[desk] = Project(self.folder, clock=lambda: self.now)

    # ---------------------------------------------------------------- what holds
    def in_hand(self):
        """Pairs that either desk holds, both brought up to date first."""
        for each in self.desks:
            each.desk.do(str)
        one, two = (set(each.desk.live.leases.held) for each in self.desks)
        assert one == two
        return one

    @invariant()
    def holds(self):
        self.in_hand()
        with self.desks[0].database.reader.connect() as connection:
            name = self.desks[0].name
            mine = sa.select(t.event.c.id).where(t.event.c.project == name)
            ids = connection.execute(mine.order_by(t.event.c.id)).scalars().all()
            rows = connection.execute(sa.select(t.current).where(t.current.c.project == name)).all()
            of = sa.select(t.lease.c.task, t.lease.c.worker).where(t.lease.c.project == name)
            lent = connection.execute(of).all()
        assert ids == list(range(1, len(ids) + 1))
        assert len(lent) == len(set(lent))
        found = {(row.task, row.worker): json.loads(row.payload) for row in rows}
        assert len(found) == len(rows)
        assert {pair: each["answer"] for pair, each in found.items()} == self.current
        assert {pair for pair, each in found.items() if each["status"] != "surplus"} == self.counted
        for each in self.desks:
            self.follows(each.desk.live)
        self.cap_holds()

    def follows(self, live):
        chains = live.session.model.chains
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


def run(address, sequences, steps=20, *, shrink=False):
    """So many sequences; how many ran, and how long they took."""
    machine = type("Of", (Machine,), {"address": address, "runs": 0, "ready": None})
    began = time.perf_counter()
    how = settings(
        max_examples=sequences, stateful_step_count=steps, deadline=None, database=None, print_blob=True,
        suppress_health_check=list(HealthCheck), phases=[Phase.generate, *([Phase.shrink] if shrink else [])],
    )  # fmt: skip
    try:
        run_state_machine_as_test(machine, settings=how)
    finally:
        if machine.ready is not None:
            shutil.rmtree(machine.ready.parent, ignore_errors=True)
    return machine.runs, time.perf_counter() - began


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--sequences", type=int, default=5_000)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--only", choices=("sqlite", "postgresql"))
    given = parser.parse_args()
    for name in (given.only,) if given.only else ("sqlite", "postgresql"):
        if name == "postgresql":
            from .postgres import Postgres

            postgres = Postgres(fsync=False)
            n, took = run(postgres.fresh(), given.sequences // 5, given.steps)
            postgres.close()
        else:
            n, took = run(None, given.sequences - given.sequences // 5, given.steps)
        print(name, n, "sequences", f"{took:.0f} s", flush=True)
        kept = keep("interleavings", name, {"sequences": n, "steps": given.steps})
    rows = [[name, f"{f['sequences']:,}", str(f["steps"]), "0"] for name, f in kept.items()]
    header = ["database", "sequences", "steps each, at most", "broken rules"]
    after = (
        "Two desks on one project. Held: the cap is never exceeded by a new answer, one current answer of a task and a "
        "worker, live counts equal the log, leases are exclusive, the log has no gap, a repeated key the same receipt."
    )
    section("interleavings", "In any order", "python -m benchmarks.live.interleavings", header, rows, after)


if __name__ == "__main__":
    main()
