"""Do 95 % intervals hold the truth 95 times in a hundred? Simulated crowds, hundreds of them."""

from __future__ import annotations

import warnings

import numpy as np

import crowdwise as cw
from crowdwise import simulate
from crowdwise.kinds.classes.workers.agreement import agreement
from crowdwise.kinds.classes.workers.dependence import spammer_scores
from crowdwise.kinds.classes.workers.judgement import Judgement, classes_of
from crowdwise.stats import agreement as chance
from crowdwise.stats.information import spammer_score


def population(crowd: simulate.Crowd) -> dict[str, float]:
    """What the coefficients would be with endlessly many tasks, from the workers' true confusions."""
    a, d = crowd.confusion, crowd.class_prior
    m, k = a.shape[:2]
    joint = np.einsum("k,mkl,nko->mnlo", d, a, a)
    off = ~np.eye(m, dtype=bool)
    coincidences = joint[off].mean(axis=0)
    shares = np.einsum("k,mkl->l", d, a) / m
    one = np.ones(())
    # With endlessly many labels the factor (n - 1) / n of alpha is one.
    big = 1e12
    sums = chance.Sums(coincidences * big, coincidences * big, shares * big, one * big, one * big)
    identity = np.eye(k)
    pair = np.array([joint[i, j] for i in range(m) for j in range(i)])
    return {
        "raw agreement": float(chance.observed(sums, identity)),
        "Krippendorff's alpha": float(chance.alpha(sums, "nominal", np.arange(k, dtype=float))),
        "Fleiss' kappa": float(chance.fleiss_kappa(sums, identity)),
        "Gwet's AC1": float(chance.gwet_ac(sums, identity)),
        "Cohen's kappa": float(chance.cohen_kappa(pair, identity).mean()),
        "Scott's pi": float(chance.scott_pi(pair, identity).mean()),
    }


def agreement_coverage(crowds: range) -> dict[str, list[bool]]:
    """Whether each coefficient's interval holds the population value, crowd by crowd."""
    inside: dict[str, list[bool]] = {}
    for i in crowds:
        rng = np.random.default_rng(i)
        k, m, n = int(rng.integers(2, 5)), int(rng.integers(2, 8)), int(rng.integers(60, 301))
        groups = [simulate.DirichletConfusion(m)] if i % 2 else [simulate.OneCoin(m, low=0.6, high=0.95)]
        prior = rng.dirichlet(np.full(k, 3.0))
        # Gaps at random, and with them tasks of different numbers of labels, in a third of the crowds.
        gaps = simulate.MissingAtRandom(0.7) if i % 3 == 0 and m > 3 else simulate.Dense()
        crowd = simulate.crowd(n, k, groups, gaps, class_prior=prior, seed=i)
        truth = population(crowd)
        for c in agreement(crowd.annotations):
            name = c.name.partition(",")[0]
            if c.value is not None and c.low is not None:
                inside.setdefault(name, []).append(c.low <= truth[name] <= c.high)
    return inside


def skill_coverage(crowds: range, method: str) -> dict[str, list[bool]]:
    """Whether the intervals of skill, recall and spammer score hold the truth, worker by worker."""
    inside: dict[str, list[bool]] = {"skill": [], "recall": []}
    for i in crowds:
        rng = np.random.default_rng(i)
        k, labels = int(rng.choice([2, 3, 4, 10, 20])), int(rng.integers(3, 9))
        groups = [simulate.OneCoin(20, low=0.55, high=0.95)]
        crowd = simulate.crowd(300, k, groups, simulate.PerTask(labels), seed=i)
        with warnings.catch_warnings():  # with twenty classes and three labels a task EM may go on for ever
            warnings.simplefilter("ignore", cw.errors.ConvergenceWarning)
            result = cw.method(method).fit(crowd.annotations)
        true = np.einsum("k,wkk->w", crowd.class_prior, crowd.confusion)
        inside["skill"] += ((result.skill_low <= true) & (true <= result.skill_high)).tolist()
        judged = Judgement(crowd.annotations, result)
        table = classes_of(judged)
        recall = np.einsum("wkk->wk", crowd.confusion).ravel()
        low, high = table["recall_low"].to_numpy(), table["recall_high"].to_numpy()
        inside["recall"] += ((low <= recall) & (recall <= high)).tolist()
        _, low, high = spammer_scores(judged)
        score = spammer_score(crowd.confusion)
        name = f"spammer score, {'10 or 20' if k > 4 else '2 to 4'} classes"
        inside.setdefault(name, []).extend(((low <= score) & (score <= high)).tolist())
    return inside
