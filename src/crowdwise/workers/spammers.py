"""Flags for who answers without looking, and for who is wrong more often than guessing would be; see suspicion.py."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..core.result import Result
from ..kinds.classes.annotations import Annotations
from .dependence.following import FOLLOWS, follows_others
from .flags import Flag, examples
from .judgement import Judgement
from .suspicion import ADVERSARIAL, ALWAYS, LEVEL, MIN_LABELS, TYPICAL

F8 = npt.NDArray[np.float64]


def spammer_flags(annotations: Annotations, result: Result, level: float = LEVEL) -> list[Flag]:
    """Flags `constant`, `random` and `adversarial`, each with its probability; `unknown` for too few labels."""
    return flags_of(Judgement(annotations, result), level)


def flags_of(judgement: Judgement, level: float = LEVEL) -> list[Flag]:
    """The same from a judgement."""
    votes = judgement.annotations
    n, k = votes.labels_per_worker, votes.n_classes
    found = [
        Flag(votes.workers[w], "unknown", evidence=f"{n[w]} labels; at least {MIN_LABELS} are needed to judge a worker")
        for w in np.flatnonzero(n < MIN_LABELS).tolist()
    ]
    if k < 2:
        return found
    seen = judgement.suspicion
    said = np.bincount(votes.cell, minlength=len(n) * k).reshape(len(n), k)
    below, chance = worse_than_chance(judgement, said)
    following = follows_others(votes, judgement.others)
    follows = following.score
    # With two classes weak workers are close to chance: who may be one, by two standard deviations, is not accused.
    weak = following.less_than(TYPICAL, sure=FOLLOWS) | (said.max(axis=1) >= ALWAYS * n)
    for w in np.flatnonzero(n >= MIN_LABELS).tolist():
        spam = float(seen.probability[w])
        if spam >= level and follows[w] < FOLLOWS and weak[w]:
            found.append(_spammer(judgement, w, spam, said[w]))
        elif below[w] >= ADVERSARIAL and spam < 0.5:
            words = (
                f"right on about {judgement.result.skill[w]:.0%} of {n[w]} labels, where guessing gives "
                f"{chance[w]:.0%}: knows the answers and gives others"
            )
            found.append(Flag(votes.workers[w], "adversarial", float(below[w]), None, words, _wrong(judgement, w)))
    return found


def _spammer(judgement: Judgement, w: int, probability: float, said: npt.NDArray[np.int64]) -> Flag:
    votes = judgement.annotations
    n, top = int(said.sum()), int(said.argmax())
    share = said[top] / n
    agreed = float(judgement.confirmed[votes.worker == w].mean())
    name = votes.classes[top]
    if share >= ALWAYS:
        words = f"said {name!r} in {said[top]} of {n} labels, whatever the others said"
        return Flag(votes.workers[w], "constant", probability, None, words, _wrong(judgement, w))
    words = (
        f"{n} labels that do not follow the truth: the others confirm {agreed:.0%} of them, "
        f"and guessing in the same proportions would give {_by_chance(judgement, w, said):.0%}"
    )
    return Flag(votes.workers[w], "random", probability, None, words, _wrong(judgement, w))


def _by_chance(judgement: Judgement, w: int, said: npt.NDArray[np.int64]) -> float:
    mine = judgement.annotations.worker == w
    return float(judgement.others[mine].mean(axis=0) @ (said / said.sum()))


def _wrong(judgement: Judgement, w: int) -> tuple[object, ...]:
    """The tasks on which the others contradict the worker most."""
    rows = np.flatnonzero(judgement.annotations.worker == w)
    rows = rows[np.argsort(judgement.confirmed[rows], kind="stable")]
    return examples(judgement.annotations, judgement.annotations.task[rows[judgement.confirmed[rows] < 0.5]])


def worse_than_chance(judgement: Judgement, said: npt.NDArray[np.int64]) -> tuple[F8, F8]:
    """Probability that a worker is right less often than their own proportions of labels by luck, and that."""
    from scipy.special import betainc

    from ..maths.skill import PRIOR_STRENGTH, effective_n

    votes, skill = judgement.annotations, judgement.result.skill
    n = votes.labels_per_worker.astype(np.float64)
    m, k = said.shape
    expected = np.stack([np.bincount(votes.worker, weights=judgement.others[:, c], minlength=m) for c in range(k)], 1)
    size = np.maximum(n, 1.0)
    chance = np.clip(((said / size[:, None]) * (expected / size[:, None])).sum(axis=1), 1e-6, 1 - 1e-6)
    doubt = np.bincount(votes.worker, weights=judgement.right * (1 - judgement.right), minlength=m)
    effective = effective_n(n, doubt.astype(np.float64), skill)
    a, b = effective * skill, effective * (1 - skill)
    # A worker at chance is the most charitable prior for an accusation: two labels' worth.
    below = betainc(a + PRIOR_STRENGTH * chance, b + PRIOR_STRENGTH * (1 - chance), chance)
    return np.where(n >= MIN_LABELS, below, 0.0), chance
