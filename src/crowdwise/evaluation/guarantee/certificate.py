"""Certificates: what is guaranteed, for which tasks, from which gold, and what makes it void."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ...core.arrays import F8, I8
from ...core.errors import DataError
from ...stats.sampled import holm, rank_sum_of_counts, shares_differ
from .sequential import SequentialTest, upper
from .verdicts import Verdicts

FORMAT = 1
BINS = 200
LEVEL = 0.01
VOIDS = (
    "the gold was not drawn at random from these tasks",
    "the confidence or the labels were made with this gold",
    "the judges, their prompts or the kind of tasks change",
    "the gold is wrong: if people err in a share g, the bound is error + g at best",
)


@dataclass(frozen=True)
class LadderStep:
    """A step of the ladder: tasks with at least this confidence, how many were checked and wrong, and the test."""

    threshold: float
    size: int
    checked: int
    wrong: int
    p: float
    bound: float


def ladder_steps(threshold: F8, size: I8, m: I8, e: I8, test: SequentialTest, risk: float) -> list[LadderStep]:
    """Return the steps of a ladder with the p-values of a test and an upper bound of the error."""
    return [
        LadderStep(float(t), int(s), int(a), int(b), float(p), float(u))
        for t, s, a, b, p, u in zip(threshold, size, m, e, test.p, upper(e, m, risk), strict=True)
    ]


@dataclass(frozen=True)
class GroupTest:
    """The test of one class or group (name None: of all tasks); threshold None: nothing is accepted."""

    name: Any
    threshold: float | None
    accepted: int
    p: float | None
    risk: float
    ladder: list[LadderStep]
    start: int

    @property
    def top(self) -> LadderStep | None:
        """The first step with gold; errors there deserve attention."""
        return next((step for step in self.ladder if step.checked > 0), None)


@dataclass(frozen=True)
class Certificate:
    """What `accept` guarantees. `save` and `load` store it as JSON; `drift` tests whether it covers another batch.

    Attributes:
        promise: The guarantee as a sentence.
        error: Highest share of wrong labels.
        risk: Probability with which the guarantee may fail.
        of: Whether the error is a share of the "accepted" or of "all" tasks.
        guarantee: Whether it holds with "high" probability or in the "mean".
        per: "class" or the name of the groups that each have the guarantee; None for all tasks together.
        n_tasks: Number of tasks.
        n_accepted: Number of tasks accepted without review.
        n_gold: Number of gold labels that were tested.
        parts: Test of each class or group.
        sampling: How the gold was drawn.
        looks: Planned number of tests while gold is added.
        look: Number of this test.
        method: Method or judge that labelled the tasks.
        judges: Names, versions and families of the workers.
        gold_hash: Hash of the gold tasks.
        task_hash: Hash of all tasks.
        made: Date.
        version: Version of crowdwise.
        classes: Names of the classes.
        batch: Counts of verdicts and confidences, to compare other batches with.
        checks: p-values of the tests that gold and other tasks are alike, or that a batch is covered.
        notes: Notes for the reader.
        voids: What makes the certificate void.
        surest: Order in which tasks were accepted: "confidence" or "places" (percentiles).
        scales: Percentile scale of each confidence, for the order "places".
    """

    promise: str
    error: float
    risk: float
    of: str
    guarantee: str
    per: str | None
    n_tasks: int
    n_accepted: int
    n_gold: int
    parts: list[GroupTest]
    sampling: str
    looks: int
    look: int
    method: str
    judges: list[dict[str, Any]]
    gold_hash: str
    task_hash: str
    made: str
    version: str
    classes: list[str]
    batch: dict[str, list[float]]
    checks: dict[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    voids: list[str] = field(default_factory=lambda: list(VOIDS))
    surest: str = "confidence"
    scales: dict[str, Any] = field(default_factory=dict)

    @property
    def threshold(self) -> float | None:
        """The lowest confidence that is accepted; if there are several groups see `parts`."""
        return self.parts[0].threshold if len(self.parts) == 1 else None

    @property
    def p(self) -> float | None:
        """p-value of the accepted step."""
        return self.parts[0].p if len(self.parts) == 1 else None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {"format": FORMAT, **asdict(self)}

    def save(self, path: str | Path) -> None:
        """Write the certificate as JSON."""
        Path(path).write_text(json.dumps(self.to_dict(), indent=1, ensure_ascii=False, default=str) + "\n", "utf-8")

    @staticmethod
    def load(path: str | Path) -> Certificate:
        """Read a certificate written by `save`."""
        try:
            content = json.loads(Path(path).read_text(encoding="utf-8"))
            if content.pop("format") != FORMAT:
                raise ValueError("its format is unknown")
            parts = [
                GroupTest(**{**part, "ladder": [LadderStep(**step) for step in part["ladder"]]})
                for part in content.pop("parts")
            ]
            return Certificate(parts=parts, **content)
        except OSError as error:
            raise DataError(f"{path} cannot be read ({error.strerror})") from None
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise DataError(f"{path} is not a certificate ({' '.join(str(error).split())[:80]})") from None

    def drift(self, verdicts: Verdicts) -> dict[str, float]:
        """Return p-values (Holm) for this batch being like the certified one: shares of verdicts, confidences."""
        names = [str(name) for name in verdicts.classes.to_list()]
        union = sorted({*self.classes, *names})
        old = dict(zip([*self.classes, None], self.batch["verdicts"], strict=True))
        counts_by_label = np.bincount(verdicts.label, minlength=len(names) + 1)
        new = dict(zip([*names, None], counts_by_label, strict=True))
        rows = [np.array([int(row.get(name, 0)) for name in [*union, None]]) for row in (old, new)]
        counts = binned(verdicts.order[verdicts.has_verdict], np.asarray(self.batch["edges"]))
        p = [shares_differ(*rows), rank_sum_of_counts(counts, np.asarray(self.batch["confidence"], dtype=np.int64))]
        return dict(zip(("verdicts", "confidence"), holm(p), strict=True))

    def check_covers(self, verdicts: Verdicts) -> dict[str, float]:
        """Return the p-values of `drift`.

        Raises:
            DataError: If the batch differs from the certified one (at 1 %).
        """
        p_values = self.drift(verdicts)
        differing = min(p_values, key=p_values.__getitem__)
        if p_values[differing] <= LEVEL:
            raise DataError(
                f"the certificate does not cover this batch: its {differing} differ from the certified tasks' "
                f"(p = {p_values[differing]:.0e}); draw gold here and certify again"
            )
        return p_values


def batch_of(verdicts: Verdicts) -> dict[str, list[float]]:
    """Summarize the certified batch for later comparison: counts of verdicts, and of confidences in bins."""
    confidences = np.sort(verdicts.order[verdicts.has_verdict])
    edges = np.unique(confidences[np.arange(1, BINS) * len(confidences) // BINS]) if len(confidences) else np.empty(0)
    return {
        "verdicts": np.bincount(verdicts.label, minlength=len(verdicts.classes) + 1).tolist(),
        "edges": edges.tolist(),
        "confidence": binned(confidences, edges).tolist(),
    }


def binned(values: F8, edges: F8) -> I8:
    """Counts below, at and between the edges; a value equal to an edge has a bin of its own."""
    rising = np.sort(values)
    cuts = np.stack([np.searchsorted(rising, edges, side=side) for side in ("left", "right")], axis=1).ravel()
    return np.diff(cuts, prepend=0, append=len(rising)).astype(np.int64)
