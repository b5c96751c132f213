"""Are spammers, colluders and copiers found, and honest workers left alone? Planted crowds and three real sets."""

from __future__ import annotations

import numpy as np

import crowdwise as cw
from crowdwise.kinds.classes.workers.copying import estimate_spammers
from crowdwise.kinds.classes.workers.dependence import collusion_flags, covariance_flags
from crowdwise.kinds.classes.workers.judgement import Judgement
from crowdwise.kinds.classes.workers.outliers import agreement_outliers, robust_outliers
from crowdwise.kinds.classes.workers.quality import flags_of
from crowdwise.kinds.classes.workers.removal import drop_flagged
from tests.crowds.spammers import auc, ring, spammer_crowd

# The tutorial's table: majority vote and EM after removal, and how many workers it removes.
PUBLISHED = {"bluebird": (0.852, 0.899, 22), "dog": (0.819, 0.834, 12), "web": (0.841, 0.91, 158)}

# Variants of EM on web: how much smoothing a cell, whether the classes are held even.
VARIANTS = {
    "smoothing .01, class prior learnt (the default)": {},
    "smoothing 1, class prior learnt": {"smoothing": 1.0},
    "smoothing .01, classes even": {"prior_class": 1e6},
    "smoothing 1, classes even": {"smoothing": 1.0, "prior_class": 1e6},
}
STEPS = (1, 3, 5, 10, 500)

# The flags' constants were settled on crowds with the seeds below this one; they are scored on others.
FRESH = 500


def spammers(k: int, prior: tuple[float, ...] | None, seeds: int, method: str) -> dict[str, float]:
    """AUC of our score, of the same score with the truth in hand, and what the flags catch."""
    rows = []
    for seed in range(FRESH, FRESH + seeds):
        crowd, votes = spammer_crowd(k, prior, seed)
        bad = np.array([kind in ("guesser", "constant") for kind in crowd.kind])
        judged = Judgement(votes, cw.method(method).fit(votes))
        found = estimate_spammers(votes, judged.others)
        ceiling = estimate_spammers(votes, np.eye(k)[crowd.truth[votes.task]])
        named = [f.worker for f in flags_of(judged) if f.name in ("constant", "random")]
        hit = np.isin(votes.workers.to_numpy(), named)
        rows.append((auc(found.log_odds, bad), auc(ceiling.log_odds, bad), hit[bad].mean(), hit[~bad].mean()))
    return dict(zip(("auc", "ceiling", "recall", "honest_flagged"), np.mean(rows, axis=0).tolist(), strict=True))


def rings(
    kind: str, share: float, labels: int | None, seeds: int, method: str
) -> dict[str, tuple[float, float, float]]:
    """Recall, precision and share of honest workers flagged, over all seeds, for each way of looking."""
    ways = {
        "same wrong answers": lambda v: collusion_flags(v, cw.method(method).fit(v)),
        "agreement matrix": agreement_outliers,
        "agreement matrix, one trusted": lambda v: agreement_outliers(v, trusted=v.workers[0]),
        "MMSR residuals": robust_outliers,
    }
    total = {name: np.zeros(4) for name in ways}
    for seed in range(FRESH, FRESH + seeds):
        crowd, bad = ring(kind, share, labels, seed)
        for name, look in ways.items():
            hit = np.isin(crowd.annotations.workers.to_numpy(), [f.worker for f in look(crowd.annotations)])
            total[name] += (hit & bad).sum(), bad.sum(), hit.sum(), (~bad).sum()
    return {
        name: (
            float(t[0] / t[1]) if t[1] else float("nan"),
            float(t[0] / t[2]) if t[2] else float("nan"),
            float((t[2] - t[0]) / t[3]),
        )
        for name, t in total.items()
    }


def removal(name: str) -> list[str]:
    """Accuracies before and after covariance-based removal, beside the tutorial's."""
    data = cw.datasets.load(name)
    out = drop_flagged(data.annotations, covariance_flags(data.annotations, share=np.inf))

    def score(method: str, votes: cw.Annotations) -> float:
        return cw.evaluate(cw.method(method).fit(votes), data.truth).expected_accuracy or 0.0

    cells = [name, str(len(out.workers)), str(len(out.orphans))]
    for method in ("majority_vote", "dawid_skene", "hierarchical"):
        cells.append(f"{score(method, data.annotations):.3f} → {score(method, out.annotations):.3f}")
    vote, em, n = PUBLISHED[name]
    return [*cells, f"{vote:.3f} / {em:.3f} ({n})"]


def em_variants(name: str) -> list[list[str]]:
    """Accuracy of variants of EM stopped after so many steps, before → after covariance-based removal."""
    data = cw.datasets.load(name)
    left = drop_flagged(data.annotations, covariance_flags(data.annotations, share=np.inf)).annotations
    rows = []
    for words, params in VARIANTS.items():
        cells = [words]
        for steps in STEPS:
            em = cw.DawidSkene(max_iter=steps, **params)
            both = (cw.evaluate(em.fit(votes), data.truth).expected_accuracy for votes in (data.annotations, left))
            cells.append(" → ".join(f"{accuracy:.3f}" for accuracy in both))
        rows.append(cells)
    return rows
