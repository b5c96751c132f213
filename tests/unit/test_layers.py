"""The rooms of the house stand on each other in one order; nobody reaches up, not even inside a function."""

from __future__ import annotations

import ast

import pytest
from benchmarks import ROOT

SRC = ROOT / "src" / "crowdwise"
# Each room may import from the rooms of the lines above it, from rooms beside it that are named, and from itself.
LAYERS = (
    ("maths",),
    ("core",),
    ("kinds",),
    ("engine",),
    ("aggregate",),
    ("io",),
    ("scoring",),
    ("workers",),
    ("audit", "simulate", "datasets"),
    ("learn",),
    ("plots", "report", "compat", "sklearn"),
    ("cli",),
)
RANK = {room: level for level, rooms in enumerate(LAYERS) for room in rooms}
# Errors know nothing, and everybody raises them.
EVERYBODYS = "crowdwise.core.errors"
# Faces that only hand on what lives elsewhere, and the package itself.
FACES = ("__init__", "__main__", "errors", "registry", "tasks")


def modules():
    return sorted(path for path in SRC.rglob("*.py"))


def name_of(path):
    parts = path.relative_to(SRC.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path):
    """(module, line, whether only a type checker sees it) of every import of ours, those in functions included."""
    own, is_package = name_of(path), path.name == "__init__.py"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = own.split(".") if is_package else own.split(".")[:-1]
            head = base[: len(base) - node.level + 1] if node.level else []
            target = ".".join([*head, *(node.module or "").split(".")]).rstrip(".")
            names = [f"{target}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            if name.split(".")[0] == "crowdwise":
                yield name, node.lineno, id(node) in for_types


def room(module):
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def graph():
    """module -> modules that it imports when it runs."""
    known = {name_of(path) for path in modules()}

    def home(name):
        while name not in known and "." in name:
            name = name.rpartition(".")[0]
        return name

    return {name_of(p): {home(n) for n, _, typed in imports(p) if not typed} - {name_of(p)} for p in modules()}


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
