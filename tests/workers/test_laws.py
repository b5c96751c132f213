"""Laws of the workers room: names and row order do not matter, odd sizes work, nothing is dropped silently."""

from __future__ import annotations

import hypothesis
import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from crowdwise import simulate, workers
from crowdwise.workers.flags import REMOVED

from ..conftest import build, crowds

NUMBERS = ("skill", "consensus_agreement", "bias", "bits", "capacity", "spammer_score", "spammer_probability")


@pytest.fixture(scope="module")
def mixed():
    return simulate.scenario("mixed", tasks=400, workers=20, classes=3, labels=6, seed=9)


def renamed(votes, turn):
    """The same rows with class c called turn[c]."""
    return cw.Annotations.from_arrays(
        votes.task, votes.worker, np.asarray(turn)[votes.label],
        tasks=range(votes.n_tasks), workers=range(votes.n_workers), classes=range(votes.n_classes),
    )  # fmt: skip


def test_renaming_classes_leaves_scores_flags_and_agreement_unchanged(mixed):
    a, b = renamed(mixed.annotations, [0, 1, 2]), renamed(mixed.annotations, [2, 0, 1])
    one, two = (workers.study(v, cw.DawidSkene(smoothing=0.5).fit(v), level="nominal") for v in (a, b))
    for name in NUMBERS:
        assert one.quality[name].to_numpy() == pytest.approx(two.quality[name].to_numpy(), abs=1e-5), name
    assert {(f.worker, f.name) for f in one.flags} == {(f.worker, f.name) for f in two.flags}
    for x, y in zip(one.agreement, two.agreement, strict=True):
        assert x.value == pytest.approx(y.value, abs=1e-9)
    for find in (workers.covariance_flags, workers.agreement_outliers, workers.robust_outliers):
        assert {f.worker for f in find(a)} == {f.worker for f in find(b)}


def test_row_order_does_not_matter(mixed):
    frame = mixed.annotations.to_frame()
    again = cw.Annotations.from_frame(frame.sample(fraction=1.0, shuffle=True, seed=3))
    one, two = (workers.study(v, cw.DawidSkene().fit(v)) for v in (cw.Annotations.from_frame(frame), again))
    assert one.quality.equals(two.quality)
    assert one.flags == two.flags
    assert one.agreement == two.agreement


@pytest.mark.slow
@hypothesis.settings(max_examples=25)
@hypothesis.given(crowd=crowds(min_classes=1))
def test_small_crowds_of_any_shape_work(crowd):
    votes = build(crowd)
    result = cw.MajorityVote().fit(votes)
    look = workers.study(votes, result)
    assert len(look.quality) == votes.n_workers
    assert len(look.classes) == votes.n_workers * votes.n_classes
    for name in ("skill", "spammer_score", "bits"):
        assert look.quality[name].is_null().to_list() == (votes.labels_per_worker == 0).tolist()
    for c in look.agreement:
        assert (c.value is None) == (c.reason is not None)
        if c.low is not None:
            assert c.low <= c.value <= c.high
    few = {f.worker for f in look.flags if f.name == "unknown"}
    assert few == {w for w, n in zip(votes.workers, votes.labels_per_worker, strict=True) if n < 5}
    for find in (workers.covariance_flags, workers.agreement_outliers, workers.robust_outliers):
        assert isinstance(find(votes), list)
    assert len(cw.tasks.contested(votes, result)) == votes.n_tasks
    assert cw.tasks.confused_classes(votes, result).height == votes.n_classes * (votes.n_classes - 1) // 2


@pytest.mark.parametrize("labels", [1, 3])
def test_one_worker_one_class_one_label_a_task(labels):
    alone = cw.Annotations.from_arrays(range(20), ["a"] * 20, ["x", "y"] * 10)
    same = cw.Annotations.from_arrays(np.repeat(range(10), labels), np.tile(range(labels), 10), ["x"] * 10 * labels)
    for votes in (alone, same):
        look = workers.study(votes, cw.MajorityVote().fit(votes))
        assert all(f.name in ("unknown",) for f in look.flags)
        assert look.agreement[1].value is None
        assert look.agreement[1].reason


def test_a_copy_of_an_honest_worker_is_no_spammer(mixed):
    votes = simulate.crowd(300, 3, [simulate.OneCoin(10, low=0.7, high=0.9)], simulate.PerTask(6), seed=1).annotations
    frame = votes.to_frame()
    copy = frame.filter(frame["worker"] == votes.workers[0]).with_columns(worker=pl.lit("copy"))
    both = cw.Annotations.from_frame(pl.concat([frame, copy]))
    flags = workers.study(both, cw.classes.Hierarchical().fit(both)).flags
    assert {f.name for f in flags if f.worker in ("copy", votes.workers[0])} <= {"copying"}
    assert not any(f.name in REMOVED for f in flags)


def test_tables_of_flags_and_coefficients(mixed):
    look = workers.study(mixed.annotations, cw.DawidSkene().fit(mixed.annotations))
    table = workers.flag_table(look.flags)
    assert table.columns == [
        "worker", "flag", "probability", "p_value", "false_alarms", "evidence", "partners", "tasks",
    ]  # fmt: skip
    assert len(table) == len(look.flags) > 0
    assert workers.flag_table([]).is_empty()
    assert workers.agreement_table(look.agreement)["name"].to_list() == [c.name for c in look.agreement]
    serious = [f for f in look.flags if f.name != "unknown"]
    assert all((f.probability is not None) or (f.p_value is not None) for f in serious)
    # Each says how often it is raised against honest workers, by a table that a benchmark measures.
    assert all(f.false_alarms is not None and f.false_alarms == f.to_dict()["false_alarms"] for f in serious)
    assert {f.false_alarms for f in look.flags if f.name == "unknown"} <= {None}
