"""Planted crowds that write down what they hear: true sentences of made-up words, and workers who get words wrong.

>>> from crowdwise.kinds.texts.simulate import text_crowd
>>> crowd = text_crowd(20, 6, per_task=3, seed=1)
>>> len(crowd.outputs), len(crowd.truth)
(60, 20)
"""

from __future__ import annotations

from collections.abc import Mapping
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
from .answers import Texts
from .kind import text_votes

F8 = npt.NDArray[np.float64]
I4 = npt.NDArray[np.int32]
# What a constant worker writes, whatever the task.
CONSTANT = "nothing to hear"


@dataclass(frozen=True, eq=False)
class TextCrowd:
    """What the workers wrote, and what nobody but a simulator knows.

    An honest worker gets each word wrong with chance `error`: another word, none, or one too many. With `freedom` a
    word is said in one of three other ways and neighbours change places: translations. `kind` is honest, random (writes
    another sentence), constant or copier.
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
    """Sentences of `words` words; errors drawn between the ends given; `random`, `constant`, `copier` are shares."""
    rng = np.random.default_rng(seed)
    lexicon = vocabulary(800, rng)
    true = [rng.integers(200, size=rng.integers(words[0], words[1] + 1)) for _ in range(tasks)]
    kinds = [name for name, share in (("random", random), ("constant", constant), ("copier", copier))
             for _ in range(round(share * workers))]  # fmt: skip
    kinds += ["honest"] * (workers - len(kinds))
    kind = [kinds[i] for i in rng.permutation(workers)]
    rate = rng.uniform(*error, workers)
    honest = [i for i, name in enumerate(kind) if name == "honest"]
    copies = np.array([honest[int(rng.integers(len(honest)))] if name == "copier" and honest else -1 for name in kind],
                      dtype=np.int32)  # fmt: skip
    who = np.sort(rng.permuted(np.tile(np.arange(workers), (tasks, 1)), axis=1)[:, :per_task], axis=1)
    said: dict[tuple[int, int], str] = {}
    for t in range(tasks):
        for w in sorted(who[t].tolist(), key=lambda w: copies[w] >= 0):
            source = (t, int(copies[w]))
            if kind[w] == "constant":
                said[t, w] = CONSTANT
            elif copies[w] >= 0 and source in said:
                said[t, w] = said[source]
            else:
                base = true[t] if kind[w] != "random" else true[int(rng.integers(tasks))]
                said[t, w] = " ".join(lexicon[i] for i in _heard(base, float(rate[w]), freedom, rng))
    rows = [(t, int(w)) for t in range(tasks) for w in who[t]]
    return TextCrowd(
        task=np.array([t for t, _ in rows], dtype=np.int32),
        worker=np.array([w for _, w in rows], dtype=np.int32),
        outputs=[said[row] for row in rows],
        truth=[" ".join(lexicon[i] for i in sentence) for sentence in true],
        error=rate,
        kind=kind,
        copies=copies,
    )


def _heard(sentence: npt.NDArray[np.int64], error: float, freedom: float, rng: np.random.Generator) -> list[int]:
    """A worker's version: words 0..199 are the true ones, i + 200 · k other ways to say them."""
    out: list[int] = []
    for word in sentence.tolist():
        if rng.random() < freedom:
            word += 200 * int(rng.integers(1, 4))
        if rng.random() >= error:
            out.append(word)
            continue
        how = rng.random()
        if how < 0.6:
            out.append(int(rng.integers(200)))
        elif how < 0.8:
            out += [word, int(rng.integers(200))]
    for k in range(len(out) - 1):
        if rng.random() < freedom / 2:
            out[k], out[k + 1] = out[k + 1], out[k]
    return out or [int(sentence[0])]


# ---------------------------------------------------------------- Planted crowds that write texts

# ----------------------------------------------------------------
# Ready-made crowds that write texts, by name: votes, the truth, and who was planted as what.


