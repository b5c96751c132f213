"""Workers who may benefit from feedback: with systematic confusions of classes, or much less accurate than most.

Most often, a swapped pair of classes means that the instructions were understood differently, so the evidence is
descriptive: "labels 3 as 2 in 95 % of 154 cases". Spammers are covered by the flags, and a worker whose labels may as
well be guesses is none to talk to. Models are recalibrated or replaced, not coached.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

from ....core.arrays import F8
from ....core.result import Result
from ....core.side_tables import column_by
from ....workers.flags import Flag, examples
from ..annotations import Annotations
from ..maths.skill import PRIOR_STRENGTH, effective_n
from .dependence import MIN_Z, excess_confirmation
from .judgement import Judgement, cells_of
from .quality import worse_than_chance

# Least effective number of labels and least probability of a finding.
ENOUGH, SURE = 10, 0.99
# Greatest probability that the accuracy of a coachable worker is no better than guessing.
LUCK = 0.001
# Skill is low if it is this far below the crowd's.
BELOW = 0.1
# Most confusions that are reported for one worker.
NAMED = 3
NAME = "coachable"


def coachable(annotations: Annotations, result: Result) -> list[Flag]:
    """List workers with systematic confusions or low skill, and enough labels as evidence; most wrong labels first."""
    return coachable_of(Judgement(annotations, result))


def coachable_of(judgement: Judgement) -> list[Flag]:
    """Like `coachable`, from a judgement."""
    votes = judgement.annotations
    if votes.n_classes < 2 or not len(votes):
        return []
    swapped = _swaps(judgement)
    p_low, crowd = _low(judgement)
    may_learn = _may_learn(judgement)
    mistakes = votes.labels_per_worker * (1 - judgement.result.skill)
    out = []
    for w in np.argsort(-mistakes, kind="stable").tolist():
        pairs = sorted(swapped.get(w, []), key=lambda pair: -pair[2])
        if not may_learn[w] or not (pairs or p_low[w] >= SURE):
            continue
        if pairs:
            evidence = "; ".join(_words(votes, *pair) for pair in pairs[:NAMED])
            probability = max(pair[4] for pair in pairs)
        else:
            n, skill = votes.labels_per_worker[w], judgement.result.skill[w]
            evidence = f"right on about {100 * skill:.0f} % of {n:,} labels, the crowd on {100 * crowd:.0f} %"
            probability = float(p_low[w])
        out.append(Flag(votes.workers[w], NAME, probability, None, evidence, _tasks(judgement, w, pairs)))
    return out


def _may_learn(judgement: Judgement) -> npt.NDArray[np.bool_]:
    """Whether each worker is a person whose labels follow the truth, in either direction, more than guesses do."""
    votes = judgement.annotations
    follows = excess_confirmation(votes, judgement.others).score
    out = (judgement.spammer_estimate.probability < 0.5) & (np.abs(follows) >= MIN_Z)
    source = column_by(votes.about_workers, "source", votes.workers)
    if source is not None:
        out &= ~(source.cast(pl.String) == "model").fill_null(False).to_numpy()
    return np.asarray(out)


Swap = tuple[int, int, float, float, float]  # true, observed, wrong labels, labels of the true class, probability


def _swaps(judgement: Judgement) -> dict[int, list[Swap]]:
    """For each worker, the classes that are labelled as one other class most of the time."""
    from scipy.special import betainc

    counts = judgement.counts
    cells, effective = cells_of(judgement)
    half = betainc(effective * cells.mean + PRIOR_STRENGTH / 2, effective * (1 - cells.mean) + PRIOR_STRENGTH / 2, 0.5)
    k = counts.shape[1]
    is_confused = (1 - half >= SURE) & (effective >= ENOUGH) & ~np.eye(k, dtype=bool)
    out: dict[int, list[Swap]] = {}
    for w, true, observed in np.argwhere(is_confused).tolist():
        wrong, n = float(counts[w, true, observed]), float(counts[w, true].sum())
        out.setdefault(w, []).append((true, observed, wrong, n, float(1 - half[w, true, observed])))
    return out


def _low(judgement: Judgement) -> tuple[F8, float]:
    """Probability that a worker's skill is well below the crowd's, and the crowd's skill."""
    from scipy.special import betainc

    votes, skill = judgement.annotations, judgement.result.skill
    n = votes.labels_per_worker.astype(np.float64)
    crowd = float(np.average(skill, weights=np.maximum(n, 1e-9)))
    variance = np.bincount(votes.worker, weights=judgement.right * (1 - judgement.right), minlength=len(n))
    effective = effective_n(n, variance.astype(np.float64), skill)
    bound = float(np.clip(crowd - BELOW, 1e-6, 1 - 1e-6))
    a, b = effective * skill + PRIOR_STRENGTH * crowd, effective * (1 - skill) + PRIOR_STRENGTH * (1 - crowd)
    # Nor is a worker coachable whose accuracy may be that of guessing.
    label_counts = np.bincount(votes.cell, minlength=len(n) * votes.n_classes).reshape(len(n), votes.n_classes)
    is_above = worse_than_chance(judgement, label_counts)[0] < LUCK
    return np.where((effective >= ENOUGH) & is_above, betainc(a, b, bound), 0.0), crowd


def _words(votes: Annotations, true: int, observed: int, wrong: float, n: float, _: float) -> str:
    return f"labels {votes.classes[true]!r} as {votes.classes[observed]!r} in {100 * wrong / n:.0f} % of {n:,.0f} cases"


def _tasks(judgement: Judgement, w: int, pairs: list[Swap]) -> tuple[object, ...]:
    """Example tasks: those with the confusions, or those on which the others contradict the worker most."""
    votes = judgement.annotations
    rows = np.flatnonzero(votes.worker == w)
    if pairs:
        relevance = np.zeros(len(rows))
        for true, observed, *_ in pairs[:NAMED]:
            relevance = np.maximum(
                relevance, (votes.label[rows] == observed) * judgement.posterior[votes.task[rows], true]
            )
    else:
        relevance = 1 - judgement.confirmed[rows]
    order = np.argsort(-relevance, kind="stable")
    return examples(votes, votes.task[rows[order]][relevance[order] > 0.5])
