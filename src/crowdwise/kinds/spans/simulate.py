"""Planted crowds that mark spans: texts of made-up words, true spans, and what workers mark.

>>> from crowdwise.kinds.spans.simulate import span_crowd
>>> crowd = span_crowd(20, 6, per_task=3, seed=1)
>>> len(crowd.spans), len(crowd.texts)
(60, 20)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.errors import ParameterError
from ...core.votes import Votes
from ...simulate.words import vocabulary
from .answers import Spans, spans_of
from .kind import span_votes

F8 = npt.NDArray[np.float64]
I4 = npt.NDArray[np.int32]
Span = tuple[int, int, str]


@dataclass(frozen=True, eq=False)
class SpanCrowd:
    """What the workers marked, a list of (start, end, tag) a row, and what nobody but a simulator knows.

    An honest worker overlooks a span with chance `miss`, marks a wrong place `spurious` times a text on average, is off
    by a word or more at an end with chance `slip`, and takes one tag for another with chance `mistake`. `kind` is
    honest, random (marks anything), idle (marks nothing), constant (marks the beginning) or copier.
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
    """Texts of `words` words with `density` spans a word of `length` words each; workers drawn between the ends given.

    `random`, `idle`, `constant` and `copier` are shares of the workers.
    """
    rng = np.random.default_rng(seed)
    lexicon = vocabulary(500, rng)
    names = list(tags) or [""]
    said = [[lexicon[i] for i in rng.integers(len(lexicon), size=rng.integers(words[0], words[1] + 1))]
            for _ in range(tasks)]  # fmt: skip
    true = [_truth(len(text), length, density, len(names), rng) for text in said]
    kind = _kinds(workers, {"random": random, "idle": idle, "constant": constant, "copier": copier}, rng)
    own = {name: rng.uniform(*ends, workers) for name, ends in
           (("miss", miss), ("spurious", spurious), ("slip", slip), ("mistake", mistake))}  # fmt: skip
    copies = _sources(kind, rng)
    who = np.sort(rng.permuted(np.tile(np.arange(workers), (tasks, 1)), axis=1)[:, :per_task], axis=1)
    answers: dict[tuple[int, int], list[tuple[int, int, int]]] = {}
    for t in range(tasks):
        for w in sorted(who[t], key=lambda w: copies[w] >= 0):
            source = (t, int(copies[w]))
            if copies[w] >= 0 and source in answers:
                answers[t, int(w)] = answers[source]
            else:
                answers[t, int(w)] = _marks(true[t], len(said[t]), length, kind[w], own, int(w), len(names), rng)
    rows = [(t, int(w)) for t in range(tasks) for w in who[t]]
    texts = [" ".join(text) for text in said]
    return SpanCrowd(
        task=np.array([t for t, _ in rows], dtype=np.int32),
        worker=np.array([w for _, w in rows], dtype=np.int32),
        spans=[_places(answers[row], said[row[0]], names) for row in rows],
        texts=texts,
        truth=[_places(spans, text, names) for spans, text in zip(true, said, strict=True)],
        kind=kind,
        copies=copies,
        **own,
    )


def _truth(
    n: int, length: tuple[int, int], density: float, n_tags: int, rng: np.random.Generator
) -> list[tuple[int, int, int]]:
    out, at = [], 0
    while at < n:
        at += int(rng.geometric(density))
        size = int(rng.integers(length[0], length[1] + 1))
        if at + size <= n:
            out.append((at, at + size, int(rng.integers(n_tags))))
        at += size + 1
    return out


