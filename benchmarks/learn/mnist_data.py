"""MNIST from the data folder, as floats of mean zero."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import data_folder


@lru_cache(maxsize=2)
def mnist(n_train: int, n_test: int, seed: int = 0) -> tuple[npt.NDArray[Any], ...]:
    """x[n, 28, 28], y, test x, test y: the same random subset for every run."""
    with np.load(data_folder() / "mnist" / "features.npz", allow_pickle=False) as found:
        parts = {name: found[name] for name in found.files}
    rng = np.random.default_rng(seed)
    out = []
    for name, n in (("train", n_train), ("test", n_test)):
        x, y = parts[f"{name}_x"], parts[f"{name}_y"]
        pick = rng.permutation(len(x))[:n]
        out += [(x[pick].reshape(-1, 28, 28).astype(np.float32) / 255 - 0.13) / 0.31, y[pick].astype(np.int64)]
    return tuple(out)
