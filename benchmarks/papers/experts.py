"""Max-MIG's crowds: seniors of high or low expertise, juniors who say one class or copy; everybody labels all."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from crowdwise import Annotations

F8 = npt.NDArray[np.float64]
I8 = npt.NDArray[np.int64]
World = Literal["cifar", "dogs", "luna"]
CASES = ("1H", "2H", "3H", "1L", "2L", "3L")
# Two classes: P(right | class 0), P(right | class 1) of seniors A..E.
_TWO = {
    "dogs": [(0.6, 0.8), (0.6, 0.6), (0.9, 0.6), (0.7, 0.7), (0.6, 0.7)],
    "luna": [(0.6, 0.9), (0.7, 0.7), (0.9, 0.6), (0.6, 0.7), (0.7, 0.6)],
}
_LOW = {"dogs": 0.55, "luna": 0.6}
PAIRS = ((3, 5), (4, 7), (0, 2), (1, 9), (6, 8))
FIRST = {"cifar": 3, "dogs": 0, "luna": 0}  # what a naive junior always says


def seniors(world: World, level: str) -> F8:
    """Confusions [senior, true, observed] of five high or ten low experts."""
    if world == "cifar":
        return np.stack([_cifar(who) for who in "ABCDE"]) if level == "H" else np.tile(_even(10, 0.2), (10, 1, 1))
    if level == "L":
        p = _LOW[world]
        return np.tile(np.array([[p, 1 - p], [1 - p, p]]), (10, 1, 1))
    return np.array([[[a, 1 - a], [1 - b, b]] for a, b in _TWO[world]])


def _even(k: int, p: float) -> F8:
    return np.where(np.eye(k) > 0, p, (1 - p) / (k - 1))


def _cifar(who: str) -> F8:
    """Experts of the appendix: what each says within a pair of classes that look alike."""
    out = np.zeros((10, 10))
    for number, (a, b) in enumerate(PAIRS):
        animals = number < 2  # cat/dog and deer/horse
        kind = {"A": "first", "B": "coin", "C": "right" if animals else "coin",
                "D": "first" if animals else "right", "E": "mostly"}[who]  # fmt: skip
        right = {"first": (1.0, 0.0), "coin": (0.5, 0.5), "right": (1.0, 1.0), "mostly": (0.6, 0.6)}[kind]
        out[a, a], out[a, b] = right[0], 1 - right[0]
        out[b, b], out[b, a] = right[1], 1 - right[1]
    return out


def labels(world: World, case: str, truth: I8, seed: int) -> npt.NDArray[np.int64]:
    """Label matrix, task × expert, of a case such as "2H"."""
    rng = np.random.default_rng([seed, 5])
    number, level = case[0], case[1]
    confusion = seniors(world, level)
    draws = rng.random((len(truth), len(confusion)))
    edges = confusion.cumsum(2)  # senior, true, observed
    said = np.stack([(edges[m, truth] < draws[:, [m]]).sum(1) for m in range(len(confusion))], axis=1)
    said = said.clip(0, confusion.shape[1] - 1)
    if number == "2":
        juniors = np.full((len(truth), 5 if level == "H" else 15), FIRST[world])
    elif number == "3":  # two copy A and three copy C; with low experts one each
        juniors = said[:, [0, 0, 2, 2, 2] if level == "H" else [0, 2]]
    else:
        juniors = said[:, :0]
    return np.concatenate([said, juniors], axis=1)


def votes(matrix: npt.NDArray[np.int64], k: int) -> Annotations:
    """A dense label matrix as annotations of tasks 0..N-1."""
    n, m = matrix.shape
    return Annotations.from_arrays(
        np.repeat(np.arange(n), m), np.tile(np.arange(m), n), matrix.ravel(), tasks=range(n), workers=range(m),
        classes=range(k),
    )  # fmt: skip
