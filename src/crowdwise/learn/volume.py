"""Log-volume of a set of vectors: what the geometric methods push apart."""

from __future__ import annotations

import torch
from torch import Tensor

# Relative size of the ridge on the Gram matrix. Without it fewer rows than classes, or a class that no row uses, makes
# the determinant zero; published codes then drop the term without a word.
JITTER = 1e-6


def log_volume(rows: Tensor) -> Tensor:
    """log det(rowsᵀ rows + ridge) of rows[n, K], a scalar.

    For n rows on the simplex it is largest at balanced corners: K log(n / K). The ridge is 1e-6 · n / K times the
    identity. Computed in double precision: a Gram matrix squares the condition number.
    """
    n, k = rows.shape
    wide = rows.double()
    gram = wide.T @ wide
    ridge = JITTER * max(n, 1) / k * torch.eye(k, dtype=gram.dtype, device=gram.device)
    volume: Tensor = torch.linalg.slogdet(gram + ridge).logabsdet
    return volume.to(rows.dtype)
