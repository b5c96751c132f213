"""The default without gold beside other methods: on the open sets, families left out, and on planted crowds.

    python -m benchmarks.quality.default [--fresh]

Writes docs/benchmarks/default.md and docs/images/risk-coverage.svg. On open sets the committee's table of confidence,
which the default uses too, is the one that was learnt without the family of the set (benchmarks/quality/confidence.py).
Finished fits are kept in bench-results/ while the sources of the methods stay the same.
"""

from __future__ import annotations

import argparse
import hashlib
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import crowdwise as cw
from crowdwise import simulate
from crowdwise.cli.demo import LABELLED, _crowd, load_digits
from crowdwise.core import method_registry as registry
from crowdwise.kinds.classes.methods.ensemble import adaptive, pool
from crowdwise.kinds.classes.methods.ensemble.confidence import ConfidenceTable

from .. import DOCS
from . import cells, default_page, halves, risk, rows, sets
from .confidence import tables_without
from .pools import pools
from .rows import Row, scored

PAGE = DOCS / "default.md"
COMMAND = "python -m benchmarks.quality.default"
BESIDE = ("committee", "hierarchical", "dawid_skene", "majority_vote")
METHODS = (registry.DEFAULT, *BESIDE)
# More single methods, from which the best of each planted scenario is chosen in hindsight.
SINGLE = ("wawa", "one_coin", "ibcc", "glad", "mace", "zencrowd")
# Methods that read their confidence off the committee's table.
TABLED = (registry.DEFAULT, "committee")
# Tasks, workers, classes, labels a task.
SIZES = ((1000, 60, 4, 5), (200, 20, 3, 4))
SEEDS = range(400, 405)
DEMO_SEEDS = range(10, 15)


def main() -> None:
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__.partition("\n")[0])
    parser.add_argument("--fresh", action="store_true", help="run every fit again")
    fresh = parser.parse_args().fresh
    tables = tables_without(pools(cw.datasets.INDEPENDENT))
    real = {}
    for name in sorted(cw.datasets.INDEPENDENT):
        real[name] = [_real(name, m, tables, fresh) for m in METHODS]
        print("open set:", name, flush=True)
    shipped = {name: [_real(name, m, None, fresh) for m in TABLED] for name in real}
    planted = {}
    for scenario in simulate.SCENARIOS:
        for size in SIZES:
            for seed in SEEDS:
                name = f"{scenario}, {'×'.join(map(str, size))}, seed {seed}"
                planted[name] = [_planted(scenario, size, seed, m, fresh) for m in (*METHODS, *SINGLE)]
        print("planted:", scenario, flush=True)
    demo = {f"demo, seed {seed}": [_demo(seed, m, fresh) for m in METHODS] for seed in DEMO_SEEDS}
    text = default_page.page(COMMAND, (SIZES, SEEDS), real, shipped, planted, demo)
    print(text)
    PAGE.write_text(text, encoding="utf-8")
    planted = {name: found[: len(METHODS)] for name, found in planted.items()}
    risk.IMAGE.write_text(risk.drawn(default_page.curves(real, planted)), encoding="utf-8")
    halves.write("default", {name: (rows[0].accuracy, rows[0].log_loss) for name, rows in real.items()})


# ---------------------------------------------------------------- fits
def _real(name: str, method: str, tables: dict[str, ConfidenceTable] | None, fresh: bool) -> Row:
    """With `tables` the confidence is read off the one without the family of the set."""
    own = tables[cw.datasets.family(name)] if tables is not None and method in TABLED else None

    def make() -> Row:
        data = sets.load(name)
        with confidence_of(own):
            return scored(name, method, _fit(method, data.annotations), data.truth)

    return _kept({"set": name, "table": None if own is None else vars(own)}, method, make, fresh)


def _planted(scenario: str, size: tuple[int, int, int, int], seed: int, method: str, fresh: bool) -> Row:
    def make() -> Row:
        tasks, workers, classes, labels = size
        crowd = simulate.scenario(scenario, tasks=tasks, workers=workers, classes=classes, labels=labels, seed=seed)
        return scored(scenario, method, _fit(method, crowd.annotations), crowd.truth)

    return _kept({"scenario": scenario, "size": size, "seed": seed}, method, make, fresh)


def _demo(seed: int, method: str, fresh: bool) -> Row:
    def make() -> Row:
        digits = load_digits()
        crowd = _crowd(digits.target[:LABELLED], digits.data[:LABELLED], seed)
        return scored("demo", method, _fit(method, crowd.annotations), crowd.truth)

    return _kept({"demo": seed}, method, make, fresh)


def _kept(key: dict[str, Any], method: str, make: Callable[[], Row], fresh: bool) -> Row:
    key = {**key, "by": method, "sources": _sources(method in TABLED), "version": cells.version(method)}
    answer = cells.cell("default", key, lambda: {"row": asdict(make())}, fresh=fresh)
    return Row(**answer["row"])


@cache
def _sources(average: bool) -> str:
    """A digest of the scores and, for an average, of what it is made of."""
    home = Path(adaptive.__file__).parents[2]  # kinds/classes
    folders = (home / "methods" / "ensemble", home / "maths") if average else ()
    paths = [path for folder in folders for path in sorted(folder.iterdir()) if path.suffix in (".py", ".json")]
    return hashlib.sha256(b"".join(path.read_bytes() for path in (*paths, Path(rows.__file__)))).hexdigest()[:12]


@contextmanager
def confidence_of(own: ConfidenceTable | None) -> Iterator[None]:
    """Within it the averages read their confidence off another table than the shipped one."""
    if own is None:
        yield
        return
    spread = pool.shipped().spread
    other = ConfidenceTable(own.floor, own.level, own.slope, spread, own.crowd)
    with patch.object(pool, "shipped", lambda: other), patch.object(adaptive, "shipped", lambda: other):
        yield


def _fit(method: str, votes: cw.Annotations) -> cw.Result:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", cw.CrowdwiseWarning)
        return registry.method(method).fit(votes)


if __name__ == "__main__":
    main()
