"""The navigation: groups of mkdocs.yml, completed with generated pages and with pages that it does not name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from crowdwise.core import method_registry
from website import api, commands, notebooks

# Reached from the list of benchmarks.
UNLISTED = "benchmarks/papers/"


def complete(nav: list[Any], docs: Path) -> list[Any]:
    """Return the navigation with the names of generated groups replaced, and the other pages of docs/ under How-to."""
    nav = _expand(nav, docs)
    named = set(_paths(nav))
    others = [path.relative_to(docs).as_posix() for path in sorted(docs.rglob("*.md"))]
    others = [path for path in others if path not in named and not path.startswith(UNLISTED)]
    for group in nav:
        if isinstance(group, dict) and "How-to" in group:
            group["How-to"] += others
    return nav


def _expand(items: list[Any], docs: Path) -> list[Any]:
    generated = {
        "METHODS": _methods,
        "API": api.nav,
        "COMMANDS": commands.nav,
        "NOTEBOOKS": notebooks.nav,
        "BENCHMARKS": lambda: _benchmarks(docs),
    }
    made: list[Any] = []
    for item in items:
        if isinstance(item, str) and item in generated:
            made += generated[item]()
        elif isinstance(item, dict):
            made.append({
                title: _expand(inner, docs) if isinstance(inner, list) else inner for title, inner in item.items()
            })  # fmt: skip
        else:
            made.append(item)
    return made


def _paths(items: list[Any]) -> list[str]:
    made: list[str] = []
    for item in items:
        for value in item.values() if isinstance(item, dict) else [item]:
            made += _paths(value) if isinstance(value, list) else [value]
    return made


def _methods() -> list[Any]:
    groups: dict[str, list[str]] = {}
    for name, card in method_registry.cards().items():
        kind = card.where.split(".")[2]
        groups.setdefault(kind, []).append(f"methods/{name}.md")
    return [{kind.capitalize(): sorted(pages)} for kind, pages in groups.items()]


def _benchmarks(docs: Path) -> list[Any]:
    folder = docs / "benchmarks"
    pages = [f"benchmarks/{path.name}" for path in sorted(folder.glob("*.md")) if path.name != "README.md"]
    return ["benchmarks/README.md", *pages]
