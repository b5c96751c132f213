"""The loss of direct preference optimisation, freed of flipped preferences.

Where a share e of the preferences was turned around, the loss l(d) = -log s(d) of what was observed is biased;

    l_e(d) = [(1 - e) l(d) - e l(-d)] / (1 - 2 e)

has the mean of the clean loss. Chowdhury, Kini & Natarajan (2024), arXiv:2403.00409.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from ...core.errors import ParameterError
from ...core.result import Result
from ...core.votes import Votes

# A worker is taken to turn at most this share around: at one half nothing can be learnt from them.
MOST = 0.45


def robust_preference_loss(margin: Tensor, flip: Tensor | float = 0.0, weight: Tensor | None = None) -> Tensor:
    """Mean loss of margins d (of the chosen over the rejected), where a share `flip` of them is turned around.

    >>> d = torch.tensor([0.7, -0.2])
    >>> clean = robust_preference_loss(d)
    >>> mean = 0.8 * robust_preference_loss(d, 0.2) + 0.2 * robust_preference_loss(-d, 0.2)
    >>> bool(torch.isclose(mean, clean))
    True
    """
    share = torch.as_tensor(flip, dtype=margin.dtype, device=margin.device)
    if bool((share < 0).any()) or bool((share >= 0.5).any()):
        raise ParameterError("flip must lie between 0 and 0.5; answers of reversed workers are to be turned first")
    loss = -((1 - share) * logsigmoid(margin) - share * logsigmoid(-margin)) / (1 - 2 * share)
    if weight is None:
        return loss.mean()
    return (weight * loss).sum() / weight.sum().clamp_min(torch.finfo(loss.dtype).tiny)


def robust_dpo_loss(
    chosen: Tensor,
    rejected: Tensor,
    reference_chosen: Tensor,
    reference_rejected: Tensor,
    *,
    flip: Tensor | float = 0.0,
    beta: float = 0.1,
    weight: Tensor | None = None,
) -> Tensor:
    """DPO's loss from log-probabilities of both answers under the policy and under the reference policy."""
    margin = beta * ((chosen - reference_chosen) - (rejected - reference_rejected))
    return robust_preference_loss(margin, flip, weight)


def flips(votes: Votes[Any], result: Result) -> tuple[np.ndarray, np.ndarray]:
    """Of every row: whether its answer is to be turned (its worker is reversed), and the share of flips that is left.

    From the workers' reliabilities in a fit of comparisons; unknown workers are taken for the average one.
    """
    trust = np.asarray(result.worker_table()["reliability"].to_numpy())
    usual = float(np.nanmean(trust)) if np.isfinite(trust).any() else 0.5
    own = np.where(np.isnan(trust), usual, trust)[votes.worker]
    return own < 0.5, np.minimum(np.minimum(own, 1 - own), MOST)
