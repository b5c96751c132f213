"""Votes and their result, loaded from a run folder or fitted to a file, for commands that show a result."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.options import ReadOptions
from .loading import add_classes, check_grades_of, check_method_name, is_run, load, resolve_method
from .progress import iteration_progress
from .sampling import Sampling, print_assumed_sampling, resolve_sampling, used_in_fit
from .terminal import error_context, info, print_ledger
from .vote_options import read_known_labels

if TYPE_CHECKING:
    from ..core.result import Result
    from ..core.votes import Votes

FileAndColumns = tuple[Path | None, str | None]


@dataclass(frozen=True)
class FitRequest:
    """Options of a fit, the same for a file and a run folder.

    `grades` holds the measurement level and order of the classes; `evaluate_gold` also fits without gold, so that gold
    can evaluate that fit.
    """

    method: str | None
    param: list[str] | None
    gold: FileAndColumns
    read_options: ReadOptions
    seed: int
    sampling: Sampling | None = None
    error: float | None = None
    truth: FileAndColumns = (None, None)
    grades: dict[str, Any] | None = None
    evaluate_gold: bool = False


@dataclass(frozen=True)
class FittedVotes:
    """A result with its votes; `blind` is the fit without gold, where gold evaluates it."""

    votes: Votes[Any]
    result: Result
    gold: Any
    truth: Any = None
    blind: Result | None = None
    history: Any = None


def load_or_fit(votes: str, request: FitRequest) -> FittedVotes:
    """Load the result of a run folder, calibrated on any given gold, or fit the method to a file."""
    from ..evaluation.statement import at_error, error_of

    fitted = _from_run(votes, request) if is_run(votes, request.read_options) else _from_file(votes, request)
    return replace(fitted, result=at_error(fitted.result, error_of(fitted.result, request.error)))


def _from_file(votes: str, request: FitRequest) -> FittedVotes:
    from ..evaluation.fitting import fit
    from ..kinds.classes.workers.removal import blind_fit

    check_method_name(request.method)
    answers, gold = load(votes, request.read_options, *request.gold, request.method)
    aggregator = resolve_method(request.method, answers, request.seed, request.param, gold)
    truth = read_known_labels(request.read_options, *request.truth, answers.kind)
    if truth is not None:
        answers = add_classes(answers, truth)
    print_ledger(answers.ledger)
    sampling = resolve_sampling(request.sampling, request.gold[0], gold, answers.tasks)
    with iteration_progress(aggregator.name) as callback, error_context(votes, request.gold[0]):
        check_grades_of(answers, request.grades or {})
        fit_options = {"sampling": sampling, "callback": callback}
        if request.evaluate_gold:
            result, blind = blind_fit(aggregator, answers, gold, **fit_options)
        else:
            result, blind = fit(answers, aggregator, gold, **fit_options), None
    print_assumed_sampling(result)
    return FittedVotes(answers, result, gold, truth, blind)


def _from_run(votes: str, request: FitRequest) -> FittedVotes:
    from ..evaluation.fitting import calibrated_on, sampling_of
    from ..io.run_folder import Run
    from ..kinds.classes.workers.removal import blind_to

    saved = Run.load(votes)
    run, note = saved.shown()
    if note is not None:
        info(f"note: {note}")
    answers, result = run.need_votes(votes), run.result
    check_grades_of(answers, request.grades or {})
    gold, truth = (
        read_known_labels(request.read_options, *named, answers.kind) for named in (request.gold, request.truth)
    )
    sampling = resolve_sampling(request.sampling, request.gold[0], gold, answers.tasks, result)
    if gold is None:
        # The gold of the fit measures what it measures when the file is fitted; chosen gold measures nothing.
        measures = request.evaluate_gold and sampling_of(result) not in ("weights", "chosen")
        fit_gold = run.gold if measures else None
        blind = None if fit_gold is None else blind_to(result, answers, True)
        return FittedVotes(answers, result, fit_gold, truth, blind, run.history)
    is_fit_gold = used_in_fit(result, gold)
    reason = _calibration_obstacle(result, is_fit_gold, saved.folder is not None)
    with error_context(votes, request.gold[0]):
        blind = blind_to(result, answers, is_fit_gold) if request.evaluate_gold else None
        if reason:
            info(f"note: {reason}; this gold is only used to evaluate it")
        else:
            result = calibrated_on(result, answers, gold, sampling)
            print_assumed_sampling(result)
    return FittedVotes(answers, result, gold, truth, blind, run.history)


def _calibration_obstacle(result: Result, is_fit_gold: bool, in_parts: bool) -> str:
    """Return why the confidence of a run is not calibrated on this gold; empty if it can be."""
    if in_parts:
        return "a run in parts is shown by a sample of its tasks"
    if "slope" in result.extra.get("gold_check", {}) and not is_fit_gold:
        return "this run is calibrated on other gold"
    return ""
