"""Dependence of judges: correlations of their errors on gold, and the effective number of independent judges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from ..core.arrays import F8, I8
from ..kinds.classes.methods.gold import GoldLabels
from ..kinds.classes.methods.judges import JudgeVerdicts
from ..stats.discovery import adjusted
from .maths import effective_interval, effective_number, error_correlation, shrunk, unknown_pairs

LEVEL = 0.05
# Cells that the permutations of the errors may draw.
WORK = 40_000_000


@dataclass(frozen=True)
class Effective:
    """Effective number of independent judges, with an interval; only an upper bound, `at_most`, without gold."""

    n_judges: int
    value: float | None
    low: float | None
    high: float | None
    at_most: float | None
    n_gold: int

    def sentence(self) -> str:
        """The effective number as a sentence."""
        if self.value is None:
            if self.at_most is None:
                return f"{self.n_judges} judges: too little data for their effective number; gold needed"
            return f"{self.n_judges} judges count as at most {self.at_most:.1f}; gold needed"
        return f"{self.n_judges} judges count as {self.value:.1f} [{self.low:.1f}, {self.high:.1f}]"


def wrong_shares(verdicts: JudgeVerdicts, truth: I8, tasks: I8) -> F8:
    """wrong[task, judge]: share of the judge's verdicts on these tasks that differ from truth[task]; NaN if absent."""
    position = np.full(verdicts.n_tasks, -1)
    position[tasks] = np.arange(len(tasks))
    rows = np.flatnonzero(position[verdicts.task] >= 0)
    out = np.full((len(tasks), verdicts.n_judges), np.nan)
    out[position[verdicts.task[rows]], verdicts.judge[rows]] = 1 - verdicts.share[rows, truth[verdicts.task[rows]]]
    return out


def effective(
    verdicts: JudgeVerdicts, gold: GoldLabels | None, consensus: I8, min_gold: int, level: float
) -> Effective:
    """Estimate the effective number from errors on gold; without enough gold bound it by consensus[task]."""
    gold_tasks = np.empty(0, dtype=np.int64) if gold is None else gold.tasks[np.isin(gold.tasks, verdicts.task)]
    m = len(np.unique(verdicts.judge))
    if gold is not None and len(gold_tasks) >= min_gold and m:
        wrong = _present(wrong_shares(verdicts, gold.label.astype(np.int64), gold_tasks))
        value = effective_number(error_correlation(wrong).r)
        low, high = effective_interval(wrong, level)
        return Effective(m, value, min(low, value), max(high, value), None, len(gold_tasks))
    tasks = np.unique(verdicts.task)
    if not m or not len(tasks):
        return Effective(m, None, None, None, None, len(gold_tasks))
    bound = effective_number(error_correlation(_present(wrong_shares(verdicts, consensus, tasks))).r)
    return Effective(m, None, None, None, max(bound, 1.0), len(gold_tasks))


def pair_table(
    verdicts: JudgeVerdicts, gold: GoldLabels | None, family: I8, names: pl.Series, seed: int = 0
) -> pl.DataFrame:
    """Table with a row per pair of judges: agreement, and the correlation of errors on gold, raw and shrunk.

    `together` marks the pairs that err together more than chance explains (Benjamini-Hochberg at .05).
    """
    m = verdicts.n_judges
    first, second = np.triu_indices(m, 1)
    common, agreed = _agreement(verdicts)
    columns = {
        "judge": names.gather(first),
        "other": names.gather(second),
        "same_family": family[first] == family[second],
        "n_common": common[first, second].astype(np.int64),
        "agreement": np.where(common > 0, agreed / np.maximum(common, 1), np.nan)[first, second],
    }
    empty = np.full(len(first), np.nan)
    n_gold, raw, shrunk_correlation, is_known, p = (
        np.zeros(len(first), dtype=np.int64),
        empty,
        empty,
        np.zeros(len(first), dtype=bool),
        empty,
    )
    if gold is not None and len(gold.tasks):
        wrong = wrong_shares(verdicts, gold.label.astype(np.int64), gold.tasks)
        correlation = error_correlation(wrong)
        is_known = ~unknown_pairs(wrong, correlation.common)[first, second]
        n_gold = correlation.common[first, second].astype(np.int64)
        raw, shrunk_correlation = correlation.r[first, second], shrunk(correlation, family)[0][first, second]
        truth = gold.label[gold.tasks].astype(np.int64)
        p = chance_of_common_errors(wrong, truth, np.random.default_rng(seed))[first, second]
    columns |= {
        "n_gold": n_gold,
        "raw_correlation": np.where(is_known, raw, np.nan),
        "error_correlation": np.where(is_known, shrunk_correlation, np.nan),
        "known": is_known,
        "p": np.where(is_known, p, np.nan),
        "p_adjusted": np.nan,
        "together": np.zeros(len(first), dtype=bool),
    }
    if is_known.any():
        q = np.full(len(first), np.nan)
        q[is_known] = adjusted(p[is_known])
        columns |= {"p_adjusted": q, "together": q <= LEVEL}
    return pl.DataFrame(columns).with_columns(pl.selectors.float().fill_nan(None))


