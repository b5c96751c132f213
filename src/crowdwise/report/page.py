"""The HTML page: template, style, script and data in one file without network access.

The content security policy in its head allows exactly this style sheet and this script, by their hashes, and images
inside the page.
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
from ..evaluation.scores import Scores, Table
from ..workers.flags import Coefficient
from . import svg, text
from .method import described, downloads, trace
from .sheet import Section, Sheet

# ----------------------------------------------------------------
# Sections from files that other commands put into the run folder: estimate, accept, fairness.
# Each entry maps a file to a function that takes the folder and returns a Section.

FILES = {
    "estimates.json": "crowdwise.report.guarantee:estimates_section",
    "certificate.json": "crowdwise.report.guarantee:accepted_section",
    "gaps.csv": "crowdwise.report.guarantee:fairness_section",
}


def attached(folder: Path | None) -> list[Section]:
    """Return a section for each of these files in the folder."""
    if folder is None:
        return []
    return [resolve(section)(folder) for name, section in FILES.items() if (folder / name).is_file()]


# Characters that must be escaped in a data block, because they could end the block or the line.
_UNSAFE = str.maketrans({"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"})


def render(sheet: Sheet, result: Result, *, title: str = "", made: str = "") -> str:
    """Render the whole report: the sections of the kind, then the method and the downloads."""
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
    """Render a template; every value is escaped unless it is markup already."""
    return Markup(_environment().get_template(template).render(**values))


def as_json(value: Any) -> str:
    """Return JSON that no browser can mistake for markup, whatever its strings contain."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).translate(_UNSAFE)


def _last_sections(sheet: Sheet, result: Result, method: dict[str, Any]) -> list[Section]:
    """Return the sections at the end of every page."""
    drawn = trace(result) if sheet.rounds == "iteration" else Markup("")
    run = fragment("method.html.j2", method=method, rounds=sheet.rounds, trace=drawn)
    loads = fragment("downloads.html.j2", files=downloads(sheet.tables))
    return [
        Section("method", "Method", "Method and parameters", run),
        Section("downloads", "Downloads", "Downloads", loads),
    ]


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("crowdwise.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    environment.filters |= {"number": text.number, "percent": text.percent, "shown": text.shown}
    environment.globals |= {"span": text.span, "count": text.count}
    return environment


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
    """Draw all coefficients on one scale, which starts at zero unless a value is negative."""
    lows = [c.low if c.low is not None else c.value for c in coefficients]
    start = -1.0 if any(low is not None and low < -0.2 for low in lows) else -0.2
    return [Measure(c, svg.interval(c.value, c.low, c.high, start=start)) for c in coefficients]


def agreement_section(coefficients: Sequence[Coefficient], about: str) -> Section:
    """Return the coefficients as a table; `about` explains them."""
    body = fragment("agreement.html.j2", measures=measures(coefficients), about=about)
    return Section("agreement", "Agreement", "Agreement", body)


def table_section(anchor: str, name: str, title: str, *tables: Table) -> Section:
    """Return a section of tables."""
    return Section(anchor, name, title, fragment("tables.html.j2", tables=tables))


def truth_section(scores: Scores, *more: Table) -> Section:
    """Return the section with all scores against the truth, and further tables."""
    units = scores.unit + "s" * (scores.n != 1)
    table = Table(f"Scores over {scores.n:,} {units}", ["score", "value", "95 % interval"], scores.rows())
    return table_section("truth", "Truth", "Against the truth", table, *more)
