"""The statement of a fit: the accuracy of the labels, and how many more votes are needed.

The terminal, the report and `crowdwise next` use the same functions, so that their statements agree.
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
    """Fit the project's method (empty: the default) with all gold. Gold of the tasks `drawn` at random calibrates its
    confidence; other gold is not representative."""
    name = method or None
    sample = {task: answer for task, answer in (gold or {}).items() if task in drawn} or None
    if not votes.kind.hooks.supports(KindHooks.calibrate):  # the fit itself uses random gold (see gold.usable)
        return fit(votes, name, gold or None, sampling=None if sample is None else "random")
    result = fit(votes, name, gold or None, calibrate=False)
    return result if sample is None else calibrated_on(result, votes, sample, "random")


def statement(
    votes: Votes[Any], result: Result, names: Sequence[str], *, plan: bool, unused: Sequence[str] = ()
) -> tuple[Statement | None, dict[str, Any]]:
    """The statement, and as JSON: `trust` with its sentence and notes, `need`, `advice`.

    `names` are the names of the workers if the votes have codes; `plan` adds the forecast of more votes; `unused` are
    notes on gold that is not used.
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
