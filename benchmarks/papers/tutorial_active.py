"""Tutorial: active labelling. Accuracy against the number of queries on dog and web, for pairs of rules."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import polars as pl

import crowdwise as cw
from crowdwise.active import replay

from .experiment import Cell, Claim, Experiment, Plot, Scale, mean_table
from .tutorial_spammers import accuracy
from .verdict import judged, mean_of

SHARES = (10, 15, 20, 25, 30, 35, 40, 45, 50, 60, 70, 80, 90, 100)
SHOWN = (10, 20, 30, 40, 50, 60, 80, 100)
ALL = "all labels, Dawid-Skene"
WHY = (
    "likely because nothing caps a worker's load here: whoever looks best early is asked first and much, so that "
    "tasks have few voices and the model judges them by themselves"
)
# The tutorial's pairs (task rule, worker rule) by our names.
PAIRS = {
    "random": "{random, random}",
    "uncertainty": "{uncertainty, random}",
    "epsilon_greedy": "{uncertainty, ε-greedy}",
    "information": "{joint information}",
}


class Curves(Experiment):
    """Replays of recorded labels, one query at a time."""

    name = "tutorial_active"
    paper = "Tutorial"
    title = "Active labelling: accuracy against queries, dog and web"
    about = """
Only recorded (task, worker) pairs can be asked; nothing is asked twice. After each query the live model is updated,
after each tenth more it is swept; accuracy is taken after shares of all labels. ε is .5 for the first 100 queries, .05
after. The line of all labels is Dawid-Skene fitted to every label of the set; the others end in the live model, whose
workers are held to the crowd (priors of `hierarchical`), so they need not end on it. The tutorial gives curves without
numbers: the claims are their order. Web has 2,665 tasks and 177 workers here (155 on the slide)."""
    seeds: ClassVar[dict[Scale, int]] = {"smoke": 1, "small": 5, "paper": 20}

    def conditions(self, scale: Scale) -> Iterator[Cell]:
        """Two sets, four pairs of rules and the line of all labels; in the smoke a small set."""
        for data in ("bluebird",) if scale == "smoke" else ("dog", "web"):
            for policy in (*PAIRS.values(), ALL):
                yield {"set": data, "policy": policy}

    def run(self, cell: Cell, scale: Scale) -> dict[str, float]:  # noqa: ARG002
        """Accuracy at each share of the labels."""
        data = cw.datasets.load(cell["set"])
        n = len(data.annotations)
        if cell["policy"] == ALL:
            flat = accuracy(cw.DawidSkene().fit(data.annotations), data.truth)
            return {f"{share} %": flat for share in SHARES}
        policy = next(name for name, shown in PAIRS.items() if shown == cell["policy"])
        trial = replay(data.annotations, data.truth, policy, every=max(n // 50, 1), seed=cell["seed"])
        at = {share: int(abs(trial.queries - share * n / 100).argmin()) for share in SHARES}
        return {f"{share} %": float(trial.accuracy[place]) for share, place in at.items()}

    def tables(self, rows: pl.DataFrame) -> list[tuple[str, pl.DataFrame]]:
        """A row for each set and pair of rules, a column for each share of the labels."""
        long = rows.unpivot(
            [f"{share} %" for share in SHOWN], index=["set", "policy", "seed"], variable_name="labels",
            value_name="accuracy",
        )  # fmt: skip
        return [("Accuracy after a share of the labels", mean_table(long, ["set", "policy"], "labels", "accuracy"))]

    def plots(self) -> list[Plot]:
        """The slide's curves."""
        across = {f"{share} %": float(share) for share in SHARES}
        return [Plot("Accuracy", "per_cent_of_the_labels", "accuracy", "policy", panel="set", across=across)]

    def claims(self, rows: pl.DataFrame) -> list[Claim]:
        """Uncertainty beats chance, and choosing the worker too beats choosing the task alone."""
        out = []
        for data in ("dog", "web"):
            got = {p: mean_of(rows, "40 %", {"set": data, "policy": PAIRS[p]}) for p in PAIRS}
            for better, worse in (
                ("uncertainty", "random"),
                ("epsilon_greedy", "random"),
                ("information", "uncertainty"),
            ):
                text = f"{data}: {PAIRS[better]} is ahead of {PAIRS[worse]} at 40 % of the labels"
                ours = f"{got[better]:.3f} against {got[worse]:.3f}"
                pair = [got[better], got[worse]]
                out.append(judged(text, "curve", ours, pair, pair[0] > pair[1], WHY, only=True))
        return out
