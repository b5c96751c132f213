"""Simulated judges: families that err together, hard tasks, repeats, orders, stated confidences, prices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import polars as pl

from ....core.arrays import F8, I8, Mask
from ....core.errors import ParameterError
from ....core.params import AtLeast, Count, NonNegative, Note, Share, check
from ....simulate.draws import numbered
from ....simulate.planted import Planted, Size, scenarios
from ..annotations import Annotations

# The model:
#     task n: a true class; hard with probability `hard`, and then it has one wrong class that attracts every judge
#     family f: log odds of knowing task n, z = logit(hidden) + vary · normal; a hidden answer, right with
#               probability sigma(z), else any other class
#     judge j: the attractor with probability lured_j where the task is hard; else the hidden answer of the family with
#              probability report_j, else any other class. This is the judge's opinion of the task
#     verdict: the opinion, or on this occasion another class. Log odds of the opinion: logit(firm), and where orders
#              are shown, + position_j if the opinion is shown first, - position_j if second
#     stated confidence: the round value nearest to sigma(shift + slope · z)
#

# Confidences that judges state.
ROUND = np.array([0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99])
ORDERS = ("ab", "ba")


@dataclass(frozen=True)
class Panel:
    """Parameters of a panel of judges and its tasks.

    Args:
        families: Number of judges in each family.
        classes: Number of classes.
        hidden: Probability that a family's hidden answer is right.
        vary: Standard deviation of its log odds over the tasks.
        report: Mean probability that a judge reports the hidden answer.
        hard: Share of hard tasks.
        lured: Mean probability that a judge gives the attractor of a hard task.
        spread: Half the range of the judges' `report` and `lured`, which are evenly spaced around their means.
        repeats: Number of verdicts of a judge on a task (and order).
        orders: Judge pairs in both orders.
        firm: Probability that a verdict is the judge's opinion.
        position: Mean preference for the option shown first, in log odds; judges have from none to twice as much.
        stated: Judges state a confidence.
        shift: Shift of the stated log odds.
        slope: Slope of the stated log odds.
        lost: Share of verdicts that cannot be parsed.
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
    """The verdicts of a panel and the parameters behind them.

    `rows` has task, worker and label as codes (label null where lost) and the occasion. opinion[task, judge] is the
    judge's opinion, position[judge] the preference for the option shown first (log odds).
    """

    rows: pl.DataFrame
    truth: I8
    hard: Mask
    opinion: I8
    position: F8


def draw_verdicts(panel: Panel, tasks: int, seed: int | np.random.Generator) -> Drawn:
    """Draw the verdicts of every judge on every task, on every occasion.

    >>> drawn = draw_verdicts(Panel(families=(2, 1), repeats=2), 10, 0)
    >>> drawn.rows.columns, len(drawn.rows)
    (['task', 'worker', 'label', 'repeat'], 60)
    """
    rng = np.random.default_rng(seed)
    k, family = panel.classes, panel.family
    m = len(family)
    truth, hard = rng.integers(k, size=tasks), rng.random(tasks) < panel.hard
    attractor = other(truth, k, rng)
    z = logit(panel.hidden) + panel.vary * rng.standard_normal((tasks, len(panel.families)))
    right = rng.random(z.shape) < sigma(z)
    answer = np.where(right, truth[:, None], other(np.repeat(truth[:, None], z.shape[1], axis=1), k, rng))[:, family]
    offset = rng.permutation(np.linspace(-1, 1, m)) if m > 1 else np.zeros(1)
    report = np.clip(panel.report + panel.spread * offset, 0, 1)
    lured = np.clip(panel.lured - panel.spread * offset, 0, 1)  # better judges are lured less often
    reported = np.where(rng.random((tasks, m)) < report, answer, other(answer, k, rng))
    opinion = np.where(hard[:, None] & (rng.random((tasks, m)) < lured), attractor[:, None], reported)
    position = panel.position * rng.permutation(np.linspace(0, 2, m)) if m > 1 else np.array([panel.position])
    rows = _occasions(panel, opinion, position, rng)
    if panel.stated:
        confidence = nearest(sigma(panel.shift + panel.slope * z))[:, family]
        rows = rows.with_columns(confidence=confidence[rows["task"].to_numpy(), rows["worker"].to_numpy()])
    if panel.lost:
        rows = rows.with_columns(label=pl.when(pl.Series(rng.random(len(rows)) >= panel.lost)).then("label"))
    return Drawn(rows, truth, hard, opinion, position)


