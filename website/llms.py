"""llms.txt, which lists the pages with a line on each, and llms-full.txt, which holds their text."""

from __future__ import annotations

import re
from typing import Any

from website import api

# Left out of llms-full.txt: long tables of figures.
FIGURES = ("benchmarks/",)


def texts(config: Any, pages: list[Any]) -> dict[str, str]:
    """Return both files by name."""
    lines = [f"# {config.site_name}", "", f"> {config.site_description}.", ""]
    full = [*lines]
    for title, group in _grouped(pages).items():
        lines += [f"## {title}", ""]
        for page in group:
            text = api.as_text(page.markdown)
            lines.append(f"- [{page.title}]({page.url}): {_first(text)}")
            if not page.file.src_uri.startswith(FIGURES):
                full += [f"<!-- {page.url} -->", text.strip(), ""]
        lines.append("")
    return {"llms.txt": "\n".join(lines), "llms-full.txt": "\n".join(full)}


def _grouped(pages: list[Any]) -> dict[str, list[Any]]:
    groups: dict[str, list[Any]] = {}
    for page in pages:
        top = page.ancestors[-1].title if page.ancestors else "Start"
        groups.setdefault(top, []).append(page)
    return groups


def _first(markdown: str) -> str:
    """Return the first sentence of the text: no heading, table, list or code."""
    text = re.sub(r"^(---\n.*?\n---$|```.*?^```)", "", markdown, flags=re.S | re.M)
    for paragraph in re.split(r"\n\s*\n", re.sub(r"^#.*$", "", text, flags=re.M)):
        plain = " ".join(re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", paragraph).split())
        if plain and plain[0] not in "|:-!<`":
            return re.split(r"(?<=[.:?])\s", plain)[0].rstrip(":")
    return ""
