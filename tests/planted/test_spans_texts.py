"""Planted crowds that mark spans or write texts: what was planted is found, spammers are flagged, honest ones not."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import crowdwise as cw
from crowdwise import simulate
from crowdwise.core import method_registry as registry
from crowdwise.workers import study


def default(kind, votes):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return cw.method(registry.default_for(kind)).fit(votes)


def test_errors_fall_with_answers():
    """Of the default, for both kinds."""
    spans = [
        1 - cw.evaluate(default("spans", c.votes), c.truth_table()).f1
        for c in (simulate.scenario("spans_plain", tasks=120, workers=24, labels=n, seed=2) for n in (3, 7, 15))
    ]
    assert spans[0] > spans[1] > spans[2]
    assert spans[2] < 0.03
    texts = [
        cw.evaluate(default("texts", c.votes), c.truth_table()).wer
        for c in (simulate.scenario("texts_plain", tasks=120, workers=24, labels=n, seed=2) for n in (3, 7, 15))
    ]
    assert texts[0] > texts[1] >= texts[2]
    assert texts[2] < 0.005


def test_confusions_are_recovered():
    """The chance to overlook a span, against what hmm_crowd and token_dawid_skene believe."""
    crowd = simulate.scenario("spans_plain", tasks=400, workers=20, labels=8, seed=3)
    confusion = cw.spans.TokenDawidSkene(units="words").fit(crowd.votes).extra["0.worker_confusion"]
    believed = 1 - confusion[:, 1:, 1:].sum(axis=2).mean(axis=1)
    assert np.corrcoef(believed, crowd.planted.miss)[0, 1] > 0.9


@pytest.mark.parametrize("scenario", ["spans_random", "spans_idle", "texts_random"])
def test_spammers_are_found_and_honest_workers_left_alone(scenario):
    found = bad = 0
    for seed in range(3):
        crowd = simulate.scenario(scenario, tasks=150, workers=25, labels=8, seed=seed)
        look = study(crowd.votes, default(crowd.votes.kind.name, crowd.votes))
        planted = dict(zip(crowd.votes.workers.to_list(), crowd.kind, strict=True))
        named = [planted[flag.worker] for flag in look.flags if flag.name != "unknown"]
        assert "honest" not in named
        found, bad = found + len(named), bad + sum(kind != "honest" for kind in crowd.kind)
    assert found >= 0.85 * bad


def test_weights_follow_errors():
    crowd = simulate.scenario("texts_plain", tasks=200, workers=20, labels=6, seed=1)
    result = cw.texts.WeightedRover().fit(crowd.votes)
    assert np.corrcoef(result.error, crowd.planted.error)[0, 1] > 0.9
    assert np.corrcoef(result.weight, crowd.planted.error)[0, 1] < -0.9
