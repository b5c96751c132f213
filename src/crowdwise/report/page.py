"""The page as one string: template, style, script and data in one file that asks nothing of the network.

The policy in its head allows exactly this style sheet and this script, by their hashes, and images in the page itself.
"""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ..core.result import Result
from . import text
from .downloads import downloads
from .method import described, trace
from .sheet import Section, Sheet

# What may not stand in a data block as it is: it could end the block, or the line.
_UNSAFE = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def render(sheet: Sheet, result: Result, *, title: str = "", made: str = "") -> str:
    """HTML of the whole report: the kind's sections, then the method and the downloads, in the common frame."""
    style, script = _static("report.css"), _static("report.js")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        f"img-src {' '.join(['data:', *sheet.images])}; base-uri 'none'; form-action 'none'"
    )
    method = described(result)
    return _environment().get_template("report.html.j2").render(
        title=text.shown(title, 120), made=made, lead=sheet.lead, method=method,
        sections=[*sheet.sections, *_last_sections(sheet, result, method)], policy=policy, style=Markup(style),
        script=Markup(script), data=Markup(as_json(dict(sheet.data))),
    )  # fmt: skip


def fragment(template: str, **values: Any) -> Markup:
    """A piece of the page from one of our templates; every value is escaped unless it is markup already."""
    return Markup(_environment().get_template(template).render(**values))


def as_json(value: Any) -> str:
    """JSON that no browser can take for markup, whatever the strings in it say."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).translate(_UNSAFE)


def _last_sections(sheet: Sheet, result: Result, method: dict[str, Any]) -> list[Section]:
    """What every page ends with."""
    drawn = trace(result) if sheet.rounds == "iteration" else Markup("")
    run = fragment("method.html.j2", method=method, rounds=sheet.rounds, trace=drawn)
    loads = fragment("downloads.html.j2", files=downloads(sheet.tables))
    return [
        Section("method", "Method", "Method and parameters", run),
        Section("downloads", "Downloads", "Downloads", loads),
    ]


@cache
def _environment() -> Environment:
    made = Environment(
        loader=PackageLoader("crowdwise.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    made.filters |= {"number": text.number, "percent": text.percent, "shown": text.shown}
    made.globals |= {"span": text.span, "count": text.count}
    return made


def _static(name: str) -> str:
    return files("crowdwise.report").joinpath("static", name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
