"""What a whole fit states: how far the labels can be trusted, and what the others need.

The same functions make the statement of the terminal, the report and `crowdwise next`, so all pages agree.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ...active.plan import plan_classes
from ...aggregate.registry import card, default_method
from ...aggregate.registry import method as made
from ...core.result import Result
from ...kinds.classes.annotations import Annotations
from ...scoring.calibrate import calibrate
from ...scoring.needs import needs
from ...scoring.sentences import err_together
from ...scoring.trust import trust


def fit_calibrated(votes: Annotations, method: str, gold: Mapping[Any, Any] | None, drawn: Collection[Any]) -> Result:
    """The fit of a project's method (empty: the default). All gold teaches it; gold of the tasks `drawn` at random
    calibrates its confidence. Gold that was chosen otherwise would say something of the tasks that were chosen."""
    result: Result = made(method or default_method(votes, gold)).fit(votes, gold=gold, calibrate=False)
    sample = {task: answer for task, answer in (gold or {}).items() if task in drawn}
    if not sample or "gold" in card(result.method).needs:
        return result
    return calibrate(result, votes, sample)


def statement(
    votes: Annotations, result: Result, names: Sequence[str], *, plan: bool
) -> tuple[npt.NDArray[np.bool_], dict[str, Any]]:
    """Which labels can ship, and the statement in JSON: `trust` with its sentence, `need`, and with `plan` the forecast
    of more votes. `names` are those of the workers, whose numbers the votes have."""
    level = trust(result)
    copying = [[names[int(code)] for code in group] for group in result.extra.get("copying") or []]
    notes = err_together(replace(result, extra={**result.extra, "copying": copying}))
    stated = {"tasks": level.n_tasks, "sentence": level.sentence(), "notes": notes, "to_check": level.n_to_check}
    told: dict[str, Any] = {"trust": level.to_dict() | stated}
    if plan:
        advice = plan_classes(votes, result=result)
        need, told["advice"] = advice.need, advice.sentences()
    else:
        need = needs(votes, result)
    told["need"] = {"vote": need.n_vote, "expert": need.n_expert}
    return level.ships, told
