"""What a whole fit states: how far the answers can be trusted, and what the others need.

The same functions make the statement of the terminal, the report and `crowdwise next`, so all pages agree.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...active.plan import plan_classes
from ...core.kind import KindHooks
from ...core.result import Result
from ...core.votes import Votes
from ...evaluation.fitting import calibrated_on, fit
from ...evaluation.statement import TO_CHECK, Statement, Trust, outlook
from ...evaluation.statement import statement as of_kind
from ...kinds.classes.annotations import Annotations
from ...kinds.classes.scoring.recommendations import recommend
from ...kinds.classes.scoring.summaries import dependence_sentences


def fit_calibrated(votes: Votes[Any], method: str, gold: Mapping[Any, Any] | None, drawn: Collection[Any]) -> Result:
    """The fit of a project's method (empty: the default). All gold teaches it; gold of the tasks `drawn` at random
    calibrates its confidence. Gold that was chosen otherwise would say something of the tasks that were chosen."""
    name = method or None
    sample = {task: answer for task, answer in (gold or {}).items() if task in drawn} or None
    if not votes.kind.hooks.supports(
        KindHooks.calibrate
    ):  # what gold measures of these, the fit itself does (see gold.usable)
        return fit(votes, name, gold or None, sampling=None if sample is None else "random")
    result = fit(votes, name, gold or None, calibrate=False)
    return result if sample is None else calibrated_on(result, votes, sample, "random")


def statement(
    votes: Votes[Any], result: Result, names: Sequence[str], *, plan: bool, unused: Sequence[str] = ()
) -> tuple[Statement | None, dict[str, Any]]:
    """The statement, and in JSON: `trust` with its sentence and what else is to be noted, `need`, `advice`.

    `names` are those of the workers, where the votes have their numbers; `plan` asks for the forecast of more votes,
    and `unused` says what of the gold is not used.
    """
    level = of_kind(result)
    copying = [[names[int(code)] for code in group] for group in result.extra.get("copying") or []]
    notes = [*unused, *dependence_sentences(replace(result, extra={**result.extra, "copying": copying}))]
    trust = {} if level is None else level.to_dict()
    if isinstance(level, Trust):
        trust |= {"of": level.n_decisions, "words": level.words}
    else:
        trust["ship"] = None
        notes.append(f"{result.kind.display_name} are not right or wrong one by one, so no share of them can ship")
    trust |= {"sentence": outlook(result), "notes": notes, "tasks": result.n_tasks}
    summary: dict[str, Any] = {"trust": trust | {"to_check": min(TO_CHECK, result.n_tasks)}}
    if not isinstance(votes, Annotations):
        line = f"of {votes.kind.display_name} it is not forecast what more answers or an expert would bring"
        return level, summary | {"need": None, "advice": [line]}
    if plan:
        advice = plan_classes(votes, result=result)
        need, summary["advice"] = advice.need, advice.sentences()
    else:
        need = recommend(votes, result)
    summary["need"] = {"vote": need.n_vote, "expert": need.n_expert}
    return level, summary
