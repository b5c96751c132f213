"""Quality of the workers: one row per worker, with intervals that account for the uncertain truth.

Intervals of shares are Beta posteriors with the effective number of observations (Louis 1982, see maths/skill): a label
that may be right or wrong counts less. Information is in bits and corrected for small-sample bias.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from ....core.arrays import F8, I8
from ....core.result import Result
from ....stats import information as channel
from ....workers.flags import Flag, examples
from ....workers.timing import timing
from ..annotations import Annotations
from ..maths.skill import effective_n
from ..methods.gold import as_gold
from .copying import ADVERSARIAL, ALWAYS, LEVEL, MIN_LABELS, TYPICAL
from .dependence import MIN_Z, excess_confirmation, spammer_scores
from .drift import drift_tests
from .judgement import Judgement


def quality(annotations: Annotations, result: Result, *, gold: Any = None, idle: float = 600.0) -> pl.DataFrame:
    """Compute a table of quality measures with one row per worker.

    Args:
        annotations: The votes.
        result: A result fitted on these votes.
        gold: Known labels, for the accuracy on gold tasks.
        idle: Longest pause, in seconds, that counts as working time.

    Returns:
        A table with null for numbers that are not available (no gold, no times, no labels): worker, n_labels; skill,
        skill_low, skill_high; consensus_agreement (share of labels confirmed by the others together); bias (0..1,
        distance of the worker's class proportions from those of the tasks), overused (the class given too often); bits
        (per label, at the crowd's class prior), capacity (at the best prior); spammer_score with _low and _high (0 if
        labels do not depend on the task), spammer_probability; n_gold, gold_accuracy, gold_low, gold_high;
        seconds_median, seconds_q1, seconds_q3 (of durations, else of pauses), n_idle (longer ones, which are left out);
        drift_p (adjusted for the number of workers), drift_before, drift_after.

    >>> votes = Annotations.from_arrays([1, 1, 1, 2, 2, 2], [*"abcabc"], [*"xxyyyx"])
    >>> import crowdwise as cw
    >>> quality(votes, cw.DawidSkene().fit(votes))["n_labels"].to_list()
    [2, 2, 2]
    """
    return quality_of(Judgement(annotations, result), gold, idle)


def quality_of(judgement: Judgement, gold: Any = None, idle: float = 600.0) -> pl.DataFrame:
    """Like `quality`, from a judgement."""
    votes, result = judgement.annotations, judgement.result
    n = votes.labels_per_worker
    score, low, high = spammer_scores(judgement)
    bits, capacity = information(judgement)
    bias, overused = _bias(judgement)
    columns: dict[str, Any] = {
        "worker": votes.workers,
        "n_labels": n,
        "skill": result.skill,
        "skill_low": result.skill_low,
        "skill_high": result.skill_high,
        "consensus_agreement": _mean(votes, judgement.confirmed),
        "bias": bias,
        "overused": overused,
        "bits": bits,
        "capacity": capacity,
        "spammer_score": score,
        "spammer_score_low": low,
        "spammer_score_high": high,
        "spammer_probability": judgement.spammer_estimate.probability,
        **_on_gold(votes, gold),
        **timing(votes, idle),
        **drift_tests(judgement).columns(),
    }
    table = pl.DataFrame(columns)
    columns_ = [name for name in table.columns if name not in ("worker", "n_labels")]
    numbers = [name for name in columns_ if table[name].dtype == pl.Float64]
    # For a worker without labels the numbers would only show the prior.
    has_labels = pl.Series(n > 0)
    return table.with_columns(pl.col(numbers).fill_nan(None)).with_columns(
        pl.when(has_labels).then(pl.col(name)).alias(name) for name in columns_
    )


def information(judgement: Judgement) -> tuple[F8, F8]:
    """Return bits per label at the crowd's class prior, and at the best prior (channel capacity)."""
    counts, k = judgement.counts, judgement.annotations.n_classes
    n = _effective_labels(judgement)
    # One pseudo-label per row in the worker's label proportions, which can only reduce the information.
    row_prior = counts.sum(axis=1, keepdims=True)
    row_prior = (row_prior + 1e-9) / (row_prior + 1e-9).sum(axis=2, keepdims=True)
    table = (counts + row_prior) / (counts.sum(axis=2, keepdims=True) + 1)
    prior = judgement.result.class_prior / max(float(judgement.result.class_prior.sum()), 1e-300)
    bits = channel.unbias(channel.mutual_information(prior, table), n, k)
    # After 1,000 steps the error is at most log K / 1,000 nats (Arimoto 1972); a few workers would take 10,000 steps.
    best = channel.unbias(channel.capacity(table, tol=1e-6, max_iter=1_000)[0], n, k)
    return bits / channel.NATS_PER_BIT, np.maximum(best, bits) / channel.NATS_PER_BIT


def _effective_labels(judgement: Judgement) -> F8:
    """Effective number of labels of each worker, over all classes."""
    votes = judgement.annotations
    n = votes.labels_per_worker.astype(np.float64)
    variance = np.bincount(votes.worker, weights=judgement.right * (1 - judgement.right), minlength=votes.n_workers)
    return effective_n(n, variance.astype(np.float64), judgement.result.skill)


def _mean(votes: Annotations, values: F8) -> F8:
    total = np.bincount(votes.worker, weights=values, minlength=votes.n_workers)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(total / votes.labels_per_worker)


def _bias(judgement: Judgement) -> tuple[F8, pl.Series]:
    """Total variation distance between the proportions of a worker's labels and of the tasks' classes (by the others),
    and the overused class."""
    votes = judgement.annotations
    m, k = votes.n_workers, votes.n_classes
    n_observed = np.bincount(votes.cell, minlength=m * k).reshape(m, k).astype(np.float64)
    n_expected = np.stack(
        [np.bincount(votes.worker, weights=judgement.others[:, c], minlength=m) for c in range(k)], axis=1
    )
    gap = (n_observed - n_expected) / np.maximum(n_observed.sum(axis=1, keepdims=True), 1.0)
    return np.abs(gap).sum(axis=1) / 2, votes.classes.gather(gap.argmax(axis=1)).rename("overused")


def _on_gold(votes: Annotations, gold: Any) -> dict[str, Any]:
    """Accuracy on gold tasks with a Jeffreys interval."""
    from scipy.special import betaincinv

    m = votes.n_workers
    gold_labels = as_gold(gold, votes)
    if gold_labels is None:
        missing: Any = np.full(m, np.nan)
        return {
            "n_gold": np.zeros(m, dtype=np.int64),
            "gold_accuracy": missing,
            "gold_low": missing,
            "gold_high": missing,
        }
    truth = gold_labels.label[votes.task]
    is_gold = truth < votes.n_classes
    n = np.bincount(votes.worker[is_gold], minlength=m)
    hits = np.bincount(votes.worker[is_gold], weights=(truth == votes.label)[is_gold], minlength=m)
    share = np.where(n > 0, hits / np.maximum(n, 1), np.nan)
    low = np.where(n > 0, betaincinv(hits + 0.5, n - hits + 0.5, 0.025), np.nan)
    high = np.where(n > 0, betaincinv(hits + 0.5, n - hits + 0.5, 0.975), np.nan)
    return {"n_gold": n, "gold_accuracy": share, "gold_low": np.where(hits == 0, 0.0, low) if len(n) else low,
            "gold_high": np.where((hits == n) & (n > 0), 1.0, high)}  # fmt: skip


# ----------------------------------------------------------------
# Flags for spammers and for workers who are wrong more often than a guesser; see copying.py.


def spammer_flags(annotations: Annotations, result: Result, level: float = LEVEL) -> list[Flag]:
    """Flag `constant`, `random` and `adversarial` workers with probabilities, and `unknown` ones with too few
    labels."""
    return flags_of(Judgement(annotations, result), level)


def flags_of(judgement: Judgement, level: float = LEVEL) -> list[Flag]:
    """Like `spammer_flags`, from a judgement."""
    votes = judgement.annotations
    n, k = votes.labels_per_worker, votes.n_classes
    flags = [
        Flag(votes.workers[w], "unknown", evidence=f"{n[w]} labels; at least {MIN_LABELS} are needed to judge a worker")
        for w in np.flatnonzero(n < MIN_LABELS).tolist()
    ]
    if k < 2:
        return flags
    estimate = judgement.spammer_estimate
    label_counts = np.bincount(votes.cell, minlength=len(n) * k).reshape(len(n), k)
    below, chance = worse_than_chance(judgement, label_counts)
    following = excess_confirmation(votes, judgement.others)
    follows = following.score
    # With two classes weak workers are close to chance; workers within two standard deviations of weak are not flagged.
    is_weak = following.less_than(TYPICAL, sure=MIN_Z) | (label_counts.max(axis=1) >= ALWAYS * n)
    for w in np.flatnonzero(n >= MIN_LABELS).tolist():
        p_spammer = float(estimate.probability[w])
        if p_spammer >= level and follows[w] < MIN_Z and is_weak[w]:
            flags.append(_spammer(judgement, w, p_spammer, label_counts[w]))
        elif below[w] >= ADVERSARIAL and p_spammer < 0.5:
            evidence = (
                f"right on about {judgement.result.skill[w]:.0%} of {n[w]} labels, where guessing gives "
                f"{chance[w]:.0%}: seems to know the answers and give others"
            )
            flags.append(Flag(votes.workers[w], "adversarial", float(below[w]), None, evidence, _wrong(judgement, w)))
    return flags


def _spammer(judgement: Judgement, w: int, probability: float, label_counts: I8) -> Flag:
    votes = judgement.annotations
    n, top = int(label_counts.sum()), int(label_counts.argmax())
    share = label_counts[top] / n
    agreed = float(judgement.confirmed[votes.worker == w].mean())
    name = votes.classes[top]
    if share >= ALWAYS:
        evidence = f"gave {name!r} in {label_counts[top]} of {n} labels, whatever the others gave"
        return Flag(votes.workers[w], "constant", probability, None, evidence, _wrong(judgement, w))
    evidence = (
        f"{n} labels that do not follow the truth: the others confirm {agreed:.0%} of them, "
        f"and guessing in the same proportions would give {_by_chance(judgement, w, label_counts):.0%}"
    )
    return Flag(votes.workers[w], "random", probability, None, evidence, _wrong(judgement, w))


def _by_chance(judgement: Judgement, w: int, label_counts: I8) -> float:
    is_own = judgement.annotations.worker == w
    return float(judgement.others[is_own].mean(axis=0) @ (label_counts / label_counts.sum()))


def _wrong(judgement: Judgement, w: int) -> tuple[object, ...]:
    """Tasks on which the others contradict the worker most."""
    rows = np.flatnonzero(judgement.annotations.worker == w)
    rows = rows[np.argsort(judgement.confirmed[rows], kind="stable")]
    return examples(judgement.annotations, judgement.annotations.task[rows[judgement.confirmed[rows] < 0.5]])


def worse_than_chance(judgement: Judgement, label_counts: I8) -> tuple[F8, F8]:
    """Return the probability that a worker is right less often than by chance, and the accuracy by chance.

    Chance assigns labels in the worker's proportions to the tasks at random.
    """
    from scipy.special import betainc

    from ..maths.skill import PRIOR_STRENGTH, effective_n

    votes, skill = judgement.annotations, judgement.result.skill
    n = votes.labels_per_worker.astype(np.float64)
    m, k = label_counts.shape
    expected = np.stack([np.bincount(votes.worker, weights=judgement.others[:, c], minlength=m) for c in range(k)], 1)
    size = np.maximum(n, 1.0)
    chance = np.clip(((label_counts / size[:, None]) * (expected / size[:, None])).sum(axis=1), 1e-6, 1 - 1e-6)
    variance = np.bincount(votes.worker, weights=judgement.right * (1 - judgement.right), minlength=m)
    effective = effective_n(n, variance.astype(np.float64), skill)
    a, b = effective * skill, effective * (1 - skill)
    # A prior at chance, with the weight of two labels, is the most favourable one for the worker.
    below = betainc(a + PRIOR_STRENGTH * chance, b + PRIOR_STRENGTH * (1 - chance), chance)
    return np.where(n >= MIN_LABELS, below, 0.0), chance
