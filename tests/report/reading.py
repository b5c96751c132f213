"""Reads a page as a browser would, without one: tables as rows of text, attributes, script blocks, downloads."""

from __future__ import annotations

import base64
import gzip
import re
from html.parser import HTMLParser


class Page(HTMLParser):
    """`tags` (name, attributes) in order, `scripts` as (attributes, text), `tables` by the label of their region."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.tables: dict[str, list[list[str]]] = {}
        self.text: list[str] = []
        self._region, self._raw, self._cell = "", "", False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.tags.append((tag, found))
        if found.get("role") == "region":
            self._region = found["aria-label"] or ""
        if tag == "script":
            self.scripts.append((found, ""))
        if tag == "table":
            self.tables[self._region] = []
        if tag == "tr" and self.tables:
            self.tables[self._region].append([])
        if tag in ("td", "th"):
            self.tables[self._region][-1].append("")
            self._cell = True
        self._raw = tag if tag in ("script", "style") else ""

    def handle_endtag(self, tag):
        if tag in ("td", "th"):
            self._cell = False
        self._raw = ""

    def handle_data(self, data):
        if self._raw == "script":
            self.scripts[-1] = (self.scripts[-1][0], self.scripts[-1][1] + data)
        elif self._raw != "style":
            self.text.append(data)
            if self._cell:
                self.tables[self._region][-1][-1] += data

    def download(self, name: str) -> str:
        """A file of the page, unpacked."""
        href = next(a["href"] for tag, a in self.tags if tag == "a" and a.get("data-name") == name)
        return gzip.decompress(base64.b64decode(re.sub("^[^,]*,", "", href))).decode()
