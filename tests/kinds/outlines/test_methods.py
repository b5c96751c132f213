"""Outlines: rasters by hand, masks, laws, planted crowds."""

from __future__ import annotations

import numpy as np
import pytest

import crowdwise as cw
from crowdwise import registry, simulate
from crowdwise.io.export import write_votes
from crowdwise.io.reading import Reading
from crowdwise.kinds.outlines.fitting import place_factor
from crowdwise.kinds.outlines.maths import fill_even_odd, grid, iou_with_others, overlap, patterns, staple, trace, vote
from crowdwise.kinds.outlines.simulate import outline_crowd
from crowdwise.workers import study

METHODS = registry.names("outlines")
every = pytest.mark.parametrize("name", METHODS)
SQUARE = [[0, 0], [4, 0], [4, 4], [0, 4]]


@pytest.fixture(scope="module")
def crowd():
    return simulate.scenario("outlines_plain", tasks=12, workers=8, seed=2)


def brute(points, x, y):
    """Whether a point is inside, by counting the edges to its right, one by one."""
    out = np.zeros((len(y), len(x)), dtype=bool)
    for i, b in enumerate(y):
        for j, a in enumerate(x):
            inside = False
            for (x1, y1), (x2, y2) in zip(points, np.roll(points, -1, axis=0), strict=True):
                if (y1 <= b) != (y2 <= b) and a > x1 + (b - y1) * (x2 - x1) / (y2 - y1):
                    inside = not inside
            out[i, j] = inside
    return out


@pytest.mark.parametrize("seed", range(8))
def test_filling_is_the_even_odd_rule(seed):
    points = np.random.default_rng(seed).uniform(0, 12, (7, 2))
    x, y = np.arange(13) + 0.5, np.arange(13) + 0.5
    assert (fill_even_odd([points], x, y) == brute(points, x, y)).all()


@pytest.mark.parametrize("seed", range(8))
def test_a_traced_mask_comes_back(seed):
    mask = np.random.default_rng(seed).random((9, 11)) < 0.6
    x, y = np.arange(11) + 0.5, np.arange(9) + 0.5
    assert (fill_even_odd(trace(mask, x, y), x, y) == mask).all()


def test_the_grid_has_whole_pixels_or_larger_ones():
    x, y = grid([np.array(SQUARE, dtype=float)], 1000)
    assert (x.tolist(), y.tolist()) == ([0.5, 1.5, 2.5, 3.5], [0.5, 1.5, 2.5, 3.5])
    x, y = grid([np.array(SQUARE, dtype=float) * 1000], 1000)
    assert len(x) * len(y) <= 1100


def test_staple_finds_planted_rates():
    rng = np.random.default_rng(0)
    true = rng.random(6000) < 0.3
    p, q = np.array([0.95, 0.9, 0.8, 0.7]), np.array([0.97, 0.95, 0.9, 0.99])
    masks = rng.random((4, 6000)) < np.where(true, p[:, None], 1 - q[:, None])
    found = staple(masks, np.ones(4))
    assert np.abs(found.sensitivity - p).max() < 0.04
    assert np.abs(found.specificity - q).max() < 0.03
    assert ((found.belief > 0.5) == true).mean() > ((vote(masks, np.ones(4)) > 0.5) == true).mean()


def test_overlap_with_the_others_is_that_of_masks():
    rng = np.random.default_rng(4)
    masks, weight = rng.random((5, 300)) < 0.4, rng.uniform(0.2, 2.0, 5)
    said, count, _ = patterns(masks)
    want = []
    for i in range(5):
        rest = np.arange(5) != i
        want.append(overlap(masks[i], vote(masks[rest], weight[rest]) > 0.5))
    np.testing.assert_allclose(iou_with_others(said, count, weight), want)
    truth = said[0].copy()
    assert iou_with_others(said, count, weight, truth)[0] == 1.0
    assert np.isnan(iou_with_others(said[:1], count, weight[:1])).all()
    assert np.isnan(iou_with_others(np.zeros((2, 1)), np.ones(1), np.ones(2))).all()


@pytest.mark.slow
def test_what_workers_are_worth_is_learnt_over_pictures():
    """Two of five looks at every picture are by workers who draw anywhere: one picture does not tell who they are."""
    planted = simulate.PlantedOutlines(outline_crowd(30, 10, per_task=3, random=0.4, seed=5))
    scores = {name: cw.evaluate(registry.method(name, pixels=4000).fit(planted.votes), planted.truth_table()).iou
              for name in METHODS}  # fmt: skip
    assert scores["outline_vote"] > max(v for name, v in scores.items() if name != "outline_vote") + 0.05
    result = cw.outlines.OutlineVote(pixels=4000).fit(planted.votes)
    bad = np.array(planted.kind) == "random"
    assert result.extra["worker_weight"][bad].max() < result.extra["worker_weight"][~bad].min()
    # Other pictures are judged by the same trust: two who draw anywhere do not outvote one who looks.
    good, lazy = result.workers.filter(~bad)[0], result.workers.filter(bad).head(2).to_list()
    other = [[[10, 10], [30, 10], [30, 30]]]
    new = cw.outlines.outline_votes(["n"] * 3, [good, *lazy], [[SQUARE], other, other])
    assert result.infer(new).to_table()["outlines"].to_list() == ["[[[0, 0], [4, 0], [4, 4], [0, 4]]]"]


