"""Two systems on the same tasks: differences of accuracies, shares and means."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from crowdwise.errors import DataError, ParameterError

NAMES = np.array(["fine", "hate", "spam"])


def system(name, truth, right, rng, classes=NAMES):
    """Votes of one system that is right in this share."""
    code = np.where(
        rng.random(len(truth)) < right, truth, (truth + rng.integers(1, len(classes), len(truth))) % len(classes)
    )
    return cw.Annotations.from_arrays(range(len(truth)), [name] * len(truth), classes[code]), code


def planted(seed, n=1500, n_gold=200, rates=(0.85, 0.8), classes=NAMES):
    rng = np.random.default_rng(seed)
    truth = rng.integers(len(classes), size=n)
    (a, said), (b, other) = (system(name, truth, rate, rng, classes) for name, rate in zip("ab", rates, strict=True))
    gold = {int(t): classes[truth[t]] for t in rng.permutation(n)[:n_gold]}
    return a, b, gold, float((said == truth).mean() - (other == truth).mean())


@pytest.mark.slow
@pytest.mark.parametrize("classes", [NAMES, NAMES[:2]], ids=["three", "two"])
def test_intervals_of_accuracies_cover_and_are_narrower_than_gold_alone(classes):
    hits, saved = [], []
    for seed in range(1, 41):
        a, b, gold, true = planted(seed, classes=classes)
        figure = cw.difference(a, b, gold=gold, sampling="random", seed=seed)
        hits.append(figure.low <= true <= figure.high)
        saved.append(figure.labels_saved)
    assert np.mean(hits) >= 0.9
    assert np.mean(saved) > 1.0


def test_a_system_against_itself_and_against_nobody():
    a, b, gold, _ = planted(3)
    same = cw.difference(a, a, gold=gold, sampling="random")
    assert (same.value, same.low, same.high) == (0.0, 0.0, 0.0)
    there, back = (cw.difference(*two, gold=gold, sampling="random") for two in ((a, b), (b, a)))
    assert there.value == pytest.approx(-back.value, abs=0.02)
    assert there.display_name == "accuracy of a less that of b"
    every = cw.difference(a, b, gold={t: gold.get(t, "fine") for t in range(1500)}, sampling="random")
    assert every.high - every.low < 1e-9  # all gold: nothing is left to doubt


def test_the_order_of_tasks_and_gold_does_not_matter():
    a, b, gold, _ = planted(4)
    turned = cw.Annotations.from_frame(b.to_frame().sample(fraction=1, shuffle=True, seed=1))
    one = cw.difference(a, b, gold=gold, sampling="random")
    two = cw.difference(a, turned, gold=dict(reversed(gold.items())), sampling="random")
    assert (one.value, one.low, one.high) == (two.value, two.low, two.high)


def test_two_workers_of_one_file():
    a, b, gold, _ = planted(5)
    both = cw.Annotations.from_frame(pl.concat([a.to_frame(), b.to_frame()]))
    one = cw.estimate(both, gold=gold, metric="difference:a,b", sampling="random")
    two = cw.difference(a, b, gold=gold, sampling="random")
    assert (one.value, one.low, one.high) == (two.value, two.low, two.high)
    assert one.metric == "difference:a,b"
    with pytest.raises(ParameterError, match="neither by nor method"):
        cw.estimate(both, gold=gold, metric="difference:a,b", sampling="random", by="forum")
    with pytest.raises(ParameterError, match="'c' is not a worker here"):
        cw.estimate(both, gold=gold, metric="difference:a,c", sampling="random")


def scores(seed, n=1200, n_gold=150):
    """Judge's and people's verdicts of what two systems made."""
    rng = np.random.default_rng(seed)
    hard = rng.normal(size=n)
    good = [(hard + rng.normal(size=n) < c).astype(int) for c in (0.7, 0.3)]
    judge = [np.where(rng.random(n) < 0.88, g, 1 - g) for g in good]
    names = np.array(["bad", "good"])
    votes = [cw.Annotations.from_arrays(range(n), ["judge"] * n, names[j]) for j in judge]
    drawn = rng.permutation(n)[:n_gold].tolist()
    golds = [{t: names[g[t]] for t in drawn} for g in good]
    return votes, golds, float(good[0].mean() - good[1].mean())


@pytest.mark.slow
def test_shares_of_what_two_systems_made_have_two_golds():
    hits = []
    for seed in range(40):
        votes, golds, true = scores(seed)
        figure = cw.difference(
            *votes, gold=golds[0], second_gold=golds[1], metric="share:good", sampling="random", seed=seed
        )
        hits.append(figure.low <= true <= figure.high)
    assert np.mean(hits) >= 0.9
    assert figure.judge_alone is not None
    assert figure.labels_saved > 1.2
    with pytest.raises(ParameterError, match="the same for both systems"):
        cw.difference(*votes, gold=golds[0], metric="share:good", sampling="random")
    with pytest.raises(ParameterError, match="an accuracy needs one gold"):
        cw.difference(*votes, gold=golds[0], second_gold=golds[1], sampling="random")


def test_means_of_ratings_and_of_numbers_agree():
    rng = np.random.default_rng(8)
    quality = rng.normal(size=900)
    people = [np.clip(np.rint(3 + quality + lift + 0.5 * rng.normal(size=900)), 1, 5) for lift in (0.4, 0.0)]
    judge = [np.clip(np.rint(p + 0.7 * rng.normal(size=900)), 1, 5) for p in people]
    drawn = rng.permutation(900)[:150].tolist()
    true = people[0].mean() - people[1].mean()
    found = []
    for kind, say in (("classes", lambda x: x.astype(int).astype(str)), ("numbers", lambda x: x)):
        make = cw.Annotations.from_arrays if kind == "classes" else lambda t, w, v: cw.numbers.number_votes(t, w, v)
        votes = [make(list(range(900)), ["j"] * 900, say(j)) for j in judge]
        golds = [
            pl.DataFrame({"task": drawn, "label" if kind == "classes" else "value": say(p[drawn])}) for p in people
        ]
        found.append(cw.difference(*votes, gold=golds[0], second_gold=golds[1], metric="mean", sampling="random"))
    for figure in found:
        assert figure.low < true < figure.high
        assert figure.method == "regression estimator of paired differences"
    assert found[0].value == pytest.approx(found[1].value, abs=1e-9)


def test_what_cannot_be_compared_is_refused():
    a, b, gold, _ = planted(6)
    apart = cw.Annotations.from_arrays([f"x{i}" for i in range(50)], ["c"] * 50, ["fine"] * 50)
    with pytest.raises(DataError, match="no task in common"):
        cw.difference(a, apart, gold=gold, second_gold={"x1": "fine"}, metric="share:fine", sampling="random")
    few = dict(list(gold.items())[:5])
    with pytest.raises(DataError, match="5 gold labels are too few"):
        cw.difference(a, b, gold=few, sampling="random")
    with pytest.raises(ParameterError, match="it is not stated how the gold was drawn"):
        cw.difference(a, b, gold=gold)
    with pytest.raises(ParameterError, match="drawn at random"):
        cw.difference(a, b, gold=gold, sampling="by-truth")
    agree = {t: label for t, label in gold.items() if a.to_frame()["label"][t] == b.to_frame()["label"][t]}
    with pytest.raises(DataError, match=r"not random.*\); draw gold with --draw$"):  # no other sampling would do
        cw.difference(a, b, gold=agree, sampling="random")
