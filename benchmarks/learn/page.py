"""Where the figures of learning go; every benchmark here rewrites its own section of the page."""

from .. import DOCS

PAGE = DOCS / "learn.md"
