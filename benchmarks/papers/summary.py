"""docs/benchmarks/papers/README.md: one table over all experiments: claim, published, ours, verdict."""

from __future__ import annotations

from importlib import import_module

import polars as pl

from . import catalogue
from .page import markdown
from .store import PAGES

HEAD = """# The papers' experiments

Each row is a claim of a paper and what came out here; the page behind it has the tables, the settings and the command.
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
            lines.append([f"[{experiment.paper}: {experiment.title}]({name}.md)", *claim.cells()])
    PAGES.mkdir(parents=True, exist_ok=True)
    table = markdown(["experiment", "claim", "published", "ours", "verdict"], lines)
    (PAGES / "README.md").write_text(HEAD + "\n" + table + "\n", encoding="utf-8")
