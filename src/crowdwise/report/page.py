"""The page as one string: template, style, script and data in one file that asks nothing of the network.

The policy in its head allows exactly this style sheet and this script, by their hashes, and images in the page itself.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ..core.registry import resolve
from ..core.result import Result
from ..workers.flags import Coefficient
from . import svg, text
from .method import described, downloads, trace
from .sheet import Section, Sheet

# ----------------------------------------------------------------
# Sections of a run's page from files that other commands put into its folder: estimate, accept, fair.
# One line here for each such file; what it names gets the folder and returns a Section.

FILES = {
    "estimates.json": "crowdwise.report.guarantee:estimates_section",
    "certificate.json": "crowdwise.report.guarantee:accepted_section",
    "gaps.csv": "crowdwise.report.guarantee:fairness_section",
}


def attached(folder: Path | None) -> list[Section]:
    """A section for each of the files that lie there."""
    if folder is None:
        return []
    return [resolve(door)(folder) for name, door in FILES.items() if (folder / name).is_file()]


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


# ---------------------------------------------------------------- Sections that pages of several kinds have


@dataclass(frozen=True)
class Measure:
    """An agreement coefficient with its bar."""

    of: Coefficient
    bar: Markup


def measures(coefficients: Sequence[Coefficient]) -> list[Measure]:
    """All coefficients drawn on one scale, which begins at zero unless something is negative."""
    lows = [c.low if c.low is not None else c.value for c in coefficients]
    start = -1.0 if any(low is not None and low < -0.2 for low in lows) else -0.2
    return [Measure(c, svg.interval(c.value, c.low, c.high, start=start)) for c in coefficients]


def agreement_section(coefficients: Sequence[Coefficient], about: str) -> Section:
    """The coefficients in a table; `about` says what they are."""
    body = fragment("agreement.html.j2", measures=measures(coefficients), about=about)
    return Section("agreement", "Agreement", "Agreement", body)
