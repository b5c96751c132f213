"""The robust preference loss: its mean under flips is the clean loss."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import crowdwise as cw
from crowdwise.kinds.comparisons.learn import flips, robust_dpo_loss, robust_preference_loss


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3, 0.45])
def test_the_mean_under_flips_is_the_clean_loss(share):
    margin = torch.linspace(-4, 4, 41, dtype=torch.float64)
    clean = robust_preference_loss(margin)
    mean = (1 - share) * robust_preference_loss(margin, share) + share * robust_preference_loss(-margin, share)
    torch.testing.assert_close(mean, clean, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(clean, -torch.nn.functional.logsigmoid(margin).mean())


def test_dpo_margins_and_weights():
    a, b, c, d = (torch.tensor(v, dtype=torch.float64) for v in ([1.0, 2.0], [0.0, 1.5], [0.5, 2.0], [0.2, 1.0]))
    margin = 0.1 * ((a - c) - (b - d))
    torch.testing.assert_close(robust_dpo_loss(a, b, c, d, flip=0.2), robust_preference_loss(margin, 0.2))
    one = robust_dpo_loss(a, b, c, d, weight=torch.tensor([1.0, 0.0], dtype=torch.float64))
    torch.testing.assert_close(one, robust_preference_loss(margin[:1]))
    with pytest.raises(cw.ParameterError, match=r"between 0 and 0\.5"):
        robust_preference_loss(margin, 0.5)


def test_flips_of_workers():
    crowd = cw.simulate.scenario("comparisons_reversed", tasks=300, workers=20, seed=1)
    turn, share = flips(crowd.votes, cw.comparisons.CrowdBT().fit(crowd.votes))
    kind = np.array(crowd.kind)[crowd.votes.worker]
    assert turn[kind == "reversed"].all()
    assert not turn[kind == "honest"].any()
    assert share.max() <= 0.45
