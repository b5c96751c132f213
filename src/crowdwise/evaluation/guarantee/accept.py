"""accept: as many tasks as can do without a person, few of them wrong, with a promised probability."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from datetime import date
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.errors import DataError, ParameterError
from ...core.result import versions
from ...core.votes import Votes
from . import sequential as walks
from .certificate import Certificate, Part, Rung, batch_of
from .gold import Gold, blind_to, fingerprint, gold_tasks, not_used_to_fit, place
from .sampling import check_random, settle
from .sequential import no_error_seen
from .standing import Surest, ordered, split_fit
from .verdicts import Verdicts, fitted, verdicts

F8 = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
I8 = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Acceptance:
    """`accepted` (task, label, confidence, by) needs nobody, `ask` are the tasks for people, most useful first."""

    accepted: pl.DataFrame
    ask: pl.DataFrame
    certificate: Certificate

    @property
    def share(self) -> float:
        """Share of all tasks that are accepted unseen or checked."""
        n = len(self.accepted) + len(self.ask)
        return len(self.accepted) / n if n else 0.0


@dataclass(frozen=True)
class Terms:
    """What is promised."""

    error: float = 0.05
    risk: float = 0.1
    of: Literal["accepted", "all"] = "accepted"
    guarantee: Literal["high", "mean"] = "high"
    looks: int = 1
    look: int = 1

    def __post_init__(self) -> None:
        for name in ("error", "risk"):
            if not 0 < getattr(self, name) < 1:
                raise ParameterError(f"{name} must be between 0 and 1, got {getattr(self, name)}")
        if self.of not in ("accepted", "all"):
            raise ParameterError(f"of must be accepted or all, got {self.of!r}")
        if self.guarantee not in ("high", "mean"):
            raise ParameterError(f"guarantee must be high or mean, got {self.guarantee!r}")
        if self.guarantee == "mean" and self.of != "all":
            raise ParameterError('a guarantee in the mean speaks of all tasks; say of="all" (--of all)')
        if not 1 <= self.look <= self.looks:
            raise ParameterError(
                f"this is look {self.look} at the gold and {self.looks} was planned; plan several from the first one "
                "(--looks N), or certify with gold that was never looked at, in another folder"
            )


def accept(
    given: Any,
    *,
    gold: Any,
    error: float = 0.05,
    risk: float = 0.1,
    of: Literal["accepted", "all"] = "accepted",
    per: Any = None,
    guarantee: Literal["high", "mean"] = "high",
    sampling: Any = "random",
    looks: int = 1,
    look: int = 1,
    fit_share: float | None = None,
    votes: Votes[Any] | None = None,
    seed: int = 0,
    made: str | None = None,
    surest: Surest = "auto",
) -> Acceptance:
    """Which tasks need no person. Promise: with probability 1 - risk over the drawing of the gold, at most a share
    `error` of the accepted tasks that nobody checked are wrong.

    `of="all"` counts wrongly accepted tasks among all tasks (people do the rest); `guarantee="mean"` then promises
    only the mean. `per` is "class" or a column (or table) of groups: each keeps the promise by itself. Looking
    several times while gold grows must be planned (`looks`). `fit_share` is for methods that need gold. `surest` is by
    what the surest tasks are found (standing.py); no such order breaks the promise. Gold that calibrated the result
    (`cw.fit`) may be used again: the fit without it is judged.

    >>> import crowdwise as cw
    >>> crowd = cw.simulate.scenario("one_coin", tasks=400, workers=12, seed=1)
    >>> result = cw.DawidSkene().fit(crowd.annotations)
    >>> drawn = cw.draw(result, 120, seed=3)
    >>> gold = crowd.truth_table().filter(pl.col("task").is_in(drawn.tasks))
    >>> found = cw.accept(result, gold=gold, error=0.1, sampling=drawn)
    >>> found.certificate.n_accepted > 100
    True
    """
    terms = Terms(error, risk, of, guarantee, looks, look)
    given_hash = fingerprint(gold_tasks(gold))
    if fit_share is not None:
        given, gold = split_fit(given, votes, gold, fit_share, seed)
    if isinstance(given, Votes):
        votes, given = given, fitted(given)
    about = None if votes is None else votes.about_workers
    sample, labels = place(gold, verdicts(given, votes), about)
    if labels.value is not None:
        raise ParameterError("numbers are not right or wrong; accept is for classes")
    found = blind_to(sample, given, labels)
    not_used_to_fit(found, sample)
    how, sample, notes = settle(sampling, sample, found, what="a promise")
    checks = check_random(sample, found, only=True) if how == "random" else {}
    found, scales, more = ordered(found, given, votes, surest)
    free = found.said if found.told is None else found.said & ~found.told
    used = sample.take(free[sample.task])
    parts, taken = _parts(per, used, found, free, terms)
    _enough(parts, terms)
    if found.changed is not None:  # the promise is about the labels of the fit without gold
        more = [*more, *blind_notes(found, taken)]
        taken &= ~found.changed
    title = None if per is None else per if isinstance(per, str) else "group"
    certificate = Certificate(
        promise=promise(terms, title), error=terms.error, risk=terms.risk, of=terms.of, guarantee=terms.guarantee,
        per=title, n_tasks=len(found), n_accepted=int(taken.sum()), n_gold=len(used), parts=parts, sampling=how,
        looks=terms.looks, look=terms.look, method=found.who, judges=found.judges, gold_hash=given_hash,
        task_hash=fingerprint(found.tasks), made=made or date.today().isoformat(), version=versions()["crowdwise"],
        classes=[str(name) for name in found.classes.to_list()], batch=batch_of(found), checks=checks,
        notes=[*notes, *more], surest="places" if scales else "confidence",
        scales={name: asdict(scale) for name, scale in scales.items()},
    )  # fmt: skip
    shown = replace(labels, told=found.told, standing=found.order)
    return Acceptance(*tables(shown, taken, sample), certificate)


def blind_notes(found: Verdicts, taken: Mask) -> list[str]:
    """What to know of a promise that rests on the fit without gold."""
    assert found.changed is not None
    n = int((taken & found.changed).sum())
    notes = ["this gold was given to the fit too, so the fit without it is judged"]
    return [*notes, f"{n:,} tasks whose label changed with the gold are left to people"] if n else notes


def wrong_of(gold: Gold, found: Verdicts) -> Mask:
    """Which gold tasks' verdicts are wrong."""
    return np.asarray(gold.label != found.label[gold.task])


