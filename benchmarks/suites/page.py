"""docs/benchmarks/suites.md."""

from __future__ import annotations

import platform
from collections import Counter
from dataclasses import dataclass
from datetime import date

import crowdwise as cw

from ..markdown import figures, table
from .reasons import reason
from .running import Outcome, Suite

HEAD = """\
# The peers' own tests
`python -m benchmarks.suites --crowd-kit CHECKOUT --cleanlab CHECKOUT` ({date}, crowdwise {crowdwise}, Python {python}).
It takes a checkout of each peer's public repository (the packages come without tests), makes an environment of its own
for it, copies the tests into a temporary folder, turns every import of a name that [our face](../migrating.md) has to
the face, and runs them; then the same tests as they are, on the peer itself in the same environment. Tests that use a
name which the face does not have (data sets, torch) are not counted. Nothing of the peers' tests
is part of this project.
"""


@dataclass(frozen=True)
class Run:
    """What came of one suite."""

    suite: Suite
    commit: str
    versions: str
    outcomes: dict[str, list[Outcome]]

    def passed(self, side: str, file: str | None = None) -> int:
        """How many tests pass, of all or of one file."""
        return sum(each.passed for each in self.outcomes[side] if file in (None, each.file))

    def failed(self) -> list[Outcome]:
        """Tests that fail on our face."""
        return [each for each in self.outcomes["ours"] if not each.passed]


def page(runs: list[Run]) -> str:
    """The whole page."""
    text = HEAD.format(date=date.today().isoformat(), crowdwise=cw.__version__, python=platform.python_version())
    return text + "".join(section(run) for run in runs)


def section(run: Run) -> str:
    """The counts by file, and the failures with their reasons."""
    total = Counter(each.file for each in run.outcomes["ours"])
    rows = [
        [f"`{file}`", str(n), str(run.passed("ours", file)), str(run.passed("peer", file))]
        for file, n in sorted(total.items())
    ]
    rows.append(["all", str(total.total()), f"**{run.passed('ours')}**", str(run.passed("peer"))])
    text = f"\n## {run.suite.title}\nTests of {run.commit}; {run.versions}.\n\n"
    text += figures(["file", "tests", f"pass on `{run.suite.face}`", f"pass on {run.suite.title} itself"], rows)
    failed = run.failed()
    if not failed:
        return text + "\n\nNone fails.\n"
    lines = [[f"`{each.name}`", reason(each.file, each.name) or f"**not looked at**: {each.said}"] for each in failed]
    return text + "\n\nWhat fails here, and why:\n\n" + table(["test", "reason"], lines) + "\n"
