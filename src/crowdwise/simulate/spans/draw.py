"""Planted crowds that mark spans: texts of made-up words, true spans, and what workers mark.

>>> from crowdwise.simulate.spans import span_crowd
>>> crowd = span_crowd(20, 6, per_task=3, seed=1)
>>> len(crowd.spans), len(crowd.texts)
(60, 20)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..words import vocabulary

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