def _occasions(panel: Panel, opinion: I8, position: F8, rng: np.random.Generator) -> pl.DataFrame:
    """Draw one row for each task, judge, repeat and order."""
    orders = len(ORDERS) if panel.orders else 1
    shape = (*opinion.shape, panel.repeats, orders)
    stated_class = np.broadcast_to(opinion[:, :, None, None], shape)
    firm = np.full(shape, logit(panel.firm))
    if panel.orders:  # the first class is shown first in "ab", the second in "ba"
        first = stated_class == np.arange(orders)
        firm = firm + np.where(first, 1, -1) * position[None, :, None, None]
    label = np.where(rng.random(shape) < sigma(firm), stated_class, other(stated_class, panel.classes, rng))
    task, judge, repeat, order = (at.ravel() for at in np.indices(shape))
    rows = pl.DataFrame({"task": task, "worker": judge, "label": label.ravel()})
    if panel.repeats > 1:
        rows = rows.with_columns(repeat=pl.Series(repeat + 1))
    return rows.with_columns(order=pl.Series(ORDERS).gather(order)) if panel.orders else rows


def other(code: I8, k: int, rng: np.random.Generator) -> I8:
    """Draw another class than this one, all of them equally likely."""
    return np.asarray((code + rng.integers(1, k, size=code.shape)) % k)


def nearest(confidence: F8) -> F8:
    """Round a confidence to one that judges state."""
    edges = (ROUND[1:] + ROUND[:-1]) / 2
    return np.asarray(ROUND[np.searchsorted(edges, confidence)])


def sigma(z: F8) -> F8:
    """Probability from log odds."""
    with np.errstate(over="ignore"):
        return np.asarray(1 / (1 + np.exp(-z)))


def logit(p: float) -> float:
    """Log odds; infinite for certainty."""
    with np.errstate(divide="ignore"):
        return float(np.log(p) - np.log1p(-p))


# ----------------------------------------------------------------
# Named panels of judges: verdicts, the truth and the parameters of the judges.

# Price of a verdict, from the smallest model of a family to its largest, in hundredths of a person's label.
CHEAPEST, COSTLIEST, PERSON = 0.1, 5.0, 100.0


class PlantedJudges(Planted[Annotations]):
    """Simulated verdicts with their ground truth. `truth` is the class of each task, as a code.

    Args:
        panel: Parameters of the judges and the tasks.
        drawn: The verdicts as codes, and the parameters drawn for each judge and task.
        rows: Table of the verdicts by name: task, worker, label and what else is known of the occasion.

    >>> from crowdwise import simulate
    >>> simulate.scenario("judges_orders", tasks=20, workers=4, seed=1)
    PlantedJudges(2 families: Annotations(160 annotations, 20 tasks, 4 workers, 2 classes))
    """

    def __init__(self, panel: Panel, drawn: Drawn, rows: pl.DataFrame) -> None:
        self.panel, self.drawn, self.rows = panel, drawn, rows
        self.classes = class_names(panel.classes)
        family = panel.family
        size = np.concatenate([np.linspace(0, 1, n) if n > 1 else np.array([0.5]) for n in panel.families])
        workers = pl.DataFrame(
            {
                "worker": judge_names(family),
                "family": [f"family{f + 1}" for f in family],
                "kind": ["model"] * len(family),
                "price": np.round(CHEAPEST * (COSTLIEST / CHEAPEST) ** size, 2),
                "accuracy": (drawn.opinion == drawn.truth[:, None]).mean(axis=0),
                "position": drawn.position,
            }
        )
        truth = pl.Series(self.classes).gather(drawn.truth)
        votes = Annotations.from_frame(rows, classes=self.classes)
        super().__init__(
            votes.about(workers=workers.drop("accuracy", "position")),
            pl.DataFrame({"task": numbered("t", len(drawn.truth)), "label": truth}),
            workers,
            drawn,
        )

    def __repr__(self) -> str:
        n = len(self.panel.families)
        return f"PlantedJudges({n} {'family' if n == 1 else 'families'}: {self.votes})"

    def price_table(self) -> pl.DataFrame:
        """Table of the prices: worker, price, with the price of a person's label."""
        judges = self.worker_table().select("worker", "price")
        return pl.concat([judges, pl.DataFrame({"worker": ["person"], "price": [PERSON]})])

    def tables(self) -> dict[str, pl.DataFrame]:
        """The tables that `save` writes, by file name."""
        tables = {"labels.csv": self.rows, "truth.csv": self.truth_table()}
        return tables | {"workers.csv": self.worker_table(), "prices.csv": self.price_table()}


