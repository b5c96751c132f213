"""How much a judge's stated confidence is worth: calibrated on gold, or ignored."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...maths.judges.platt import fit_platt, logit, why_ignored
from .voices import Voices

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]

# Nobody is surer than this: log-odds are cut here.
MOST = 6.0


class Sureness:
    """Calibrations of the judges of some voices; truth[task] is a class, or K where it is not known."""

    def __init__(self, said: Voices, truth: I8, use: bool) -> None:
        self.said, self.truth = said, truth
        self.stated = np.isfinite(said.confidence)
        self.use = use and bool(self.stated.any())
        self.ones = np.ones(len(said.task))

    def fit(self, tasks: I8) -> F8:
        """platt[judge, (shift, slope, scale)] learnt on these gold tasks; NaN where the confidence is ignored."""
        said, k = self.said, self.said.share.shape[1]
        out = np.full((said.n_judges, 3), np.nan)
        if not self.use:
            return out
        rows = np.flatnonzero(np.isin(said.task, tasks) & self.stated)
        right = (said.mode[rows] == self.truth[said.task[rows]]).astype(np.float64)
        for judge in np.unique(said.judge[rows]):
            own = said.judge[rows] == judge
            sure = said.confidence[rows[own]]
            if why_ignored(sure):
                continue
            found = fit_platt(sure, right[own])
            scale = float(np.abs(log_odds(found(sure), k)).mean())
            if scale > 1e-6:
                out[judge] = found.shift, found.slope, scale
        return out

    def factor(self, platt: F8) -> F8:
        """What each voice is multiplied by: 1, or calibrated log-odds over their mean."""
        return self.apply(self.said, platt) if self.use else self.ones

    @staticmethod
    def apply(said: Voices, platt: F8) -> F8:
        """The same for other voices of these judges."""
        own = platt[said.judge]
        rows = np.flatnonzero(np.isfinite(own[:, 0]) & np.isfinite(said.confidence))
        out = np.ones(len(said.task))
        if len(rows):
            p = 1 / (1 + np.exp(-(own[rows, 0] + own[rows, 1] * logit(said.confidence[rows]))))
            out[rows] = log_odds(p, said.share.shape[1]) / own[rows, 2]
        return out


def log_odds(p: F8, k: int) -> F8:
    """log of p against an equal share of the rest for each other class."""
    p = np.clip(p, 1e-6, 1 - 1e-6)
    return np.asarray(np.clip(np.log(p * (k - 1) / (1 - p)) if k > 1 else np.zeros_like(p), -MOST, MOST))