@dataclass(frozen=True, eq=False, repr=False)
class PlantedTexts:
    """What the workers wrote, and what nobody but a simulator knows: the counterpart of `Crowd` for texts.

    >>> from crowdwise import simulate
    >>> simulate.scenario("texts_random", tasks=20, workers=10, seed=1)
    PlantedTexts(honest, random: Votes(100 texts, 20 tasks, 10 workers))
    """

    planted: TextCrowd

    def __repr__(self) -> str:
        return f"PlantedTexts({', '.join(sorted(set(self.kind)))}: {self.votes})"

    @cached_property
    def votes(self) -> Votes[Texts]:
        """What the workers wrote."""
        tasks, workers = (
            pl.Series([f"{mark}{i:0{len(str(n - 1))}d}" for i in range(n)])
            for mark, n in (("t", len(self.planted.truth)), ("w", len(self.planted.kind)))
        )
        task, worker = tasks.gather(self.planted.task), workers.gather(self.planted.worker)
        return text_votes(task, worker, self.planted.outputs, tasks=tasks, workers=workers)

    @property
    def annotations(self) -> Votes[Texts]:
        """The votes, by the name that they have in a `Crowd`."""
        return self.votes

    @property
    def truth(self) -> Any:
        """The true text of each task."""
        return self.planted.truth

    @property
    def kind(self) -> list[str]:
        """What each worker was planted as: honest, random, constant or copier."""
        return self.planted.kind

    @property
    def copies(self) -> list[str | None]:
        """Whom each worker copies."""
        names = self.votes.workers.to_list()
        return [names[at] if at >= 0 else None for at in self.planted.copies.tolist()]

    def truth_table(self) -> pl.DataFrame:
        """The table task, output."""
        return pl.DataFrame({"task": self.votes.tasks, "output": self.truth})

    def worker_table(self) -> pl.DataFrame:
        """The table worker, kind, copies, error."""
        columns: dict[str, Any] = {
            "worker": self.votes.workers,
            "kind": pl.Series(self.kind, dtype=pl.String),
            "copies": pl.Series(self.copies, dtype=pl.String),
        }
        return pl.DataFrame(columns | {"error": self.planted.error})

    def save(self, folder: str | Path, force: bool = False) -> list[str]:
        """Write votes.csv, truth.csv and workers.csv; returns the names written.

        Files that are there already are only overwritten with `force`.
        """
        from ...io.csv.folder import write_tables

        tables = {"votes.csv": self.votes.to_frame(), "truth.csv": self.truth_table()}
        tables["workers.csv"] = self.worker_table()
        write_tables(folder, tables, force=force)
        return list(tables)


@dataclass(frozen=True)
class TextScenario:
    """A ready-made crowd that writes texts: one line about it, and what `text_crowd` is told."""

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
    ) -> PlantedTexts:
        """A crowd of this size."""
        if labels_per_task > n_workers:
            raise ParameterError(
                f"labels={labels_per_task} labels per task need as many different workers, got workers={n_workers}"
            )
        for name, given in (("classes", n_classes), ("features", n_features)):
            if given:
                raise ParameterError(f"{name}={given} does not go with texts; leave it out")
        return PlantedTexts(text_crowd(n_tasks, n_workers, per_task=labels_per_task, **self.told, seed=seed))


TEXT_SCENARIOS: dict[str, TextScenario] = {
    "texts_plain": TextScenario("transcripts: every worker gets some words wrong"),
    "texts_translations": TextScenario("translations: words said in other ways, in another order", {"freedom": 0.5}),
    "texts_random": TextScenario("transcripts; a fifth write another sentence", {"random": 0.2}),
    "texts_copiers": TextScenario("transcripts; a fifth copy an honest worker each", {"copier": 0.2}),
    "texts_mixed": TextScenario(
        "transcripts; one in ten writes another sentence, always the same, or copies each",
        {"random": 0.1, "constant": 0.1, "copier": 0.1},
    ),
}
