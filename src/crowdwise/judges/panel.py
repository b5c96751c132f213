"""What a panel of judges may be trusted for, which judges to drop, and how many more human labels are needed.

Reliability is measured on human labels; without them only by copies with the options swapped, which show whether a
judge repeats its verdict, not whether it is right. Agreement with the winner of the panel is never taken for
reliability: if one of two systems is better, a judge who always votes for it agrees without having read anything.
"""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass, field, replace
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from ..core.arrays import F8, I8
from ..evaluation.guarantee import estimators
from ..evaluation.guarantee.verdicts import fitted
from ..evaluation.intervals import jeffreys
from ..kinds.classes.maths.judges import folds, out_of_fold
from .bias import options, swap_table

if TYPE_CHECKING:
    from .study import Judges

# Fewer human labels than this measure a panel too vaguely to drop a judge.
ENOUGH = 30
LEVEL = 0.05
PERMUTATIONS = 999
# Correlation of errors from which on one of two judges is a copy of the other.
COPY = 0.8
# Single labels are trusted from this lower bound of the accuracy on.
RIGHT = 0.95
HALF_WIDTH = 0.05


@dataclass(frozen=True)
class PanelQuality:
    """Quality of a set of judges on human labels.

    Attributes:
        n_judges: Number of judges.
        accuracy: Share of right labels of their stack, out of fold.
        low: Lower end of its 95 % interval.
        high: Upper end of its 95 % interval.
        half_width: Half of the width of the 95 % interval of the planned rate, as `estimate` gives it.
        counts_as: How many human labels one of them counts as in that estimate.
    """

    n_judges: int
    accuracy: float
    low: float
    high: float
    half_width: float
    counts_as: float

    def text(self) -> str:
        """Return the accuracy with its interval as text."""
        return f"{100 * self.accuracy:.0f} % [{100 * self.low:.0f}, {100 * self.high:.0f}]"


@dataclass(frozen=True)
class PanelVerdict:
    """Verdict on a panel of judges.

    Attributes:
        basis: What its reliability was measured on: "human labels", "swapped copies" or "nothing".
        n_basis: Number of human labels, or of pairs in both orders of the median judge.
        trusted_for: "single labels", "rates", "nothing", or "unknown".
        quality: Quality of all judges; None without human labels.
        drop: Judges to drop, with the reason.
        after: Quality without them; None if nothing is dropped, or without human labels.
        figure: The rate whose interval is planned.
        half_width: Half of the width of that interval.
        more_labels: Human labels that are missing for it; None without human labels.
    """

    basis: str
    n_basis: int
    trusted_for: str
    quality: PanelQuality | None = None
    drop: dict[str, str] = field(default_factory=dict)
    after: PanelQuality | None = None
    figure: str = ""
    half_width: float = HALF_WIDTH
    more_labels: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self) | {"sentence": self.sentence()}

    def sentence(self) -> str:
        """Return the verdict as a sentence."""
        parts = [self._trust()]
        if self.drop:
            names = "; ".join(f"{name} ({reason})" for name, reason in self.drop.items())
            parts.append(f"drop {names}{self._change()}")
        elif self.basis != "nothing":
            parts.append("no judge has to be dropped")
        if self.more_labels is not None:
            what = f"{self.figure} ± {self.half_width:g}"
            parts.append(
                f"{self.more_labels:,} more human labels are needed for {what}"
                if self.more_labels
                else f"the human labels suffice for {what}"
            )
        return f"Panel: {'; '.join(parts)}."

    def _trust(self) -> str:
        if self.quality is None:
            unknown = "whether it is right cannot be known without human labels, so trust it for nothing yet"
            if self.basis == "nothing":
                return f"{unknown} (there are no swapped copies either; agreement with the winner is not reliability)"
            return f"{unknown}; judged by copies with swapped order only ({self.n_basis:,} pairs for each judge)"
        measured = f"measured on {self.n_basis:,} human labels, it is right on {self.quality.text()} of the tasks"
        worth = f"one human label counts as {self.quality.counts_as:.1f}"
        return {
            "single labels": f"{measured}: trust it for single labels, and for rates with `estimate` ({worth})",
            "rates": f"{measured}: trust it for rates with `estimate` ({worth}); for single labels only with `accept`",
            "nothing": f"{measured}, which is not shown to be better than chance: trust it for nothing",
            "unknown": f"{measured}; {ENOUGH} or more are needed to say what to trust it for",
        }[self.trusted_for]

    def _change(self) -> str:
        if self.quality is None or self.after is None:
            return ""
        n, before = self.after.n_judges, self.quality.n_judges
        return (
            f", which leaves {n} of {before} judges, right on {self.after.text()}, and one human label "
            f"counts as {self.after.counts_as:.1f}"
        )


