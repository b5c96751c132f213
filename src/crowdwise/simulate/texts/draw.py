"""Planted crowds that write down what they hear: true sentences of made-up words, and workers who get words wrong.

>>> from crowdwise.simulate.texts import text_crowd
>>> crowd = text_crowd(20, 6, per_task=3, seed=1)
>>> len(crowd.outputs), len(crowd.truth)
(60, 20)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..words import vocabulary

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
