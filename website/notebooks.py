"""Notebooks: run from their sources in docs/notebooks (percent format of jupytext) and turned into pages.

A picture takes its alternative text from its cell: `# %% alt="..."`. Outputs are kept in build/notebooks while neither
the source of the notebook nor the package has changed.
"""

from __future__ import annotations

import re
from base64 import b64decode
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from nbclient import NotebookClient

from website.store import ROOT, kept

SOURCES = tuple(sorted((ROOT / "docs" / "notebooks").glob("*.py")))
STORE = ROOT / "build" / "notebooks"


def title(source: Path) -> str:
    """Return the title of a notebook: its first heading."""
    return re.search(r"^# # (.+)$", source.read_text(encoding="utf-8"), re.M)[1]  # type: ignore[index]


def executed(source: Path, store: Path = STORE) -> Any:
    """Return a notebook with its outputs, which are computed if they are not kept."""

    def run() -> str:
        notebook = jupytext.read(source)
        folder = store / source.stem
        folder.mkdir(parents=True, exist_ok=True)
        NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
        return str(nbformat.writes(notebook))

    text = kept(store / f"{source.stem}.ipynb", source.read_text(encoding="utf-8"), run)
    return nbformat.reads(text, as_version=4)


def pages(store: Path = STORE) -> dict[str, str | bytes]:
    """Return pages and pictures by path, and the notebooks themselves for download."""
    made: dict[str, str | bytes] = {"notebooks/index.md": _contents()}
    for source in SOURCES:
        text, pictures = _page(executed(source, store), source.stem)
        made[f"notebooks/{source.stem}.md"] = text
        made |= pictures
        made[f"notebooks/{source.stem}.ipynb"] = nbformat.writes(jupytext.read(source))
    return made


def nav() -> list[Any]:
    """Return the part of the navigation."""
    return ["notebooks/index.md", *(f"notebooks/{source.stem}.md" for source in SOURCES)]


def _contents() -> str:
    lines = ["# Notebooks", "", "Each runs as it is, in less than a minute, and can be downloaded.", ""]
    return "\n".join([*lines, *(f"- [{title(source)}]({source.stem}.md)" for source in SOURCES)]) + "\n"


def _page(notebook: Any, stem: str) -> tuple[str, dict[str, bytes]]:
    """Return the Markdown of a notebook, and its pictures by path."""
    parts: list[str] = []
    pictures: dict[str, bytes] = {}
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```python\n{cell.source}\n```")
        for output in cell.outputs:
            data = output.get("data", {})
            if "image/png" in data:
                name = f"{stem}-{len(pictures) + 1}.png"
                pictures[f"notebooks/{name}"] = b64decode(data["image/png"])
                parts.append(f"![{cell.metadata['alt']}]({name})")
            else:
                text = output.get("text") or data.get("text/plain") or ""
                parts.append(f"```text\n{text.rstrip()}\n```")
    parts.insert(1, f"[Download this notebook]({stem}.ipynb)")
    return "\n\n".join(parts) + "\n", pictures
