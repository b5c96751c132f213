"""Who gives numbers without looking: evidence against plain densities, laws, and planted crowds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from crowdwise.kinds.numbers.maths import workers as module
from crowdwise.kinds.numbers.maths.rows import NumberRows
from crowdwise.kinds.numbers.maths.workers import following
from crowdwise.kinds.numbers.simulate import number_crowd


def rows_of(crowd, value=None):
    """The rows of a planted crowd."""
    said = crowd.value if value is None else value
    return NumberRows(crowd.task, crowd.worker, said, None, len(crowd.truth), len(crowd.kind))


def judged(crowd, value=None, others=None):
    """Chances where the truth is known."""
    rows = rows_of(crowd, value)
    known = crowd.truth[crowd.task] if others is None else others
    return following(rows, known, np.zeros(len(rows)), np.ones(rows.n_workers, dtype=bool))


def test_the_honest_law_is_a_density_with_the_level_averaged_over():
    """Two slopes and spreads of one worker: the ratio of their likelihoods, with the level integrated out."""
    rng = np.random.default_rng(1)
    others = rng.normal(size=6)
    others /= others.std()
    value = 0.7 * others + rng.normal(0, 0.3, 6)
    rows = NumberRows(np.arange(6, dtype=np.int32), np.zeros(6, dtype=np.int32), value, None, 6, 1)
    found, idle = module._evidence(rows, others, np.zeros(6), np.ones(1, dtype=bool))
    tame = module._clipped_answers(rows)
    usual = np.log(np.sqrt(tame.var(ddof=1)))
    unit = np.polyfit(others, tame, 1)[0]  # the usual slope of one worker is theirs

    def whole(slope, spread):
        s = np.exp(spread + usual)
        law = lambda level: float(np.prod(norm.pdf(tame, level + slope * unit * others, s)))  # noqa: E731
        middle = float(np.mean(tame - slope * unit * others))
        return np.log(quad(law, middle - 8 * s, middle + 8 * s)[0])

    for (i, j), (k, m) in (((30, 6), (24, 9)), ((20, 10), (34, 5))):
        told = found[0, i, j] - found[0, k, m]
        slopes, spreads = module.SLOPES, module.SPREADS
        assert told == pytest.approx(whole(slopes[i], spreads[j]) - whole(slopes[k], spreads[m]), abs=1e-3)
    shares = sum(share * module._following_normal(0.0, apart) for share, apart in module.IDLE_APART)
    blind = sum(p * np.exp(found[0, 20, j]) for j, p in enumerate(shares))
    assert idle[0] == pytest.approx(np.log(blind), abs=1e-9), "idle is a slope of 0"


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_units_and_levels_do_not_matter(scale):
    crowd = number_crowd(120, 20, per_task=4, random=0.2, reversed=0.1, seed=3)
    plain = judged(crowd)
    level = np.random.default_rng(0).normal(0, 5, 20)[crowd.worker]
    moved = judged(crowd, scale * (crowd.value + level), scale * crowd.truth[crowd.task])
    assert np.allclose(plain.random, moved.random, atol=1e-6)
    assert np.allclose(plain.reversed, moved.reversed, atol=1e-6)


@pytest.mark.parametrize("heavy", [None, 4.0])
def test_planted_sorts_are_found(heavy):
    crowd = number_crowd(400, 40, per_task=4, random=0.2, reversed=0.1, heavy=heavy, seed=4)
    found, sort = judged(crowd), np.array(crowd.kind)
    random, turned = found.sure()
    assert random[sort == "random"].mean() >= 0.75
    assert turned[sort == "reversed"].mean() >= 0.75
    assert not (random | turned)[sort == "honest"].any()


def test_a_narrow_scale_that_follows_is_honest():
    crowd = number_crowd(300, 20, per_task=5, random=0.2, seed=5)
    narrow = np.flatnonzero(np.array(crowd.kind) == "honest")[0]
    value = np.where(crowd.worker == narrow, 0.15 * crowd.value, crowd.value)
    assert judged(crowd, value).either[narrow] < 0.05


def test_others_who_know_nothing_accuse_nobody():
    crowd = number_crowd(100, 15, per_task=4, seed=6)
    assert not np.any(judged(crowd, others=np.zeros(len(crowd.value))).either)
    noise = np.random.default_rng(7).normal(size=len(crowd.value))
    assert judged(crowd, others=noise).either.max() < 0.98
    against = judged(crowd, others=-crowd.truth[crowd.task])
    assert not np.any(against.either), "a crowd that goes against its own estimates has nobody to hold up"
