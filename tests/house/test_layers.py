"""The rooms of the house stand on each other in one order; nobody reaches up, not even inside a function."""

from __future__ import annotations

import pytest
from benchmarks.house import EVERYBODYS, FACES, RANK, SRC, graph, imports, modules, name_of, room


def test_every_room_has_its_place():
    rooms = {path.name for path in SRC.iterdir() if path.is_dir() and (path / "__init__.py").exists()}
    assert rooms == set(RANK)
    assert {path.stem for path in SRC.glob("*.py")} <= set(FACES)


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_nobody_reaches_up(path):
    mine = room(name_of(path))
    if mine in FACES:
        return
    for name, line, _ in imports(path):
        theirs = room(name)
        if theirs == mine or name.startswith(EVERYBODYS) or name in ("crowdwise", "crowdwise.__version__"):
            continue
        assert theirs in RANK, f"{path.name}:{line} imports {name}: take it from its home, not from a face"
        assert RANK[theirs] < RANK[mine], f"{path.name}:{line} ({mine}) imports {name} ({theirs})"


def test_no_module_comes_back_to_itself():
    found, state = graph(), {}

    def visit(name, trail):
        if state.get(name) == "done":
            return
        assert state.get(name) != "open", " -> ".join([*trail[trail.index(name) :], name])
        state[name] = "open"
        for other in sorted(found.get(name, ())):
            # A package's own front may name its modules.
            if not (name.startswith(f"{other}.") or other.startswith(f"{name}.")):
                visit(other, [*trail, name])
        state[name] = "done"

    for name in sorted(found):
        visit(name, [])


def test_tests_mirror_the_rooms():
    tests = SRC.parents[1] / "tests"
    for name in sorted(set(RANK)):
        assert list((tests / name).glob("test_*.py")), f"tests/{name} has no tests"
