"""Base classes of the hooks that several kinds share."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..core.kind import KindHooks

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt
    import polars as pl

    from ..active.by_loss import LossPlan
    from ..active.plan import Plan
    from ..core.model import Model
    from ..core.result import Result
    from ..core.votes import Votes
    from ..evaluation.calibration import DecisionHooks
    from ..evaluation.scores import Table
    from ..evaluation.statement import Statement
    from ..workers.flags import Coefficient, Flag
    from ..workers.studied import Studied

    F8 = npt.NDArray[np.float64]


class CommonHooks(KindHooks):
    """Hooks that work for every kind that implements the other hooks."""

    def votes_html(self, votes: Votes[Any]) -> str:
        from ..plots.notebook import votes_html

        return votes_html(votes)

    def result_html(self, result: Result) -> str:
        from ..plots.notebook import result_html

        return result_html(result)

    def compare(self, votes: Votes[Any], methods: Sequence[str] | None = None, **options: Any) -> Any:
        from ..evaluation.distance_based import compare_distance_based

        return self.call(compare_distance_based, votes, methods, **options)

    def plan(self, votes: Votes[Any], **options: Any) -> Plan | LossPlan:
        from ..active.by_loss import plan_by_loss

        self.require(KindHooks.expected_loss)
        return self.call(plan_by_loss, votes, **options)


class PackageHooks(CommonHooks):
    """Hooks that are functions of the kind's package, which are imported when a hook is first called.

    `fitting` has `infer` and may have `model_of` (if results have a model) and `from_table` (if a table needs more than
    the kind's constructor); `scoring` has `describe`, `evaluate`, `sentences`, `show` and `inspect`; `workers` has
    `worker_rows`, `study_<kind>` and `flag_<kind>`.
    """

    def _module(self, name: str) -> Any:
        """Return a module of the package in which the hooks class is defined."""
        return import_module(f"{type(self).__module__.rpartition('.')[0]}.{name}")

    def from_table(self, table: pl.DataFrame) -> Votes[Any]:
        from_table = getattr(self._module("fitting"), "from_table", super().from_table)
        votes: Votes[Any] = from_table(table)
        return votes

    def model(self, result: Result) -> Model[Any] | None:
        model_of = getattr(self._module("fitting"), "model_of", None)
        return None if model_of is None else model_of(result)

    def infer(self, result: Result, votes: Any, unknown_workers: Any) -> Result:
        inferred: Result = self._module("fitting").infer(result, self.coerce(votes), unknown_workers)
        return inferred

    def describe(self, votes: Votes[Any]) -> dict[str, Any]:
        facts: dict[str, Any] = self._module("scoring").describe(votes)
        return facts

    def evaluate(self, result: Result | pl.DataFrame, truth: Any, **options: Any) -> Any:
        return self.call(self._module("scoring").evaluate, result, truth, **options)

    def sentences(self, votes: Votes[Any], result: Result) -> list[str]:
        lines: list[str] = self._module("scoring").sentences(votes, result)
        return lines

    def show(self, result: Result) -> tuple[str, list[Table]]:
        summary, tables = self._module("scoring").show(result)
        return summary, tables

    def inspect(self, facts: dict[str, Any], limit: int) -> tuple[list[list[str]], list[Table], list[str]]:
        rows, tables, advice = self._module("scoring").inspect(facts, limit)
        return rows, tables, advice

    def worker_rows(self, result: Result, limit: int = 5) -> tuple[list[str], list[list[str]]]:
        header, rows = self._module("workers").worker_rows(result, limit)
        return header, rows

    def study(self, votes: Votes[Any], result: Result, **options: Any) -> Studied:
        study: Studied = self.call(
            getattr(self._module("workers"), f"study_{self.kind.name}"), votes, result, **options
        )
        return study

    def flags(self, votes: Votes[Any], result: Result) -> list[Flag]:
        flags: list[Flag] = getattr(self._module("workers"), f"flag_{self.kind.name}")(votes, result)
        return flags


class DistanceHooks(PackageHooks):
    """Hooks of kinds with a distance: `answers` has `distance`, `fitting` has `estimated_answers`."""

    def agreement(self, votes: Votes[Any], **options: Any) -> list[Coefficient]:
        from ..workers.distance_based import agreement_by_distance

        return self.call(agreement_by_distance, votes, **options)

    def distance(self, answers: Any, i: Any, j: Any) -> F8:
        distances: F8 = self._module("answers").distance(answers, i, j)
        return distances

    def alpha(self, votes: Votes[Any]) -> float | None:
        from ..workers.distance_based import alpha

        return alpha(votes)

    def estimated_answers(self, votes: Votes[Any], result: Result) -> Any:
        return self._module("fitting").estimated_answers(votes, result)

    def expected_loss(self, votes: Votes[Any], result: Result) -> F8:  # noqa: ARG002
        from ..active.by_loss import loss_of_disagreement

        return loss_of_disagreement(votes)

    def task_scores(self, votes: Votes[Any], result: Result, gold: Any) -> tuple[Any, F8]:
        import numpy as np

        if not self.supports(KindHooks.gold_answers):
            raise self._missing("a score against gold")
        tasks, answers = self.gold_answers(votes, gold)
        estimates = self.estimated_answers(votes, result)
        n, rows = len(estimates), np.arange(len(tasks), dtype=np.int64)
        distance = self.distance(estimates.join(answers), np.asarray(tasks, dtype=np.int64), n + rows)
        return np.asarray(tasks, dtype=np.int64), self.score_of_distance(distance)


class DecidedHooks(DistanceHooks):
    """Hooks of kinds whose answers are right or wrong: `fitting` has `decisions` and `gold_answers`."""

    def calibrate(self, result: Result, votes: Votes[Any], gold: Any = None, *, prior: Any = None) -> Result:
        from ..evaluation.calibration import calibrate

        return calibrate(result, votes, gold, prior=prior)

    def statement(self, result: Result, error: float) -> Statement:
        from ..evaluation.calibration import trust

        return trust(result, error)

    def decisions(self) -> DecisionHooks:
        decisions: DecisionHooks = self._module("fitting").decisions()
        return decisions

    def gold_answers(self, votes: Votes[Any], gold: Any) -> tuple[Any, Any]:
        tasks, answers = self._module("fitting").gold_answers(votes, gold)
        return tasks, answers


class StudiedByDistanceHooks(DecidedHooks):
    """Hooks of kinds whose workers are studied by their distance from the others alone."""

    def study(self, votes: Votes[Any], result: Result, **options: Any) -> Studied:
        from ..workers.distance_based import study_by_distance

        return self.call(study_by_distance, votes, result, **options)

    def flags(self, votes: Votes[Any], result: Result) -> list[Flag]:
        from ..workers.distance_based import flags_by_distance

        return flags_by_distance(votes, result)
