"""Laws that every registered method for texts obeys."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from crowdwise import simulate
from crowdwise.core import method_registry as registry
from crowdwise.kinds.texts.cards import METHODS as TEXTS

every = pytest.mark.parametrize("name", sorted(TEXTS))


def planted(scenario="texts_mixed", **size):
    return simulate.scenario(scenario, **{"tasks": 25, "workers": 10, "labels": 4, "seed": 1, **size})


@every
def test_the_card_the_class_and_the_public_name_agree(name):
    cls = registry.get(name)
    assert (cls.name, cls.takes) == (name, "texts")
    assert getattr(cw.texts, cls.__name__) is cls
    assert cls.__doc__


@every
@pytest.mark.parametrize("scenario", ["texts_plain", "texts_translations"])
def test_row_order_does_not_matter(name, scenario):
    frame = planted(scenario).votes.to_frame()
    order = np.random.default_rng(1).permutation(len(frame)).tolist()
    a, b = (cw.method(name).fit(cw.texts.text_votes(*(part[c] for c in ("task", "worker", "output"))))
            for part in (frame, frame[order]))  # fmt: skip
    assert a.outputs == b.outputs
    np.testing.assert_allclose(a.sure, b.sure, atol=1e-12)


@every
def test_unanimous_texts_come_back_to_the_letter(name):
    texts = ["Well-known, isn't it?", "Yes.", "…"]
    votes = cw.texts.text_votes(
        [t for t in range(3) for _ in range(3)], list("abc") * 3, [t for t in texts for _ in range(3)]
    )
    found = cw.method(name).fit(votes)
    assert found.outputs[:2] == texts[:2]
    np.testing.assert_allclose(found.sure, 1.0)


@every
def test_gold_stays_put_and_is_saved_and_loaded(name, tmp_path):
    crowd = planted()
    gold = crowd.truth_table().head(8)
    result = cw.method(name).fit(crowd.votes, gold=gold)
    assert result.outputs[:8] == gold["output"].to_list()
    result.save(tmp_path)
    back = cw.Result.load(tmp_path)
    assert back.to_table().equals(result.to_table())
    assert back.worker_table().equals(result.worker_table())
    assert cw.evaluate(back, crowd.truth_table()).n == 17


@every
def test_inferring_its_own_tasks_gives_its_own_answer(name):
    crowd = planted()
    result = cw.method(name).fit(crowd.votes)
    assert result.infer(crowd.votes).outputs == result.outputs
    some = crowd.votes.select(workers=crowd.votes.workers[:5].to_list())
    with pytest.raises(cw.DataError, match="unknown_workers"):
        cw.method(name).fit(some).infer(crowd.votes)
    assert len(cw.method(name).fit(some).infer(crowd.votes, unknown_workers="average").tasks) == 25


@every
@pytest.mark.parametrize("texts", [["one"], ["…"], ["", "a b"], ["a", "b"], ["🙂 é", "🙂 e"]])
def test_degenerate_sizes(name, texts):
    votes = cw.texts.text_votes([1] * len(texts), list(range(len(texts))), texts, tasks=[1, 2])
    result = cw.method(name).fit(votes)
    assert len(result.outputs) == 2
    assert result.outputs[1] == ""
    assert ((result.sure >= 0) & (result.sure <= 1)).all()


def test_blank_texts_are_no_answers_and_counted():
    votes = cw.texts.text_votes([1, 1, 2], ["a", "b", "a"], ["x", " ", None])
    assert len(votes) == 1
    assert votes.ledger.rows_dropped == 2


def test_any_distance_will_do():
    votes = cw.texts.text_votes([1] * 3, list("abc"), ["aaaa", "aaab", "zzzz"])
    assert (
        cw.texts.Medoid().fit(votes, distance=lambda a, b: abs(len(a) - len(b)) + (a[0] != b[0])).outputs[0][0] == "a"
    )
    with pytest.raises(cw.DataError, match="must be a number of at least 0"):
        cw.texts.Medoid().fit(votes, distance=lambda a, b: float("nan"))


def test_other_kinds_are_refused_in_one_line():
    with pytest.raises(cw.DataError, match="texts are needed, got numbers"):
        cw.texts.Rover().fit(cw.numbers.number_votes([1], ["a"], [2.0]))
    assert cw.texts.Rover().fit(pl.DataFrame({"task": [1], "worker": ["a"], "text": ["hey you"]})).outputs == [
        "hey you"
    ]
