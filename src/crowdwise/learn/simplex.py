"""Probabilities in torch: clipping for deepMF and deepBP, normalisation of rows, means under Dirichlet beliefs."""

from __future__ import annotations

import torch
from torch import Tensor

from ..core.errors import ParameterError


def clip_simplex(p: Tensor, most: float) -> Tensor:
    """Rows of p[B, K] with no entry above `most`; the excess is divided evenly among the entries below it.

    Kim et al. 2022, section 3.3. The result is min(most, p + t) with the t that makes the row sum to one: a share may
    push another entry over the bound, which is then cut too.

    >>> clip_simplex(torch.tensor([[0.97, 0.02, 0.01]]), 0.6)
    tensor([[0.6000, 0.2050, 0.1950]])
    """
    k = p.shape[1]
    if not 1 / k <= most <= 1:
        raise ParameterError(f"clip must lie between 1 / classes = {1 / k:.3g} and 1, got {most!r}")
    cut = torch.zeros_like(p, dtype=torch.bool)
    for _ in range(k - 1):  # every round but the last cuts at least one entry more
        over = p > most
        if not bool(over.any()):
            break
        cut = cut | over
        excess = ((p - most) * over).sum(1, keepdim=True)
        free = (~cut).sum(1, keepdim=True).clamp_min(1)
        p = torch.where(cut, torch.full_like(p, most), p + excess / free)
    return p


def rows_to_one(counts: Tensor) -> Tensor:
    """Counts[..., K] as shares; a row without counts is uniform, and no share is zero."""
    floored = counts.clamp_min(1e-10)
    return floored / floored.sum(-1, keepdim=True)


def diagonal_matrix(k: int, diagonal: float, off: float) -> Tensor:
    """The K × K matrix of a prior: one number on the diagonal, another elsewhere."""
    return torch.full((k, k), float(off)) + (float(diagonal) - float(off)) * torch.eye(k)


def log_mean(belief: Tensor) -> Tensor:
    """E log x under Dirichlet beliefs, whose parameters lie along the last axis."""
    return torch.digamma(belief) - torch.digamma(belief.sum(-1, keepdim=True))
