"""Markdown for the pages under docs/benchmarks: tables, and sections that are rewritten one at a time."""

from __future__ import annotations

import platform
from importlib.metadata import version
from pathlib import Path


def table(header: list[str], rows: list[list[str]]) -> str:
    """A table of text."""
    return _table(header, ["---"] * len(header), rows)


def figures(header: list[str], rows: list[list[str]]) -> str:
    """A table whose first column is text and whose others are figures, set to the right."""
    return _table(header, ["---", *["---:"] * (len(header) - 1)], rows)


def _table(header: list[str], rule: list[str], rows: list[list[str]]) -> str:
    lines = [[cell.replace("|", "\\|") for cell in line] for line in [header, rule, *rows]]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def write_section(page: Path, name: str, title: str, command: str, body: str) -> None:
    """Put the section in its place, or at the end; the others are left alone."""
    text = page.read_text(encoding="utf-8")
    start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    section = f"{start}\n## {title}\n\n`{command}` ({versions()})\n\n{body.strip()}\n{end}\n"
    if start in text and end in text:
        before, _, rest = text.partition(start)
        _, _, after = rest.partition(end + "\n")
        text = before + section + after
    else:
        text = text.rstrip("\n") + "\n\n" + section
    page.write_text(text, encoding="utf-8")


def section(page: Path, name: str) -> str:
    """The section as `write_section` left it, or nothing."""
    start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    text = page.read_text(encoding="utf-8") if page.is_file() else ""
    return start + text.split(start, 1)[1].split(end, 1)[0] + end + "\n" if start in text and end in text else ""


def versions() -> str:
    """What the figures were made with."""
    parts = [f"{name} {version(name)}" for name in ("crowdwise", "numpy", "torch")]
    return ", ".join([f"Python {platform.python_version()}", *parts])
