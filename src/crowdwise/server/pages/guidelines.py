"""Guidelines (Markdown) as safe HTML, without raw HTML and without links other than http(s) and mail."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from markdown_it import MarkdownIt
from markupsafe import Markup

# Pages have headings of the first and second level.
_SHALLOWEST = 3


@lru_cache(maxsize=64)
def rendered(source: str) -> Markup:
    """HTML of Markdown: raw HTML is escaped, links are http(s) or mail only, headings start at the third level."""
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
    """Links open in a new tab, so that the current task is not lost, and without a referrer."""
    tokens[index].attrSet("target", "_blank")
    tokens[index].attrSet("rel", "noopener noreferrer nofollow")
    out: str = renderer.renderToken(tokens, index, options, env)
    return out
