"""Public names of a package that are imported when they are first used.

Importing numba, scipy or torch takes longer than most commands run. A package therefore lists its public names once, as
imports under `if TYPE_CHECKING:`, where type checkers and editors see them, and `attach` imports each on first access.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from importlib import import_module
from importlib.util import resolve_name
from pathlib import Path
from typing import Any


def attach(package: str, file: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return `__getattr__`, `__dir__` and `__all__` of a package, from its imports under `if TYPE_CHECKING:`.

    Args:
        package: The package's `__name__`.
        file: The package's `__file__`.
    """
    homes = _lazy_imports(package, Path(file))
    names = sorted(homes)

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, attribute = homes[name]
        if module == package or not hasattr(loaded := import_module(module), attribute):
            value = import_module(f"{module}.{attribute}")
        else:
            value = getattr(loaded, attribute)
        setattr(sys.modules[package], name, value)
        return value

    return get, lambda: names, names


def _lazy_imports(package: str, file: Path) -> dict[str, tuple[str, str]]:
    """Return the module and the attribute behind each public name."""
    homes: dict[str, tuple[str, str]] = {}
    for block in ast.parse(file.read_text(encoding="utf-8")).body:
        if not (isinstance(block, ast.If) and isinstance(block.test, ast.Name) and block.test.id == "TYPE_CHECKING"):
            continue
        for node in block.body:
            if isinstance(node, ast.ImportFrom) and node.level:
                module = resolve_name("." * node.level + (node.module or ""), package)
                homes |= {alias.asname or alias.name: (module, alias.name) for alias in node.names}
    return homes
