"""Packages import in one order, inside functions too, and no module imports itself in a circle."""

from __future__ import annotations

import pytest

from .packages import FACADES, HOOKS, LAZY, RANK, SRC, graph, imports, modules, name_of, package

# Imports against the order that are still there, and what removes each.
NOT_YET = {
    # The plan and the section about judges come through hooks.
    "crowdwise.kinds.classes.page.build": "crowdwise.active.plan",
    "crowdwise.kinds.classes.page.page": "crowdwise.judges.page",
    # The section about training comes through a hook.
    "crowdwise.report": "crowdwise.kinds.classes.page.over_time",
}


def test_every_package_has_its_place():
    packages = {path.name for path in SRC.iterdir() if path.is_dir() and (path / "__init__.py").exists()}
    assert packages == set(RANK)
    assert {path.stem for path in SRC.glob("*.py")} <= set(FACADES)


def against_the_order(path):
    """(line, module) of the imports of packages above, types apart."""
    own = name_of(path)
    mine = package(own)
    if mine in FACADES or own in LAZY or own in HOOKS or own.endswith(".kind"):
        return []
    out = []
    for name, line, for_types in imports(path):
        theirs = package(name)
        if theirs == mine or for_types or name.startswith("crowdwise.__version__"):
            continue
        if theirs not in RANK or RANK[theirs] > RANK[mine]:
            out.append((line, name))
    return out


@pytest.mark.parametrize("path", modules(), ids=name_of)
def test_imports_follow_the_order(path):
    exception = NOT_YET.get(name_of(path))
    found = against_the_order(path)
    for line, name in found:
        assert name.startswith(exception or "nothing"), f"{path.name}:{line} imports {name}"
    assert found or exception is None, "the exception is not needed any more"


def test_no_import_cycles():
    found, state = graph(), {}

    def visit(name, trail):
        if state.get(name) == "done":
            return
        assert state.get(name) != "open", " -> ".join([*trail[trail.index(name) :], name])
        state[name] = "open"
        for other in sorted(found.get(name, ())):
            # The __init__ of a package may import its modules, and hooks import inside their methods.
            if name in HOOKS or name.endswith(".kind") or other.startswith(NOT_YET.get(name, "nothing")):
                continue
            if not (name.startswith(f"{other}.") or other.startswith(f"{name}.")):
                visit(other, [*trail, name])
        state[name] = "done"

    for name in sorted(found):
        visit(name, [])
