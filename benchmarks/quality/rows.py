"""Scores of one method on one crowd, for the pages about the default."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import crowdwise as cw
from crowdwise.evaluation.calibration import expected_calibration_error
from crowdwise.kinds.classes.scoring.evaluate import probability_terms

# Share of wrong labels among those that are shipped; how far a claim may be off; how far below the vote is far.
ERROR, OFF, BELOW = 0.05, 0.12, 0.01
# Shares of the labels, the surest first, whose error is shown.
COVERAGES = tuple(c / 10 for c in range(1, 11))


@dataclass(frozen=True)
class Row:
    """Scores of one method on one crowd. `oracle` and `plug_in`: share of the labels that are shipped (the page says
    how), and the share of wrong labels among those that the plug-in rule ships (nan: none); `risk`: see `risk_at`."""

    crowd: str
    method: str
    n: int
    accuracy: float
    log_loss: float
    ece: float
    claimed: float
    oracle: float
    plug_in: float
    plug_in_error: float
    low: float = float("nan")
    high: float = float("nan")
    power: float = float("nan")
    share: float = float("nan")
    copying: int = 0
    risk: tuple[float, ...] = ()

    @property
    def gap(self) -> float:
        """Claimed minus true accuracy."""
        return self.claimed - self.accuracy


def scored(crowd: str, method: str, result: cw.Result, truth: np.ndarray) -> Row:
    """Scores over the tasks whose truth is known; a class that nobody named counts as wrong."""
    known = np.flatnonzero(truth >= 0)
    p = np.zeros((len(known), max(result.posterior.shape[1], int(truth.max()) + 1)))
    p[:, : result.posterior.shape[1]] = result.posterior[known]
    terms = probability_terms(p, truth[known].astype(np.int32))
    hit, sure = np.asarray(terms["expected_accuracy"], dtype=float), np.asarray(terms["mean_confidence"], dtype=float)
    plug_in = prefix(sure, 1 - sure)
    order = np.argsort(-sure, kind="stable")
    test = result.extra.get("independence", {})
    expected = result.expected_accuracy
    return Row(
        crowd, method, len(known), float(hit.mean()), float(np.mean(terms["log_loss"])),
        expected_calibration_error(sure, hit), float(sure.mean()), prefix(sure, 1 - hit) / len(known),
        plug_in / len(known), float(1 - hit[order[:plug_in]].mean()) if plug_in else float("nan"),
        *((float("nan"),) * 2 if expected is None else expected[1:]), test.get("power", float("nan")),
        test.get("share", float("nan")), len(result.extra.get("copying", [])), risk_at(sure, 1 - hit),
    )  # fmt: skip


def prefix(sure: np.ndarray, wrong: np.ndarray, error: float = ERROR) -> int:
    """How many of the surest tasks can be taken, ties together, with a mean of `wrong` of at most `error`."""
    order = np.argsort(-sure, kind="stable")
    mean = np.cumsum(wrong[order]) / np.arange(1, len(order) + 1)
    last = np.append(np.diff(sure[order]) < 0, True)  # the end of a run of equal confidences
    fits = np.flatnonzero(last & (mean <= error + 1e-12))
    return int(fits[-1]) + 1 if len(fits) else 0


def risk_at(sure: np.ndarray, wrong: np.ndarray) -> tuple[float, ...]:
    """Share of wrong labels among the surest share of the tasks, for COVERAGES; equally sure tasks in random order."""
    _, place = np.unique(-sure, return_inverse=True)
    mean = (np.bincount(place, weights=wrong) / np.bincount(place))[place]
    taken = np.cumsum(mean[np.argsort(place, kind="stable")]) / np.arange(1, len(sure) + 1)
    return tuple(float(taken[max(round(c * len(sure)), 1) - 1]) for c in COVERAGES)
