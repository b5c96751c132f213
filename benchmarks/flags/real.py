"""python -m benchmarks.flags.real [SET ...]: how many workers of the real sets are flagged, a line each.

Nobody knows who of them does not look, so this says only how much a reader has to look into. Writes a section of
docs/benchmarks/flags.md.
"""

from __future__ import annotations

import argparse
import warnings
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import crowdwise as cw
from crowdwise.aggregate import registry

from .. import data_folder
from ..comparisons import sets as comparisons
from ..markdown import table, write_section
from ..numbers.sets import SETS as NUMBERS
from ..rankings import sets as rankings
from ..sets import medrel
from ..spans import sets as spans
from ..texts import sets as texts
from . import __main__ as planted


def _read(name: str, file: str = "labels.csv", **options: Any) -> Any:
    return cw.read(data_folder() / name / file, **options)


REAL: dict[str, Callable[[], Any]] = {
    **{name: partial(_read, name, kind="numbers", duplicates="keep") for name in NUMBERS},
    "prob_knowledge": partial(_read, "prob_knowledge", kind="probabilities"),
    "ml_medrel": medrel.votes,
    **{name: partial(comparisons.load, name) for name in comparisons.SETS},
    **{name: partial(rankings.load, name) for name in (*rankings.SETS, "rank_sushi")},
    "same_dogs": partial(_read, "same_dogs"),
    "same_dogs, partitions": partial(_read, "same_dogs", "partitions.csv"),
    "trip_eggs": partial(_read, "trip_eggs"),
    "spans_pico": lambda: spans.load()[0],
    "boxes_street": partial(_read, "boxes_street", kind="boxes"),
    "polygons_cats": partial(_read, "polygons_cats", kind="outlines", duplicates="last"),
    **{name: (lambda each=name: texts.load(each)[0]) for name in texts.SETS},
}


def line(name: str) -> list[str]:
    """Set, kind, workers, those with enough answers to be judged, flagged, and by which names."""
    votes = REAL[name]()
    look = cw.workers.study(votes, registry.method(votes.kind.default).fit(votes))
    of: Counter[str] = Counter()
    told: dict[Any, set[str]] = {}
    for flag in look.flags:
        told.setdefault(flag.worker, set()).add(flag.name)
    unknown = sum(names == {"unknown"} for names in told.values())
    flagged = [names - {"unknown"} for names in told.values() if names != {"unknown"}]
    for names in flagged:
        of.update(names)
    judged = int((np.bincount(votes.worker, minlength=votes.n_workers) > 0).sum()) - unknown
    by = ", ".join(f"{of[flag]} {flag}" for flag in sorted(of, key=lambda flag: (-of[flag], flag)))
    share = f"{len(flagged) / judged:.1%}" if judged else ""
    return [name, votes.kind.name, f"{votes.n_workers:,}", f"{judged:,}", f"{len(flagged):,}", share, by]


def main() -> None:
    """The sets that were asked for, or all of them; only all are written."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", metavar="SET", help=", ".join(REAL))
    chosen = parser.parse_args().sets
    warnings.simplefilter("ignore", cw.CrowdwiseWarning)
    rows = []
    for name in chosen or REAL:
        rows.append(line(name))
        print(*rows[-1], sep=" | ", flush=True)
    header = ["set", "kind", "workers", "with enough answers", "flagged", "share", "as"]
    about = "Who is flagged in real crowds by the kind's default; who of them deserves it is not known.\n\n"
    if not chosen:
        write_section(planted.PAGE, "real", "Real sets", f"{planted.COMMAND}.real", about + table(header, rows))


if __name__ == "__main__":
    main()
