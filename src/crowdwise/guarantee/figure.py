"""Figure: one number with its interval, what it rests on, and what the judge or the gold alone would have said."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True)
class Figure:
    """`value` with `low` and `high` (None: no interval can be given).

    `judge_alone` is what the verdicts say by themselves; `gold_only` (value, low, high) what the gold says without
    them. `labels_saved` is how many times as many gold labels would be needed without the verdicts for as narrow an
    interval; `r2` how much of the truth the verdicts explain. `checks` are the p-values (Holm) of gold being like the
    rest. `groups` holds a figure for each group, where asked for.
    """

    of: str
    people: str
    value: float
    low: float | None
    high: float | None
    level: float
    method: str
    sampling: str
    for_: str
    n_gold: int
    n_tasks: int
    who: str
    judge_alone: float | None = None
    gold_only: tuple[float, float, float] | None = None
    r2: float | None = None
    labels_saved: float | None = None
    checks: dict[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    groups: dict[Any, Figure | str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        out = {name: value for name, value in asdict(self).items() if name not in ("groups", "for_")}
        out["for"], out["notes"] = self.for_, list(self.notes)
        if self.groups:
            out["groups"] = {
                str(name): found.to_dict() if isinstance(found, Figure) else {"reason": found}
                for name, found in self.groups.items()
            }
        return out

    def sentence(self) -> str:
        """One line for people."""
        if self.low is None or self.high is None:
            return (
                f"{self.people}: {short(self.value)} (a point without an interval: the sampling of the gold is unknown)"
            )
        tasks = "these" if self.for_ == "these" else "new"
        text = (
            f"{self.people}: {short(self.value)} [{short(self.low)}, {short(self.high)}] ({100 * self.level:g} %, "
            f"{tasks} tasks; {self.method} from {self.n_gold:,} gold labels and {self.n_tasks:,} verdicts)"
        )
        if self.judge_alone is not None:
            text += f"; the verdicts alone say {short(self.judge_alone)}"
        if self.gold_only is not None:
            text += (
                f", the gold alone {short(self.gold_only[0])} [{short(self.gold_only[1])}, {short(self.gold_only[2])}]"
            )
        if self.labels_saved is not None:
            known = "" if self.r2 is None else f" (R² {short(self.r2)})"
            text += f"; as narrow as {self.labels_saved:.1f} times as many gold labels{known}"
        return text


def short(value: float) -> str:
    """Three digits after the point, or as many as a larger number needs."""
    return f"{value:.3f}" if abs(value) < 100 else f"{value:,.1f}"
