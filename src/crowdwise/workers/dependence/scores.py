"""How far does a worker's answer depend on the truth? Raykar and Yu's spammer score, with an interval.

A matrix of K × K cells from a few labels is mostly noise, and noise looks like dependence. So rows are held to what a
worker of this skill does in this crowd,

    skill ~ its interval,    rows[k] ~ Dir(strength · centre[k](skill) + labels[k]),    score of the rows drawn,

where the centre is the crowd's mean confusion, its diagonal moved in logits to the skill, the labels count as far as
their task's class is certain (Louis), and the strength is learnt from the crowd: how alike its workers are.
Raykar & Yu (2012), JMLR 13(16), section 3.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ...maths import information as channel
from ...maths.dirichlet import log_rows
from ..confusions import cells_of
from ..judgement import Judgement

F8 = npt.NDArray[np.float64]

# Draws behind an interval, and cells drawn at a time.
DRAWS = 200
_CELLS = 10_000_000
# Strengths tried: pseudo-labels a class behind the centre.
STRENGTHS = (2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
# No skill is nearer to zero or one: its logit must exist.
EDGE = 1e-3


def spammer_scores(judgement: Judgement) -> tuple[F8, F8, F8]:
    """The score of each worker with a 95 % interval: 0 for who answers without looking."""
    m, k = judgement.annotations.n_workers, judgement.annotations.n_classes
    if k < 2:
        return np.zeros(m), np.zeros(m), np.zeros(m)
    cells, effective = cells_of(judgement)
    # Each row at its effective number of labels, the mean over its cells.
    kept = (cells.mean * effective).sum(axis=2) / np.maximum(judgement.counts.sum(axis=2), 1e-12)
    labels = judgement.counts * np.minimum(kept, 1.0)[:, :, None]
    result, centre = judgement.result, _centre(judgement)
    skill, low, high = (_logit(x) for x in (result.skill, result.skill_low, result.skill_high))
    strength = _strength(labels, centre(skill))
    rng, out = np.random.default_rng(0), np.zeros((2, m))
    step = max(1, _CELLS // (DRAWS * k * k))
    for start in range(0, m, step):
        part = slice(start, start + step)
        luck = rng.standard_normal((DRAWS, len(skill[part])))
        # Half of a normal to each side, as wide as the interval there.
        side = np.where(luck > 0, high[part] - skill[part], skill[part] - low[part]) / 1.96
        table = strength * centre(skill[part] + luck * np.maximum(side, 0.0)) + labels[part]
        drawn = rng.standard_gamma(np.maximum(table, 1e-6)) + 1e-300
        score = channel.spammer_score(drawn / drawn.sum(axis=3, keepdims=True))
        out[:, part] = np.quantile(score, [0.025, 0.975], axis=0)
    mean = _mean(strength * centre(skill) + labels)
    return mean, np.minimum(out[0], mean), np.maximum(out[1], mean)


def _mean(table: F8) -> F8:
    """The expected score of rows ~ Dir(table): that of their means, and what their variances add."""
    size = table.sum(axis=2, keepdims=True)
    p = table / size
    return np.asarray(channel.spammer_score(p) + (p * (1 - p) / (size + 1)).sum(axis=(1, 2)) / table.shape[1])


def _logit(share: F8) -> F8:
    p = np.clip(share, EDGE, 1 - EDGE)
    return np.asarray(np.log(p / (1 - p)))


def _centre(judgement: Judgement) -> Callable[[F8], F8]:
    """What the crowd does, as a function of a worker's skill in logits: [..., true, observed]."""
    from scipy.special import expit

    k = judgement.annotations.n_classes
    same = np.arange(k)
    crowd = judgement.counts.sum(axis=0) + np.eye(k) + 1.0 / k
    crowd /= crowd.sum(axis=1, keepdims=True)
    diagonal, wrong = _logit(crowd[same, same]), crowd.copy()
    wrong[same, same] = 0.0
    wrong /= wrong.sum(axis=1, keepdims=True)
    prior = np.maximum(judgement.result.class_prior, 1e-12)
    mean = _logit(np.array(float(prior @ crowd[same, same] / prior.sum())))

    def at(skill: F8) -> F8:
        right = np.asarray(expit(diagonal + (skill - mean)[..., None]))
        out: F8 = (1 - right)[..., None] * wrong
        out[..., same, same] = right
        return out

    return at


def _strength(labels: F8, centre: F8) -> float:
    """How alike the workers are, given centre[worker, true, observed]: by the evidence of their labels."""

    def evidence(strength: float) -> float:
        return float(log_rows(labels, strength * np.maximum(centre, 1e-9), axis=2).sum())

    return max(STRENGTHS, key=evidence)
