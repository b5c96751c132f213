"""`python -m benchmarks.suites --crowd-kit CHECKOUT --cleanlab CHECKOUT [-o PAGE]`: the peers' tests on our faces.

The checkouts are clones of https://github.com/Toloka/crowd-kit and https://github.com/cleanlab/cleanlab. Ends with 1
where a test fails for a reason that nobody has looked at (reasons.py).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .. import DOCS
from .page import Run, page, section
from .reasons import reason
from .running import Suite, commit, outcomes, versions

SUITES = {
    "crowd_kit": Suite("crowd-kit", "crowdkit", "crowdwise.compat.crowdkit", ("crowd-kit==1.4.2", "nltk")),
    "cleanlab": Suite(
        "cleanlab", "cleanlab", "crowdwise.compat.cleanlab", ("cleanlab==2.9.0",), "tests/test_multiannotator.py"
    ),
}


def main() -> int:
    """Run, print, write the page if both were run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, suite in SUITES.items():
        flag = "--" + name.replace("_", "-")
        parser.add_argument(flag, type=Path, metavar="CHECKOUT", help=f"a checkout of {suite.title}")
    parser.add_argument("-o", type=Path, default=DOCS / "suites.md", metavar="PAGE", help="the page, if both are run")
    asked = parser.parse_args()
    runs = []
    for name, suite in SUITES.items():
        checkout = getattr(asked, name)
        if checkout is None:
            continue
        if not suite.environment.ready():
            print(f"{suite.title} cannot be had here", file=sys.stderr)
            return 1
        runs.append(Run(suite, commit(checkout), versions(suite), outcomes(suite, checkout)))
        print(section(runs[-1]), flush=True)
    if not runs:
        parser.error("give a checkout of crowd-kit, of cleanlab, or of both")
    if len(runs) == len(SUITES):
        asked.o.write_text(page(runs), encoding="utf-8")
    return int(any(reason(each.file, each.name) is None for run in runs for each in run.failed()))


if __name__ == "__main__":
    sys.exit(main())
