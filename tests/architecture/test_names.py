"""Class names are used once, and variables say what they hold."""

from __future__ import annotations

import ast
from collections import defaultdict

from .packages import SRC, modules, tree

# Class names that two classes may share, with the reason; below ten.
SHARED = {
    "Crowd": "simulate.Crowd is a simulated crowd, learn's the labels of a batch; both are public",
    "OneCoin": "simulate.OneCoin is a group of workers that the method OneCoin describes; both are public",
    "Project": "the server's project, and the client's view of it",
    "Receipt": "a schema of the server's API, and the client's record of it",
}
# Participles and pronouns that say nothing about what they name.
VAGUE = {"found", "each", "said", "told", "heard", "seen", "known"}
# Identifiers of these names at most: keys of stored files and attributes of records that have them.
MOST_VAGUE = 20
# Modules whose variables have the names of stored arrays.
VAGUE_VARIABLES = {"kinds/rankings/estimate.py", "kinds/similarities/estimate.py"}


def trees():
    return {path.relative_to(SRC).as_posix(): tree(path) for path in modules()}


def test_class_names_are_used_once():
    """Apart from those of crowd-kit, which the drop-in repeats."""
    homes = defaultdict(list)
    for path, parsed in trees().items():
        if not path.startswith("compat/crowdkit/"):
            for node in ast.walk(parsed):
                if isinstance(node, ast.ClassDef):
                    homes[node.name].append(path)
    twice = {name: paths for name, paths in homes.items() if len(paths) > 1}
    assert {name: paths for name, paths in twice.items() if name not in SHARED} == {}
    assert set(SHARED) <= set(twice)
    assert len(SHARED) < 10


def identifiers(parsed):
    """(name, whether it is a variable or an argument) of every identifier that is vague."""
    for node in ast.walk(parsed):
        if isinstance(node, ast.Name):
            name, variable = node.id, isinstance(node.ctx, ast.Store)
        elif isinstance(node, ast.arg):
            name, variable = node.arg, True
        elif isinstance(node, ast.keyword):
            name, variable = node.arg, False
        elif isinstance(node, ast.Attribute):
            name, variable = node.attr, False
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            name, variable = node.name, True
        else:
            continue
        if name in VAGUE:
            yield name, variable


def test_vague_identifiers_are_rare():
    assert sum(len(list(identifiers(parsed))) for parsed in trees().values()) < MOST_VAGUE


def test_no_variable_has_a_vague_name():
    vague = {path for path, parsed in trees().items() if any(variable for _, variable in identifiers(parsed))}
    assert vague == VAGUE_VARIABLES
