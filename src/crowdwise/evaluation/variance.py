"""Where the uncertainty of an evaluation comes from, and what to buy next: a G study and its D studies.

A score is the sum of a random effect of everything that varies: prompt, system, answer (one draw of the system), judge,
its prompt, person, their interactions, and what is left when the same verdict is repeated. Scores of yes/no verdicts
and of comparisons (1, 1/2, 0) are decomposed on their own scale, which is the scale of the mean that is reported.
Brennan (2001), Generalizability Theory; Shavelson & Webb (1991).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations, product
from typing import Any

import numpy as np
import polars as pl

from ..core.arrays import F8
from ..core.errors import DataError, ParameterError
from ..core.intake.frames import to_polars
from ..stats.variance_components import Components, Term, variance_components

# Facets that are crossed with each other; answers are drawn within prompt and system.
CROSSED = ("prompt", "system", "judge", "judge_prompt", "person")
ANSWER, REPEAT = "answer", "repeat"
FACETS = (*CROSSED, ANSWER)
RATERS = ("judge", "judge_prompt", "person")
PRICES = ("prompt", "answer", "verdict")
TIES = ("tie", "draw", "equal", "both", "neither", "same")
# Largest numbers of answers, raters and repeats in a plan.
GRID = (1, 2, 3, 4, 5, 6, 8, 10)


@dataclass(frozen=True)
class StudyDesign:
    """Numbers of prompts, of answers per prompt and system, of raters of each sort, and of repeated verdicts."""

    prompt: float
    answer: float = 1
    raters: dict[str, float] = field(default_factory=dict)
    repeat: float = 1
    system: int = 1

    @property
    def answers(self) -> float:
        """Number of answers."""
        return self.prompt * self.system * self.answer

    @property
    def verdicts(self) -> float:
        """Number of verdicts."""
        return float(self.answers * np.prod(list(self.raters.values())) * self.repeat)

    def cost(self, prices: Mapping[str, float]) -> float:
        """Return the cost of prompts, answers and verdicts."""
        return self.prompt * prices["prompt"] + self.answers * prices["answer"] + self.verdicts * prices["verdict"]

    def __str__(self) -> str:
        parts = [f"{self.prompt:g} prompts", f"{self.answer:g} answers each"]
        parts += [f"{n:g} {name.replace('_', ' ')}s" for name, n in self.raters.items()]
        return ", ".join([*parts, f"{self.repeat:g} verdicts each"])


@dataclass(frozen=True, eq=False)
class VarianceStudy:
    """Result of `variance`.

    Attributes:
        table: One row per source: source, variance, low, high, share of the total, levels.
        design: The design of the data.
        half_width: Half the width of the interval of the mean, or of a difference of two systems.
        of: What the half width is about.
        next_best: One row per lever: what the amount buys, and the half width after it; the best first.
        plan: The cheapest design for the target, with its cost and half width; None without a target.
        level: Level of the intervals.
        mean: Mean score.
        notes: Notes for the reader.
    """

    table: pl.DataFrame
    design: StudyDesign
    half_width: float
    of: str
    next_best: pl.DataFrame
    plan: tuple[StudyDesign, float, float] | None
    level: float
    mean: float
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        plan = None
        if self.plan is not None:
            plan = {"design": vars(self.plan[0]), "cost": self.plan[1], "half_width": self.plan[2]}
        return {
            "components": self.table.to_dicts(), "design": vars(self.design), "half_width": self.half_width,
            "of": self.of, "next": self.next_best.to_dicts(), "plan": plan, "level": self.level, "mean": self.mean,
            "notes": list(self.notes),
        }  # fmt: skip


def variance(
    rows: Any,
    *,
    score: str = "score",
    prices: Mapping[str, float] | None = None,
    amount: float = 100.0,
    target: float | None = None,
    level: float = 0.9,
    seed: int = 0,
) -> VarianceStudy:
    """Split the variance of scores into its sources, and say what narrows the interval most for the money.

    Args:
        rows: Table with one row per verdict: a score, and any of the columns prompt (or task), system, answer, judge
            (or worker), judge_prompt, person and repeat. Scores are numbers, yes/no, or the winner A, B or tie.
        score: Name of the column of scores.
        prices: Prices of a prompt, of an answer and of a verdict; 0, 0 and 1 by default.
        amount: Amount to spend next.
        target: Half width to plan for.
        level: Level of the intervals.
        seed: Seed of the intervals.

    Returns:
        A `VarianceStudy`.
    """
    if not 0 < level < 1:
        raise ParameterError(f"level must be between 0 and 1, got {level}")
    if amount <= 0 or (target is not None and target <= 0):
        raise ParameterError("the amount and the target must be above 0")
    full = _prices(prices)
    y, factors, notes = _read(to_polars(rows), score)
    components = variance_components(y, factors, _terms(factors), seed=seed)
    design = _design(y, factors)
    half = half_width(components, design, level)
    of = "a difference of two systems" if "system" in factors else "the mean"
    plan = None if target is None else _plan(components, design, full, target, level)
    return VarianceStudy(
        _table(components, level), design, half, of, _next(components, design, full, amount, level), plan, level,
        components.mean, tuple(notes),
    )  # fmt: skip


def half_width(components: Components, design: StudyDesign, level: float) -> float:
    """Return half the width of the interval of the mean, or of the difference of two systems, in a design."""
    from scipy.special import ndtri

    sizes = {"prompt": design.prompt, ANSWER: design.answer, **design.raters}
    value = 0.0
    compares = design.system > 1
    for term, part in zip(components.terms, np.maximum(components.value, 0.0), strict=True):
        of_system = not term or ANSWER in term or "system" in term
        if compares and (not of_system or term == ("system",)):
            continue
        if term == ("system",):
            continue
        n = np.prod([sizes[name] for name in term if name != "system"]) if term else design.verdicts / design.system
        value += (2.0 if compares else 1.0) * part / float(n)
    return float(ndtri((1 + level) / 2) * np.sqrt(value))


# ----------------------------------------------------------------
# Reading

KNOWN_AS = {"prompt": ("prompt", "task", "item"), "judge": ("judge", "worker"), "answer": ("answer", "draw", "epoch")}


def _read(frame: pl.DataFrame, score: str) -> tuple[F8, dict[str, Any], list[str]]:
    """Return scores, the code of every facet that varies, and notes."""
    columns = {name: next((c for c in KNOWN_AS.get(name, (name,)) if c in frame.columns), None) for name in FACETS}
    if columns["prompt"] is None:
        raise DataError(f"there is no column prompt (or task); there are {', '.join(frame.columns)}")
    if score not in frame.columns:
        raise DataError(f"there is no column {score!r}; there are {', '.join(frame.columns)}: name it with --score")
    used = [score, *(column for column in columns.values() if column is not None)]
    whole = frame.select(used).drop_nulls()
    notes = [f"{len(frame) - len(whole):,} rows with empty cells are left out"] if len(whole) < len(frame) else []
    y = _scores(whole[score])
    factors: dict[str, Any] = {}
    for name, column in columns.items():
        if column is not None:
            code = whole[column].cast(pl.String).rank("dense").to_numpy().astype(np.int64) - 1
            if code.max(initial=0) > 0:
                factors[name] = code
            elif name == "prompt":
                raise DataError("there is one prompt only; variation between prompts cannot be told")
    for name in RATERS:
        if name in factors and (n := int(factors[name].max()) + 1) < 5:
            notes.append(f"there are {n} {name.replace('_', ' ')}s, so the variance between them is known roughly only")
    return y, factors, notes


def _scores(column: pl.Series) -> F8:
    """Return numbers, or 1, 1/2 and 0 for verdicts in words."""
    numbers = column.cast(pl.Float64, strict=False)
    if not numbers.null_count():
        y = numbers.to_numpy().astype(float)
        if not np.isfinite(y).all():
            raise DataError("the scores hold infinite values or NaN")
        return y
    words = column.cast(pl.String).str.strip_chars().str.to_lowercase()
    levels = sorted(set(words.to_list()))
    for high, low in (("yes", "no"), ("true", "false"), ("pass", "fail"), ("correct", "incorrect"), ("a", "b")):
        if set(levels) <= {high, low, *(TIES if high == "a" else ())}:
            return np.array([1.0 if w == high else 0.0 if w == low else 0.5 for w in words.to_list()])
    raise DataError(
        f"the scores must be numbers, yes/no, true/false, pass/fail, correct/incorrect or A/tie/B; they hold "
        f"{', '.join(levels[:6])}"
    )


def _terms(factors: Mapping[str, Any]) -> list[Term]:
    """Return all crossings; an answer is within its prompt and system."""
    crossed = [name for name in CROSSED if name in factors]
    terms = [term for size in range(1, len(crossed) + 1) for term in combinations(crossed, size)]
    if ANSWER in factors:
        within = tuple(name for name in ("prompt", "system") if name in factors)
        raters = [name for name in RATERS if name in factors]
        terms += [(*within, ANSWER, *term) for size in range(len(raters) + 1) for term in combinations(raters, size)]
    return terms


def _design(y: F8, factors: Mapping[str, Any]) -> StudyDesign:
    """Return the design of the data; numbers of answers and repeats are means."""
    n = {name: int(code.max()) + 1 for name, code in factors.items()}
    systems, raters = n.get("system", 1), {name: float(n[name]) for name in RATERS if name in n}
    place = factors["prompt"] * systems + factors.get("system", 0)
    cells = len(np.unique(place))
    answers = 1.0
    if ANSWER in factors:
        answers = len(np.unique(place * n[ANSWER] + factors[ANSWER])) / cells
    judged = cells * answers * float(np.prod(list(raters.values())))
    return StudyDesign(float(n["prompt"]), round(answers, 3), raters, round(max(len(y) / judged, 0.001), 3), systems)


# ----------------------------------------------------------------
# Tables and decisions


def name_of(term: Term) -> str:
    """Return the name of a source."""
    if not term:
        return "repeat and rest"
    shown = [name.replace("_", " ") for name in term if ANSWER not in term or name not in ("prompt", "system")]
    return " × ".join(shown)


def _table(components: Components, level: float) -> pl.DataFrame:
    low, high = components.interval(level)
    value = np.maximum(components.value, 0.0)
    return pl.DataFrame(
        {
            "source": [name_of(term) for term in components.terms], "variance": value, "low": low, "high": high,
            "share": value / max(float(value.sum()), 1e-300), "levels": components.levels,
        }
    )  # fmt: skip


def _prices(prices: Mapping[str, float] | None) -> dict[str, float]:
    given = dict(prices or {"verdict": 1.0})
    unknown = sorted(set(given) - set(PRICES))
    if unknown:
        raise ParameterError(f"prices are of {', '.join(PRICES)}; {unknown[0]!r} is none of them")
    full = {name: float(given.get(name, 0.0)) for name in PRICES}
    if min(full.values()) < 0 or not any(full.values()):
        raise ParameterError("prices must be 0 or more, and one of them above 0")
    return full


def _levers(design: StudyDesign) -> dict[str, StudyDesign]:
    """Return the design with one more prompt, answer, rater of each sort, and repeat."""
    out = {"prompts": replace(design, prompt=design.prompt + 1), "answers": replace(design, answer=design.answer + 1)}
    for name, n in design.raters.items():
        out[f"{name.replace('_', ' ')}s"] = replace(design, raters={**design.raters, name: n + 1})
    return out | {"repeated verdicts": replace(design, repeat=design.repeat + 1)}


def _next(
    components: Components, design: StudyDesign, prices: Mapping[str, float], amount: float, level: float
) -> pl.DataFrame:
    """Return what an amount buys of each lever, and the half width after it."""
    rows, now = [], half_width(components, design, level)
    for name, one_more in _levers(design).items():
        price = one_more.cost(prices) - design.cost(prices)
        if price <= 0:
            continue
        units = amount / price
        bought = _more(design, name, units)
        after = half_width(components, bought, level)
        rows.append({"buy": name, "units": units, "half_width": after, "narrower": 1 - after / now if now > 0 else 0.0})
    schema = {"buy": pl.String, "units": pl.Float64, "half_width": pl.Float64, "narrower": pl.Float64}
    return pl.DataFrame(rows, schema=schema).sort("half_width", maintain_order=True)


def _more(design: StudyDesign, lever: str, units: float) -> StudyDesign:
    if lever == "prompts":
        return replace(design, prompt=design.prompt + units)
    if lever == "answers":
        return replace(design, answer=design.answer + units)
    if lever == "repeated verdicts":
        return replace(design, repeat=design.repeat + units)
    name = lever.removesuffix("s").replace(" ", "_")
    return replace(design, raters={**design.raters, name: design.raters[name] + units})


def _plan(
    components: Components, design: StudyDesign, prices: Mapping[str, float], target: float, level: float
) -> tuple[StudyDesign, float, float]:
    """Return the cheapest design with a half width of at most the target."""
    best: tuple[StudyDesign, float, float] | None = None
    for answers, repeats, *raters in product(GRID, GRID[:4], *([GRID] * len(design.raters))):
        sizes = dict(zip(design.raters, map(float, raters), strict=True))
        trial = StudyDesign(1, answers, sizes, repeats, design.system)
        floor = half_width(components, replace(trial, prompt=1e12), level)
        if floor >= target:
            continue
        one = half_width(components, trial, level)
        prompts = max(int(np.ceil((one**2 - floor**2) / (target**2 - floor**2) - 1e-9)), 1)
        trial = replace(trial, prompt=prompts)
        cost = trial.cost(prices)
        if best is None or cost < best[1]:
            best = trial, cost, half_width(components, trial, level)
    if best is None:
        most = ", ".join(f"{GRID[-1]} {name.replace('_', ' ')}s" for name in design.raters)
        raise DataError(f"no design with up to {GRID[-1]} answers{' and ' if most else ''}{most} reaches {target:g}")
    return best