def _marks(
    true: list[tuple[int, int, int]],
    n: int,
    length: tuple[int, int],
    kind: str,
    own: dict[str, F8],
    w: int,
    n_tags: int,
    rng: np.random.Generator,
) -> list[tuple[int, int, int]]:
    if kind == "idle":
        return []
    if kind == "constant":
        return [(0, min(2, n), 0)]
    out: list[tuple[int, int, int]] = []
    usual = max(len(true), 1)
    for a, b, tag in true if kind != "random" else []:
        if rng.random() < own["miss"][w]:
            continue
        reach = max(1, (b - a) // 3)
        if rng.random() < own["slip"][w]:
            a = max(0, a + int(rng.integers(-reach, reach + 1)))
        if rng.random() < own["slip"][w]:
            b = min(n, b + int(rng.integers(-reach, reach + 1)))
        if rng.random() < own["mistake"][w]:
            tag = int(rng.integers(n_tags))
        out.append((min(a, n - 1), max(b, min(a, n - 1) + 1), tag))
    for _ in range(int(rng.poisson(usual if kind == "random" else own["spurious"][w]))):
        size = int(rng.integers(length[0], length[1] + 1))
        a = int(rng.integers(0, max(n - size, 0) + 1))
        out.append((a, min(a + size, n), int(rng.integers(n_tags))))
    return _apart(out)


def _apart(marks: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Marks in order; one that would overlap an earlier one is left out, as most tools do."""
    out: list[tuple[int, int, int]] = []
    for mark in sorted(marks):
        if not out or mark[0] >= out[-1][1]:
            out.append(mark)
    return out


def _places(marks: list[tuple[int, int, int]], text: list[str], names: list[str]) -> list[Span]:
    """Words as characters."""
    begin = np.concatenate([[0], np.cumsum([len(word) + 1 for word in text])]).tolist()
    return [(begin[a], begin[b] - 1, names[tag]) for a, b, tag in marks]


def _kinds(workers: int, shares: dict[str, float], rng: np.random.Generator) -> list[str]:
    kinds = [name for name, share in shares.items() for _ in range(round(share * workers))]
    kinds += ["honest"] * (workers - len(kinds))
    return [kinds[i] for i in rng.permutation(workers)]


def _sources(kind: list[str], rng: np.random.Generator) -> I4:
    """Whom each copier copies: an honest worker each."""
    out = np.full(len(kind), -1, dtype=np.int32)
    honest = [i for i, name in enumerate(kind) if name == "honest"]
    for i, name in enumerate(kind):
        if name == "copier" and honest:
            out[i] = honest[int(rng.integers(len(honest)))]
    return out


# ---------------------------------------------------------------- Planted crowds that mark spans of a text

# ----------------------------------------------------------------
# Ready-made crowds that mark spans, by name: votes, the truth, and who was planted as what.


@dataclass(frozen=True, eq=False, repr=False)
class PlantedSpans:
    """What the workers marked, and what nobody but a simulator knows: the counterpart of `Crowd` for spans.

    >>> from crowdwise import simulate
    >>> simulate.scenario("spans_idle", tasks=20, workers=10, seed=1)
    PlantedSpans(honest, idle: Votes(100 lists of spans, 20 tasks, 10 workers))
    """

    planted: SpanCrowd

    def __repr__(self) -> str:
        return f"PlantedSpans({', '.join(sorted(set(self.kind)))}: {self.votes})"

    @cached_property
    def votes(self) -> Votes[Spans]:
        """What the workers marked."""
        tasks, workers = (
            pl.Series([f"{mark}{i:0{len(str(n - 1))}d}" for i in range(n)])
            for mark, n in (("t", len(self.planted.texts)), ("w", len(self.planted.kind)))
        )
        task, worker = tasks.gather(self.planted.task), workers.gather(self.planted.worker)
        made = span_votes(task, worker, self.planted.spans, tasks=tasks, workers=workers)
        return made.about(tasks=pl.DataFrame({"task": tasks, "text": self.planted.texts}))

    @property
    def annotations(self) -> Votes[Spans]:
        """The votes, by the name that they have in a `Crowd`."""
        return self.votes

    @property
    def truth(self) -> Any:
        """The true spans of each task."""
        return self.planted.truth

    @property
    def kind(self) -> list[str]:
        """What each worker was planted as: honest, random, idle, constant or copier."""
        return self.planted.kind

    @property
    def copies(self) -> list[str | None]:
        """Whom each worker copies."""
        names = self.votes.workers.to_list()
        return [names[at] if at >= 0 else None for at in self.planted.copies.tolist()]

    def truth_table(self) -> pl.DataFrame:
        """The table task, spans."""
        return pl.DataFrame({"task": self.votes.tasks, "spans": spans_of(self.truth, "task")[0].texts})

    def worker_table(self) -> pl.DataFrame:
        """The table worker, kind, copies, miss, spurious, slip, mistake."""
        columns: dict[str, Any] = {
            "worker": self.votes.workers,
            "kind": pl.Series(self.kind, dtype=pl.String),
            "copies": pl.Series(self.copies, dtype=pl.String),
        }
        drawn = ("miss", "spurious", "slip", "mistake")
        return pl.DataFrame(columns | {name: getattr(self.planted, name) for name in drawn})

    def save(self, folder: str | Path, force: bool = False) -> list[str]:
        """Write votes.csv, truth.csv, texts.csv and workers.csv; returns the names written.

        Files that are there already are only overwritten with `force`.
        """
        from ...io.csv.folder import write_tables

        tables = {"votes.csv": self.votes.to_frame(), "truth.csv": self.truth_table()}
        tables |= {
            "texts.csv": pl.DataFrame({"task": self.votes.tasks, "text": self.planted.texts}),
            "workers.csv": self.worker_table(),
        }
        write_tables(folder, tables, force=force)
        return list(tables)


@dataclass(frozen=True)
class SpanScenario:
    """A ready-made crowd that marks spans: one line about it, and what `span_crowd` is told."""

    description: str
    told: Mapping[str, Any] = field(default_factory=dict)

    def make(
        self,
        n_tasks: int,
        n_workers: int,
        n_classes: int | None,
        labels_per_task: int,
        n_features: int = 0,
        seed: int = 0,
    ) -> PlantedSpans:
        """A crowd of this size."""
        if labels_per_task > n_workers:
            raise ParameterError(
                f"labels={labels_per_task} labels per task need as many different workers, got workers={n_workers}"
            )
        for name, given in (("classes", n_classes), ("features", n_features)):
            if given:
                raise ParameterError(f"{name}={given} does not go with spans; leave it out")
        return PlantedSpans(span_crowd(n_tasks, n_workers, per_task=labels_per_task, **self.told, seed=seed))


_LONG: dict[str, Any] = {"words": (80, 200), "length": (6, 20), "density": 0.02, "tags": ("",)}
SPAN_SCENARIOS: dict[str, SpanScenario] = {
    "spans_plain": SpanScenario("names in sentences: three tags, spans of one to three words"),
    "spans_passages": SpanScenario("passages without tags in longer texts", _LONG),
    "spans_random": SpanScenario("names; a fifth of the workers mark anything", {"random": 0.2}),
    "spans_idle": SpanScenario("names; a fifth of the workers mark nothing", {"idle": 0.2}),
    "spans_copiers": SpanScenario("names; a fifth copy an honest worker each", {"copier": 0.2}),
    "spans_mixed": SpanScenario(
        "passages; one in ten marks anything, nothing, the beginning, or copies each",
        {**_LONG, "random": 0.1, "idle": 0.1, "constant": 0.1, "copier": 0.1},
    ),
}