def _parts(per: Any, gold: Gold, found: Verdicts, free: Mask, terms: Terms) -> tuple[list[Part], Mask]:
    """A ladder for all tasks, or one for each class or group at its share of the risk."""
    if per is None:
        group, names = np.zeros(len(found), dtype=np.int64), [None]
    elif isinstance(per, str) and per == "class":
        group, names = found.label, found.classes.to_list()
    else:
        group, names = found.groups(per)
    used = [code for code in range(len(names)) if (free & (group == code)).any()]
    risk = terms.risk / terms.looks / max(len(used), 1)
    taken = np.zeros(len(found), dtype=bool)
    parts = []
    wrong = wrong_of(gold, found)
    for code in used:
        inside = free & (group == code)
        rows = inside[gold.task]
        part = ladder_part(names[code], found.order[inside], found.order[gold.task[rows]], wrong[rows], terms, risk)
        parts.append(part)
        if part.threshold is not None:
            taken |= inside & (np.round(found.order, walks.DIGITS) >= part.threshold)
    return parts, taken


def ladder_part(name: Any, everything: F8, checked: F8, wrong: Mask, terms: Terms, risk: float) -> Part:
    """The walk down one ladder."""
    threshold, size = walks.ladder(everything)
    m, e = walks.on_rungs(threshold, checked, wrong)
    if terms.guarantee == "mean":
        found = walks.walk_mean(len(checked), e, terms.error)
    elif terms.of == "all":
        found = walks.walk_all(len(everything), len(checked), e, terms.error, risk)
    else:
        found = walks.walk(size, m, e, terms.error, risk)
    bound = walks.upper(e, m, risk)
    rungs = [
        Rung(float(t), int(s), int(a), int(b), float(p), float(u))
        for t, s, a, b, p, u in zip(threshold, size, m, e, found.p, bound, strict=True)
    ]
    if found.last < 0:
        return Part(name, None, 0, None, risk, rungs, found.start)
    end = rungs[found.last]
    return Part(name, end.threshold, end.size, end.p, risk, rungs, found.start)


