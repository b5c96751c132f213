"""What MkDocs calls while it builds the site."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.structure.files import File, Files

from website import api, commands, gallery, llms, notebooks, sections

ROOT = Path(__file__).parents[1]
# Pages from the root of the repository.
FROM_ROOT = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md"}
ASSETS = ROOT / "website" / "assets"
VERBATIM = re.compile(r"(<(?:pre|textarea|script|style)\b.*?</(?:pre|textarea|script|style)>)", re.S)


def on_config(config: Any) -> Any:
    """Complete the navigation with the generated pages and those that mkdocs.yml does not name."""
    config.nav = sections.complete(config.nav, Path(config.docs_dir))
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the generated pages, the pages from the root, and the script of the search from disk."""
    made: dict[str, str | bytes] = {**api.pages(), **commands.pages(), **notebooks.pages()}
    made |= gallery.pages()
    made |= {page: _from_root(ROOT / source) for source, page in FROM_ROOT.items()}
    for path, text in made.items():
        files.append(File.generated(config, path, content=text))
    for asset in sorted(ASSETS.iterdir()):
        files.append(File.generated(config, f"assets/{asset.name}", abs_src_path=str(asset)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:  # noqa: ARG001
    """Add its class to the page of a method; keep single papers out of the search and lists off the first page."""
    path = PurePosixPath(page.file.src_uri)
    if page.is_homepage:
        page.meta["hide"] = ["navigation", "toc"]
    if path.parent.name == "papers":
        page.meta["search"] = {"exclude": True}
    return markdown + api.method_section(path.stem) if path.parent.name == "methods" else markdown


def on_env(env: Any, config: Any, files: Files) -> None:  # noqa: ARG001
    """Add llms.txt and llms-full.txt, which need the Markdown of all pages."""
    for name, text in llms.texts(config, [file.page for file in files.documentation_pages()]).items():
        files.append(File.generated(config, name, content=text))


def on_post_page(output: str, page: Any, config: Any) -> str:  # noqa: ARG001
    """Name the search dialog, and remove the white space that the templates leave, which is half of the site."""
    output = output.replace('role="dialog"', 'role="dialog" aria-label="Search"', 1)
    parts = VERBATIM.split(output)  # text and verbatim blocks in turn
    return "".join(part if i % 2 else re.sub(r"\s*\n\s*", "\n", part) for i, part in enumerate(parts))


def _from_root(path: Path) -> str:
    text = path.read_text(encoding="utf-8").replace("](docs/", "](")
    for source, page in FROM_ROOT.items():
        text = text.replace(f"]({source})", f"]({page})")
    return re.sub(r"\[([^\]]+)\]\((?:LICENSE|mkdocs\.yml|SECURITY\.md|README\.md|RELEASING\.md)\)", r"\1", text)


def on_post_build(config: Any) -> None:
    """Remove what the theme brings and the site does not use: source maps and word lists of other languages."""
    scripts = Path(config.site_dir) / "assets" / "javascripts"
    for path in [*Path(config.site_dir, "assets").rglob("*.map"), *(scripts / "lunr").rglob("*.js")]:
        path.unlink()
