"""Votes and their result, for commands that show one: from a run folder, or by fitting a method to a file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .loading import checked_grades, checked_method, chosen_method, is_run, load, with_classes_of
from .sampling import Sampling, same_gold, stated, tell_assumed
from .terminal import naming, progress, say, tell_ledger
from .vote_options import Asked

if TYPE_CHECKING:
    from ..core.result import Result
    from ..core.votes import Votes

Named = tuple[Path | None, str | None]


@dataclass(frozen=True)
class Wanted:
    """What was asked for, the same for a file and a run: -m, -p, --gold and --truth with their columns, --sampling,
    --error, --seed, how agreement is graded, and whether gold is to judge the fit without it (`judged`)."""

    method: str | None
    param: list[str] | None
    gold: Named
    asked: Asked
    seed: int
    sampling: Sampling | None = None
    error: float | None = None
    truth: Named = (None, None)
    grades: dict[str, Any] | None = None
    judged: bool = False


@dataclass(frozen=True)
class Fitted:
    """`blind` is the fit without gold where gold is to judge it; the result holds its level (`trust.at_error`)."""

    votes: Votes[Any]
    result: Result
    gold: Any
    truth: Any = None
    blind: Result | None = None
    history: Any = None


def obtain(votes: str, wanted: Wanted) -> Fitted:
    """The result of a run folder, calibrated on gold where some is given, or the method fitted to a file."""
    from ..evaluation.statement import at_error, error_of

    made = _from_run(votes, wanted) if is_run(votes, wanted.asked) else _from_file(votes, wanted)
    return replace(made, result=at_error(made.result, error_of(made.result, wanted.error)))


def _from_file(votes: str, wanted: Wanted) -> Fitted:
    from ..evaluation.fitting import fit
    from ..kinds.classes.workers.removal import blind_fit

    checked_method(wanted.method)
    answers, gold = load(votes, wanted.asked, *wanted.gold, wanted.method)
    chosen = chosen_method(wanted.method, answers, wanted.seed, wanted.param, gold)
    truth = wanted.asked.truth(*wanted.truth, answers.kind)
    if truth is not None:
        answers = with_classes_of(answers, truth)
    tell_ledger(answers.ledger)
    sampling = stated(wanted.sampling, wanted.gold[0], gold, answers.tasks)
    with progress(chosen.name) as callback, naming(votes, wanted.gold[0]):
        checked_grades(answers, wanted.grades or {})
        how = {"sampling": sampling, "callback": callback}
        if wanted.judged:
            result, blind = blind_fit(chosen, answers, gold, **how)
        else:
            result, blind = fit(answers, chosen, gold, **how), None
    tell_assumed(result)
    return Fitted(answers, result, gold, truth, blind)


def _from_run(votes: str, wanted: Wanted) -> Fitted:
    from ..evaluation.fitting import calibrated_on
    from ..io.run_folder import Run
    from ..kinds.classes.workers.removal import blind_to

    saved = Run.load(votes)
    run, note = saved.shown()
    if note is not None:
        say(f"note: {note}")
    answers, result = run.need_votes(votes), run.result
    checked_grades(answers, wanted.grades or {})
    gold, truth = (wanted.asked.truth(*named, answers.kind) for named in (wanted.gold, wanted.truth))
    sampling = stated(wanted.sampling, wanted.gold[0], gold, answers.tasks, result)
    if gold is None:
        return Fitted(answers, result, None, truth, None, run.history)
    given = same_gold(result, gold)
    why = _only_judges(result, given, saved.folder is not None)
    with naming(votes, wanted.gold[0]):
        blind = blind_to(result, answers, given) if wanted.judged else None
        if why:
            say(f"note: {why}; this gold only judges it")
        else:
            result = calibrated_on(result, answers, gold, sampling)
            tell_assumed(result)
    return Fitted(answers, result, gold, truth, blind, run.history)


def _only_judges(result: Result, given: bool, in_parts: bool) -> str:
    """Why the confidence of a run is not calibrated on this gold; empty where it can be."""
    if in_parts:
        return "a run in parts is shown by a sample of its tasks"
    if "slope" in result.extra.get("gold_check", {}) and not given:
        return "this run is calibrated on other gold"
    return ""