def chance_of_common_errors(wrong: F8, truth: I8, rng: np.random.Generator) -> F8:
    """p[judge, judge]: one-sided p-values of common errors, if each judge errs independently within a true class.

    Each judge's errors are permuted over its tasks of the same true class, so that neither the number of its errors nor
    a class that is hard for all judges counts as erring together. Beyond the reach of the permutations a normal
    distribution with their mean and variance gives the tail.

    Args:
        wrong: wrong[task, judge], share of wrong verdicts, NaN if absent.
        truth: True class of each task.
        rng: Random generator of the permutations.
    """
    from scipy.special import ndtr

    n, m = wrong.shape
    draws = int(np.clip(WORK // max(n * m, 1), 200, 2000))
    z, strata = np.zeros((n, m)), [np.flatnonzero(truth == k) for k in np.unique(truth)]
    for rows in strata:
        part = wrong[rows]
        mean = np.nansum(part, axis=0) / np.maximum(np.isfinite(part).sum(axis=0), 1)
        z[rows] = np.where(np.isfinite(part), part - mean, 0.0)
    observed = z.T @ z
    reached, total, squares = np.zeros((m, m)), np.zeros((m, m)), np.zeros((m, m))
    absent = np.isnan(wrong)
    for _ in range(draws):
        drawn = np.zeros((n, m))
        for rows in strata:
            key = np.where(absent[rows], 2.0, rng.random((len(rows), m)))  # absent cells stay behind the others
            place = np.argsort(np.where(absent[rows], 2.0, 0.0), axis=0, kind="stable")
            source = np.argsort(key, axis=0)
            values = np.take_along_axis(z[rows], source, axis=0)
            part = np.zeros((len(rows), m))
            np.put_along_axis(part, place, values, axis=0)
            drawn[rows] = part
        common = drawn.T @ drawn
        reached += common >= observed - 1e-9
        total += common
        squares += common**2
    mean = total / draws
    sd = np.sqrt(np.maximum(squares / draws - mean**2, 1e-12))
    p = (1 + reached) / (1 + draws)
    return np.asarray(np.where(reached == 0, np.minimum(p, 1 - ndtr((observed - mean) / sd)), p))


def _present(wrong: F8) -> F8:
    return wrong[:, np.isfinite(wrong).any(axis=0)]


def _agreement(verdicts: JudgeVerdicts) -> tuple[F8, F8]:
    """common[judge, judge] tasks, and the summed probability that two of their verdicts on a task agree."""
    from scipy.sparse import csr_array

    shape = (verdicts.n_judges, verdicts.n_tasks)
    judged = csr_array((np.ones(len(verdicts.task)), (verdicts.judge, verdicts.task)), shape=shape)
    agreed = np.zeros((verdicts.n_judges, verdicts.n_judges))
    for k in range(verdicts.share.shape[1]):
        part = csr_array((verdicts.share[:, k], (verdicts.judge, verdicts.task)), shape=shape)
        agreed += (part @ part.T).toarray()
    return (judged @ judged.T).toarray(), agreed
