"""Simulated crowds that mark spans in texts of made-up words.

>>> from crowdwise.kinds.spans.simulate import span_crowd
>>> crowd = span_crowd(20, 6, per_task=3, seed=1)
>>> len(crowd.spans), len(crowd.texts)
(60, 20)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from ...core.arrays import F8, I4
from ...core.votes import Votes
from ...simulate.draws import draw_answers, draw_kinds, draw_sources, draw_workers, numbered, source_names, vocabulary
from ...simulate.planted import Planted, answer_columns, planted_by, scenarios, worker_columns
from ...stats.ragged import starts
from .answers import Spans, span_votes, spans_of

Span = tuple[int, int, str]
WordSpan = tuple[int, int, int]  # first word, last word + 1, tag


@dataclass(frozen=True, eq=False)
class SpanCrowd:
    """The spans of a simulated crowd, a list of (start, end, tag) per row, and the parameters behind them.

    An honest worker misses a span with probability `miss`, marks `spurious` wrong spans per text on average, is off by
    a word or more at either end with probability `slip`, and draws the tag at random with probability `mistake`. `kind`
    is honest, random (marks anything), idle (marks nothing), constant (marks the beginning) or copier.
    """

    task: I4
    worker: I4
    spans: list[list[Span]]
    texts: list[str]
    truth: list[list[Span]]
    miss: F8
    spurious: F8
    slip: F8
    mistake: F8
    kind: list[str]
    copies: I4


def span_crowd(
    tasks: int = 300,
    workers: int = 30,
    *,
    per_task: int = 5,
    words: tuple[int, int] = (12, 40),
    length: tuple[int, int] = (1, 3),
    density: float = 0.08,
    tags: Sequence[str] = ("LOC", "ORG", "PER"),
    miss: tuple[float, float] = (0.05, 0.4),
    spurious: tuple[float, float] = (0.0, 0.6),
    slip: tuple[float, float] = (0.05, 0.3),
    mistake: tuple[float, float] = (0.02, 0.2),
    random: float = 0.0,
    idle: float = 0.0,
    constant: float = 0.0,
    copier: float = 0.0,
    seed: int | np.random.Generator = 0,
) -> SpanCrowd:
    """Draw a crowd that marks spans.

    Args:
        tasks: Number of texts.
        workers: Number of workers.
        per_task: Number of different workers of each text.
        words: Range of the number of words in a text.
        length: Range of the number of words in a span.
        density: Spans per word.
        tags: Names of the tags; empty for spans without tags.
        miss: Range of the workers' probability of missing a span.
        spurious: Range of the workers' mean number of wrong spans per text.
        slip: Range of the workers' probability of an inexact end.
        mistake: Range of the workers' probability of a random tag.
        random: Share of workers who mark anything.
        idle: Share of workers who mark nothing.
        constant: Share of workers who always mark the beginning.
        copier: Share of workers who copy an honest worker.
        seed: Seed of the draws, or a generator.
    """
    rng = np.random.default_rng(seed)
    lexicon = vocabulary(500, rng)
    names = list(tags) or [""]
    texts = [[lexicon[i] for i in rng.integers(len(lexicon), size=rng.integers(words[0], words[1] + 1))]
             for _ in range(tasks)]  # fmt: skip
    truth = [_true_spans(len(text), length, density, len(names), rng) for text in texts]
    kind = draw_kinds(workers, {"random": random, "idle": idle, "constant": constant, "copier": copier}, rng)
    rates = {name: rng.uniform(*ends, workers) for name, ends in
             (("miss", miss), ("spurious", spurious), ("slip", slip), ("mistake", mistake))}  # fmt: skip
    copies = draw_sources(kind, rng, distinct=False)
    workers_of = draw_workers(tasks, workers, per_task, rng)

    def answer(t: int, w: int) -> list[WordSpan]:
        worker_rates = {name: float(rate[w]) for name, rate in rates.items()}
        return _marked_spans(truth[t], len(texts[t]), length, kind[w], worker_rates, len(names), rng)

    task, worker, spans = draw_answers(workers_of, copies, answer)
    return SpanCrowd(
        task=task,
        worker=worker,
        spans=[_in_characters(marked, texts[t], names) for t, marked in zip(task.tolist(), spans, strict=True)],
        texts=[" ".join(text) for text in texts],
        truth=[_in_characters(spans, text, names) for spans, text in zip(truth, texts, strict=True)],
        kind=kind,
        copies=copies,
        **rates,
    )


def _true_spans(
    n_words: int, length: tuple[int, int], density: float, n_tags: int, rng: np.random.Generator
) -> list[WordSpan]:
    spans, begin = [], 0
    while begin < n_words:
        begin += int(rng.geometric(density))
        size = int(rng.integers(length[0], length[1] + 1))
        if begin + size <= n_words:
            spans.append((begin, begin + size, int(rng.integers(n_tags))))
        begin += size + 1
    return spans


def _marked_spans(
    truth: list[WordSpan],
    n_words: int,
    length: tuple[int, int],
    kind: str,
    rates: dict[str, float],
    n_tags: int,
    rng: np.random.Generator,
) -> list[WordSpan]:
    if kind == "idle":
        return []
    if kind == "constant":
        return [(0, min(2, n_words), 0)]
    spans: list[WordSpan] = []
    for a, b, tag in truth if kind != "random" else []:
        if rng.random() < rates["miss"]:
            continue
        reach = max(1, (b - a) // 3)
        if rng.random() < rates["slip"]:
            a = max(0, a + int(rng.integers(-reach, reach + 1)))
        if rng.random() < rates["slip"]:
            b = min(n_words, b + int(rng.integers(-reach, reach + 1)))
        if rng.random() < rates["mistake"]:
            tag = int(rng.integers(n_tags))
        spans.append((min(a, n_words - 1), max(b, min(a, n_words - 1) + 1), tag))
    for _ in range(int(rng.poisson(max(len(truth), 1) if kind == "random" else rates["spurious"]))):
        size = int(rng.integers(length[0], length[1] + 1))
        a = int(rng.integers(0, max(n_words - size, 0) + 1))
        spans.append((a, min(a + size, n_words), int(rng.integers(n_tags))))
    return _without_overlaps(spans)


def _without_overlaps(spans: list[WordSpan]) -> list[WordSpan]:
    """Spans in order, without those that overlap an earlier one, as most tools have it."""
    separate: list[WordSpan] = []
    for span in sorted(spans):
        if not separate or span[0] >= separate[-1][1]:
            separate.append(span)
    return separate


def _in_characters(spans: list[WordSpan], text: list[str], names: list[str]) -> list[Span]:
    begin = starts(np.array([len(word) + 1 for word in text])).tolist()
    return [(begin[a], begin[b] - 1, names[tag]) for a, b, tag in spans]


class PlantedSpans(Planted[Votes[Spans]]):
    """Simulated spans with their ground truth. `truth` holds the true spans of each task.

    >>> from crowdwise import simulate
    >>> simulate.scenario("spans_idle", tasks=20, workers=10, seed=1)
    PlantedSpans(honest, idle: Votes(100 lists of spans, 20 tasks, 10 workers))
    """

    def __init__(self, planted: SpanCrowd) -> None:
        tasks, workers = numbered("t", len(planted.texts)), numbered("w", len(planted.kind))
        votes = span_votes(spans=planted.spans, **answer_columns(planted, tasks, workers))
        self._texts = pl.DataFrame({"task": tasks, "text": planted.texts})
        rates = {name: getattr(planted, name) for name in ("miss", "spurious", "slip", "mistake")}
        super().__init__(
            votes.about(tasks=self._texts),
            pl.DataFrame({"task": tasks, "spans": spans_of(planted.truth, "task")[0].texts}),
            worker_columns(workers, planted.kind, copies=source_names(workers, planted.copies), **rates),
            planted,
        )

    def tables(self) -> dict[str, pl.DataFrame]:
        """The tables that `save` writes, by file name."""
        tables = super().tables()
        workers = tables.pop("workers.csv")
        return {**tables, "texts.csv": self._texts, "workers.csv": workers}


_PASSAGES: dict[str, Any] = {"words": (80, 200), "length": (6, 20), "density": 0.02, "tags": ("",)}
SPAN_SCENARIOS = scenarios(
    "spans",
    planted_by(span_crowd, PlantedSpans),
    {
        "spans_plain": ("names in sentences: three tags, spans of one to three words", {}),
        "spans_passages": ("passages without tags in longer texts", _PASSAGES),
        "spans_random": ("names; a fifth of the workers mark anything", {"random": 0.2}),
        "spans_idle": ("names; a fifth of the workers mark nothing", {"idle": 0.2}),
        "spans_copiers": ("names; a fifth of the workers copy an honest worker", {"copier": 0.2}),
        "spans_mixed": (
            "passages; a tenth each of the workers mark anything, nothing, the beginning, or copy",
            {**_PASSAGES, "random": 0.1, "idle": 0.1, "constant": 0.1, "copier": 0.1},
        ),
    },
)