def _enough(parts: list[Part], terms: Terms) -> None:
    """Refuse where no ladder could have passed even without an error."""
    if terms.of == "all" or any(part.start >= 0 for part in parts):
        return
    risk = max((part.risk for part in parts), default=terms.risk)
    most = max((part.ladder[-1].checked for part in parts if part.ladder), default=0)
    needed = no_error_seen(terms.error, risk)
    larger = next(
        (a for a in (0.01, 0.02, 0.05, 0.1, 0.2, 0.3) if a > terms.error and no_error_seen(a, risk) <= most), None
    )
    hint = f"ask for --error {larger:g} or plan with --plan" if larger else "plan with --plan"
    raise DataError(
        f"an error of {100 * terms.error:g} % needs at least {needed:,} gold labels in the accepted region, there are "
        f"{most:,}; {hint}".replace("--error 0.", "--error .")
    )


def tables(found: Verdicts, taken: Mask, gold: Gold | None = None) -> tuple[pl.DataFrame, pl.DataFrame]:
    """(accepted, ask). Checked tasks have people's label and need not be asked again."""
    label, by = found.label.copy(), np.where(taken, 1, 0)
    if found.told is not None:  # known to the fit: nobody need be asked
        by[found.told & found.said] = 3
    if gold is not None:
        label[gold.task], by[gold.task] = gold.label, 2
    done = np.flatnonzero(by)
    names = found.classes.cast(pl.String)
    accepted = pl.DataFrame({
        "task": found.tasks.gather(done), "label": names.gather(label[done]), "confidence": found.confidence[done],
        "by": pl.Series(["", "verdict", "gold", "fit"]).gather(by[done]),
    })  # fmt: skip
    left = np.flatnonzero(by == 0)
    left = left[np.lexsort((left, found.order[left], found.said[left]))]  # nobody's first, then the least sure
    said = np.minimum(found.label[left], len(names) - 1) if len(names) else left
    shown = names.gather(said).set(pl.Series(~found.said[left]), None) if len(names) else names
    ask = pl.DataFrame({"task": found.tasks.gather(left), "verdict": shown, "confidence": found.confidence[left]})
    return accepted, ask


def promise(terms: Terms, per: str | None) -> str:
    """One sentence."""
    each = "" if per is None else f" in every {per}"
    share = f"{100 * terms.error:g} %"
    if terms.guarantee == "mean":
        return f"On average over drawings of the gold, wrongly accepted tasks are at most {share} of all tasks{each}."
    sure = f"With probability at least {100 * (1 - terms.risk):g} % over the drawing of the gold"
    if terms.of == "all":
        return f"{sure}, wrongly accepted tasks are at most {share} of all tasks{each}."
    return f"{sure}, at most {share} of the accepted tasks that nobody checked are wrong{each}."


def apply(certificate: Certificate, given: Any, votes: Votes[Any] | None = None, per: Any = None) -> Acceptance:
    """An old certificate on a new batch of the same kind of tasks: refused where the batch is not like the old one."""
    if isinstance(given, Votes):
        votes, given = given, fitted(given)
    found = verdicts(given, votes)
    if certificate.surest == "places":
        found, _, _ = ordered(found, given, votes, "places", certificate.scales)
    p = certificate.check_covers(found)
    group = np.zeros(len(found), dtype=np.int64)
    names: list[Any] = [None]
    if certificate.per == "class":
        group, names = found.label, found.classes.to_list()
    elif certificate.per is not None:
        group, names = found.groups(certificate.per if per is None else per)
    taken = np.zeros(len(found), dtype=bool)
    for part in certificate.parts:
        if part.threshold is not None and part.name in names:
            inside = found.said & (group == names.index(part.name))
            taken |= inside & (np.round(found.order, walks.DIGITS) >= part.threshold)
    note = f"certified {certificate.made} on {certificate.n_tasks:,} tasks; an old promise, certify again to renew it"
    shown = replace(certificate, checks=p, notes=[*certificate.notes, note])
    return Acceptance(*tables(found, taken), shown)
