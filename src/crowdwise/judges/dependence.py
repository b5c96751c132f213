"""How many judges are they really? Errors on gold, their correlations, and what they count for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from ..kinds.classes.methods.gold import Gold
from ..kinds.classes.methods.judges import Voices
from .maths import effective_interval, effective_number, error_correlation, shrunk, unknown_pairs

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Effective:
    """How many independent judges they count for, with an interval; `at_most` where there is no gold to tell."""

    n_judges: int
    value: float | None
    low: float | None
    high: float | None
    at_most: float | None
    n_gold: int

    def sentence(self) -> str:
        """In words, for people."""
        if self.value is None:
            if self.at_most is None:
                return f"{self.n_judges} judges: too little is known to say how many voices they are; gold needed"
            return f"{self.n_judges} judges count as at most {self.at_most:.1f}; gold needed"
        return f"{self.n_judges} judges count as {self.value:.1f} [{self.low:.1f}, {self.high:.1f}]"


def wrong_shares(said: Voices, truth: I8, tasks: I8) -> F8:
    """wrong[task, judge]: share of the judge's verdicts on these tasks that miss truth[task]; NaN where absent."""
    place = np.full(said.n_tasks, -1)
    place[tasks] = np.arange(len(tasks))
    pick = np.flatnonzero(place[said.task] >= 0)
    out = np.full((len(tasks), said.n_judges), np.nan)
    out[place[said.task[pick]], said.judge[pick]] = 1 - said.share[pick, truth[said.task[pick]]]
    return out


def effective(said: Voices, gold: Gold | None, consensus: I8, enough: int, level: float) -> Effective:
    """From errors on gold; without enough gold an upper bound by the crowd's own consensus[task]."""
    known = np.empty(0, dtype=np.int64) if gold is None else gold.known[np.isin(gold.known, said.task)]
    m = len(np.unique(said.judge))
    if gold is not None and len(known) >= enough and m:
        wrong = _present(wrong_shares(said, gold.label.astype(np.int64), known))
        value = effective_number(error_correlation(wrong).r)
        low, high = effective_interval(wrong, level)
        return Effective(m, value, min(low, value), max(high, value), None, len(known))
    tasks = np.unique(said.task)
    if not m or not len(tasks):
        return Effective(m, None, None, None, None, len(known))
    bound = effective_number(error_correlation(_present(wrong_shares(said, consensus, tasks))).r)
    return Effective(m, None, None, None, max(bound, 1.0), len(known))


def pair_table(said: Voices, gold: Gold | None, family: I8, names: pl.Series) -> pl.DataFrame:
    """A row a pair of judges: agreement, and on gold the correlation of errors, raw and shrunk; null where unknown."""
    m = said.n_judges
    first, second = np.triu_indices(m, 1)
    common, agreed = _agreement(said)
    columns = {
        "judge": names.gather(first),
        "other": names.gather(second),
        "same_family": family[first] == family[second],
        "n_common": common[first, second].astype(np.int64),
        "agreement": np.where(common > 0, agreed / np.maximum(common, 1), np.nan)[first, second],
    }
    empty = np.full(len(first), np.nan)
    n_gold, raw, better, known = np.zeros(len(first), dtype=np.int64), empty, empty, np.zeros(len(first), dtype=bool)
    if gold is not None and len(gold.known):
        wrong = wrong_shares(said, gold.label.astype(np.int64), gold.known)
        found = error_correlation(wrong)
        known = ~unknown_pairs(wrong, found.common)[first, second]
        n_gold = found.common[first, second].astype(np.int64)
        raw, better = found.r[first, second], shrunk(found, family)[0][first, second]
    columns |= {
        "n_gold": n_gold,
        "raw_correlation": np.where(known, raw, np.nan),
        "error_correlation": np.where(known, better, np.nan),
        "known": known,
    }
    return pl.DataFrame(columns).with_columns(pl.selectors.float().fill_nan(None))


def _present(wrong: F8) -> F8:
    return wrong[:, np.isfinite(wrong).any(axis=0)]


def _agreement(said: Voices) -> tuple[F8, F8]:
    """common[judge, judge] tasks, and the summed chance that two of their verdicts on one say the same."""
    from scipy.sparse import csr_array

    shape = (said.n_judges, said.n_tasks)
    here = csr_array((np.ones(len(said.task)), (said.judge, said.task)), shape=shape)
    agreed = np.zeros((said.n_judges, said.n_judges))
    for k in range(said.share.shape[1]):
        part = csr_array((said.share[:, k], (said.judge, said.task)), shape=shape)
        agreed += (part @ part.T).toarray()
    return (here @ here.T).toarray(), agreed
