"""The tensor power method: components of a symmetric tensor with (nearly) orthogonal parts.

Anandkumar, Ge, Hsu, Kakade & Telgarsky (2014), Tensor decompositions for learning latent variable models, JMLR 15.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

F8 = npt.NDArray[np.float64]


def orthogonal_components(tensor: F8, rng: np.random.Generator, n_starts: int = 30, n_steps: int = 60) -> tuple[F8, F8]:
    """Sizes λ[k] and directions v[:, k] with tensor ≈ sum λ v ⊗ v ⊗ v: the best of many starts, then deflation.

    >>> t = np.zeros((2, 2, 2)); t[0, 0, 0] = 3; t[1, 1, 1] = 2
    >>> orthogonal_components(t, np.random.default_rng(0))[0].round(6)
    array([3., 2.])
    """
    k = len(tensor)
    rest, size, direction = _symmetric(tensor), np.empty(k), np.empty((k, k))
    for i in range(k):
        v = _unit(rng.standard_normal((n_starts, k)))
        for _ in range(n_steps):  # all starts at once
            v = _unit(_apply(rest, v))
        value = (_apply(rest, v) * v).sum(axis=1)
        best = int(value.argmax())
        size[i], direction[:, i] = value[best], v[best]
        rest = rest - value[best] * np.einsum("a,b,c->abc", v[best], v[best], v[best])
    return size, direction


def _apply(tensor: F8, v: F8) -> F8:
    """tensor(·, v, v) for every row of v."""
    k = len(tensor)
    once = (v @ tensor.reshape(k, k * k)).reshape(-1, k, k)
    return np.asarray(once @ v[:, :, None])[:, :, 0]


def _unit(v: F8) -> F8:
    return np.asarray(v / np.maximum(np.linalg.norm(v, axis=1, keepdims=True), 1e-300))


def _symmetric(t: F8) -> F8:
    turns = ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0))
    return np.asarray(sum(t.transpose(turn) for turn in turns) / 6)
