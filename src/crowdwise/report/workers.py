"""Flags of workers in the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from ..workers.flags import Coefficient, Flag, false_alarms_in_words
from ..workers.studied import Studied
from .text import first_few, number, shown, span, strength

# Shown at most: rows of the table of workers, and workers to contact.
SHOWN, CONTACTS = 400, 6


@dataclass(frozen=True)
class FlagNote:
    """A flag for display; `kind` is its name, one of a fixed list."""

    worker: str
    kind: str
    meaning: str
    strength: str
    false_alarms: str
    evidence: str
    partners: str
    tasks: str


def notes(flags: Sequence[Flag], meanings: Mapping[str, str]) -> list[FlagNote]:
    """Return all flags but `unknown` in their order; `meanings` are the flags in words."""
    return [
        FlagNote(
            worker=shown(flag.worker),
            kind=flag.name if flag.name in meanings else "other",
            meaning=meanings.get(flag.name, ""),
            strength=strength(flag.probability, flag.p_value),
            false_alarms=false_alarms_in_words(flag.name, flag.of),
            evidence=shown(flag.evidence, 300),
            partners=first_few([shown(p, 30) for p in flag.partners], 6),
            tasks=first_few([shown(t, 30) for t in flag.tasks], 10),
        )
        for flag in flags
        if flag.name != "unknown"
    ]


def flags_by_worker(study_: Studied) -> dict[str, list[str]]:
    """Return the flag names of each worker without duplicates."""
    flagged: dict[str, list[str]] = {}
    for flag in study_.flags:
        name, names = flag.name if flag.name in study_.meanings else "other", flagged.setdefault(str(flag.worker), [])
        if name not in names:
            names.append(name)
    return flagged


def workers_to_show(study_: Studied, flagged: Mapping[str, list[str]]) -> pl.DataFrame:
    """Return the rows of workers with answers; if there are too many, those of flagged and of the busiest workers."""
    flagged_workers = [worker for worker, names in flagged.items() if names != ["unknown"]]
    table = study_.quality.filter(pl.col("n_labels") > 0)
    table = table.with_columns(pl.col("worker").cast(pl.String).is_in(flagged_workers).alias("_grave"))
    return table.sort("_grave", "n_labels", descending=True, maintain_order=True).head(SHOWN)


# ---------------------------------------------------------------- Sentences about flagged workers and agreement

# Krippendorff's bounds for alpha.
_GOOD, _FAIR = 0.8, 0.667


def agreement_in_words(coefficients: Sequence[Coefficient], answers: str = "labels") -> list[str]:
    """Describe Krippendorff's alpha in words."""
    alpha = next((c for c in coefficients if c.name.startswith("Krippendorff")), None)
    if alpha is None:
        return []
    if alpha.value is None:
        return [f"Agreement beyond chance cannot be measured: {alpha.reason}."]
    word = "good" if alpha.value >= _GOOD else "fair" if alpha.value >= _FAIR else "low"
    where = span(alpha.low, alpha.high)
    text = f"Agreement beyond chance is {word}: Krippendorff's alpha {number(alpha.value)}" + (
        f" ({where})." if where else "."
    )
    if word == "low":
        text += f" Single {answers} are unreliable, which says nothing about the aggregated {answers}."
    return [text]


def workers_to_contact(flags: Sequence[Flag], meanings: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Return worker, meaning and evidence of the most serious flag of each of the first flagged workers."""
    contacts: dict[str, tuple[str, str, str]] = {}
    for flag in flags:
        contacts.setdefault(
            str(flag.worker), (shown(flag.worker), meanings.get(flag.name, flag.name), shown(flag.evidence, 300))
        )
    return list(contacts.values())[:CONTACTS]
