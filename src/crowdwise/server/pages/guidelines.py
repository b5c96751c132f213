"""Guidelines as the lead wrote them (Markdown) to what a page may show: no markup of their own, no active links."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from markdown_it import MarkdownIt
from markupsafe import Markup

# Pages have a first and a second heading of their own.
_SHALLOWEST = 3


@lru_cache(maxsize=64)
def rendered(source: str) -> Markup:
    """HTML of Markdown: raw HTML stays text, links lead to http(s) or mail only, headings start at the third level."""
    parser = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable(["table", "strikethrough"])
    parser.validateLink = _harmless  # type: ignore[method-assign]
    parser.add_render_rule("link_open", _link_open)
    tokens = parser.parse(source)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + _SHALLOWEST - 1, 6)}"
    return Markup(parser.renderer.render(tokens, parser.options, {}))


def _harmless(url: str) -> bool:
    return url.strip().lower().startswith(("https://", "http://", "mailto:", "#"))


def _link_open(renderer: Any, tokens: Any, index: int, options: Any, env: Any) -> str:
    """A link opens beside the page, so that nobody loses the task they are at, and does not say where it came from."""
    tokens[index].attrSet("target", "_blank")
    tokens[index].attrSet("rel", "noopener noreferrer nofollow")
    out: str = renderer.renderToken(tokens, index, options, env)
    return out
