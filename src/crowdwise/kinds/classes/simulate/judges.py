"""Planted judges: families that err together, hard tasks, repeats, orders, stated confidences, prices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ....core.errors import ParameterError
from ....core.params import AtLeast, Count, NonNegative, Note, Share, check
from ..annotations import Annotations

# ---------------------------------------------------------------- Planted judges, from first principles
#     task n: a true class; hard with probability `hard`, and then it has one wrong class that attracts every judge
#     family f: log odds of knowing task n, z = logit(hidden) + vary · normal; a hidden answer, right with
#               probability sigma(z), else any other class
#     judge j: the attractor with probability lured_j where the task is hard; else the hidden answer of the family with
#              probability report_j, else any other class. That is their opinion of the task
#     verdict: the opinion, or on this occasion another class. Log odds of saying it: logit(firm), and where orders are
#              shown, + position_j if the opinion stands first, - position_j if second
#     stated confidence: the round value nearest to sigma(shift + slope · z)
#
# >>> from crowdwise.kinds.classes.simulate.judges import Panel, judged
# >>> drawn = judged(Panel(families=(2, 1), repeats=2), 10, 0)
# >>> drawn.rows.columns, len(drawn.rows)
# (['task', 'worker', 'label', 'repeat'], 60)

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
# What judges write when they are asked for a confidence.
ROUND = np.array([0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99])
ORDERS = ("ab", "ba")


@dataclass(frozen=True)
class Panel:
    """Judges and their tasks; `spread` is how far own skills (report, lured) lie apart, evenly, on either side.

    `firm` 1 says the opinion on every occasion. Of `position`, log odds, judges have from none to twice as much.
    `lost` is the share of verdicts that nobody could parse.
    """

    families: Annotated[tuple[Count, ...], Note("how many judges each family has")] = (5, 2, 2)
    classes: Annotated[int, AtLeast(2)] = 3
    hidden: Share = 0.85
    vary: NonNegative = 0.0
    report: Share = 0.93
    hard: Share = 0.0
    lured: Share = 0.7
    spread: Share = 0.0
    repeats: Count = 1
    orders: bool = False
    firm: Share = 1.0
    position: float = 0.0
    stated: bool = False
    shift: float = 0.0
    slope: NonNegative = 1.0
    lost: Share = 0.0

    def __post_init__(self) -> None:
        check(self)

    @property
    def family(self) -> I8:
        """family[judge]."""
        return np.repeat(np.arange(len(self.families)), self.families)


@dataclass(frozen=True, eq=False)
class Drawn:
    """`rows` (task, worker and label as codes, label null where lost, and the occasion) with what is true of them.

    `opinion[task, judge]` is what a judge means, `position[judge]` what standing first adds (log odds).
    """

    rows: pl.DataFrame
    truth: I8
    hard: npt.NDArray[np.bool_]
    opinion: I8
    position: F8


def judged(panel: Panel, tasks: int, seed: int | np.random.Generator) -> Drawn:
    """Verdicts of every judge on every task, on every occasion."""
    rng = np.random.default_rng(seed)
    k, family = panel.classes, panel.family
    m = len(family)
    truth, hard = rng.integers(k, size=tasks), rng.random(tasks) < panel.hard
    bait = other(truth, k, rng)
    z = logit(panel.hidden) + panel.vary * rng.standard_normal((tasks, len(panel.families)))
    right = rng.random(z.shape) < sigma(z)
    answer = np.where(right, truth[:, None], other(np.repeat(truth[:, None], z.shape[1], axis=1), k, rng))[:, family]
    apart = rng.permutation(np.linspace(-1, 1, m)) if m > 1 else np.zeros(1)
    report = np.clip(panel.report + panel.spread * apart, 0, 1)
    lured = np.clip(panel.lured - panel.spread * apart, 0, 1)  # a better judge falls for less
    own = np.where(rng.random((tasks, m)) < report, answer, other(answer, k, rng))
    opinion = np.where(hard[:, None] & (rng.random((tasks, m)) < lured), bait[:, None], own)
    position = panel.position * rng.permutation(np.linspace(0, 2, m)) if m > 1 else np.array([panel.position])
    rows = _occasions(panel, opinion, position, rng)
    if panel.stated:
        said = nearest(sigma(panel.shift + panel.slope * z))[:, family]
        rows = rows.with_columns(confidence=said[rows["task"].to_numpy(), rows["worker"].to_numpy()])
    if panel.lost:
        rows = rows.with_columns(label=pl.when(pl.Series(rng.random(len(rows)) >= panel.lost)).then("label"))
    return Drawn(rows, truth, hard, opinion, position)


def _occasions(panel: Panel, opinion: I8, position: F8, rng: np.random.Generator) -> pl.DataFrame:
    """One row for each task, judge, repeat and order."""
    orders = len(ORDERS) if panel.orders else 1
    shape = (*opinion.shape, panel.repeats, orders)
    held = np.broadcast_to(opinion[:, :, None, None], shape)
    firm = np.full(shape, logit(panel.firm))
    if panel.orders:  # the first class stands first in "ab", the second in "ba"
        first = held == np.arange(orders)
        firm = firm + np.where(first, 1, -1) * position[None, :, None, None]
    label = np.where(rng.random(shape) < sigma(firm), held, other(held, panel.classes, rng))
    task, judge, repeat, order = (at.ravel() for at in np.indices(shape))
    rows = pl.DataFrame({"task": task, "worker": judge, "label": label.ravel()})
    if panel.repeats > 1:
        rows = rows.with_columns(repeat=pl.Series(repeat + 1))
    return rows.with_columns(order=pl.Series(ORDERS).gather(order)) if panel.orders else rows


def other(code: I8, k: int, rng: np.random.Generator) -> I8:
    """Another class than this one, each as likely."""
    return np.asarray((code + rng.integers(1, k, size=code.shape)) % k)


def nearest(confidence: F8) -> F8:
    """The round value that a judge writes."""
    edges = (ROUND[1:] + ROUND[:-1]) / 2
    return np.asarray(ROUND[np.searchsorted(edges, confidence)])


def sigma(z: F8) -> F8:
    """The probability of log odds."""
    with np.errstate(over="ignore"):
        return np.asarray(1 / (1 + np.exp(-z)))


def logit(p: float) -> float:
    """Log odds; of certainty they are infinite."""
    with np.errstate(divide="ignore"):
        return float(np.log(p) - np.log1p(-p))


# ----------------------------------------------------------------
# Ready-made panels of judges by name: verdicts, the truth, and what is known of the judges.

# What a verdict costs, from the smallest model of a family to its largest, in hundredths of a person's label.
CHEAPEST, COSTLIEST, PERSON = 0.1, 5.0, 100.0


@dataclass(frozen=True, eq=False, repr=False)
class PlantedJudges:
    """What the judges said, and what nobody but a simulator knows: the counterpart of `Crowd` for judges.

    >>> from crowdwise import simulate
    >>> simulate.scenario("judges_orders", tasks=20, workers=4, seed=1)
    PlantedJudges(2 families: Annotations(160 annotations, 20 tasks, 4 workers, 2 classes))
    """

    panel: Panel
    drawn: Drawn
    rows: pl.DataFrame

    def __repr__(self) -> str:
        n = len(self.panel.families)
        return f"PlantedJudges({n} {'family' if n == 1 else 'families'}: {self.annotations})"

    @cached_property
    def annotations(self) -> Annotations:
        """What the judges said; family, kind and price are known of them."""
        made = Annotations.from_frame(self.rows, classes=self.classes)
        return made.about(workers=self.worker_table().drop("accuracy", "position"))

    @property
    def votes(self) -> Annotations:
        """The annotations, by the name that they have in other kinds."""
        return self.annotations

    @property
    def classes(self) -> list[str]:
        """A, B, C, ..."""
        return names(self.panel.classes)

    @property
    def truth(self) -> Any:
        """The true class of each task, as a code."""
        return self.drawn.truth

    def truth_table(self) -> pl.DataFrame:
        """The table task, label."""
        tasks = numbered("t", len(self.truth))
        return pl.DataFrame({"task": tasks, "label": pl.Series(self.classes).gather(self.truth)})

    def worker_table(self) -> pl.DataFrame:
        """The table worker, family, kind, price, accuracy (of their opinions, measured), position (log odds)."""
        family = self.panel.family
        size = np.concatenate([np.linspace(0, 1, n) if n > 1 else np.array([0.5]) for n in self.panel.families])
        return pl.DataFrame(
            {
                "worker": judges(family),
                "family": [f"family{f + 1}" for f in family],
                "kind": ["model"] * len(family),
                "price": np.round(CHEAPEST * (COSTLIEST / CHEAPEST) ** size, 2),
                "accuracy": (self.drawn.opinion == self.truth[:, None]).mean(axis=0),
                "position": self.drawn.position,
            }
        )

    def price_table(self) -> pl.DataFrame:
        """The table worker, price, with the price of a person's label."""
        known = self.worker_table().select("worker", "price")
        return pl.concat([known, pl.DataFrame({"worker": ["person"], "price": [PERSON]})])

    def save(self, folder: str | Path, force: bool = False) -> list[str]:
        """Write labels.csv, truth.csv, workers.csv and prices.csv; returns the names written."""
        from ....io.csv.folder import write_tables

        tables = {"labels.csv": self.rows, "truth.csv": self.truth_table()}
        tables |= {"workers.csv": self.worker_table(), "prices.csv": self.price_table()}
        write_tables(folder, tables, force=force)
        return list(tables)