def _draw(size: Size, **options: Any) -> PlantedJudges:
    """Draw a panel; of three classes by default, and of two where both orders of a pair are judged."""
    if options.get("orders") and size.classes not in (None, 2):
        raise ParameterError(f"classes={size.classes} does not apply to pairs, which have two; leave it out")
    k = 2 if options.get("orders") else 3 if size.classes is None else size.classes
    panel = Panel(**{"families": families(size.workers), "classes": k, **options})
    rng = np.random.default_rng(size.seed)
    drawn = draw_verdicts(panel, size.tasks, rng)
    rows = drawn.rows
    if size.labels < size.workers:
        rank = np.argsort(np.argsort(rng.random((size.tasks, size.workers)), axis=1), axis=1)
        rows = rows.filter(pl.Series(rank[rows["task"].to_numpy(), rows["worker"].to_numpy()] < size.labels))
    named = rows.with_columns(
        task=numbered("t", size.tasks).gather(rows["task"]),
        worker=judge_names(panel.family).gather(rows["worker"]),
        label=pl.Series(class_names(k), dtype=pl.String).gather(rows["label"]),
    )
    return PlantedJudges(panel, drawn, named)


def families(n: int) -> tuple[int, ...]:
    """Sizes of families: a large one with five ninths of the judges, and pairs."""
    large = max(1, round(5 * n / 9))
    others = n - large
    return (large, *[2] * (others // 2), *[1] * (others % 2))


def judge_names(family: Any) -> pl.Series:
    """Names made of the family and the place in it."""
    place = [int((family[:j] == f).sum()) + 1 for j, f in enumerate(family)]
    return pl.Series([f"family{f + 1}-{i}" for f, i in zip(family, place, strict=True)])


def class_names(k: int) -> list[str]:
    """A, B, C, ...; numbered where there are more than 26."""
    return [chr(65 + i) for i in range(k)] if k <= 26 else [f"C{i:0{len(str(k - 1))}d}" for i in range(k)]


JUDGE_SCENARIOS = scenarios(
    "classes",
    _draw,
    {
        "judges_families": ("judges of a family share a hidden answer, right or wrong", {"spread": 0.05}),
        "judges_attractor": (
            "a quarter of the tasks have a wrong answer that attracts most judges",
            {"hidden": 1.0, "report": 0.88, "hard": 0.25, "spread": 0.1},
        ),
        "judges_repeats": (
            "every judge answers five times and is not consistent",
            {"repeats": 5, "firm": 0.85, "report": 1.0, "hidden": 0.78},
        ),
        "judges_orders": (
            "pairs shown in both orders; most judges prefer the option shown first",
            {"orders": True, "firm": 0.85, "position": 0.5, "spread": 0.05},
        ),
        "judges_confident": (
            "judges state confidences that are round and too high",
            {"stated": True, "hidden": 0.75, "vary": 1.5, "report": 0.97, "shift": 1.0, "slope": 0.8},
        ),
        "judges_panel": (
            "pairs, both orders, families, an attractor, confidences, verdicts that cannot be parsed",
            {"orders": True, "firm": 0.9, "position": 0.3, "vary": 1.0, "stated": True, "shift": 1.0, "slope": 0.8,
             "hard": 0.15, "spread": 0.05, "lost": 0.02},
        ),
    },
    takes=("classes",),
    workers=9,
    labels=None,
)  # fmt: skip
