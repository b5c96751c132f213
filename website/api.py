"""Pages of the Python API: one for every public class and function, with its signature and described parameters."""

from __future__ import annotations

import inspect
import posixpath
import re
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from crowdwise.core import method_registry

KINDS = tuple(f"crowdwise.kinds.{kind}" for kind in method_registry.KINDS)
SHARED = ("active", "client", "datasets", "errors", "judges", "learn", "registry", "report", "simulate", "sklearn",
          "tasks", "workers")  # fmt: skip
PACKAGES = ("crowdwise", *KINDS, *(f"crowdwise.{name}" for name in SHARED))
# Classes that a user meets only as the base or the attribute of another one.
ALSO = ("crowdwise.core.method:Method", "crowdwise.core.estimate:Estimate", "crowdwise.core.estimate:WorkerSummary",
        "crowdwise.learn.fitting:CrowdEstimator", "crowdwise.plots:Plots")  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """A public name, what it stands for, and the page that describes it."""

    package: str
    name: str
    value: Any
    page: str

    @property
    def shown(self) -> str:
        """The name as users write it."""
        if f"{self.value.__module__}:{self.name}" in ALSO if inspect.isclass(self.value) else False:
            return f"{self.value.__module__}.{self.name}"
        return f"{shown(self.package)}.{self.name}"

    @property
    def summary(self) -> str:
        """The first paragraph of the docstring."""
        return " ".join((inspect.getdoc(self.value) or "").split("\n\n")[0].split())


def shown(package: str) -> str:
    """Return a package as users write it."""
    if package in ("crowdwise.client", "crowdwise.sklearn"):  # not attributes of the package
        return package
    return package.replace("crowdwise.kinds.", "cw.").replace("crowdwise", "cw", 1)


def _documented(value: Any) -> bool:
    return inspect.isclass(value) or inspect.isfunction(value)


@cache
def method_names() -> dict[type, str]:
    """Return the name in the registry of each class that has a page in docs/methods."""
    return {
        getattr(import_module(card.where.partition(":")[0]), card.where.partition(":")[2]): name
        for name, card in method_registry.cards().items()
    }


@cache
def entries() -> tuple[Entry, ...]:
    """Return all public classes, functions and constants. What several packages export has one page."""
    homes: dict[int, str] = {}
    rows: list[Entry] = []
    for package in sorted(PACKAGES, key=lambda name: (name == "crowdwise", name not in KINDS)):
        taken: set[str] = set()
        for name, value in _public(package):
            page = homes.get(id(value)) if _documented(value) else f"api/{_folder(package)}/index.md"
            if page is None:
                method = method_names().get(value) if inspect.isclass(value) else None
                page = f"methods/{method}.md" if method else _page(package, name, value, taken)
                homes[id(value)] = page
            rows.append(Entry(package, name, value, page))
    return tuple(rows)


def _public(package: str) -> list[tuple[str, Any]]:
    module = import_module(package)
    names = [(name, getattr(module, name)) for name in module.__all__ if not name.startswith("__")]
    more = [where.partition(":") for where in ALSO if package == "crowdwise"]
    names += [(name, getattr(import_module(home), name)) for home, _, name in more]
    return [(name, value) for name, value in names if not isinstance(value, ModuleType)]


def _folder(package: str) -> str:
    return "cw" if package == "crowdwise" else package.rpartition(".")[2]


def _page(package: str, name: str, value: Any, taken: set[str]) -> str:
    """Return a path that differs from the others of its folder also where case does not count."""
    stem = name
    if stem.lower() in taken:
        stem += "-class" if inspect.isclass(value) else "-function"
    taken.add(stem.lower())
    return f"api/{_folder(package)}/{stem}.md"


def pages() -> dict[str, str]:
    """Return the generated pages by path."""
    made = {f"api/{_folder(package)}/index.md": _package_page(package) for package in PACKAGES}
    made["api/index.md"] = _contents()
    for entry in entries():
        if entry.page.startswith("api/") and _documented(entry.value) and entry.page not in made:
            made[entry.page] = f"---\ntitle: {entry.name}\n---\n{_above(entry)}{_directive(entry, 1)}{_bases(entry)}"
    return made


def method_section(name: str) -> str:
    """Return the section of the API on the page of a method, or nothing for other pages."""
    cls = {name: cls for cls, name in method_names().items()}.get(name)
    if cls is None:
        return ""
    entry = next(entry for entry in entries() if entry.value is cls)
    return f"\n\n{_directive(entry, 2)}{_bases(entry)}"


