"""The papers' section of docs/benchmarks/README.md: one table over all: claim, published, ours, verdict."""

from __future__ import annotations

from importlib import import_module

import polars as pl

from benchmarks.learn.page import write_section

from . import catalogue
from .page import markdown
from .store import PAGES

PAGE = PAGES.parent / "README.md"
HEAD = """Each row is a claim of a paper and what came out here; the page behind it has tables, settings and command.
Epochs and methods are never chosen by test truth. *Reproduced in direction*: the order or the effect is the paper's,
the figures differ (the page says why).
"""


def write_summary() -> None:
    """From the Parquet files that are there."""
    lines = []
    for name, where in catalogue.EXPERIMENTS.items():
        path = PAGES / f"{name}.parquet"
        if not path.exists():
            continue
        module, _, cls = where.partition(":")
        experiment = getattr(import_module(f"benchmarks.papers.{module}"), cls)()
        for claim in experiment.claims(pl.read_parquet(path)):
            lines.append([f"[{experiment.paper}: {experiment.title}](papers/{name}.md)", *claim.cells()])
    table = markdown(["experiment", "claim", "published", "ours", "verdict"], lines)
    write_section("papers", "The papers' claims", "python -m benchmarks.papers all", HEAD + "\n" + table, page=PAGE)
