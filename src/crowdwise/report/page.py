"""The page as one string: template, style, script and data in one file that asks nothing of the network.

The policy in its head allows exactly this style sheet and this script, by their hashes, and images in the page itself.
"""

from __future__ import annotations

import base64
import hashlib
import json
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ..workers.flags import NAMES
from . import text
from .build import View

# What may not stand in a data block as it is: it could end the block, or the line.
_UNSAFE = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def render(view: View) -> str:
    """HTML of the whole report."""
    style, script = _static("report.css"), _static("report.js")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    environment = Environment(
        loader=PackageLoader("crowdwise.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {"number": text.number, "percent": text.percent, "shown": text.shown}
    environment.globals |= {"span": text.span, "count": text.count, "flag_meaning": NAMES}
    page = environment.get_template("report.html.j2")
    return page.render(
        view=view, policy=policy, style=Markup(style), script=Markup(script), data=Markup(as_json(view.pairs.data))
    )


def as_json(value: Any) -> str:
    """JSON that no browser can take for markup, whatever the strings in it say."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).translate(_UNSAFE)


def _static(name: str) -> str:
    return files("crowdwise.report").joinpath("static", name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
