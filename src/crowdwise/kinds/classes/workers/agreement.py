"""Inter-annotator agreement: chance-corrected coefficients of the whole crowd, with intervals over tasks.

Raw agreement, Krippendorff's alpha, Fleiss' generalised kappa, Gwet's AC1 (weighted: AC2), and the mean over pairs of
workers of Cohen's kappa and Scott's pi. All are computed from class counts per task, so missing labels and any number
of labels per task are allowed. A coefficient that is undefined is None, with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from ....core.arrays import F8
from ....core.errors import DataError, ParameterError
from ....core.vocabulary import quote
from ....stats import agreement as chance
from ....stats.agreement import LEVELS, Level, Sums
from ....stats.bootstrap import MAX_BLOCKS, bootstrap_interval, random_blocks
from ....workers.flags import Coefficient
from ..annotations import Annotations
from .pairs import mean_over_pairs

# Most numbers (blocks × K²) held in memory.
_CELLS = 20_000_000


def agreement(
    annotations: Annotations, *, level: Level = "nominal", order: Sequence[Any] | None = None, seed: int = 0
) -> list[Coefficient]:
    """Compute all agreement coefficients of the crowd.

    Args:
        annotations: The votes.
        level: Level of measurement of the classes: nominal, ordinal, interval or ratio. Numeric classes are used with
            their values.
        order: Classes from low to high, including unused ones. An ordinal level requires it unless the classes are
            numbers, which are ordered by size.
        seed: Seed of the bootstrap.

    >>> votes = Annotations.from_arrays([1, 1, 2, 2, 3, 3], [*"ababab"], [*"xxyyxy"])
    >>> [(c.name, round(c.value, 3)) for c in agreement(votes)[:3]]
    [('raw agreement', 0.667), ("Krippendorff's alpha", 0.444), ("Fleiss' kappa", 0.333)]
    """
    votes, values = _in_order(annotations, level, order)
    weights = chance.closeness(level, values)
    sums, terms, rng = _sums(votes, seed)
    k = votes.n_classes
    graded = "" if level == "nominal" else f", {level}"
    coefficients = [
        _crowd("raw agreement", lambda s: chance.observed(s, np.eye(k)), sums, terms, rng),
        _crowd(f"Krippendorff's alpha{graded}", lambda s: chance.alpha(s, level, values), sums, terms, rng),
        _crowd(f"Fleiss' kappa{graded}", lambda s: chance.fleiss_kappa(s, weights), sums, terms, rng),
        _crowd(
            "Gwet's AC1" if level == "nominal" else f"Gwet's AC2{graded}",
            lambda s: chance.gwet_ac(s, weights),
            sums,
            terms,
            rng,
        ),
        *mean_over_pairs(votes, weights, graded, seed),
    ]
    return _with_paradox(coefficients, sums)


def krippendorff_alpha(
    annotations: Annotations, *, level: Level = "nominal", order: Sequence[Any] | None = None
) -> float | None:
    """Compute Krippendorff's alpha without an interval; None if it is undefined (`agreement` gives the reason)."""
    votes, values = _in_order(annotations, level, order)
    counts = _counts(votes)
    sums = Sums.of(chance.terms(counts, np.zeros(len(counts), dtype=np.int64), 1)[0], votes.n_classes)
    value = float(chance.alpha(sums, level, values)) if sums.several > 0 else float("nan")
    return value if np.isfinite(value) else None


# Whole numbers from 1 to 7 may be names, grades or amounts; beyond this many they are hardly a scale.
_MAX_STEPS = 25
SCALES: tuple[Level, ...] = ("nominal", "ordinal", "interval")


def is_unstated_scale(annotations: Annotations) -> bool:
    """Whether the classes are a few whole numbers without a stated order, so that their level is not known."""
    return annotations.answers.order is None and has_whole_numbers(annotations)


def has_whole_numbers(annotations: Annotations) -> bool:
    """Whether the classes are a few whole numbers."""
    if not 3 <= annotations.n_classes <= _MAX_STEPS:
        return False
    numbers = None if annotations.classes.dtype == pl.Boolean else _numbers(annotations.classes)
    if numbers is None or (numbers != np.round(numbers)).any():
        return False
    return bool(np.ptp(numbers) <= _MAX_STEPS)


def alpha_by_scale(annotations: Annotations) -> dict[str, float | None]:
    """Return Krippendorff's alpha of whole numbers as names, grades and amounts; empty if their level is known."""
    if not is_unstated_scale(annotations):
        return {}
    return {level: krippendorff_alpha(annotations, level=level) for level in SCALES}


def scale_question(classes: pl.Series) -> str:
    """Return the question which level of measurement whole numbers have."""
    numbers = classes.cast(pl.Float64).to_numpy()
    return (
        f"the classes are whole numbers from {numbers.min():g} to {numbers.max():g} without a stated order: are they "
        "names (--level nominal), grades (--order numbers), or amounts (--kind numbers)? The agreement depends on it"
    )


def check_grades(annotations: Annotations, level: Level = "nominal", order: Sequence[Any] | None = None) -> None:
    """Raise if `agreement` would, so that errors are reported before a long fit."""
    _in_order(annotations, level, order)


