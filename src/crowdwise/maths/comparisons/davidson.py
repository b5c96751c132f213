"""Davidson's model of ties, with workers: log-odds of left, right and tie are a, -a and t_m,

    a = (b_m (score_left - score_right) + c_m) / 2,

b_m ~ N(1, .) a worker's slope (0: guesses, below 0: reversed), c_m their pull to the left, t_m their liking for ties.
Davidson (1970), doi:10.1080/01621459.1970.10481082; without ties it is Bradley and Terry's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .crowd import COMPILED
from .ridge import ridge
from .rows import LEFT, TIE, PairRows, total
from .uncertainty import Block, Cross, blocks

F8 = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class DavidsonObjective:
    """x = scores, slopes, positions, ties (one of each for every worker), mean position, mean tie.

    Standard deviations of 0 hold slopes at 1, and positions and ties at the crowd's.
    """

    rows: PairRows
    strength: float
    slope: float
    position: float
    tie: float

    def parts(self, x: F8) -> tuple[F8, F8, F8, F8, float, float]:
        """The parameters one by one; where a spread is 0, everybody has the crowd's."""
        k, m = self.rows.n_items, self.rows.n_workers
        score, b, c, t = np.split(x[: k + 3 * m], [k, k + m, k + 2 * m])
        mean_c, mean_t = float(x[-2]), float(x[-1])
        b = b if self.slope > 0 else np.ones(m)
        c = c if self.position > 0 else np.full(m, mean_c)
        t = t if self.tie > 0 else np.full(m, mean_t)
        return score, b, c, t if self.rows.has_ties else np.full(m, -np.inf), mean_c, mean_t

    def start(self) -> F8:
        """Scores 0, slopes 1, no position, ties as often as they were said."""
        k, m = self.rows.n_items, self.rows.n_workers
        x = np.zeros(k + 3 * m + 2)
        x[k : k + m] = 1.0
        heard = max(float(self.rows.weights.sum()), 1e-9)
        share = float(self.rows.weights[self.rows.outcome == TIE].sum()) / heard
        x[k + 2 * m : k + 3 * m] = x[-1] = (
            np.log((share + 1e-3) / (1 - share + 1e-3) * 2) if self.rows.has_ties else 0.0
        )
        return x

    def __call__(self, x: F8) -> tuple[float, F8, F8]:
        """Value, gradient, and a positive curvature of each parameter."""
        score, b, c, t, mean_c, mean_t = self.parts(x)
        value, by_item, by_worker = self._pass(score, b, c, t)
        rv, rg, rh = ridge(score, self.strength)
        gs, hs = by_item[:, 0] + rg, by_item[:, 1] + rh + 1e-9
        value += rv
        grads, curves, means = [gs], [hs], []
        for j, (values, sd, middle) in enumerate(
            ((b, self.slope, 1.0), (c, self.position, mean_c), (t, self.tie, mean_t))
        ):
            g, h = by_worker[:, 2 * j].copy(), by_worker[:, 2 * j + 1].copy()
            off = j == 2 and not self.rows.has_ties
            if sd <= 0 or off:  # all share the mean: its gradient is theirs together
                means.append((0.0, 1.0) if off else (float(g.sum()), float(h.sum()) + 1e-6))
                g, h = np.zeros_like(g), np.ones_like(h)
            else:
                gap = (values - middle) / sd
                value -= 0.5 * float(gap @ gap)
                g -= gap / sd
                h += 1 / sd**2
                means.append((float(gap.sum()) / sd, len(gap) / sd**2 + 1e-6))
            grads.append(g)
            curves.append(h)
        (gc, hc), (gt, ht) = means[1:]
        # The crowd's own pull to a side is about as large as one worker's; a few answers must not be explained by it.
        # Where sides were never mixed (left is always the first by name) they are not seen apart from the items.
        hold = 1 / max(self.position, 0.3) ** 2 if self.rows.mixed_sides else 1e12
        value -= 0.5 * (hold * mean_c**2 + 1e-3 * mean_t**2)
        tail = np.array([gc - hold * mean_c, gt - 1e-3 * mean_t]), np.array([hc + hold, ht + 1e-3])
        return float(value), np.concatenate([*grads, tail[0]]), np.concatenate([*curves, tail[1]])

    def _pass(self, score: F8, b: F8, c: F8, t: F8) -> tuple[float, F8, F8]:
        """Log-likelihood; by item gradient, curvature; by worker both of slope, position, tie."""
        rows = self.rows
        by_item, by_worker = np.zeros((rows.n_items, 2)), np.zeros((rows.n_workers, 6))
        if len(rows) >= COMPILED:
            from ..kernels.comparisons_compiled import davidson_pass

            value = davidson_pass(rows.left, rows.right, rows.outcome, rows.worker, rows.weights, score, b, c,
                                  np.exp(t), by_item, by_worker)  # fmt: skip
            return float(value), by_item, by_worker
        w, who = rows.weights, rows.worker
        d = score[rows.left] - score[rows.right]
        u = np.stack([(b[who] * d + c[who]) / 2, -(b[who] * d + c[who]) / 2, t[who]], axis=1)
        top = u.max(axis=1)
        p = np.exp(u - top[:, None])
        mass = p.sum(axis=1)
        p /= mass[:, None]
        n = np.arange(len(rows))
        value = float(w @ (u[n, rows.outcome] - top - np.log(mass))) if len(rows) else 0.0
        side = np.where(rows.outcome == TIE, 0.0, np.where(rows.outcome == LEFT, 1.0, -1.0))
        ga = w * (side - (p[:, 0] - p[:, 1]))
        ia = w * (p[:, 0] + p[:, 1] - (p[:, 0] - p[:, 1]) ** 2)
        gd, hd = ga * b[who] / 2, ia * b[who] ** 2 / 4
        for j, (one, two) in enumerate(((gd, -gd), (hd, hd))):
            by_item[:, j] = total(rows.left, one, rows.n_items) + total(rows.right, two, rows.n_items)
        tied = w * ((rows.outcome == TIE) - p[:, 2])
        for j, each in enumerate((ga * d / 2, ia * d**2 / 4, ga / 2, ia / 4, tied, w * p[:, 2] * (1 - p[:, 2]))):
            by_worker[:, j] = total(who, each, rows.n_workers)
        return value, by_item, by_worker

    def blocks(self, x: F8) -> list[Block]:
        """The covariance of the scores, slopes and positions estimated beside them."""
        rows = self.rows
        score, b, c, t, _, _ = self.parts(x)
        d, who = score[rows.left] - score[rows.right], rows.worker
        a = (b[who] * d + c[who]) / 2
        top = np.maximum(np.abs(a), t[who])
        up, down, tie = np.exp(a - top), np.exp(-a - top), np.exp(t[who] - top)
        p, q = up / (up + down + tie), down / (up + down + tie)
        info = rows.weights * (p + q - (p - q) ** 2) / 4
        cross = []
        for sd, lean in ((self.slope, d), (self.position, np.ones_like(d))):
            if sd > 0:
                own: F8 = total(who, info * lean**2, rows.n_workers) + 1 / sd**2
                cross.append(Cross(info * b[who] * lean, own))
        return blocks(rows, info * b[who] ** 2, self.strength, cross)