def test_who_always_draws_the_same_place_weighs_little():
    rng = np.random.default_rng(2)
    task, worker, drawn = [], [], []
    for t in range(30):
        x, y = rng.uniform(0, 60, 2)
        for w in rng.permutation(10)[:3].tolist():
            at = np.array([20.0, 20.0]) if w < 4 else np.array([x, y]) + rng.normal(0, 2, 2)
            task.append(t), worker.append(w), drawn.append([(np.array(SQUARE) * 6 + at).tolist()])
    votes = cw.outlines.outline_votes(task, worker, drawn, workers=range(10))
    looks = place_factor(votes)
    assert looks[:4].max() < 0.2
    assert looks[4:].min() == 1.0
    weight = cw.outlines.OutlineVote().fit(votes).extra["worker_weight"]
    assert weight[:4].max() < 0.05 * weight[4:].min()
    # Things that always lie in one place are there for all.
    same = [[(np.array(SQUARE) * 6 + rng.normal(0, 0.1, 2)).tolist()] for _ in task]
    assert place_factor(cw.outlines.outline_votes(task, worker, same)).min() > 0.9


@every
def test_planted_outlines_are_found(name, crowd):
    result = registry.method(name).fit(crowd.votes)
    scores = cw.evaluate(result, crowd.truth_table())
    assert scores.iou > 0.85
    assert scores.dice > scores.iou


@pytest.mark.slow
@every
def test_rows_do_not_matter_and_saving_keeps_everything(name, crowd, tmp_path):
    frame = crowd.votes.to_frame().sample(fraction=1.0, shuffle=True, seed=1)
    result = registry.method(name).fit(crowd.votes)
    again = registry.method(name).fit(cw.outlines.outline_votes(frame["task"], frame["worker"], frame["outlines"]))
    assert again.to_table().equals(result.to_table())
    cw.Run(result, crowd.votes).save(tmp_path / "r")
    back = cw.Run.load(tmp_path / "r")
    assert back.result.to_table().equals(result.to_table())
    assert back.votes.to_frame().equals(crowd.votes.to_frame())


@every
def test_gold_stays_put(name, crowd):
    truth = crowd.truth_table()
    result = registry.method(name).fit(crowd.votes, gold=truth.head(5))
    assert result.to_table()["outlines"][:5].to_list() == truth["outlines"][:5].to_list()
    assert cw.evaluate(result, truth).n_gold_left_out == 5


@every
@pytest.mark.parametrize("outlines", [[[]], [[], []], [[SQUARE]], [[SQUARE], []], [[[[0, 0], [1, 1]]], [SQUARE]],
                                      [[[[0, 0], [0, 0], [0, 0]]], [SQUARE]]])  # fmt: skip
def test_odd_outlines_survive(name, outlines):
    votes = cw.outlines.outline_votes(["t"] * len(outlines), [f"w{i}" for i in range(len(outlines))], outlines)
    assert len(registry.method(name).fit(votes).to_table()) == 1


@pytest.mark.parametrize(
    ("cell", "says"), [("nonsense", "not valid JSON"), ("[[1, 2]]", "outline is needed"), ("3", "not a list"),
                       ("[[[1, 2], [3, NaN], [4, 5]]]", "outline is needed")],
)  # fmt: skip
def test_bad_cells_say_what_is_wrong(cell, says):
    if cell == "[[1, 2]]":
        assert cw.outlines.outline_votes([1], ["a"], [cell]).answers.size.tolist() == [0]
        return
    with pytest.raises(cw.DataError, match=f"row 1.*{says}"):
        cw.outlines.outline_votes([1], ["a"], [cell])


@pytest.mark.parametrize("format", ["coco", "cvat", "label_studio", "csv"])
def test_what_is_written_is_read_again(tmp_path, format, crowd):
    path = tmp_path / f"v.{ {'coco': 'json', 'cvat': 'zip', 'label_studio': 'json'}.get(format, format) }"
    write_votes(Reading(crowd.votes, "", ""), path, format)
    back = cw.read(path)
    assert back.answers.size.tolist() == crowd.votes.answers.size.tolist()
    assert np.allclose(back.answers.point, crowd.votes.answers.point, atol=1e-5)


@pytest.mark.slow
def test_random_and_idle_workers_are_flagged():
    for name in ("outlines_random", "outlines_idle"):
        crowd = simulate.scenario(name, tasks=40, workers=10, seed=3)
        flags = {flag.worker for flag in study(crowd.votes, cw.outlines.PixelVote().fit(crowd.votes)).flags}
        kind = dict(zip(crowd.votes.workers.to_list(), crowd.kind, strict=True))
        assert flags == {worker for worker, each in kind.items() if each != "honest"}