def _above(entry: Entry) -> str:
    """Return links to the packages, since the navigation does not list every name."""
    return f"[Python API](../index.md) › [{shown(entry.package)}](index.md)\n\n"


def _bases(entry: Entry) -> str:
    """Return the other names of a class, and links to its bases, whose members the page does not repeat."""
    bases = [base for base in getattr(entry.value, "__mro__", ())[1:] if base in _listed()]
    pages = {other.value: other for other in entries() if inspect.isclass(other.value)}
    links = [f"[`{base.__name__}`]({_relative(entry.page, pages[base].page)})" for base in bases]
    same = [f"`{e.shown}`" for e in entries() if e.value is entry.value and e.shown != entry.shown]
    also = f"\nAlso available as {', '.join(same)}.\n" if same else ""
    return also + (f"\nInherits from {', '.join(links)}.\n" if links else "")


def _relative(page: str, target: str) -> str:
    return posixpath.relpath(target, posixpath.dirname(page))


def _directive(entry: Entry, level: int) -> str:
    value = entry.value
    is_method = inspect.isclass(value) and value in method_names()
    options = {"heading": entry.shown, "heading_level": level}
    if is_method or (inspect.isclass(value) and issubclass(value, Exception)):
        options |= {"members": "false", "inherited_members": "false"}  # those of the base class have a page
    elif any(base in _listed() for base in getattr(value, "__mro__", ())[1:]):
        options["inherited_members"] = "false"
    lines = [f"::: {value.__module__}.{value.__qualname__}", "    options:"]
    return "\n".join([*lines, *(f"      {name}: {option}" for name, option in options.items())]) + "\n"


@cache
def _listed() -> frozenset[type]:
    """Return the classes that have a page."""
    return frozenset(entry.value for entry in entries() if inspect.isclass(entry.value))


def as_text(markdown: str) -> str:
    """Return a page with signatures and docstrings in place of what mkdocstrings inserts."""
    listed = [entry for entry in entries() if _documented(entry.value)]
    where = {f"{entry.value.__module__}.{entry.value.__qualname__}": entry for entry in listed}

    def described(directive: re.Match[str]) -> str:
        entry = where[directive[1]]
        call = f"{entry.shown}{_signature(entry.value)}"
        return f"# {entry.shown}\n\n{inspect.getdoc(entry.value) or ''}\n\n```python\n{call}\n```"

    return re.sub(r"^::: (\S+)\n(?:    .*\n)*", described, markdown, flags=re.M)


def _signature(value: Any) -> str:
    try:
        return str(inspect.signature(value))
    except ValueError:  # some exceptions
        return ""


def nav() -> list[Any]:
    """Return the part of the navigation: the packages, whose pages list their names."""
    return ["api/index.md", *(f"api/{_folder(package)}/index.md" for package in PACKAGES)]


def _contents() -> str:
    lines = ["# Python API", "", "`import crowdwise as cw`. Every public name has a page.", ""]
    lines += ["| package | what it holds |", "|---|---|"]
    for package in PACKAGES:
        doc = (inspect.getdoc(import_module(package)) or "").split("\n\n")[0]
        lines.append(f"| [`{shown(package)}`]({_folder(package)}/index.md) | {_cell(doc)} |")
    return "\n".join(lines) + "\n"


def _package_page(package: str) -> str:
    """Return the tables of the names of a package."""
    doc = (inspect.getdoc(import_module(package)) or "").split("\n\n")[0]
    lines = ["---", f"title: {shown(package)}", "---", f"# {shown(package)}", doc, ""]
    own = [entry for entry in entries() if entry.package == package]
    groups = {
        "Methods": [entry for entry in own if entry.page.startswith("methods/")],
        "Classes": [e for e in own if inspect.isclass(e.value) and not e.page.startswith("methods/")],
        "Functions": [entry for entry in own if inspect.isfunction(entry.value)],
    }
    for title, group in groups.items():
        if group:
            lines += [f"## {title}", "", "| name | |", "|---|---|"]
            lines += [f"| [`{e.name}`](../../{e.page}) | {_cell(e.summary)} |" for e in group]
            lines.append("")
    constants = [entry for entry in own if not _documented(entry.value)]
    if constants:
        lines += ["## Constants", "", "| name | value |", "|---|---|"]
        lines += [f"| `{entry.name}` | {_value(entry.value)} |" for entry in constants]
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "by name: " + ", ".join(f"`{key}`" for key in value)
    if isinstance(value, tuple | list | set | frozenset):
        return ", ".join(f"`{item}`" for item in value)
    return f"`{value!r}`"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
