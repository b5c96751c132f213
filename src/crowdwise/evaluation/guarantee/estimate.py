"""estimate: a figure about all tasks from few gold labels and a verdict on each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from ...core.errors import CrowdwiseError, DataError, ParameterError
from ...core.votes import Votes
from . import estimators as double
from . import estimators as rogan
from .difference import difference, two_workers
from .estimand import Estimand, Figure, estimand
from .estimators import Estimated, half_width, ppi_plus_plus, regression, weighted
from .gold import Gold, blind_to, not_used_to_fit, place
from .sampling import check_random, settle
from .standing import split_fit
from .verdicts import Verdicts, verdicts

F8 = npt.NDArray[np.float64]
Method = Literal["auto", "double", "regression", "ppi++"]
FEWEST = 10
# A verdict without gold is let pass where it holds less than this share of the tasks.
RARE = 0.01
# A score instead of classes wants so many gold labels of each side.
EACH = 20


def estimate(
    given: Any,
    *,
    gold: Any,
    of: str,
    sampling: Any = None,
    level: float = 0.95,
    by: Any = None,
    for_: Literal["these", "new"] = "these",
    method: Method = "auto",
    votes: Votes[Any] | None = None,
    fit_share: float | None = None,
    anyway: bool = False,
    seed: int = 0,
) -> Figure:
    """A share, accuracy, win rate, mean or difference over all tasks, with an interval that holds its level.

    `given` are votes (one judge's verdicts, or of many workers the default method's labels) or a result. `gold` is a
    table or mapping task, label; `sampling` says how its tasks were drawn: "random", "within verdict", "weights" (a
    column probability), "by truth", or a `Draw`. "difference:A,B" is of two classes (who won), or of the accuracies of
    two workers. `for_` "these" tasks or "new" ones of their kind; `by` gives a
    figure for each group of tasks too. `fit_share` fits a method that needs gold on that share of it. Gold that
    calibrated the result (`cw.fit`) may be used again: the labels of the fit without it are the verdicts.

    >>> import crowdwise as cw
    >>> tasks = [f"t{i:03}" for i in range(400)]
    >>> verdicts = ["pass" if i % 10 < 7 else "fail" for i in range(400)]
    >>> votes = cw.Annotations.from_arrays(tasks, ["judge"] * 400, verdicts)
    >>> gold = {f"t{i:03}": verdicts[i] for i in range(0, 400, 7)}
    >>> figure = cw.estimate(votes, gold=gold, of="share:pass", sampling="random")
    >>> round(figure.value, 3), figure.low < 0.7 < figure.high
    (0.7, True)
    """
    if not 0 < level < 1:
        raise ParameterError(f"level must be between 0 and 1, got {level}")
    if for_ not in ("these", "new"):
        raise ParameterError(f"for must be these or new, got {for_!r}")
    if method not in ("auto", "double", "regression", "ppi++"):
        raise ParameterError(f"method must be auto, double, regression or ppi++, got {method!r}")
    if fit_share is not None:
        given, gold = split_fit(given, votes, gold, fit_share, seed)
    votes = given if isinstance(given, Votes) else votes
    two = two_workers(of, votes)
    if two is not None:
        if by is not None or method != "auto":
            raise ParameterError("a difference of two workers has no groups and one estimator; leave by and method out")
        return difference(*two, gold=gold, sampling=sampling, level=level, for_=for_, seed=seed)
    about = None if votes is None else votes.about_workers
    sample, found = place(gold, verdicts(given, votes), about)
    found = blind_to(sample, given, found)
    not_used_to_fit(found, sample)
    how, sample, notes = settle(sampling, sample, found, anyway)
    if found.changed is not None:
        notes = [*notes, f"this gold was given to the fit too: the figure is about the labels of the fit without it, "
                 f"{int(found.changed.sum()):,} of which changed with the gold"]  # fmt: skip
    sample, found, notes = _without_told(sample, found, notes)
    checks = check_random(sample, found, within=how == "within verdict") if how in ("random", "within verdict") else {}
    wanted = estimand(of, found)
    ask = _Ask(level, for_ == "new", how, method, seed)
    figure = replace(_figure(wanted, sample, found, ask), checks=checks, notes=tuple(notes))
    return figure if by is None else replace(figure, groups=_by(by, wanted, sample, found, ask))


class _Ask:
    """What was asked, the same for every group."""

    def __init__(self, level: float, new: bool, how: str, method: Method, seed: int) -> None:
        self.level, self.new, self.how, self.method, self.seed = level, new, how, method, seed

    def rng(self) -> np.random.Generator:
        return np.random.default_rng([self.seed, 0xE571])


def _without_told(gold: Gold, found: Verdicts, notes: list[str]) -> tuple[Gold, Verdicts, list[str]]:
    """Tasks whose gold made the verdicts are no part of what is estimated."""
    if found.told is None or not found.told.any():
        return gold, found, notes
    left = ~found.told
    at = np.cumsum(left) - 1
    note = f"{int(found.told.sum()):,} tasks whose gold was used to fit are left out"
    return Gold(at[gold.task], gold.label, gold.value, gold.chance), found.keep(left), [*notes, note]


def _by(by: Any, wanted: Estimand, gold: Gold, found: Verdicts, ask: _Ask) -> dict[Any, Figure | str]:
    group, names = found.groups(by)
    out: dict[Any, Figure | str] = {}
    for code, name in enumerate(names):
        inside = group == code
        rows = np.flatnonzero(inside[gold.task])
        at = np.cumsum(inside) - 1
        part = gold.take(rows)
        part = Gold(at[part.task], part.label, part.value, part.chance)
        try:
            out[name] = _figure(wanted, part, found.keep(inside), ask)
        except CrowdwiseError as error:
            out[name] = str(error)
    return out


def _figure(wanted: Estimand, gold: Gold, found: Verdicts, ask: _Ask) -> Figure:
    if len(gold) < FEWEST:
        raise DataError(f"{len(gold)} gold labels are too few to estimate anything; at least {FEWEST} are needed")
    make: Callable[[Estimand, Gold, Verdicts, _Ask], Figure] = _double
    if ask.how == "by truth":
        make = _balanced
    elif ask.how == "weights" or (wanted.score is None and not wanted.right) or ask.method in ("regression", "ppi++"):
        make = _regression
    figure = make(wanted, gold, found, ask)
    if ask.how == "unknown":
        figure = replace(figure, low=None, high=None, gold_only=None, labels_saved=None)
    return figure


def _outcome(wanted: Estimand, gold: Gold, found: Verdicts) -> tuple[npt.NDArray[np.int64], F8]:
    """(code of what is true of each gold task, score of each code)."""
    if wanted.right:
        return (gold.label != found.label[gold.task]).astype(np.int64), np.array([1.0, 0.0])
    assert wanted.score is not None
    return gold.label, wanted.score


def _double(wanted: Estimand, gold: Gold, found: Verdicts, ask: _Ask) -> Figure:
    truth, score = _outcome(wanted, gold, found)
    strata = len(found.classes) + 1  # tasks without a verdict stand apart
    tasks = np.bincount(found.label, minlength=strata).astype(float)
    counts = np.zeros((strata, len(score)))
    np.add.at(counts, (found.label[gold.task], truth), 1.0)
    _gold_in_each(tasks, counts, found)
    held = tasks > 0
    tasks, counts = tasks[held], counts[held]
    value = double.point(tasks, counts, score)
    rng = ask.rng()
    low, high = double.central(double.draws(tasks, counts, score, rng, new=ask.new), ask.level)
    whole = counts.sum(axis=0)
    alone = float(whole @ score / whole.sum())
    if ask.how == "within verdict":  # what as many gold labels drawn from all tasks would hold
        whole = whole.sum() * (tasks / tasks.sum()) @ (counts / np.maximum(counts.sum(axis=1, keepdims=True), 1))
    ends = double.central(double.draws(tasks.sum()[None], whole[None], score, rng, new=ask.new), ask.level)
    judge = None if wanted.right else float(np.append(score, np.nan)[found.label[found.said]].mean())
    return Figure(
        wanted.name, wanted.people, value, low, high, ask.level, "double sampling", ask.how,
        "new" if ask.new else "these", len(gold), len(found), found.who, judge,
        None if ask.how == "within verdict" else (alone, *ends), double.explained(tasks, counts, score),
        ((ends[1] - ends[0]) / (high - low)) ** 2 if high > low else None,
    )  # fmt: skip


def _gold_in_each(tasks: F8, counts: F8, found: Verdicts) -> None:
    """Refuse where a verdict that matters has no gold."""
    bare = (counts.sum(axis=1) == 0) & (tasks >= max(RARE * tasks.sum(), 1))
    if bare.any():
        k = int(np.argmax(np.where(bare, tasks, 0)))
        said = f'that {found.who} calls "{found.classes[k]}"' if k < len(found.classes) else "without a verdict"
        raise DataError(f"no gold among the {int(tasks[k]):,} tasks {said}; draw some there")


def _regression(wanted: Estimand, gold: Gold, found: Verdicts, ask: _Ask) -> Figure:
    """Of numbers, of known probabilities of being drawn, and of classes with a score where it is asked for."""
    if found.value is not None:
        assert gold.value is not None
        y, f = gold.value, found.value
    elif wanted.right:
        y, f = (gold.label == found.label[gold.task]).astype(float), found.confidence
    else:
        assert wanted.score is not None
        sure = np.eye(len(found.classes) + 1)[found.label][:, :-1] if found.posterior is None else found.posterior
        y, f = wanted.score[gold.label], sure @ wanted.score
    name = "regression estimator"
    if ask.method == "ppi++":
        made = _ppi(y, f, gold)
        name = "PPI++"
    elif ask.how == "weights":
        assert gold.chance is not None
        made, name = weighted(y, f[gold.task], gold.chance, f, new=ask.new), "weighted regression estimator"
    else:
        if found.value is None and min(int((y == v).sum()) for v in (y.min(), y.max())) < EACH:
            return _double(wanted, gold, found, ask)
        made = regression(y, f[gold.task], f, new=ask.new)
    half = half_width(made.error, made.freedom, ask.level)
    half_alone = half_width(made.alone[1], made.alone[2], ask.level)
    alone = (made.alone[0], made.alone[0] - half_alone, made.alone[0] + half_alone)
    return Figure(
        wanted.name, wanted.people, made.value, made.value - half, made.value + half, ask.level, name, ask.how,
        "new" if ask.new or ask.method == "ppi++" else "these", len(gold), len(found), found.who,
        None if wanted.right else float(f[found.said].mean()), alone, made.r2,
        (half_alone / half) ** 2 if half > 0 else None,
    )  # fmt: skip


def _ppi(y: F8, f: F8, gold: Gold) -> Estimated:
    """As ppi-python: z intervals for new tasks, gold against all that is not gold."""
    other = np.ones(len(f), dtype=bool)
    other[gold.task] = False
    if not other.any():
        raise DataError("PPI++ needs tasks without gold; there are none")
    mine = f[gold.task]
    value, error, lam = ppi_plus_plus(y, mine, f[other])
    same = regression(y, mine, f)
    alone = (float(y.mean()), float(y.std() / np.sqrt(len(y))), np.inf)
    return Estimated(value, error, np.inf, lam, same.r2, alone)


def _balanced(wanted: Estimand, gold: Gold, found: Verdicts, ask: _Ask) -> Figure:
    if wanted.score is None:
        raise ParameterError("gold balanced by the true class can correct shares of classes, not the accuracy")
    k = len(found.classes)
    said = found.label < k
    kept = said[gold.task]
    counts = np.zeros((k, k))
    np.add.at(counts, (gold.label[kept], found.label[gold.task][kept]), 1.0)
    bare = counts.sum(axis=1) == 0
    if bare.any():
        raise DataError(f'gold balanced by truth has no task of class "{found.classes[int(np.argmax(bare))]}"')
    tasks = np.bincount(found.label[said], minlength=k).astype(float)
    theta, able = rogan.balanced_draws(counts, tasks, ask.rng(), double.DRAWS)
    rows = counts / counts.sum(axis=1, keepdims=True)
    if (able <= (rogan.EDGE if k == 2 else rogan.SINGULAR)).mean() > 0.01:
        low, high = double.central(able, ask.level)
        what = "TPR + TNR - 1" if k == 2 else "smallest singular value of its confusions"
        raise DataError(
            f"{found.who} may be no better than chance ({what} = {float(rogan.informedness(rows)):.2f} [{low:.2f}, "
            f"{high:.2f}]); its verdicts cannot be corrected"
        )
    value = float(rogan.on_simplex(rogan.solve(rows, tasks / tasks.sum())) @ wanted.score)
    low, high = double.central(theta @ wanted.score, ask.level)
    judge = float(tasks @ wanted.score / tasks.sum())
    return Figure(
        wanted.name, wanted.people, value, min(low, value), max(high, value), ask.level, "Rogan-Gladen", ask.how,
        "new" if ask.new else "these", len(gold), len(found), found.who, judge,
    )  # fmt: skip
