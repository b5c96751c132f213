"""What every method for label sets shares: checks, gold, the workers' picture, the Result."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ...core.errors import DataError, LedgerWarning, ParameterError
from ...core.result import Result, versions
from ...core.vocabulary import lookup, quote
from ...core.votes import Votes
from ...engine.em import Callback
from ...kinds.sets.answers import Sets
from ...kinds.sets.estimate import SetPosterior, SetWorkers
from ...kinds.sets.truth import known_of, set_truth
from ...kinds.sets.votes import as_sets
from ...maths.sets.em import SetModel
from ...maths.sets.rows import SetRows
from ..decisions.checked import checked, wanted
from ..method import Method

F8 = npt.NDArray[np.float64]
I1 = npt.NDArray[np.int8]


@dataclass(frozen=True)
class SetSolution:
    """What a method works out itself: posterior[task, class], rate[class], and hits and alarms [worker, class]."""

    posterior: F8
    rate: F8
    hits: F8 | None = None
    alarms: F8 | None = None
    trace: F8 = field(default_factory=lambda: np.empty(0))
    stage: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    n_iter: int = 0
    converged: bool = True
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class SetAggregator(Method):
    """A method for label sets."""

    takes: ClassVar[str] = "sets"

    def fit(
        self,
        votes: Votes[Sets] | Any,
        gold: Any = None,
        *,
        prior: Any = None,
        n_shards: int = 1,  # noqa: ARG002
        callback: Callback | None = None,
        calibrate: bool | None = None,
    ) -> Result:
        """Sets, probabilities and workers' hits and false alarms of these votes, or of a table task, worker, labels.

        `gold` is the known set of some tasks (a mapping to lists, or a table task, labels), or a word on single classes
        (a table task, label, value): it stays put and teaches. `calibrate` corrects the confidence by gold; the default
        method does so unless it is False.
        """
        if prior is not None:
            raise ParameterError(f"{self.name} cannot use prior=")
        votes = as_sets(votes)
        known = set_gold(gold, votes)
        found = self.solve(votes, rows_of(votes), known, callback)
        self.warn_unless_settled(found.converged, found.n_iter)
        result = self._result(votes, found, known)
        return checked(self, result, votes, gold) if wanted(self, gold, calibrate) else result

    @abstractmethod
    def solve(self, votes: Votes[Sets], rows: SetRows, gold: I1 | None, callback: Callback | None) -> SetSolution:
        """The method itself."""

    def _result(self, votes: Votes[Sets], found: SetSolution, gold: I1 | None) -> Result:
        rows = rows_of(votes)
        posterior = found.posterior if gold is None else np.where(gold >= 0, gold, found.posterior)
        asked = None if votes.answers.menu is None else rows.asked > 0
        return Result(
            method=self.name,
            params=self.params(),
            tasks=votes.tasks,
            workers=votes.workers,
            estimate=SetPosterior(posterior, found.rate, votes.answers.classes, asked, getattr(self, "cut", 0.5)),
            picture=picture(rows, posterior, found.hits, found.alarms),
            labels_per_task=votes.labels_per_task,
            labels_per_worker=votes.labels_per_worker,
            gold=None if gold is None else np.asarray((gold >= 0).any(axis=1)),
            trace=found.trace,
            stage=found.stage,
            n_iter=found.n_iter,
            converged=found.converged,
            extra=found.extra,
            versions=versions(),
        )


def rows_of(votes: Votes[Sets]) -> SetRows:
    """The votes as arrays."""
    own = votes.answers
    return SetRows(
        votes.task,
        votes.worker,
        own.start,
        own.code,
        votes.n_tasks,
        votes.n_workers,
        len(own.classes),
        votes.weight,
        own.menu,
        own.menus,
    )


def set_gold(gold: Any, votes: Votes[Sets]) -> I1 | None:
    """gold[task, class]: 1 in the set, 0 not, -1 unknown; tasks that nobody answered are left out with a warning."""
    if gold is None:
        return None
    table = set_truth(gold, votes.answers.classes)
    tasks, names, known = table
    strange = [name for j, name in enumerate(names.to_list()[len(votes.answers.classes) :]) if known[:, j].size]
    if strange:
        raise DataError(f"gold names {quote(strange)}, which no worker was offered; read the votes with these classes")
    here = lookup(votes.tasks, tasks)[1]
    if not here.any():
        raise DataError(f"none of the {len(tasks)} gold tasks is among the annotated tasks ({quote(tasks)})")
    if not here.all():
        n = int((~here).sum())
        warnings.warn(f"{n} gold tasks have no answers and are left out", LedgerWarning, stacklevel=4)
    return known_of(table, votes.tasks, votes.answers.classes)


def picture(rows: SetRows, posterior: F8, hits: F8 | None, alarms: F8 | None) -> SetWorkers:
    """How the workers' answers stand to the posterior."""
    counts = SetModel(rows, None, tied=True).counts(posterior)
    right, true, wrong, false = (
        each[:, 0] for each in (counts.named_true, counts.true, counts.named_false, counts.false)
    )
    answers = np.bincount(rows.worker, weights=rows.weight, minlength=rows.n_workers)

    def share(a: F8, b: F8) -> F8:
        return np.where(b > 0, np.clip(a / np.where(b > 0, b, 1.0), 0.0, 1.0), np.nan)

    return SetWorkers(
        recall=share(right, true),
        precision=share(right, right + wrong),
        f1=share(2 * right, right + wrong + true),
        false_alarms=share(wrong, false),
        named=np.where(answers > 0, (right + wrong) / np.where(answers > 0, answers, 1.0), np.nan),
        hits=hits,
        alarms=alarms,
    )
