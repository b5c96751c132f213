"""A throw-away kind of answer for the tests: directions in degrees. One module, one registration, no edit elsewhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import polars as pl

from crowdwise import registry
from crowdwise.core.answers import Answers, Coder
from crowdwise.core.describe import common
from crowdwise.core.estimate import Axes, Estimate, WorkerSummary
from crowdwise.core.kind import Kind
from crowdwise.core.method import FitOutput, Method
from crowdwise.core.truth import truth_table
from crowdwise.core.vocabulary import lookup
from crowdwise.core.votes import frozen
from crowdwise.evaluation.scores import Scores, Table
from crowdwise.kinds.hooks import CommonHooks
from crowdwise.workers.flags import Coefficient, Flag
from crowdwise.workers.studied import Studied


def between(a, b):
    """How far two directions are apart, 0 to 180 degrees."""
    return np.abs((a - b + 180) % 360 - 180)


def middle(angle, group, n):
    """The mean direction of each group."""
    z = np.exp(1j * np.deg2rad(angle))
    total = np.bincount(group, z.real, n) + 1j * np.bincount(group, z.imag, n)
    return np.rad2deg(np.angle(total)) % 360


@dataclass(frozen=True, eq=False)
class Angles(Answers):
    kind = "angles"
    angle: np.ndarray

    def __post_init__(self):
        object.__setattr__(self, "angle", frozen(self.angle))

    def __len__(self):
        return len(self.angle)

    def take(self, rows):
        return Angles(self.angle[rows])

    def join(self, other):
        return Angles(np.concatenate([self.angle, other.angle]))

    def columns(self):
        return {"angle": pl.Series("angle", self.angle)}

    def keys(self):
        return (self.angle,)


class AngleCoder(Coder):
    def __init__(self, columns):
        self.values = pl.Series(columns.pop("angle")).cast(pl.Float64)
        self.null = self.values.is_null().to_numpy()

    def __len__(self):
        return len(self.values)

    def finish(self):
        return Angles(self.values.fill_null(0.0).to_numpy() % 360)


@dataclass(frozen=True, eq=False)
class Directions(Estimate):
    kind = "angles"
    angle: Annotated[np.ndarray, Axes("n", "finite")]

    def table(self, n_labels):
        return {"angle": self.angle, "n_labels": n_labels}

    def summary(self):
        return f"{len(self.angle)} directions"


@dataclass(frozen=True, eq=False)
class Steadiness(WorkerSummary):
    off: Annotated[np.ndarray, Axes("m", "amounts")]


@dataclass(frozen=True, kw_only=True)
class MeanDirection(Method):
    name = "mean_direction"
    takes = "angles"

    def fit_votes(self, votes, gold, options):
        angle = middle(votes.answers.angle, votes.task, votes.n_tasks)
        off = between(votes.answers.angle, angle[votes.task])
        n = np.maximum(votes.labels_per_worker, 1)
        steadiness = Steadiness(np.bincount(votes.worker, off, votes.n_workers) / n)
        return FitOutput(estimate=Directions(angle), worker_summary=steadiness)


class Off(Scores):
    NAMES: ClassVar = {"mean_off": "mean distance in degrees"}


def evaluate(found, truth, *, fit_gold=None, resamples=0, seed=0):
    table = truth_table(truth, ("angle",), aliases=("label",))
    at, known = lookup(found.tasks, table["task"])
    true = table["angle"].cast(pl.Float64).to_numpy()[known]
    off = float(between(found.estimate.angle[at[known]], true).mean())
    return Off(n=int(known.sum()), scores={"mean_off": off})


class AngleStudy(Studied):
    meanings: ClassVar = {"astray": "points elsewhere than the others"}

    def worker_tables(self, ends):
        rows = [[str(w), f"{off:.1f}"] for w, off in self.quality.select("worker", "off").iter_rows()]
        return [Table("Steadiness", ["worker", "off"], sorted(rows, key=lambda row: float(row[1])))]


def study(votes, result, *, gold=None):
    off = result.worker_summary.off
    flags = [Flag(w, "astray", evidence=f"{o:.0f} degrees off", of="angles")
             for w, o in zip(votes.workers, off, strict=True) if o > 45]  # fmt: skip
    close = Coefficient("closeness", float(np.cos(np.deg2rad(off.mean()))))
    return AngleStudy(votes=votes, result=result, quality=result.worker_table(), agreement=[close], flags=flags)


class AngleHooks(CommonHooks):
    display_name = "directions"

    def estimate_types(self):
        return Directions, Steadiness

    def describe(self, votes):
        return common(votes)

    def evaluate(self, result, truth, **options):
        return self.call(evaluate, result, truth, **options)

    def study(self, votes, result, **options):
        return self.call(study, votes, result, **options)

    def sentences(self, votes, result):
        return [result.estimate.summary()]

    def worker_rows(self, result, limit=5):
        off = result.worker_summary.off
        return ["worker", "off"], [[str(w), f"{o:.1f}"] for w, o in zip(result.workers, off, strict=True)]

    def show(self, result):
        return result.estimate.summary(), [Table("Tasks", ["task"], [])]

    def inspect(self, facts, limit):
        return [["directions", str(facts["annotations"])]], [], []


KIND = Kind(
    name="angles",
    hooks=AngleHooks(),
    columns={"angle": "angle direction"},
    coder=AngleCoder,
    default="mean_direction",
    answers_word="directions",
    detect_columns=lambda header: {"angle": "angle"} if "angle" in header else None,
    dtypes=(pl.Float64(), pl.Int64()),
)
CARD = (
    registry.Card("mean_direction", "tests.angles:MeanDirection", "angles", "the mean direction", "folklore",
                  takes="angles")
)  # fmt: skip
