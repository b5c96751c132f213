"""What a batch asks of the database at once is what one would ask for each alone; and nothing piles up."""

from __future__ import annotations

from crowdwise.server.commands import annotate
from crowdwise.server.live import leases as kept
from crowdwise.server.store import quick


def test_many_rows_by_few_statements(make, database):
    p = make(database, tasks=200, workers=2, cap=3)
    names = [f"t{i}" for i in range(151)]  # 2 x 64, 16, 4, 3 x 1

    def all_of_them(batch):
        for i, name in enumerate(names):
            annotate.label(batch, 0, annotate.Submission(name, "a", f'key "{i}" ü', "b", trusted=True))

    p.project.queue.do(all_of_them)
    with p.project.database.reader.connect() as connection:
        pairs = [(0, f'key "{i}" ü') for i in range(151)]
        found = quick.keyed(connection, "main", [*pairs, (1, pairs[0][1]), (0, "another")])
        assert sorted(event.key for event in found) == sorted(key for _, key in pairs)
        assert {event.worker for event in found} == {0}
        assert not quick.news(connection, "main", p.project.queue.live.last, p.project.queue.live.leases.last)
        assert quick.news(connection, "main", p.project.queue.live.last - 1, p.project.queue.live.leases.last)
        texts = quick.shown(connection, "main", [7, 150])
    assert texts == {i: f'{{"text":"This is text number {i}."}}' for i in (7, 150)}


def test_a_key_is_looked_up_once_for_all_who_wait(make, monkeypatch):
    p = make(tasks=10, workers=2)
    first = p.label(0, p.next(0)[0], key="k")
    p.next(1)
    calls = []
    found = quick.keyed
    monkeypatch.setattr(quick, "keyed", lambda *given: calls.append(given[2]) or found(*given))
    task = first.json()["task"]
    assert p.label(0, task, key="k").json() == first.json()
    assert p.label(1, task, key="k").status_code in (201, 403)  # another worker's key is another key
    assert calls == [[(0, "k")], [(1, "k")]]


def test_ends_of_leases_do_not_pile_up(make, monkeypatch):
    monkeypatch.setattr(kept, "_OLD", 8)
    p = make(tasks=60, workers=1, cap=2, lease=100.0)
    for _ in range(40):
        p.label(0, p.next(0)[0])
    held = p.project.queue.live.leases
    assert len(held._ends) <= 2 * (len(held.held) + 1) + 8
    task = p.next(0)[0]
    assert len(held.held) == 1
    held.expire(p.project.clock() + 101)
    assert not held.held
    assert p.project.queue.live.session.task_index.busy[p.project.queue.live.crowd.task_code[task]] == 0