@dataclass(frozen=True)
class JudgeScenario:
    """A ready-made panel: one line about it, and what `Panel` is told."""

    description: str
    told: Mapping[str, Any] = field(default_factory=dict)
    workers: int = 9
    labels: int | None = None

    def make(
        self,
        n_tasks: int,
        n_workers: int,
        n_classes: int | None,
        labels_per_task: int | None,
        n_features: int = 0,
        seed: int = 0,
    ) -> PlantedJudges:
        """A panel of this size; of three classes unless said, of pairs two. Without `labels` everybody judges all."""
        if labels_per_task is not None and labels_per_task > n_workers:
            raise ParameterError(f"labels={labels_per_task} judges per task need as many judges, got {n_workers}")
        if n_features:
            raise ParameterError(f"features={n_features} does not go with judges; leave it out")
        told = dict(self.told)
        if told.get("orders") and n_classes not in (None, 2):
            raise ParameterError(f"classes={n_classes} does not go with pairs, which have two; leave it out")
        k = 2 if told.get("orders") else 3 if n_classes is None else n_classes
        panel = Panel(**{"families": families(n_workers), "classes": k, **told})
        rng = np.random.default_rng(seed)
        drawn = judged(panel, n_tasks, rng)
        rows = drawn.rows
        if labels_per_task is not None and labels_per_task < n_workers:
            rank = np.argsort(np.argsort(rng.random((n_tasks, n_workers)), axis=1), axis=1)
            asked = rank[rows["task"].to_numpy(), rows["worker"].to_numpy()] < labels_per_task
            rows = rows.filter(pl.Series(asked))
        called = rows.with_columns(
            task=numbered("t", n_tasks).gather(rows["task"]),
            worker=judges(panel.family).gather(rows["worker"]),
            label=pl.Series(names(k), dtype=pl.String).gather(rows["label"]),
        )
        return PlantedJudges(panel, drawn, called)


