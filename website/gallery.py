"""The gallery: reports of six simulated crowds, made when the site is built."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import crowdwise as cw
from website.store import ROOT, kept

STORE = ROOT / "build" / "gallery"


@dataclass(frozen=True)
class Shown:
    """A crowd of the gallery.

    Attributes:
        title: Title of the report.
        scenario: Scenario of `cw.simulate.scenario`.
        sizes: Its arguments.
        checked: Number of tasks that an expert has checked, drawn at random.
        shows: What the report shows about it.
    """

    title: str
    scenario: str
    sizes: dict[str, int]
    checked: int
    shows: str


CROWDS = {
    "constant": Shown(
        "A third always gives the same label", "class_constant", {"tasks": 300, "workers": 30, "labels": 5}, 60,
        "workers who guess, the measured accuracy, the labels that can ship",
    ),
    "unchecked": Shown(
        "Hard tasks, nothing checked", "hard_tasks", {"tasks": 250, "workers": 30, "labels": 5}, 0,
        "what can be said without gold, and what to check first",
    ),
    "judges": Shown(
        "Nine LLM judges", "judges_panel", {"tasks": 500}, 100,
        "judges of a few families that make the same mistakes",
    ),
    "numbers": Shown(
        "Estimates between 0 and 100", "numbers_constants", {"tasks": 200, "workers": 30, "labels": 5}, 40,
        "values with intervals, biased workers, the coverage on checked tasks",
    ),
    "comparisons": Shown(
        "Which answer is better?", "comparisons_random", {"tasks": 300, "workers": 20}, 0,
        "a leaderboard with simultaneous intervals",
    ),
    "spans": Shown(
        "Names in texts", "spans_random", {"tasks": 80, "workers": 12}, 20,
        "the least certain texts with their spans marked",
    ),
}  # fmt: skip


def pages(store: Path = STORE) -> dict[str, str]:
    """Return the list of the reports, and the reports by path."""
    lines = [
        "# Gallery",
        "",
        "The report of six simulated crowds, as `crowdwise report` writes it: one file that needs no",
    ]
    lines += ["network. Each is made when this site is built.", "", "| report | shows | made by |", "|---|---|---|"]
    made = {}
    for name, crowd in CROWDS.items():
        command = f"`crowdwise simulate {crowd.scenario} {_options(crowd)} --seed 1`"
        lines.append(f"| [{crowd.title}](reports/{name}.html) | {crowd.shows} | {command} |")
        made[f"gallery/reports/{name}.html"] = kept(
            store / f"{name}.html", repr(crowd), lambda crowd=crowd: report(crowd)
        )
    lines += ["", "What the sections mean: [the report](../report.md)."]
    return {"gallery/index.md": "\n".join(lines) + "\n", **made}


def report(crowd: Shown) -> str:
    """Return the report of a crowd."""
    made = cw.simulate.scenario(crowd.scenario, seed=1, **crowd.sizes)
    votes = getattr(made, "votes", None)
    votes = made.annotations if votes is None else votes
    gold, blind = None, None
    if crowd.checked:
        gold = made.truth_table().sample(crowd.checked, seed=1)
        blind = cw.fit(votes)
    result = cw.fit(votes, gold=gold)
    return cw.report.render(votes, result, truth=gold, blind=blind, title=crowd.title)


def _options(crowd: Shown) -> str:
    return " ".join(f"--{name} {size}" for name, size in crowd.sizes.items())
