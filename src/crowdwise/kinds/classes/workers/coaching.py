"""Whom would a word help? Workers who take one class for another steadily, or are right far less often than the crowd.

Neither is an accusation: a swapped pair of classes is most often a page of instructions read differently. So it is said
what is seen, "says 2 for 3 in 95 % of 154 labels", and never what may be meant by it. Who answers without looking is
left to the flags.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ....core.result import Result
from ....workers.flags import Flag, examples
from ..annotations import Annotations
from ..maths.skill import PRIOR_STRENGTH, effective_n
from .judgement import Judgement, cells_of

F8 = npt.NDArray[np.float64]

# So many labels' worth must stand behind what is said, and it must be so probable.
ENOUGH, SURE = 10, 0.99
# Skill that lies this far below the crowd's is low.
BELOW = 0.1
# Confusions named of one worker at most.
NAMED = 3
NAME = "coachable"


def coachable(annotations: Annotations, result: Result) -> list[Flag]:
    """Workers with systematic confusions or low skill, and enough labels to say so; most wrong labels first."""
    return coachable_of(Judgement(annotations, result))


def coachable_of(judgement: Judgement) -> list[Flag]:
    """The same from a judgement."""
    votes = judgement.annotations
    if votes.n_classes < 2 or not len(votes):
        return []
    swapped = _swaps(judgement)
    low, crowd = _low(judgement)
    looks = judgement.suspicion.probability < 0.5
    mistakes = votes.labels_per_worker * (1 - judgement.result.skill)
    out = []
    for w in np.argsort(-mistakes, kind="stable").tolist():
        pairs = sorted(swapped.get(w, []), key=lambda pair: -pair[2])
        if not looks[w] or not (pairs or low[w] >= SURE):
            continue
        if pairs:
            words = "; ".join(_words(votes, *pair) for pair in pairs[:NAMED])
            probability = max(pair[4] for pair in pairs)
        else:
            n, skill = votes.labels_per_worker[w], judgement.result.skill[w]
            words = f"right on about {100 * skill:.0f} % of {n:,} labels, where the crowd is on {100 * crowd:.0f} %"
            probability = float(low[w])
        out.append(Flag(votes.workers[w], NAME, probability, None, words, _tasks(judgement, w, pairs)))
    return out


Swap = tuple[int, int, float, float, float]  # true, said, wrong labels, labels of that truth, probability


def _swaps(judgement: Judgement) -> dict[int, list[Swap]]:
    """Of each worker the classes that are most often called by another class's name."""
    from scipy.special import betainc

    counts = judgement.counts
    cells, effective = cells_of(judgement)
    half = betainc(effective * cells.mean + PRIOR_STRENGTH / 2, effective * (1 - cells.mean) + PRIOR_STRENGTH / 2, 0.5)
    k = counts.shape[1]
    found = (1 - half >= SURE) & (effective >= ENOUGH) & ~np.eye(k, dtype=bool)
    out: dict[int, list[Swap]] = {}
    for w, true, said in np.argwhere(found).tolist():
        wrong, n = float(counts[w, true, said]), float(counts[w, true].sum())
        out.setdefault(w, []).append((true, said, wrong, n, float(1 - half[w, true, said])))
    return out


def _low(judgement: Judgement) -> tuple[F8, float]:
    """Probability that a worker's skill lies well below the crowd's, and the crowd's."""
    from scipy.special import betainc

    votes, skill = judgement.annotations, judgement.result.skill
    n = votes.labels_per_worker.astype(np.float64)
    crowd = float(np.average(skill, weights=np.maximum(n, 1e-9)))
    doubt = np.bincount(votes.worker, weights=judgement.right * (1 - judgement.right), minlength=len(n))
    effective = effective_n(n, doubt.astype(np.float64), skill)
    bound = float(np.clip(crowd - BELOW, 1e-6, 1 - 1e-6))
    a, b = effective * skill + PRIOR_STRENGTH * crowd, effective * (1 - skill) + PRIOR_STRENGTH * (1 - crowd)
    return np.where(effective >= ENOUGH, betainc(a, b, bound), 0.0), crowd


def _words(votes: Annotations, true: int, said: int, wrong: float, n: float, _: float) -> str:
    return f"says {votes.classes[said]!r} for {votes.classes[true]!r} in {100 * wrong / n:.0f} % of {n:,.0f} labels"


def _tasks(judgement: Judgement, w: int, pairs: list[Swap]) -> tuple[object, ...]:
    """Tasks that show it: those of the confusions, or those on which the others contradict the worker most."""
    votes = judgement.annotations
    rows = np.flatnonzero(votes.worker == w)
    if pairs:
        shown = np.zeros(len(rows))
        for true, said, *_ in pairs[:NAMED]:
            shown = np.maximum(shown, (votes.label[rows] == said) * judgement.posterior[votes.task[rows], true])
    else:
        shown = 1 - judgement.confirmed[rows]
    order = np.argsort(-shown, kind="stable")
    return examples(votes, votes.task[rows[order]][shown[order] > 0.5])
