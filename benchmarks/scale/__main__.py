"""python -m benchmarks.scale [same] [whole] [sort] [passes] [constants] [peers] [--labels N] [--folder DIR]

Each part is measured in processes of its own and kept in docs/benchmarks/scale.json; the page is written from what is
there. The crowd (20 M tasks × 10, K=5, 100 k workers for 200 M labels) is generated in pieces. `page` only writes it.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from pathlib import Path
from typing import Any

from .. import DOCS
from . import crowd, jobs, page, peers

STORE = DOCS / "scale.json"
PARTS = ("same", "whole", "sort", "passes", "constants", "peers", "page")
PASSES, FEW, MANY = 3, 1, 3


def main() -> None:
    """Measure what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", nargs="*", default=[*PARTS])
    parser.add_argument("--labels", type=int, default=50_000_000)
    parser.add_argument("--folder", type=Path, default=Path("scale-benchmark"))
    given = parser.parse_args()
    for what in given.what:
        if what not in PARTS:
            raise SystemExit(f"{what} is none of {', '.join(PARTS)}")
        if what != "page":
            found = MEASURED[what](given.labels, given.folder.absolute())
            keep(what, given.labels, found)
            print(what, json.dumps(found), flush=True)
    (DOCS / "scale.md").write_text(page.page(stored()), encoding="utf-8")


def stored() -> dict[str, Any]:
    """All that was measured, by what and how many labels."""
    return json.loads(STORE.read_text(encoding="utf-8")) if STORE.is_file() else {}


def keep(what: str, labels: int, found: dict[str, Any]) -> None:
    """Keep what was measured, with the machine."""
    every = stored()
    every.setdefault(what, {})[str(labels)] = found
    every["machine"] = f"{platform.machine()}, {len(jobs.cores())} cores, Python {platform.python_version()}"
    STORE.write_text(json.dumps(every, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def tried(name: str, **given: Any) -> dict[str, Any]:
    """A job's answer, or what became of it."""
    try:
        found: dict[str, Any] = jobs.run(name, **given)
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return {"failed": str(error)[:200]}
    return found


def whole(labels: int, folder: Path) -> dict[str, Any]:
    """Plan, three passes of Dawid-Skene, skills, labels on disk."""
    name = f"{labels // 1_000_000}"
    pattern = crowd.write(folder / f"votes{name}", labels)
    return tried("whole", pattern=pattern, work=f"{folder}/work{name}", out=f"{folder}/run{name}", max_iter=PASSES)


def sort(labels: int, folder: Path) -> dict[str, Any]:
    """polars' own scan, sort and write of the same files."""
    name = f"{labels // 1_000_000}"
    pattern = crowd.write(folder / f"votes{name}", labels)
    return tried("sorted_by_polars", pattern=pattern, out=f"{folder}/sorted{name}.parquet")


def passes(labels: int, folder: Path) -> dict[str, Any]:
    """CPU seconds a pass of one thread, from disk and in memory."""
    work = f"{folder}/work{labels // 1_000_000}"
    return {
        where: tried("passes", threads=1, work=work, few=FEW, many=MANY, where=where) for where in ("disk", "memory")
    }


def same(labels: int, folder: Path) -> dict[str, Any]:
    """Bits of 1, 2, 7 and 64 jobs, and how far the posterior is from the one in memory."""
    pattern = crowd.write(folder / f"votes{labels}", labels)
    return tried("same", pattern=pattern, work=f"{folder}/work{labels}")


def constants(labels: int, folder: Path) -> dict[str, Any]:
    """What the cost model is made of, on one thread."""
    pattern = crowd.write(folder / f"votes{labels}", labels)
    return tried("constants", threads=1, pattern=pattern, work=f"{folder}/work{labels}")


def compared(labels: int, folder: Path) -> dict[str, Any]:
    """crowd-kit on the same labels, in its own environment."""
    return peers.crowd_kit(crowd.write(folder / f"votes{labels // 1_000_000}", labels))


MEASURED = {"same": same, "whole": whole, "sort": sort, "passes": passes, "constants": constants, "peers": compared}

if __name__ == "__main__":
    main()
