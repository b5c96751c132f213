"""Sections of a run's page from files that other commands put into its folder: estimate, accept, fair.

One line here for each such file; what it names gets the folder and returns a Section.
"""

from __future__ import annotations

from pathlib import Path

from ..core.kind import resolve
from .sheet import Section

FILES = {
    "estimates.json": "crowdwise.report.guarantee.estimates:estimates_section",
    "certificate.json": "crowdwise.report.guarantee.accepted:accepted_section",
    "gaps.csv": "crowdwise.report.guarantee.fairness:fairness_section",
}


def attached(folder: Path | None) -> list[Section]:
    """A section for each of the files that lie there."""
    if folder is None:
        return []
    return [resolve(door)(folder) for name, door in FILES.items() if (folder / name).is_file()]
