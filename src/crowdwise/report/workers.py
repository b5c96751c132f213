"""The workers' rows and their confusion matrices, as the page shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from markupsafe import Markup

from ..kinds.classes.annotations import Annotations
from ..workers.flags import Flag, false_alarms_in_words
from ..workers.ranking import best_first
from ..workers.studied import Studied
from ..workers.study import Study
from . import svg
from .text import enough, percent, shown, span, strength

# Rows of the table of workers; matrices at once, and in all; classes in a matrix.
SHOWN = 400
MATRICES, MORE = 12, 36
CLASSES = 24


@dataclass(frozen=True)
class Note:
    """A flag as shown: `kind` is its name, one of a fixed list."""

    worker: str
    kind: str
    meaning: str
    strength: str
    false_alarms: str
    evidence: str
    partners: str
    tasks: str


@dataclass(frozen=True)
class Row:
    """A worker's numbers (`of`, by the names of the quality table), bar and flags."""

    worker: str
    of: dict[str, Any]
    bar: Markup
    flags: list[str]


@dataclass(frozen=True)
class Matrix:
    """A worker's confusion matrix with its caption."""

    worker: str
    caption: str
    drawing: Markup


def notes(flags: Sequence[Flag], meanings: Mapping[str, str]) -> list[Note]:
    """All flags but `unknown`, in their order; `meanings` are what flags can be called, in words."""
    return [
        Note(
            worker=shown(flag.worker),
            kind=flag.name if flag.name in meanings else "other",
            meaning=meanings.get(flag.name, ""),
            strength=strength(flag.probability, flag.p_value),
            false_alarms=false_alarms_in_words(flag.name, flag.of),
            evidence=shown(flag.evidence, 300),
            partners=enough([shown(p, 30) for p in flag.partners], 6),
            tasks=enough([shown(t, 30) for t in flag.tasks], 10),
        )
        for flag in flags
        if flag.name != "unknown"
    ]


def rows(look: Study) -> list[Row]:
    """Workers with labels, the best first; where there are too many, the flagged and the busiest."""
    flagged = flags_by_worker(look)
    out = []
    for row in best_first(most_telling(look, flagged)).to_dicts():
        bar = svg.interval(row["skill"], row["skill_low"], row["skill_high"], mark=row["gold_accuracy"])
        out.append(Row(shown(row["worker"]), row, bar, flagged.get(str(row["worker"]), [])))
    return out


def flags_by_worker(look: Studied) -> dict[str, list[str]]:
    """The names of each worker's flags, each once."""
    flagged: dict[str, list[str]] = {}
    for flag in look.flags:
        name, own = flag.name if flag.name in look.meanings else "other", flagged.setdefault(str(flag.worker), [])
        if name not in own:
            own.append(name)
    return flagged


def most_telling(look: Studied, flagged: Mapping[str, list[str]]) -> pl.DataFrame:
    """The rows of workers with answers; where there are too many, those of the flagged and the busiest."""
    grave = [worker for worker, names in flagged.items() if names != ["unknown"]]
    table = look.quality.filter(pl.col("n_labels") > 0)
    table = table.with_columns(pl.col("worker").cast(pl.String).is_in(grave).alias("_grave"))
    return table.sort("_grave", "n_labels", descending=True, maintain_order=True).head(SHOWN)


def matrices(votes: Annotations, look: Study) -> list[Matrix]:
    """Small multiples, the most interesting first: the flagged, then those whose errors cost most labels."""
    k = votes.n_classes
    if not len(look.confusion) or k < 2:
        return []
    quality = look.quality
    wrong = (quality["n_labels"] * (1 - quality["skill"].fill_null(1.0))).to_numpy()
    grave = {str(flag.worker) for flag in look.flags if flag.name != "unknown"}
    names = quality["worker"].cast(pl.String).to_list()
    order = sorted(range(len(names)), key=lambda w: (names[w] not in grave, -wrong[w]))
    order = [w for w in order if quality["n_labels"][w] > 0][: MATRICES + MORE]
    cells = {name: look.confusion[name].to_numpy().reshape(-1, k, k) for name in ("p", "low", "high", "n_effective")}
    keep = np.sort(np.argsort(-np.bincount(votes.label, minlength=k), kind="stable")[:CLASSES])
    classes = [shown(c, 24) for c in votes.classes.gather(keep).cast(pl.String).to_list()]
    out = []
    for w in order:
        part = {name: table[w][np.ix_(keep, keep)] for name, table in cells.items()}
        tips = _tips(part, classes) if len(keep) <= 6 else None
        drawing = svg.matrix(part["p"], classes, _spoken(part["p"], names[w], classes), tips)
        caption = f"{quality['n_labels'][w]:,} labels"
        if quality["skill"][w] is not None:
            caption += f", skill {percent(quality['skill'][w])}"
        out.append(Matrix(shown(names[w], 30), caption, drawing))
    return out


def _tips(part: dict[str, Any], classes: list[str]) -> list[list[str]]:
    return [
        [
            f"{said} where {true} is true: {percent(part['p'][i, j])} "
            f"({span(part['low'][i, j], part['high'][i, j])}; n {part['n_effective'][i, j]:.0f})"
            for j, said in enumerate(classes)
        ]
        for i, true in enumerate(classes)
    ]


def _spoken(p: Any, worker: str, classes: list[str]) -> str:
    """The matrix in words: what the worker says most often where each class is true."""
    most = p.argmax(axis=1)
    said = [f"{true}: says {classes[most[i]]} {percent(p[i, most[i]])}" for i, true in enumerate(classes[:8])]
    return f"Confusion matrix of worker {shown(worker, 30)}. " + "; ".join(said)
