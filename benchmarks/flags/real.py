"""python -m benchmarks.flags.real [SET ...]: how many workers of the real sets are flagged, a line each.

Where the truth is known, the flagged and the others are held against it (deserved.py). Writes a section of
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
from crowdwise.core import method_registry as registry
from tests.open_sets import comparisons, rankings, spans, texts
from tests.open_sets import sets as medrel
from tests.open_sets.numbers import SETS as NUMBERS

from .. import data_folder
from ..markdown import table, write_section
from . import __main__ as planted
from .deserved import TRUTH, held


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


ABOUT = """Who is flagged in real crowds by the kind's default. Where the truth is known (ml_medrel: of two relations),
workers are held against it: no better than chance is whose own answers, dealt out among their own tasks, go with the
truth as well in more than a twentieth of the deals (rankings: their places, among the items of a list). In brackets the
mean correlation of a worker's answers with the truth. Workers with fewer than 8 known tasks are not checked. A flag is
deserved where a worker is no better than chance; of those not flagged many have too few answers to tell. Who copies may
well be right, and is not checked.

"""
HEADER = ["set", "kind", "workers", "with enough answers", "flagged", "share", "as", "flagged, no better than chance",
          "not flagged, no better than chance"]  # fmt: skip


def line(name: str) -> list[str]:
    """Set, kind, workers, those with enough answers to be judged, flagged, by which names, and what the truth says."""
    votes = REAL[name]()
    look = cw.workers.study(votes, registry.method(votes.kind.default).fit(votes))
    told: dict[Any, set[str]] = {}
    for flag in look.flags:
        told.setdefault(flag.worker, set()).add(flag.name)
    names = votes.workers.to_list()
    answered = np.bincount(votes.worker, minlength=votes.n_workers) > 0
    judged = [w for w, each in enumerate(names) if answered[w] and told.get(each) != {"unknown"}]
    flagged = {w: told[names[w]] - {"unknown"} for w in judged if names[w] in told}
    of = Counter(flag for each in flagged.values() for flag in each)
    by = ", ".join(f"{of[flag]} {flag}" for flag in sorted(of, key=lambda flag: (-of[flag], flag)))
    share = f"{len(flagged) / len(judged):.1%}" if judged else ""
    truth = ["", ""]
    if name in TRUTH:
        known = TRUTH[name](votes)
        blind = [w for w, each in flagged.items() if each - {"copying", "fast"}]
        rest = [w for w in judged if w not in flagged]
        truth = [held(votes, known, some).words() for some in (blind, rest)]
    counts = (f"{n:,}" for n in (votes.n_workers, len(judged), len(flagged)))
    return [name, votes.kind.name, *counts, share, by, *truth]


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
    if not chosen:
        write_section(planted.PAGE, "real", "Real sets", f"{planted.COMMAND}.real", ABOUT + table(HEADER, rows))


if __name__ == "__main__":
    main()