def panel_of(study: Judges, half_width: float = HALF_WIDTH) -> PanelVerdict:
    """Return the verdict on the judges of a study.

    Args:
        study: The study.
        half_width: Half of the width of the interval for which further human labels are counted.
    """
    if study.gold is None:
        return _by_swaps(swap_table(study.votes), half_width)
    gold = study.gold.tasks
    truth = study.gold.label[gold].astype(np.int64)
    score, figure = _score(study, truth)
    everyone = np.arange(study.verdicts.n_judges)
    quality = _quality(study, truth, score, everyone)
    panel = PanelVerdict("human labels", len(gold), "unknown", quality, figure=figure, half_width=half_width)
    if len(gold) < ENOUGH:
        return panel
    drop = _to_drop(study, truth)
    names = study.votes.workers.cast(pl.String).to_list()
    kept = np.array([j for j in everyone if names[j] not in drop], dtype=np.int64)
    after = _quality(study, truth, score, kept) if drop and len(kept) else None
    best = after or quality
    shares = study.verdicts.of_tasks(gold).mean(axis=1, keepdims=True)
    is_useful = len(kept) > 0 and p_of_match(shares, truth, np.random.default_rng(study.seed))[0] <= LEVEL
    trusted = "nothing" if not is_useful else "single labels" if best.low >= RIGHT else "rates"
    n_judged = int((study.votes.labels_per_task > 0).sum())
    more = labels_for(half_width, quality.half_width, len(gold), n_judged) - len(gold)
    return replace(panel, trusted_for=trusted, drop=drop, after=after, more_labels=max(more, 0))


def labels_for(target: float, half_width: float, n_gold: int, n_tasks: int) -> int:
    """Return the number of human labels for an interval of a target half width.

    The variance of an estimate about these tasks is proportional to 1/n - 1/N.

    Args:
        target: The target.
        half_width: The half width now.
        n_gold: Number of human labels now.
        n_tasks: Number of tasks with verdicts.

    >>> labels_for(0.05, 0.1, 100, 10**9), labels_for(0.05, 0.1, 100, 200)
    (400, 160)
    """
    if half_width <= target or n_gold >= n_tasks:
        return n_gold
    return ceil(1 / (1 / n_tasks + (1 / n_gold - 1 / n_tasks) * (target / half_width) ** 2) - 1e-6)


def p_of_match(shares: F8, truth: I8, rng: np.random.Generator) -> F8:
    """Return the one-sided p-value of each judge's agreement with people, against verdicts that ignore the task.

    Args:
        shares: shares[task, judge, class] of the judges' verdicts.
        truth: People's class of each task, permuted over the tasks.
        rng: Random generator of the permutations.
    """
    n = np.arange(len(truth))
    observed = shares[n, :, truth].sum(axis=0)
    reached = np.zeros(shares.shape[1])
    for _ in range(PERMUTATIONS):
        reached += shares[n, :, rng.permutation(truth)].sum(axis=0) >= observed - 1e-9
    return np.asarray((1 + reached) / (1 + PERMUTATIONS))


