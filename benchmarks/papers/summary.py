"""The papers' section of docs/benchmarks/README.md: one table over all: claim, published, ours, verdict."""

from __future__ import annotations

from importlib import import_module

import polars as pl

from .. import DOCS
from ..markdown import table, write_section
from . import catalogue
from .store import PAGES

HEAD = """Each row is a claim of a paper and what came out here; the page behind it has tables, settings and command.
Epochs and methods are never chosen by test truth. One learning rate was: that of deepBP's figures 1, 2, 3, 6 and 7,
picked in view of the accuracy as the one at which mean field fails as published (their pages say so). *Reproduced in
direction*: the order or the effect is the paper's, the figures differ (the page says why). *Undecided*: the difference,
of either sign, is below two standard errors.
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
    body = HEAD + "\n" + table(["experiment", "claim", "published", "ours", "verdict"], lines)
    write_section(DOCS / "README.md", "papers", "The papers' claims", "python -m benchmarks.papers all", body)
