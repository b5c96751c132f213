"""Words that nobody has ever said, for made-up texts."""

from __future__ import annotations

import numpy as np

_ONSETS = ["b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z", "br", "dr", "kl", "st", "tr"]
_VOWELS = ["a", "e", "i", "o", "u"]


def vocabulary(n: int, rng: np.random.Generator) -> list[str]:
    """n different words of two or three syllables."""
    found: dict[str, None] = {}
    while len(found) < n:
        parts = rng.integers(2, 4)
        word = "".join(_ONSETS[rng.integers(len(_ONSETS))] + _VOWELS[rng.integers(5)] for _ in range(parts))
        found[word] = None
    return list(found)
