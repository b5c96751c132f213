"""Boxes on real data: the figures of the page."""

from __future__ import annotations

import pytest

import crowdwise as cw
from benchmarks import data_folder

pytestmark = pytest.mark.data

FIGURES = {  # F1 at IoU .5, mean IoU
    "box_clusters": (0.9088, 0.8242),
    "box_mean": (0.9088, 0.8020),
    "box_hungarian": (0.9053, 0.8265),
}


@pytest.mark.parametrize("name", FIGURES)
def test_boxes_street(name):
    folder = data_folder() / "boxes_street"
    votes = cw.read(folder / "labels.csv", kind="boxes")
    scores = cw.evaluate(cw.method(name).fit(votes), cw.read_truth(folder / "truth.csv"))
    assert (scores.n, round(scores.f1, 4), round(scores.mean_iou, 4)) == (469, *FIGURES[name])
