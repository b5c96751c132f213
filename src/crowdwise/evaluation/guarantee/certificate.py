"""Certificates: what was promised, about which tasks, from which gold, and what makes it void."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ...core.errors import DataError
from ...stats.sampled import holm, rank_sum_of_counts, shares_differ
from .verdicts import Verdicts

FORMAT = 1
BINS = 200
LEVEL = 0.01
VOIDS = (
    "the gold was not drawn at random from these tasks",
    "the confidence or the labels were made with this gold",
    "the judges, their prompts or the kind of tasks change",
    "the gold is wrong: where people err in a share g, the promise is error + g at best",
)


@dataclass(frozen=True)
class Rung:
    """A step of the ladder: tasks of at least this confidence, how many were checked and wrong, and the test."""

    threshold: float
    size: int
    checked: int
    wrong: int
    p: float
    bound: float


@dataclass(frozen=True)
class Part:
    """The ladder of one class or group (None: of all tasks) and where the walk ended (None: nothing accepted)."""

    name: Any
    threshold: float | None
    accepted: int
    p: float | None
    risk: float
    ladder: list[Rung]
    start: int

    @property
    def top(self) -> Rung | None:
        """The first rung with gold: its errors are a finding of their own."""
        return next((rung for rung in self.ladder if rung.checked > 0), None)


@dataclass(frozen=True)
class Certificate:
    """What `accept` promises; `save` and `load` keep it as JSON, `drift` says whether it covers another batch.

    `surest` is by what the surest tasks were found; where by places, `scales` hold what they are places of.
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
    parts: list[Part]
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
        """The lowest confidence that is accepted; of several ladders see `parts`."""
        return self.parts[0].threshold if len(self.parts) == 1 else None

    @property
    def p(self) -> float | None:
        """p of the rung that was accepted."""
        return self.parts[0].p if len(self.parts) == 1 else None

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"format": FORMAT, **asdict(self)}

    def save(self, path: str | Path) -> None:
        """Write JSON."""
        Path(path).write_text(json.dumps(self.to_dict(), indent=1, ensure_ascii=False, default=str) + "\n", "utf-8")

    @staticmethod
    def load(path: str | Path) -> Certificate:
        """Read what `save` wrote."""
        try:
            told = json.loads(Path(path).read_text(encoding="utf-8"))
            if told.pop("format") != FORMAT:
                raise ValueError("its format is not known")
            parts = [
                Part(**{**part, "ladder": [Rung(**rung) for rung in part["ladder"]]}) for part in told.pop("parts")
            ]
            return Certificate(parts=parts, **told)
        except OSError as error:
            raise DataError(f"{path} cannot be read ({error.strerror})") from None
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise DataError(f"{path} is no certificate ({' '.join(str(error).split())[:80]})") from None

    def drift(self, found: Verdicts) -> dict[str, float]:
        """p-values (Holm) of this batch being like the certified one: shares of verdicts, confidences."""
        names = [str(name) for name in found.classes.to_list()]
        union = sorted({*self.classes, *names})
        old = dict(zip([*self.classes, None], self.batch["verdicts"], strict=True))
        said = np.bincount(found.label, minlength=len(names) + 1)
        new = dict(zip([*names, None], said, strict=True))
        rows = [np.array([int(row.get(name, 0)) for name in [*union, None]]) for row in (old, new)]
        counts = binned(found.order[found.said], np.asarray(self.batch["edges"]))
        p = [shares_differ(*rows), rank_sum_of_counts(counts, np.asarray(self.batch["confidence"], dtype=np.int64))]
        return dict(zip(("verdicts", "confidence"), holm(p), strict=True))

    def check_covers(self, found: Verdicts) -> dict[str, float]:
        """The same, as an error where the batch is another one (1 %)."""
        p = self.drift(found)
        worst = min(p, key=p.__getitem__)
        if p[worst] <= LEVEL:
            raise DataError(
                f"the certificate does not cover this batch: its {worst} differ from the certified tasks' "
                f"(p = {p[worst]:.0e}); draw gold here and certify again"
            )
        return p


def batch_of(found: Verdicts) -> dict[str, list[float]]:
    """What the certified batch looked like, to know it again: counts of verdicts, and of confidences in bins."""
    said = np.sort(found.order[found.said])
    edges = np.unique(said[np.arange(1, BINS) * len(said) // BINS]) if len(said) else np.empty(0)
    return {
        "verdicts": np.bincount(found.label, minlength=len(found.classes) + 1).tolist(),
        "edges": edges.tolist(),
        "confidence": binned(said, edges).tolist(),
    }


def binned(values: npt.NDArray[np.float64], edges: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Counts below, at and between the edges: a value that equals an edge has a bin of its own."""
    up = np.sort(values)
    cuts = np.stack([np.searchsorted(up, edges, side=side) for side in ("left", "right")], axis=1).ravel()
    return np.diff(cuts, prepend=0, append=len(up)).astype(np.int64)
