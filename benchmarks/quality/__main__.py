"""python -m benchmarks.quality: our methods and crowd-kit's on real data; writes docs/benchmarks/aggregation.md.

Our methods run on all sets with independent truth, crowd-kit's and the resampled crowds on the first ones.
Finished cells are kept in bench-results/ and not run again while the method's source is the same; --fresh runs all,
--renew NAME those of one method, and leaves the others as the page has them.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

import crowdwise as cw

from .. import DOCS
from ..speed import machine
from . import bp_mf, ours, peer, planted, resample, sets
from .cells import HOME
from .page import left_out, page

PAGE = DOCS / "aggregation.md"
KINDS = ("fits", "redundancy", "tasks", "workers", "planted")


def collect(names: list[str], quick: bool, fresh: bool, kept: Path | None) -> dict[str, pl.DataFrame]:
    """All rows, from the cache where there is one; `kept` holds crowd-kit's rows of an earlier run."""
    draws = 2 if quick else resample.DRAWS
    every = names if quick else [*cw.datasets.INDEPENDENT, *sets.SUBJECTIVE]
    found = {
        "fits": [*ours.run(every, fresh=fresh)],
        "redundancy": resample.redundancy(names, 1 if quick else resample.KEEP_SEEDS, fresh=fresh),
        "tasks": resample.others(names, "tasks", draws, fresh=fresh),
        "workers": resample.others(names, "workers", draws, fresh=fresh),
        "planted": planted.run(2 if quick else planted.SEEDS, fresh=fresh),
    }
    if kept is None:
        found["fits"] += peer.run([*names, *([] if quick else sets.SUBJECTIVE)], fresh=fresh)
    else:
        found["fits"] += pl.read_parquet(kept).filter(side="crowd-kit").to_dicts()
    return {kind: pl.DataFrame(rows, infer_schema_length=None) for kind, rows in found.items()}


def renewed(kind: str, rows: pl.DataFrame, method: str) -> pl.DataFrame:
    """The rows of a Parquet file, those of one of our methods run again."""
    if kind == "planted":
        return _renewed(rows, method, lambda row: planted.one(method, row["labels"], row["seed"], fresh=True))
    if kind == "fits":
        return _renewed(rows, method, lambda row: ours.one(method, row["set"], row["seed"], fresh=True))
    return _renewed(
        rows, method, lambda row: resample.one(kind, method, row["set"], row["kept"], row["seed"], fresh=True)
    )


def _renewed(rows: pl.DataFrame, method: str, make: Callable[[dict[str, Any]], dict[str, Any]]) -> pl.DataFrame:
    found = [
        make(row) if row["method"] == method and row.get("side", "crowdwise") == "crowdwise" else row
        for row in rows.to_dicts()
    ]
    return pl.DataFrame(found, schema=rows.schema)


def reference(fresh: bool, seeds: int) -> str:
    """The section on belief propagation, kept like the cells."""
    path = HOME / f"bp_mf-{seeds}.md"
    if fresh or not path.exists():
        path.write_text(bp_mf.markdown(seeds), encoding="utf-8")
    return path.read_text(encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality", description=__doc__)
    parser.add_argument("-o", "--output", type=Path, default=PAGE)
    parser.add_argument("--quick", action="store_true", help="three small sets and two seeds; give -o too")
    parser.add_argument("--fresh", action="store_true", help="run every cell again")
    parser.add_argument("--keep-peer", action="store_true", help="keep crowd-kit's rows as the page has them")
    parser.add_argument("--renew", metavar="NAME", help="run one of our methods again, keep all other rows")
    parser.add_argument("--page", action="store_true", help="only write the page again from its Parquet files")
    options = parser.parse_args()
    os.environ.setdefault("CROWDWISE_THREADS", "1")
    names = ["bluebird", "wsd", "temp"] if options.quick else list(cw.datasets.FIRST)
    HOME.mkdir(parents=True, exist_ok=True)
    stems = {kind: options.output.with_name(f"{options.output.stem}{'' if kind == 'fits' else '-' + kind}.parquet")
             for kind in KINDS}  # fmt: skip
    if options.page or options.renew:
        rows = {kind: pl.read_parquet(path) for kind, path in stems.items()}
        if options.renew:
            rows = {kind: renewed(kind, found, options.renew) for kind, found in rows.items()}
    else:
        rows = collect(names, options.quick, options.fresh, stems["fits"] if options.keep_peer else None)
    if not options.page:
        for kind, path in stems.items():
            rows[kind].write_parquet(path)
    facts = [fact for fact in machine.facts() if fact[0] != "C compiler"]
    section = reference(options.fresh and not (options.page or options.renew), 2 if options.quick else 20)
    text = page(rows, tuple(names) if options.quick else cw.datasets.INDEPENDENT, section, facts, left_out())
    options.output.write_text(text, encoding="utf-8")
    print(f"written to {options.output.name}")


if __name__ == "__main__":
    main()