def families(n: int) -> tuple[int, ...]:
    """One large family, five in nine of the judges, and pairs."""
    large = max(1, round(5 * n / 9))
    left = n - large
    return (large, *[2] * (left // 2), *[1] * (left % 2))


def judges(family: Any) -> pl.Series:
    """Names: family and place in it."""
    place = [int((family[:j] == f).sum()) + 1 for j, f in enumerate(family)]
    return pl.Series([f"family{f + 1}-{i}" for f, i in zip(family, place, strict=True)])


def names(k: int) -> list[str]:
    """A, B, C, ...; beyond the alphabet numbered."""
    return [chr(65 + i) for i in range(k)] if k <= 26 else [f"C{i:0{len(str(k - 1))}d}" for i in range(k)]


def numbered(mark: str, n: int) -> pl.Series:
    """t000, t001, ..."""
    return pl.Series([f"{mark}{i:0{len(str(n - 1))}d}" for i in range(n)])


JUDGE_SCENARIOS: dict[str, JudgeScenario] = {
    "judges_families": JudgeScenario("judges of a family share a hidden answer, right or wrong", {"spread": 0.05}),
    "judges_attractor": JudgeScenario(
        "a quarter of the tasks has one wrong answer that attracts most judges",
        {"hidden": 1.0, "report": 0.88, "hard": 0.25, "spread": 0.1},
    ),
    "judges_repeats": JudgeScenario(
        "every judge is asked five times and wavers", {"repeats": 5, "firm": 0.85, "report": 1.0, "hidden": 0.78}
    ),
    "judges_orders": JudgeScenario(
        "pairs shown in both orders; most judges prefer what stands first",
        {"orders": True, "firm": 0.85, "position": 0.5, "spread": 0.05},
    ),
    "judges_confident": JudgeScenario(
        "judges state confidences, round and too high",
        {"stated": True, "hidden": 0.75, "vary": 1.5, "report": 0.97, "shift": 1.0, "slope": 0.8},
    ),
    "judges_panel": JudgeScenario(
        "pairs, both orders, families, an attractor, confidences, verdicts that cannot be parsed",
        {"orders": True, "firm": 0.9, "position": 0.3, "vary": 1.0, "stated": True, "shift": 1.0, "slope": 0.8,
         "hard": 0.15, "spread": 0.05, "lost": 0.02},
    ),
}  # fmt: skip
