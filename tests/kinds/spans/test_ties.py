"""Ties between tags are broken by the seed, alike in all of a task."""

from __future__ import annotations

import numpy as np

from crowdwise.kinds.spans.maths import leading_tag


def test_ties_go_by_the_seed_and_keep_spans_whole():
    task = np.repeat(np.arange(200), 3)
    share = np.tile([0.4, 0.2, 0.4], (600, 1))
    tag = leading_tag(share, task, 0)
    assert set(tag.tolist()) == {0, 2}
    assert (tag.reshape(200, 3) == tag.reshape(200, 3)[:, :1]).all()
    assert 60 < (tag[::3] == 0).sum() < 140
    assert (leading_tag(share, task, 0) == tag).all()
    assert (leading_tag(share, task, 1) != tag).any()
    assert (leading_tag(np.tile([0.1, 0.5, 0.4], (600, 1)), task, 0) == 1).all()
