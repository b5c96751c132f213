"""`accept`: accept as many labels without human review as a guarantee allows."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from datetime import date
from typing import Any, Literal

import numpy as np
import polars as pl

from ...core.arrays import F8, I8, Mask
from ...core.errors import DataError, ParameterError
from ...core.result import versions
from ...core.votes import Votes
from . import sequential
from .certificate import Certificate, GroupTest, batch_of, ladder_steps
from .gold import GoldSample, blind_to, fingerprint, gold_tasks, not_used_to_fit, place
from .order import Surest, ordered, split_fit
from .sampling import random_sample
from .scored import meaning, right_or_wrong
from .sequential import no_error_seen
from .verdicts import Verdicts, as_verdicts, fitted


@dataclass(frozen=True)
class Acceptance:
    """Result of `accept`.

    Attributes:
        accepted: Accepted tasks: task, label, confidence, by.
        ask: Tasks for human review, least confident first.
        certificate: What is guaranteed.
    """

    accepted: pl.DataFrame
    ask: pl.DataFrame
    certificate: Certificate

    @property
    def share(self) -> float:
        """Share of all tasks that are accepted, checked tasks included."""
        n = len(self.accepted) + len(self.ask)
        return len(self.accepted) / n if n else 0.0


@dataclass(frozen=True)
class GuaranteeTerms:
    """The requested guarantee."""

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
            raise ParameterError('a guarantee in the mean is about all tasks; give of="all" (--of all)')
        if not 1 <= self.look <= self.looks:
            raise ParameterError(
                f"this is look {self.look} at the gold and {self.looks} was planned; plan several looks from the start "
                "(--looks N), or certify with fresh gold in another folder"
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
    min_score: float | None = None,
    within: float | None = None,
) -> Acceptance:
    """Find the tasks that need no human review.

    The guarantee: with probability 1 - `risk` over the drawing of the gold, at most a share `error` of the accepted
    tasks that were not checked are wrong.

    Args:
        given: A result, or votes (one judge's verdicts, or the default method is fitted without gold).
        gold: Known labels of tasks drawn at random.
        error: Highest share of wrong labels.
        risk: Probability with which the guarantee may fail.
        of: "accepted" for a share of the accepted tasks, "all" for wrongly accepted tasks as a share of all tasks.
        per: "class", or a column (or table) of groups: each then has the guarantee by itself.
        guarantee: "high" probability, or only in the "mean" (with of="all").
        sampling: How the gold was drawn, or a `Draw`.
        looks: Planned number of looks at the gold while it grows.
        look: Number of this look.
        fit_share: Share of the gold that fits a method which needs gold; the rest certifies.
        votes: The votes behind a result.
        seed: Seed for splitting the gold.
        made: Date of the certificate; today by default.
        surest: Order in which tasks are accepted: "confidence", "places" (percentiles of two confidences, see order.py)
            or "auto". The guarantee holds for every order.
        min_score: For answers with a score (spans, boxes, texts, ...): the lowest score that counts as right.
        within: For numbers: the largest absolute error that counts as right.

    Returns:
        The accepted tasks, the tasks for review, and the certificate. If the gold calibrated the result (`cw.fit`), the
        labels of the fit without it are judged.

    Raises:
        DataError: If there is too little gold, it is not a random sample, or it was used to fit the result.

    >>> import crowdwise as cw
    >>> crowd = cw.simulate.scenario("one_coin", tasks=400, workers=12, seed=1)
    >>> result = cw.DawidSkene().fit(crowd.annotations)
    >>> drawn = cw.draw(result, 120, seed=3)
    >>> gold = crowd.truth_table().filter(pl.col("task").is_in(drawn.tasks))
    >>> acceptance = cw.accept(result, gold=gold, error=0.1, sampling=drawn)
    >>> acceptance.certificate.n_accepted > 100
    True
    """
    terms = GuaranteeTerms(error, risk, of, guarantee, looks, look)
    given_hash = fingerprint(gold_tasks(gold))
    if fit_share is not None:
        given, gold = split_fit(given, votes, gold, fit_share, seed)
    if isinstance(given, Votes):
        votes, given = given, fitted(given)
    sample, labels = place(gold, as_verdicts(given, votes), None if votes is None else votes.about_workers)
    measure = ""
    if labels.value is not None:
        measure = f" {meaning(labels, min_score, within)}"
        sample, labels = right_or_wrong(sample, labels, min_score, within)
    elif min_score is not None or within is not None:
        raise ParameterError("labels are right or wrong; leave out min_score (--min-score) and within (--within)")
    verdicts = blind_to(sample, given, labels)
    not_used_to_fit(verdicts, sample)
    design, sample, notes, checks = random_sample(sampling, sample, verdicts, "a guarantee")
    verdicts, scales, order_notes = ordered(verdicts, given, votes, surest)
    is_open = verdicts.has_verdict if verdicts.used_to_fit is None else verdicts.has_verdict & ~verdicts.used_to_fit
    used_gold = sample.take(is_open[sample.task])
    parts, is_accepted = _parts(per, used_gold, verdicts, is_open, terms)
    _enough(parts, terms)
    if verdicts.changed is not None:  # the guarantee is about the labels of the fit without gold
        order_notes = [*order_notes, *blind_notes(verdicts, is_accepted)]
        is_accepted &= ~verdicts.changed
    title = None if per is None else per if isinstance(per, str) else "group"
    certificate = Certificate(
        promise=guarantee_sentence(terms, title) + measure, error=terms.error, risk=terms.risk, of=terms.of,
        guarantee=terms.guarantee, per=title, n_tasks=len(verdicts), n_accepted=int(is_accepted.sum()),
        n_gold=len(used_gold), parts=parts,
        sampling=design,
        looks=terms.looks, look=terms.look, method=verdicts.name, judges=verdicts.judges, gold_hash=given_hash,
        task_hash=fingerprint(verdicts.tasks), made=made or date.today().isoformat(), version=versions()["crowdwise"],
        classes=[str(name) for name in verdicts.classes.to_list()], batch=batch_of(verdicts), checks=checks,
        notes=[*notes, *order_notes], surest="places" if scales else "confidence",
        scales={name: asdict(scale) for name, scale in scales.items()},
    )  # fmt: skip
    shown = replace(labels, used_to_fit=verdicts.used_to_fit, acceptance_order=verdicts.order)
    return Acceptance(*tables(shown, is_accepted, sample), certificate)


def blind_notes(verdicts: Verdicts, is_accepted: Mask) -> list[str]:
    """Return notes on a guarantee that is based on the fit without gold."""
    assert verdicts.changed is not None
    n = int((is_accepted & verdicts.changed).sum())
    notes = ["this gold was also given to the fit, so the fit without it is judged"]
    return [*notes, f"{n:,} tasks whose label changed with the gold need human review"] if n else notes


def _parts(
    per: Any, gold: GoldSample, verdicts: Verdicts, is_open: Mask, terms: GuaranteeTerms
) -> tuple[list[GroupTest], Mask]:
    """Run the test for all tasks, or for each class or group at its share of the risk."""
    group, names = verdicts.groups_per(per)
    used_groups = [code for code in range(len(names)) if (is_open & (group == code)).any()]
    risk = terms.risk / terms.looks / max(len(used_groups), 1)
    is_accepted = np.zeros(len(verdicts), dtype=bool)
    parts = []
    wrong = np.asarray(gold.label != verdicts.label[gold.task])
    for code in used_groups:
        inside = is_open & (group == code)
        rows = inside[gold.task]
        part = ladder_part(
            names[code], verdicts.order[inside], verdicts.order[gold.task[rows]], wrong[rows], terms, risk
        )
        parts.append(part)
        if part.threshold is not None:
            is_accepted |= inside & (np.round(verdicts.order, sequential.DIGITS) >= part.threshold)
    return parts, is_accepted


def ladder_part(name: Any, everything: F8, checked: F8, wrong: Mask, terms: GuaranteeTerms, risk: float) -> GroupTest:
    """Test the steps of one ladder."""
    threshold, size = sequential.ladder(everything)
    m, e = sequential.counts_per_step(threshold, checked, wrong)
    if terms.guarantee == "mean":
        test = sequential.risk_control(len(checked), e, terms.error)
    elif terms.of == "all":
        test = sequential.fixed_sequence_all(len(everything), len(checked), e, terms.error, risk)
    else:
        test = sequential.fixed_sequence(size, m, e, terms.error, risk)
    steps = ladder_steps(threshold, size, m, e, test, risk)
    if test.last < 0:
        return GroupTest(name, None, 0, None, risk, steps, test.start)
    last = steps[test.last]
    return GroupTest(name, last.threshold, last.size, last.p, risk, steps, test.start)


def _enough(parts: list[GroupTest], terms: GuaranteeTerms) -> None:
    """Refuse if no ladder could have passed even without an error."""
    if terms.of == "all" or any(part.start >= 0 for part in parts):
        return
    risk = max((part.risk for part in parts), default=terms.risk)
    n_available = max((part.ladder[-1].checked for part in parts if part.ladder), default=0)
    n_needed = no_error_seen(terms.error, risk)
    larger_error = next(
        (a for a in (0.01, 0.02, 0.05, 0.1, 0.2, 0.3) if a > terms.error and no_error_seen(a, risk) <= n_available),
        None,
    )
    hint = f"ask for --error {larger_error:g} or plan with --plan" if larger_error else "plan with --plan"
    raise DataError(
        f"an error of {100 * terms.error:g} % needs at least {n_needed:,} gold labels in the accepted region, there "
        f"are {n_available:,}; {hint}".replace("--error 0.", "--error .")
    )


def tables(verdicts: Verdicts, is_accepted: Mask, gold: GoldSample | None = None) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the tables (accepted, ask). Checked tasks have their gold label and need no review."""
    label, by = verdicts.label.copy(), np.where(is_accepted, 1, 0)
    if verdicts.used_to_fit is not None:  # gold of the fit needs no review
        by[verdicts.used_to_fit & verdicts.has_verdict] = 3
    if gold is not None:
        label[gold.task], by[gold.task] = gold.label, 2
    if verdicts.shown is not None:
        return _shown_tables(verdicts, by, label)
    accepted_tasks = np.flatnonzero(by)
    names = verdicts.classes.cast(pl.String)
    accepted = pl.DataFrame({
        "task": verdicts.tasks.gather(accepted_tasks), "label": names.gather(label[accepted_tasks]),
        "confidence": verdicts.confidence[accepted_tasks],
        "by": pl.Series(["", "verdict", "gold", "fit"]).gather(by[accepted_tasks]),
    })  # fmt: skip
    open_tasks = np.flatnonzero(by == 0)
    open_tasks = open_tasks[
        np.lexsort((open_tasks, verdicts.order[open_tasks], verdicts.has_verdict[open_tasks]))
    ]  # nobody's first, then the least sure
    label_code = np.minimum(verdicts.label[open_tasks], len(names) - 1) if len(names) else open_tasks
    shown = names.gather(label_code).set(pl.Series(~verdicts.has_verdict[open_tasks]), None) if len(names) else names
    ask = pl.DataFrame(
        {"task": verdicts.tasks.gather(open_tasks), "verdict": shown, "confidence": verdicts.confidence[open_tasks]}
    )
    return accepted, ask


def _shown_tables(verdicts: Verdicts, by: I8, label: I8) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the tables for answers that are no classes: estimates as text. Those that gold shows wrong have none."""
    assert verdicts.shown is not None
    done = np.flatnonzero(by)
    by_gold_wrong = pl.Series((by == 2) & (label == 1)).gather(done)
    accepted = pl.DataFrame({
        "task": verdicts.tasks.gather(done), "label": verdicts.shown.gather(done).alias("label"),
        "confidence": verdicts.confidence[done],
        "by": pl.Series(["", "verdict", "gold", "fit"]).gather(by[done]), "wrong": by_gold_wrong,
    }).with_columns(label=pl.when("wrong").then(None).otherwise("label")).drop("wrong")  # fmt: skip
    ask = np.flatnonzero(by == 0)
    ask = ask[np.lexsort((ask, verdicts.order[ask], verdicts.has_verdict[ask]))]
    shown = {"task": verdicts.tasks.gather(ask), "verdict": verdicts.shown.gather(ask).alias("verdict")}
    return accepted, pl.DataFrame({**shown, "confidence": verdicts.confidence[ask]})


def guarantee_sentence(terms: GuaranteeTerms, per: str | None) -> str:
    """Return the guarantee as one sentence."""
    scope = "" if per is None else f" in every {per}"
    share = f"{100 * terms.error:g} %"
    if terms.guarantee == "mean":
        return f"On average over drawings of the gold, wrongly accepted tasks are at most {share} of all tasks{scope}."
    sure = f"With probability at least {100 * (1 - terms.risk):g} % over the drawing of the gold"
    if terms.of == "all":
        return f"{sure}, wrongly accepted tasks are at most {share} of all tasks{scope}."
    return f"{sure}, at most {share} of the accepted tasks that nobody checked are wrong{scope}."


def apply(certificate: Certificate, given: Any, votes: Votes[Any] | None = None, per: Any = None) -> Acceptance:
    """Apply a certificate to a new batch of the same kind of tasks.

    Raises:
        DataError: If the batch differs from the certified one.
    """
    if isinstance(given, Votes):
        votes, given = given, fitted(given)
    verdicts = as_verdicts(given, votes)
    if verdicts.value is not None:
        raise ParameterError("certificates of scores and numbers hold for their own batch; certify this one with gold")
    if certificate.surest == "places":
        verdicts, _, _ = ordered(verdicts, given, votes, "places", certificate.scales)
    p = certificate.check_covers(verdicts)
    keeps_own = per is None or certificate.per in (None, "class")
    group, names = verdicts.groups_per(certificate.per) if keeps_own else verdicts.groups(per)
    is_accepted = np.zeros(len(verdicts), dtype=bool)
    for part in certificate.parts:
        if part.threshold is not None and part.name in names:
            inside = verdicts.has_verdict & (group == names.index(part.name))
            is_accepted |= inside & (np.round(verdicts.order, sequential.DIGITS) >= part.threshold)
    note = f"certified {certificate.made} on {certificate.n_tasks:,} tasks; certify again to renew the guarantee"
    shown = replace(certificate, checks=p, notes=[*certificate.notes, note])
    return Acceptance(*tables(verdicts, is_accepted), shown)
