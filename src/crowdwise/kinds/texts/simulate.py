"""Simulated crowds that transcribe or translate sentences of made-up words.

>>> from crowdwise.kinds.texts.simulate import text_crowd
>>> crowd = text_crowd(20, 6, per_task=3, seed=1)
>>> len(crowd.outputs), len(crowd.truth)
(60, 20)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from ...core.arrays import F8, I4
from ...core.votes import Votes
from ...simulate.draws import draw_answers, draw_kinds, draw_sources, draw_workers, numbered, source_names, vocabulary
from ...simulate.planted import Planted, answer_columns, planted_by, scenarios, worker_columns
from .answers import Texts, text_votes

# The answer of a constant worker to every task.
CONSTANT = "nothing to hear"


@dataclass(frozen=True, eq=False)
class TextCrowd:
    """The texts of a simulated crowd and the parameters behind them.

    An honest worker gets each word wrong with probability `error`: another word, none, or an additional one. With
    `freedom` words are replaced by one of three synonyms and neighbours change places, as in translations. `kind` is
    honest, random (writes another sentence), constant or copier.
    """

    task: I4
    worker: I4
    outputs: list[str]
    truth: list[str]
    error: F8
    kind: list[str]
    copies: I4


def text_crowd(
    tasks: int = 300,
    workers: int = 30,
    *,
    per_task: int = 5,
    words: tuple[int, int] = (5, 25),
    error: tuple[float, float] = (0.02, 0.3),
    freedom: float = 0.0,
    random: float = 0.0,
    constant: float = 0.0,
    copier: float = 0.0,
    seed: int | np.random.Generator = 0,
) -> TextCrowd:
    """Draw a crowd that writes texts.

    Args:
        tasks: Number of sentences.
        workers: Number of workers.
        per_task: Number of different workers of each sentence.
        words: Range of the number of words in a sentence.
        error: Range of the workers' error rates.
        freedom: Probability of a synonym, and twice the probability that two neighbouring words change places.
        random: Share of workers who write another sentence.
        constant: Share of workers with the same text for every task.
        copier: Share of workers who copy an honest worker.
        seed: Seed of the draws, or a generator.
    """
    rng = np.random.default_rng(seed)
    lexicon = vocabulary(800, rng)
    sentences = [rng.integers(200, size=rng.integers(words[0], words[1] + 1)) for _ in range(tasks)]
    kind = draw_kinds(workers, {"random": random, "constant": constant, "copier": copier}, rng)
    rate = rng.uniform(*error, workers)
    copies = draw_sources(kind, rng, distinct=False)
    workers_of = draw_workers(tasks, workers, per_task, rng)

    def answer(t: int, w: int) -> str:
        if kind[w] == "constant":
            return CONSTANT
        sentence = sentences[t] if kind[w] != "random" else sentences[int(rng.integers(tasks))]
        return " ".join(lexicon[i] for i in _with_errors(sentence, float(rate[w]), freedom, rng))

    task, worker, outputs = draw_answers(workers_of, copies, answer)
    return TextCrowd(
        task=task,
        worker=worker,
        outputs=outputs,
        truth=[" ".join(lexicon[i] for i in sentence) for sentence in sentences],
        error=rate,
        kind=kind,
        copies=copies,
    )


def _with_errors(sentence: npt.NDArray[np.int64], error: float, freedom: float, rng: np.random.Generator) -> list[int]:
    """A worker's version. Words 0 to 199 are the true ones; i + 200 k are synonyms of word i."""
    version: list[int] = []
    for word in sentence.tolist():
        if rng.random() < freedom:
            word += 200 * int(rng.integers(1, 4))
        if rng.random() >= error:
            version.append(word)
            continue
        sort_of_error = rng.random()
        if sort_of_error < 0.6:
            version.append(int(rng.integers(200)))
        elif sort_of_error < 0.8:
            version += [word, int(rng.integers(200))]
    for k in range(len(version) - 1):
        if rng.random() < freedom / 2:
            version[k], version[k + 1] = version[k + 1], version[k]
    return version or [int(sentence[0])]


class PlantedTexts(Planted[Votes[Texts]]):
    """Simulated texts with their ground truth. `truth` holds the true text of each task.

    >>> from crowdwise import simulate
    >>> simulate.scenario("texts_random", tasks=20, workers=10, seed=1)
    PlantedTexts(honest, random: Votes(100 texts, 20 tasks, 10 workers))
    """

    def __init__(self, planted: TextCrowd) -> None:
        tasks, workers = numbered("t", len(planted.truth)), numbered("w", len(planted.kind))
        copies = source_names(workers, planted.copies)
        super().__init__(
            text_votes(output=planted.outputs, **answer_columns(planted, tasks, workers)),
            pl.DataFrame({"task": tasks, "output": planted.truth}),
            worker_columns(workers, planted.kind, copies=copies, error=planted.error),
            planted,
        )


TEXT_SCENARIOS = scenarios(
    "texts",
    planted_by(text_crowd, PlantedTexts),
    {
        "texts_plain": ("transcripts: every worker gets some words wrong", {}),
        "texts_translations": ("translations: synonyms and another word order", {"freedom": 0.5}),
        "texts_random": ("transcripts; a fifth of the workers write another sentence", {"random": 0.2}),
        "texts_copiers": ("transcripts; a fifth of the workers copy an honest worker", {"copier": 0.2}),
        "texts_mixed": (
            "transcripts; a tenth each of the workers write another sentence, always the same, or copy",
            {"random": 0.1, "constant": 0.1, "copier": 0.1},
        ),
    },
)