def _sums(votes: Annotations, seed: int) -> tuple[Sums, F8, np.random.Generator]:
    """Sums over all tasks, the terms of blocks of labelled tasks, and the generator for the intervals."""
    counts, rng = _counts(votes), np.random.default_rng(seed)
    counts = counts[counts.sum(axis=1) > 0]
    k = max(votes.n_classes, 1)
    n_blocks = max(min(len(counts), MAX_BLOCKS, _CELLS // (2 * k * k + k)), 1)
    terms = chance.terms(counts, random_blocks(len(counts), n_blocks, rng), n_blocks)
    return Sums.of(terms.sum(axis=0), votes.n_classes), terms, rng


def _counts(votes: Annotations) -> F8:
    """Number of labels [task, class]; weights express trust and not repetition, so they are ignored."""
    return votes.votes if votes.weight is None else replace(votes, weight=None).votes


def _crowd(name: str, statistic: Callable[[Sums], F8], sums: Sums, terms: F8, rng: np.random.Generator) -> Coefficient:
    n, k = int(sums.several), sums.shares.shape[-1]
    if n == 0:
        return Coefficient(name, None, reason="no task has two labels, so there is no agreement to measure")
    value = float(statistic(sums))
    if not np.isfinite(value):
        return Coefficient(name, None, n=n, reason="all labels are of one class, so chance alone gives full agreement")
    bounds = bootstrap_interval(terms, lambda drawn: statistic(Sums.of(drawn, k)), 0.95, rng)
    if bounds is None:
        return Coefficient(name, value, n=n, note="too few tasks, or too few of a second class, for an interval")
    return Coefficient(name, value, min(bounds[0], value), max(bounds[1], value), n)


def _with_paradox(coefficients: list[Coefficient], sums: Sums) -> list[Coefficient]:
    """Add a note about the prevalence paradox if it applies: high agreement, low kappa, and one dominant class."""
    value = {c.name.partition(",")[0]: c.value for c in coefficients}
    raw, kappa = value["raw agreement"], value["Fleiss' kappa"]
    if raw is None or kappa is None or sums.labelled == 0:
        return coefficients
    top = float(sums.shares.max() / sums.labelled)
    if not (top >= 0.8 and raw >= 0.8 and raw - kappa >= 0.3):
        return coefficients
    note = (
        f"one class has {top:.0%} of the labels, so chance alone would give high agreement and this coefficient is "
        f"low although {raw:.0%} of the pairs agree (the prevalence paradox); compare it with Gwet's AC1"
    )
    low = ("Krippendorff's alpha", "Fleiss' kappa", "Cohen's kappa", "Scott's pi")
    return [replace(c, note=note) if c.value is not None and c.name.startswith(low) else c for c in coefficients]


def _in_order(annotations: Annotations, level: Level, order: Sequence[Any] | None) -> tuple[Annotations, F8]:
    """Return the annotations with classes from low to high, and the values of the classes."""
    if level not in LEVELS:
        raise ParameterError(f"level must be one of {', '.join(LEVELS)}, got {level!r}")
    if order is not None:
        annotations = _with_unused(annotations, level, order)
    names = annotations.classes.to_list()
    positions = list(range(len(names)))
    if order is not None:
        position = {str(name): i for i, name in enumerate(names)}
        positions = [position[str(name)] for name in order if str(name) in position]
    values = np.arange(len(names), dtype=np.float64)
    numbers = _numbers(annotations.classes)
    if level in ("interval", "ratio"):
        if numbers is None:
            raise DataError(f"an {level} level needs classes that are numbers, these are {names[:5]}; try ordinal")
        values = numbers
        if level == "ratio" and (values < 0).any():
            raise DataError("a ratio level needs non-negative classes; try interval")
    # With two classes the order makes no difference.
    if level == "ordinal" and order is None and numbers is None and len(names) > 2:
        raise DataError(
            f"an ordinal level needs the order of the classes; list them from low to high with --order "
            f"(order= in Python): {quote(names, 8)}"
        )
    if order is None and numbers is not None:
        positions = np.argsort(numbers, kind="stable").tolist()
    rank = np.empty(len(positions), dtype=np.int32)
    rank[positions] = np.arange(len(positions), dtype=np.int32)
    recoded = annotations.with_labels(rank[annotations.label], annotations.classes.gather(positions))
    return recoded, values[positions] if level in ("interval", "ratio") else values


def _with_unused(annotations: Annotations, level: Level, order: Sequence[Any]) -> Annotations:
    """Add the unused classes of the order to the annotations, because they are steps of the scale."""
    names, listed = set(map(str, annotations.classes.to_list())), list(map(str, order))
    missing = sorted(names - set(listed))
    if missing:
        raise ParameterError(f"order must list every class once, from low to high; {quote(missing, 8)} is missing")
    duplicates = sorted({name for name in listed if listed.count(name) > 1})
    if duplicates:
        raise ParameterError(f"order must list every class once; {quote(duplicates)} is listed twice")
    unused = [value for value, name in zip(order, listed, strict=True) if name not in names]
    return annotations.with_classes(unused) if unused and level != "nominal" else annotations


def _numbers(classes: pl.Series) -> F8 | None:
    """Return the classes as numbers, or None if some are not."""
    if classes.dtype == pl.Boolean:
        return classes.cast(pl.Float64).to_numpy()
    numbers = classes.cast(pl.Float64, strict=False)
    return None if numbers.null_count() or not len(numbers) else numbers.to_numpy()
