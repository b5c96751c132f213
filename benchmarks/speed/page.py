"""The Markdown page: the machine, all bars at a glance, then section by section."""

from __future__ import annotations

from ..markdown import table
from .section import BAR_HEADER, Section


def page(facts: list[tuple[str, str]], sections: list[Section], command: str, quick: bool) -> str:
    """The whole page as one string."""
    bars = [bar for section in sections for bar in section.bars]
    parts = [
        "# Speed and memory",
        "",
        f"Written by `{command}`; do not edit by hand. The command makes its own "
        "data, installs crowd-kit into `.venvs/crowd-kit` if need be, and measures everything side by side.",
        "",
        table(["", "measured on"], [[name, value] for name, value in facts]),
    ]
    if quick:
        parts += ["", "**Small sizes (`--quick`): this page shows that the benchmark runs, not how fast anything is.**"]
    if bars:
        parts += ["", "## The bars at a glance", "", table(BAR_HEADER, [bar.cells() for bar in bars])]
    for section in sections:
        parts += ["", section.markdown()]
    return "\n".join(parts) + "\n"
