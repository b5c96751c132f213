"""Who is good? One row a worker, with intervals that know that nobody saw the truth.

Intervals of shares are Beta posteriors at the effective number of observations (Louis 1982, see maths/skill): a label
whose correctness is in doubt counts for less. Information is in bits and freed of its small-sample bias.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ....core.result import Result
from ....stats import information as channel
from ....workers.flags import Flag, examples
from ....workers.timing import timing
from ..annotations import Annotations
from ..maths.skill import effective_n
from ..methods.gold import as_gold
from .copying import ADVERSARIAL, ALWAYS, LEVEL, MIN_LABELS, TYPICAL
from .dependence import FOLLOWS, follows_others, spammer_scores
from .drift import alarms
from .judgement import Judgement

F8 = npt.NDArray[np.float64]


def quality(annotations: Annotations, result: Result, *, gold: Any = None, idle: float = 600.0) -> pl.DataFrame:
    """One row a worker; numbers that do not exist (no gold, no times, no labels) are null.

    worker, n_labels; skill, skill_low, skill_high; consensus_agreement (share of labels that all others together
    confirm); bias (0..1: how far their proportions of classes are from their tasks'), overused (the class they
    say too often); bits (per label, at the crowd's class prior), capacity (at the best prior); spammer_score with _low
    and _high (0: answers without looking), spammer_probability; n_gold, gold_accuracy, gold_low, gold_high;
    seconds_median, seconds_q1, seconds_q3, n_idle (pauses longer than `idle` seconds, left out); drift_p (adjusted for
    the number of workers), drift_before, drift_after.

    >>> votes = Annotations.from_arrays([1, 1, 1, 2, 2, 2], [*"abcabc"], [*"xxyyyx"])
    >>> import crowdwise as cw
    >>> quality(votes, cw.DawidSkene().fit(votes))["n_labels"].to_list()
    [2, 2, 2]
    """
    return quality_of(Judgement(annotations, result), gold, idle)


def quality_of(judgement: Judgement, gold: Any = None, idle: float = 600.0) -> pl.DataFrame:
    """The same from a judgement."""
    votes, result = judgement.annotations, judgement.result
    n = votes.labels_per_worker
    score, low, high = spammer_scores(judgement)
    bits, capacity = information(judgement)
    lean, most = _bias(judgement)
    columns: dict[str, Any] = {
        "worker": votes.workers,
        "n_labels": n,
        "skill": result.skill,
        "skill_low": result.skill_low,
        "skill_high": result.skill_high,
        "consensus_agreement": _mean(votes, judgement.confirmed),
        "bias": lean,
        "overused": most,
        "bits": bits,
        "capacity": capacity,
        "spammer_score": score,
        "spammer_score_low": low,
        "spammer_score_high": high,
        "spammer_probability": judgement.suspicion.probability,
        **_on_gold(votes, gold),
        **timing(votes, idle),
        **alarms(judgement).columns(),
    }
    table = pl.DataFrame(columns)
    known = [name for name in table.columns if name not in ("worker", "n_labels")]
    numbers = [name for name in known if table[name].dtype == pl.Float64]
    # Of a worker without labels nothing is known: what stands there would be the prior.
    there = pl.Series(n > 0)
    return table.with_columns(pl.col(numbers).fill_nan(None)).with_columns(
        pl.when(there).then(pl.col(name)).alias(name) for name in known
    )


def information(judgement: Judgement) -> tuple[F8, F8]:
    """Bits per label at the crowd's class prior, and at the best prior (channel capacity)."""
    counts, k = judgement.counts, judgement.annotations.n_classes
    n = _effective_labels(judgement)
    # One pseudo-label a row in the worker's own proportions: it can only take information away.
    own = counts.sum(axis=1, keepdims=True)
    own = (own + 1e-9) / (own + 1e-9).sum(axis=2, keepdims=True)
    table = (counts + own) / (counts.sum(axis=2, keepdims=True) + 1)
    prior = judgement.result.class_prior / max(float(judgement.result.class_prior.sum()), 1e-300)
    bits = channel.unbias(channel.mutual_information(prior, table), n, k)
    # A thousand steps leave log K / 1,000 nats open at the very worst (Arimoto 1972); a few workers would take 10,000.
    best = channel.unbias(channel.capacity(table, tol=1e-6, max_iter=1_000)[0], n, k)
    return bits / channel.NATS_PER_BIT, np.maximum(best, bits) / channel.NATS_PER_BIT


def _effective_labels(judgement: Judgement) -> F8:
    """Labels' worth of information on a worker, all classes together."""
    votes = judgement.annotations
    n = votes.labels_per_worker.astype(np.float64)
    doubt = np.bincount(votes.worker, weights=judgement.right * (1 - judgement.right), minlength=votes.n_workers)
    return effective_n(n, doubt.astype(np.float64), judgement.result.skill)


def _mean(votes: Annotations, values: F8) -> F8:
    total = np.bincount(votes.worker, weights=values, minlength=votes.n_workers)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(total / votes.labels_per_worker)


def _bias(judgement: Judgement) -> tuple[F8, pl.Series]:
    """Total variation between a worker's label proportions and their tasks' (by the others), and the overused class."""
    votes = judgement.annotations
    m, k = votes.n_workers, votes.n_classes
    said = np.bincount(votes.cell, minlength=m * k).reshape(m, k).astype(np.float64)
    due = np.stack([np.bincount(votes.worker, weights=judgement.others[:, c], minlength=m) for c in range(k)], axis=1)
    gap = (said - due) / np.maximum(said.sum(axis=1, keepdims=True), 1.0)
    return np.abs(gap).sum(axis=1) / 2, votes.classes.gather(gap.argmax(axis=1)).rename("overused")


def _on_gold(votes: Annotations, gold: Any) -> dict[str, Any]:
    """Accuracy on the tasks whose truth is known, with an exact (Jeffreys) interval."""
    from scipy.special import betaincinv

    m = votes.n_workers
    known = as_gold(gold, votes)
    if known is None:
        nothing: Any = np.full(m, np.nan)
        return {
            "n_gold": np.zeros(m, dtype=np.int64),
            "gold_accuracy": nothing,
            "gold_low": nothing,
            "gold_high": nothing,
        }
    truth = known.label[votes.task]
    there = truth < votes.n_classes
    n = np.bincount(votes.worker[there], minlength=m)
    hits = np.bincount(votes.worker[there], weights=(truth == votes.label)[there], minlength=m)
    share = np.where(n > 0, hits / np.maximum(n, 1), np.nan)
    low = np.where(n > 0, betaincinv(hits + 0.5, n - hits + 0.5, 0.025), np.nan)
    high = np.where(n > 0, betaincinv(hits + 0.5, n - hits + 0.5, 0.975), np.nan)
    return {"n_gold": n, "gold_accuracy": share, "gold_low": np.where(hits == 0, 0.0, low) if len(n) else low,
            "gold_high": np.where((hits == n) & (n > 0), 1.0, high)}  # fmt: skip


# ----------------------------------------------------------------
# Flags for who answers without looking, and for who is wrong more often than guessing would be; see suspicion.py.


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
