"""The kind `polyline`: a line drawn on an image."""

from __future__ import annotations

import polars as pl

from crowdwise.core.kind import Kind
from crowdwise.kinds.hooks import CommonHooks

from .answers import NAMES, LineCoder, detect_columns


class LineHooks(CommonHooks):
    """Hooks of lines."""

    display_name = "lines"

    def estimate_types(self):
        from .estimate import LineEstimate, LineWorkers

        return LineEstimate, LineWorkers

    def distance(self, answers, i, j):
        from .maths import distances

        return distances(answers.resampled[i], answers.resampled[j])

    def estimated_answers(self, votes, result):
        return result.estimate.answers

    def gold_answers(self, votes, gold):
        from .fitting import gold_answers

        return gold_answers(votes, gold)

    def infer(self, result, votes, unknown_workers):
        from .fitting import infer

        return infer(result, votes)

    def describe(self, votes):
        from .scoring import describe

        return describe(votes)

    def evaluate(self, result, truth, **options):
        from .scoring import evaluate

        return self.call(evaluate, result, truth, **options)

    def sentences(self, votes, result):
        return [result.estimate.summary()]

    def show(self, result):
        from .scoring import show

        return show(result)

    def inspect(self, facts, limit):
        from .scoring import inspect

        return inspect(facts)

    def worker_rows(self, result, limit=5):
        from .scoring import worker_rows

        return worker_rows(result, limit)

    def study(self, votes, result, **options):
        from crowdwise.workers.distance_based import study_by_distance

        return self.call(study_by_distance, votes, result, **options)

    def flags(self, votes, result):
        from crowdwise.workers.distance_based import flags_by_distance

        return flags_by_distance(votes, result)

    def page(self, votes, result, **options):
        from .page import line_page

        return self.call(line_page, votes, result, **options)


KIND = Kind(
    name="polyline",
    hooks=LineHooks(),
    columns={"line": NAMES},
    coder=LineCoder,
    default="median_line",
    answers_word="lines",
    detect_columns=detect_columns,
    dtypes=(pl.String(),),
)
