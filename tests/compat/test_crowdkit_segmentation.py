"""crowd-kit's aggregators of masks."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import crowdwise as cw
from crowdwise.compat.crowdkit.aggregation.segmentation import (
    SegmentationEM,
    SegmentationMajorityVote,
    SegmentationRASA,
)

FACES = (SegmentationMajorityVote, SegmentationRASA, SegmentationEM)


def frame(seed=0, tasks=3, workers=5):
    rng = np.random.default_rng(seed)
    rows = []
    for t in range(tasks):
        true = np.zeros((12, 15), dtype=bool)
        true[3:9, 4:11] = True
        rows += [(f"t{t}", f"w{w}", true ^ (rng.random(true.shape) < 0.03 + 0.05 * w)) for w in range(workers)]
    return pd.DataFrame(rows, columns=["task", "worker", "segmentation"])


@pytest.mark.parametrize("face", FACES)
def test_masks_are_found(face):
    found = face().fit_predict(frame())
    true = np.zeros((12, 15), dtype=bool)
    true[3:9, 4:11] = True
    assert found.index.tolist() == ["t0", "t1", "t2"]
    assert all((mask == true).mean() > 0.95 for mask in found)


def test_skills_weigh_votes():
    masks = [np.array([[1, 0]]), np.array([[0, 1]]), np.array([[0, 1]])]
    data = pd.DataFrame({"task": ["t"] * 3, "worker": [*"abc"], "segmentation": masks})
    skills = pd.Series([5.0, 1.0, 1.0], index=[*"abc"])
    assert SegmentationMajorityVote().fit_predict(data, skills).loc["t"].tolist() == [[True, False]]


@pytest.mark.parametrize("face", FACES)
def test_empty_masks_and_bad_input(face):
    empty = pd.DataFrame({"task": ["t"], "worker": ["a"], "segmentation": [np.zeros((2, 2))]})
    assert not face().fit_predict(empty).loc["t"].any()
    with pytest.raises(cw.DataError, match="no column"):
        face().fit(pd.DataFrame({"task": [1]}))
    uneven = pd.DataFrame({"task": ["t"] * 2, "worker": [*"ab"], "segmentation": [np.ones((2, 2)), np.ones((3, 2))]})
    with pytest.raises(ValueError, match="one 2-d shape"):
        face().fit(uneven)


@pytest.mark.parametrize("workers", [1, 3, 8, 9, 13, 20])
def test_patterns_are_the_pixels(workers):
    from crowdwise.compat.crowdkit.aggregation.segmentation import patterns

    masks = list(np.random.default_rng(workers).random((workers, 13, 9)) < 0.4)
    seen = patterns(masks)
    assert all((seen.image(inside) == mask).all() for inside, mask in zip(seen.membership, masks, strict=True))
    assert seen.count.sum() == 13 * 9
    votes = seen.image(np.ones(workers) @ seen.membership)
    assert (votes == np.array(masks).sum(axis=0)).all()
