"""Plots of triplets, same or different, spans, boxes and outlines."""

from __future__ import annotations

import numpy as np
import pytest

import crowdwise as cw

pytest.importorskip("matplotlib")


def fitted(name, tasks=12):
    crowd = cw.simulate.scenario(name, tasks=tasks, workers=8, labels=4, seed=1)
    return cw.method(crowd.votes.kind.default).fit(crowd.votes)


def test_the_map_of_triplets_has_every_item_at_its_place():
    found = fitted("triplets_plain", 60)
    ax = found.plot.map()
    np.testing.assert_array_equal(ax.lines[0].get_xydata(), found.estimate.place[:, :2])
    assert len(ax.texts) == len(found.estimate.items)
    assert found.plot.workers().get_xlabel() == "slope"
    with pytest.raises(cw.ParameterError, match="there are 2 axes"):
        found.plot.map(1, 3)


@pytest.mark.slow
def test_bars_of_clusters_and_tags_count_what_was_found():
    found = fitted("similarities_plain", 60)
    bars = [bar.get_width() for bar in found.plot.clusters().patches]
    sizes = np.bincount(found.estimate.cluster).tolist()
    assert bars[: len(sizes)] == sizes
    assert all(dark <= light for light, dark in zip(bars[: len(sizes)], bars[len(sizes) :], strict=True))
    assert found.plot.workers().get_xlabel() == "skill"
    found = fitted("spans_plain")
    bars = [bar.get_width() for bar in found.plot.tags().patches]
    assert sum(bars[: len(found.estimate.tags)]) == len(found.estimate.start)
    assert found.plot.workers().get_xlabel() == "f1"


def test_boxes_and_outlines_on_their_picture():
    found = fitted("boxes_classes")
    task = found.tasks[3]
    first, n = int(found.estimate.n_boxes[:3].sum()), int(found.estimate.n_boxes[3])
    ax = found.plot.picture(task, image=np.zeros((5, 5, 3)))
    assert len(ax.lines) == n
    x1, y1, x2, y2 = found.estimate.corner[first]
    assert ax.lines[0].get_xydata().max(0).tolist() == [x2, y2]
    assert ax.lines[0].get_xydata().min(0).tolist() == [x1, y1]
    with pytest.raises(cw.DataError, match="there is no task"):
        found.plot.picture("nowhere")
    with pytest.raises(cw.ParameterError, match="limit"):
        found.plot.workers(limit=0)
    found = fitted("outlines_plain", 3)
    ax = found.plot.picture(found.tasks[2])
    assert len(ax.lines) == int(found.estimate.n_outlines[2])
    assert ax.yaxis_inverted()
