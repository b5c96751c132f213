"""A test file of a peer with its imports turned to our face of it, as far as the face has the names."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Callable
from dataclasses import dataclass, field

Has = Callable[[str, str], bool]


@dataclass(frozen=True)
class Rewritten:
    """`text` to run; `ours` and `theirs` are the names it imports from the face and, still, from the peer."""

    text: str
    ours: set[str] = field(default_factory=set)
    theirs: set[str] = field(default_factory=set)

    def covered(self) -> set[str]:
        """Test functions that use no name which is still the peer's."""
        tests = [
            node
            for node in ast.walk(ast.parse(self.text))
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test")
        ]
        return {test.name for test in tests if not self.theirs & _names(test)} if self.ours else set()


def rewrite(text: str, peer: str, face: str, has: Has | None = None) -> Rewritten:
    """`from peer.x import a, b` becomes `from face.x import a`, and b stays where the face has none."""
    has = has or there
    lines, ours, theirs = text.splitlines(), set(), set()
    found = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom) and _of(node, peer)]
    for node in sorted(found, key=lambda each: -each.lineno):
        module = str(node.module)
        twin = face + module.removeprefix(peer)
        known = [each for each in node.names if has(twin, each.name)]
        other = [each for each in node.names if each not in known]
        ours |= {each.asname or each.name for each in known}
        theirs |= {each.asname or each.name for each in other}
        indent = " " * node.col_offset
        new = [
            indent + ast.unparse(ast.ImportFrom(m, names, 0)) for m, names in ((twin, known), (module, other)) if names
        ]
        lines[node.lineno - 1 : node.end_lineno] = new
    return Rewritten("\n".join(lines) + "\n", ours, theirs)


def there(module: str, name: str) -> bool:
    """Whether the module can be imported and has the name."""
    try:
        return hasattr(importlib.import_module(module), name)
    except ModuleNotFoundError:
        return False


def _of(node: ast.ImportFrom, peer: str) -> bool:
    return node.level == 0 and node.module is not None and (node.module == peer or node.module.startswith(peer + "."))


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
