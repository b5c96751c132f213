"""The docs' table of kinds and commands, from the hooks: `python -m tests.docs.kinds` writes the page again."""

from __future__ import annotations

from collections.abc import Callable

from crowdwise.core import method_registry as registry
from crowdwise.core.kind import Kind, KindHooks
from crowdwise.core.registry import BUILT_IN, get
from crowdwise.io.export import RESULT_FORMATS_OF_KIND, RESULTS_BY_KIND, VOTE_FORMATS_OF_KIND, VOTES_BY_KIND
from tests.data import ROOT

PAGE = ROOT / "docs" / "kinds-and-commands.md"
YES, NO = "yes", "–"


def _hook(*hooks: Callable) -> Callable[[Kind], bool]:
    return lambda kind: all(kind.hooks.supports(hook) for hook in hooks)


def _scored(kind: Kind) -> bool:
    """Whether estimates can be compared with gold: as classes, as numbers, or by a score."""
    hooks = kind.hooks
    if hooks.supports(KindHooks.verdicts) or hooks.supports(KindHooks.as_classes):
        return True
    return hooks.supports(KindHooks.task_scores) and hooks.supports(KindHooks.gold_answers)


COMMANDS: dict[str, Callable[[Kind], bool]] = {
    "inspect": _hook(KindHooks.describe, KindHooks.inspect),
    "aggregate": lambda kind: bool(registry.names(kind.name)),
    "show": _hook(KindHooks.show),
    "evaluate": _hook(KindHooks.evaluate),
    "compare": _hook(KindHooks.compare),
    "workers": _hook(KindHooks.study),
    "report": lambda kind: bool(registry.names(kind.name)),  # kinds without a page of their own have the plain one
    "convert": lambda kind: bool(registry.names(kind.name)),
    "next": _hook(KindHooks.plan, KindHooks.expected_loss),
    "estimate": _scored,
    "accept": _scored,
    "judges": _hook(KindHooks.judges),
    "fairness": lambda kind: kind.name in ("classes", "ordered"),
}
# Plans of classes have a forecast of their own.
OWN_PLAN = ("classes", "ordered")

BY_GROUP = "`estimate --metric {} --by COLUMN` gives the figure of every group with its interval"
DISTANCE = "`workers` measures every judge against the others and, with `--gold`, against people"
# What to do where a command has nothing for a kind.
INSTEAD = {
    **{("fairness", name): BY_GROUP.format("score") for name in
       ("boxes", "outlines", "probabilities", "rankings", "sets", "spans", "texts", "triplets")},
    ("fairness", "numbers"): BY_GROUP.format("error"),
    ("fairness", "comparisons"): BY_GROUP.format("accuracy"),
    ("fairness", "similarities"): "`evaluate` on the items of each group",
    **{("judges", name): DISTANCE for name in
       ("boxes", "outlines", "probabilities", "rankings", "sets", "spans", "texts", "triplets", "similarities")},
    ("judges", "numbers"): "`workers` gives every judge's bias, slope and noise, and ICC and alpha; `--order` "
                           "reads whole numbers as ordered classes, for which `judges` works",
    ("estimate", "similarities"): "the result is a partition of items, not an answer per pair: `evaluate --truth` "
                                  "with the clusters of some items",
    ("accept", "similarities"): "no answer stands alone in a partition: `next` lists the pairs that need another vote",
}  # fmt: skip


def kinds() -> list[Kind]:
    """All built-in kinds; ordered classes are classes with an order."""
    return [get(name) for name in sorted(BUILT_IN)]


def works(command: str, kind: Kind) -> bool:
    """Whether a command works on a kind, by its hooks."""
    if command == "next" and kind.name in OWN_PLAN:
        return kind.hooks.supports(KindHooks.plan)
    return COMMANDS[command](kind)


def page() -> str:
    """Return docs/kinds-and-commands.md."""
    head = "| kind | " + " | ".join(f"`{name}`" for name in COMMANDS) + " |\n|---|" + "---|" * len(COMMANDS) + "\n"
    rows, notes = "", []
    for kind in kinds():
        cells = []
        for command in COMMANDS:
            if works(command, kind):
                cells.append(YES)
                continue
            text = f"`{command}` on {kind.display_name}: {INSTEAD[command, kind.name]}."
            notes.append(text)
            cells.append(NO)
        rows += f"| {kind.display_name} | " + " | ".join(cells) + " |\n"
    listed = "".join(f"- {note}\n" for note in notes)
    return f"{HEAD}{head}{rows}\n{MEANING}\n## Where a cell is empty\n{listed}\n{FORMATS}{_formats()}"


def _formats() -> str:
    rows = "| kind | votes | results |\n|---|---|---|\n"
    for kind in kinds():
        votes = [*VOTE_FORMATS_OF_KIND.get(kind.name, ()), *VOTES_BY_KIND.get(kind.name, {})]
        results = [*RESULT_FORMATS_OF_KIND.get(kind.name, ()), *RESULTS_BY_KIND.get(kind.name, {})]
        cells = [", ".join(f"`{name}`" for name in dict.fromkeys(names)) for names in (votes, results)]
        rows += f"| {kind.display_name} | {cells[0] or NO} | {cells[1] or NO} |\n"
    return rows


HEAD = """\
# Every kind in every command
`python -m tests.docs.kinds` writes this page from the code; the tests run every cell on a real set.

"""
MEANING = """\
`next` gives further votes to the tasks where they lower the expected loss most. Of classes the loss is a wrong label;
of numbers, comparisons and triplets it comes from their model; of other kinds it is the kind's own distance, forecast
from how far the answers of a task are apart. `estimate --metric score` and `accept --min-score X` compare estimates
with gold by a score of every task, 1 for equal answers: F1 of the classes of a set, of marked text and of boxes
(weighted by their IoU), 1 - word error rate of texts, Kendall's tau of rankings, IoU of outlines. Of numbers,
`estimate --metric error` gives the mean absolute error, and `accept --within X` accepts numbers that are off by at
most X. Comparisons of two systems are read as classes.
"""
FORMATS = """\
## Formats of convert
Besides csv, tsv, jsonl and parquet, which hold every kind:

"""


def write() -> None:
    """Write the page."""
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    write()
