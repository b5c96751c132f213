"""docs/benchmarks/learn.md, one section at a time: a benchmark rewrites its own section and leaves the others alone."""

from __future__ import annotations

import platform
from importlib.metadata import version
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "benchmarks" / "learn.md"
TITLE = """# Learning from crowds, measured

Every section is written by the command it names. Epochs are chosen without truth, by held-out labels; figures are means
over seeds with their standard deviations.
"""


def write_section(name: str, title: str, command: str, body: str, page: Path = PAGE) -> None:
    """Put the section in its place, or at the end."""
    text = page.read_text(encoding="utf-8") if page.exists() else TITLE
    start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    section = f"{start}\n## {title}\n\n`{command}` ({versions()})\n\n{body.strip()}\n{end}\n"
    if start in text and end in text:
        before, _, rest = text.partition(start)
        _, _, after = rest.partition(end + "\n")
        text = before + section + after
    else:
        text = text.rstrip("\n") + "\n\n" + section
    page.write_text(text, encoding="utf-8")


def versions() -> str:
    """What the figures were made with."""
    parts = [f"{name} {version(name)}" for name in ("crowdwise", "torch", "numpy")]
    return ", ".join([f"Python {platform.python_version()}", *parts])


def table(header: list[str], rows: list[list[str]]) -> str:
    """A Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