def _quality(study: Judges, truth: I8, score: F8, judges: I8) -> PanelQuality:
    """Quality of some of the judges: the accuracy of their stack, and the interval of the rate by `estimate`."""
    assert study.gold is not None
    gold, votes, rng = study.gold.tasks, study.votes, np.random.default_rng(study.seed)
    part = study.verdicts.of_tasks(gold)[:, judges]
    penalty = float(study.stack.extra.get("penalty", 1.0))
    posterior = out_of_fold(lambda _: part, truth, penalty, folds(len(truth), rng))
    accuracy = float((posterior.argmax(axis=1) == truth).mean())
    low, high = jeffreys(accuracy, len(truth))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = fitted(votes.select(workers=votes.workers.gather(judges)), seed=study.seed)
    label = np.where(result.labels_per_task > 0, result.labels.astype(np.int64), votes.n_classes)
    tasks = np.bincount(label, minlength=votes.n_classes + 1).astype(float)
    counts = np.zeros((votes.n_classes + 1, votes.n_classes))
    np.add.at(counts, (label[gold], truth), 1.0)
    tasks, counts = tasks[tasks > 0], counts[tasks > 0]
    ends = estimators.central(estimators.draws(tasks, counts, score, rng), 1 - LEVEL)
    alone = estimators.draws(tasks.sum()[None], counts.sum(axis=0)[None], score, rng)
    saved = estimators.labels_saved(estimators.central(alone, 1 - LEVEL), *ends)
    return PanelQuality(len(judges), accuracy, low, high, (ends[1] - ends[0]) / 2, saved or 1.0)


def _to_drop(study: Judges, truth: I8) -> dict[str, str]:
    """Judges whose verdicts follow neither people nor themselves, and copies of other judges; with the reason."""
    assert study.gold is not None
    names = study.votes.workers.cast(pl.String).to_list()
    accuracy = dict(study.table.select("judge", "accuracy").iter_rows())
    shares = study.verdicts.of_tasks(study.gold.tasks)
    p = p_of_match(shares, truth, np.random.default_rng(study.seed))
    drop = {
        name: f"right on {100 * accuracy[name]:.0f} %, no more than verdicts that ignore the task"
        for name, chance in zip(names, p, strict=True)
        if chance > LEVEL and accuracy[name] is not None
    }
    drop = {**_unsteady(swap_table(study.votes)), **drop}
    copies = study.pairs.filter(pl.col("together") & (pl.col("raw_correlation") >= COPY))
    for row in copies.sort("raw_correlation", descending=True).iter_rows(named=True):
        one, two = row["judge"], row["other"]
        if one not in drop and two not in drop:
            worse, better = (one, two) if accuracy[one] < accuracy[two] else (two, one)
            drop[worse] = f"errs together with {better}, r = {row['raw_correlation']:.2f}"
    return drop


def _unsteady(swaps: pl.DataFrame) -> dict[str, str]:
    """Judges whose verdicts agree in both orders no more than by chance, with the reason."""
    return {
        row["judge"]: f"names the same winner in both orders in {100 * row['same']:.0f} % of the pairs, "
        f"by chance {100 * row['chance']:.0f} %"
        for row in swaps.filter((pl.col("p") > LEVEL) & (pl.col("n") >= ENOUGH)).iter_rows(named=True)
    }


def _score(study: Judges, truth: I8) -> tuple[F8, str]:
    """Score of each class for the planned rate, and its name: a win rate of two options with ties, else a share."""
    classes = study.votes.classes.cast(pl.String).to_list()
    pair = options(study.votes)
    if pair is not None and len(classes) > 2:
        score = np.full(len(classes), 0.5)
        score[pair[0]], score[pair[1]] = 1.0, 0.0
        return score, f'the win rate of "{classes[pair[0]]}"'
    top = int(np.bincount(truth, minlength=len(classes)).argmax())
    return np.eye(len(classes))[top], f'the share of "{classes[top]}"'


def _by_swaps(swaps: pl.DataFrame, half_width: float) -> PanelVerdict:
    """Verdict without human labels: which judges do not repeat their verdicts when the order changes."""
    n = swaps["n"].filter(swaps["n"] >= ENOUGH).to_numpy()
    if not len(n):
        return PanelVerdict("nothing", 0, "nothing", half_width=half_width)
    return PanelVerdict("swapped copies", int(np.median(n)), "nothing", drop=_unsteady(swaps), half_width=half_width)
