"""Kinds whose estimates are not right or wrong task by task: what can be known of rankings and of clusters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..core.result import Result
from ..kinds.similarities.estimate import SimilarityEstimate
from .trust import ERROR, TO_CHECK


@dataclass(frozen=True)
class ByOrder:
    """That nothing was measured, and how to measure it: `truth` of `n` things shows `measure`."""

    n: int
    truth: str
    measure: str
    helped: bool

    def sentence(self, written: str = "") -> str:
        """The statement, without a full stop; `written` names a file to fill in."""
        first = f"{self.truth} were given to the fit" if self.helped else f"no {self.truth} were given"
        where = f"these {self.n:,} ({written})" if written else f"{self.n:,} drawn at random"
        others = "others, " if self.helped and not written else ""
        return f"{first}: {others}{where}, show {self.measure} (crowdwise evaluate)"

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"checked": 0, "reason": self.sentence()}


def trust_rankings(result: Result, error: float = ERROR) -> ByOrder:
    """An order is not right or wrong as a whole."""
    del error  # nothing ships by itself
    n = min(TO_CHECK, result.n_tasks)
    return ByOrder(n, "known orders", "Kendall's tau of the estimated orders", result.gold is not None)


def trust_clusters(result: Result, error: float = ERROR) -> ByOrder:
    """Clusters have no names of their own, so that an item is not right or wrong by itself."""
    del error
    assert isinstance(result.estimate, SimilarityEstimate)
    helped, n = bool(result.extra.get("cluster_names")), min(TO_CHECK, len(result.estimate.items))
    return ByOrder(n, "known clusters of items", "how far the clusters go with them", helped)
