"""Prepares docstrings for the site: doctests become code blocks, classes describe the parameters that they inherit."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from typing import Any

import griffe

ARGS = re.compile(r"^Args:\n((?:    .*(?:\n|$)|\n)*)", re.M)


class Prepared(griffe.Extension):
    """Rewrites docstrings as they are loaded."""

    def on_instance(self, *, obj: griffe.Object, **kwargs: Any) -> None:  # noqa: ARG002
        """Put each doctest into a code block."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)

    def on_class_instance(self, *, cls: griffe.Class, **kwargs: Any) -> None:  # noqa: ARG002
        """Add the descriptions of inherited parameters."""
        if cls.docstring is not None and cls.bases:
            cls.docstring.value = complete(cls.docstring.value, cls.path)


def described(doc: str) -> dict[str, str]:
    """Return the lines that describe each parameter under `Args:`."""
    section = ARGS.search(inspect.cleandoc(doc))
    if section is None:
        return {}
    entries = re.findall(r"^    (\w+)(?: \([^)]*\))?: (.*(?:\n {5,}.*)*)", section[1], re.M)
    return {name: " ".join(text.split()) for name, text in entries}


def inherited(cls: type) -> dict[str, str]:
    """Return the descriptions of the parameters of a class: its own, otherwise those of its nearest base."""
    texts: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        texts |= described(vars(base).get("__doc__") or "")
    try:
        parameters = inspect.signature(cls).parameters
    except ValueError:  # exceptions
        return {}
    return {name: texts[name] for name in parameters if name in texts}


def complete(doc: str, path: str) -> str:
    """Return the docstring of a class with the descriptions of all its parameters."""
    module, _, name = path.rpartition(".")
    try:
        cls = getattr(import_module(module), name)
    except (ImportError, AttributeError):  # a nested class
        return doc
    lines = "".join(f"    {name}: {text}\n" for name, text in inherited(cls).items())
    if not lines:
        return doc
    section = f"Args:\n{lines}"
    clean = inspect.cleandoc(doc)
    if ARGS.search(clean):
        return ARGS.sub(lambda _: section + "\n", clean, count=1)
    return f"{clean}\n\n{section}"


def fenced(text: str) -> str:
    """Return the text with a code block around each doctest, which ends at an empty line.

    >>> print(fenced("Add.\\n\\n>>> 1 + 1\\n2"))
    Add.
    <BLANKLINE>
    ```pycon
    >>> 1 + 1
    2
    ```
    """
    lines: list[str] = []
    inside = False
    for line in [*text.splitlines(), ""]:
        if line.lstrip().startswith(">>> ") and not inside:
            lines.append(" " * (len(line) - len(line.lstrip())) + "```pycon")
            inside = True
        elif inside and not line.strip():
            lines.append("```")
            inside = False
        lines.append(line)
    return "\n".join(lines[:-1])
