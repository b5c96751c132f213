"""Boxes, same or different, triplets on real data: the figures of the pages."""

from __future__ import annotations

import pytest

import crowdwise as cw
from tests.data import data_folder

pytestmark = pytest.mark.data

FIGURES = {  # F1 at IoU .5, mean IoU
    "box_clusters": (0.9088, 0.8242),
    "box_mean": (0.9088, 0.8020),
    "box_hungarian": (0.9053, 0.8265),
    "box_latent_class": (0.9021, 0.8214),
}


@pytest.mark.parametrize("name", FIGURES)
def test_boxes_street(name):
    folder = data_folder() / "boxes_street"
    votes = cw.read(folder / "labels.csv", kind="boxes")
    scores = cw.evaluate(cw.method(name).fit(votes), cw.read_truth(folder / "truth.csv"))
    assert (scores.n, round(scores.f1, 4), round(scores.mean_iou, 4)) == (469, *FIGURES[name])


def test_same_dogs():
    folder = data_folder() / "same_dogs"
    votes, truth = cw.read(folder / "labels.csv"), cw.read_truth(folder / "truth.csv")
    found = {
        name: cw.evaluate(cw.method(name, k=3).fit(votes), truth).ari for name in ("clusters", "spectral_clusters")
    }
    assert found["clusters"] >= 0.53
    assert round(found["spectral_clusters"], 3) == 0.474
    parts = votes.append(cw.read(folder / "partitions.csv"), duplicates="keep")
    default = cw.similarities.Clusters(k=3).fit(parts)
    assert default.extra["taken"] == "spectral_clusters"
    assert cw.evaluate(default, truth).ari >= 0.74


def test_trip_eggs():
    folder = data_folder() / "trip_eggs"
    votes, truth = cw.read(folder / "labels.csv"), cw.read_truth(folder / "truth.csv")
    assert cw.evaluate(cw.triplets.CrowdEmbedding(n_init=1).fit(votes), truth).kendall >= 0.963
