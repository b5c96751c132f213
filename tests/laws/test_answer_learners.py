"""Laws that every training method for comparisons, spans and same or different obeys; the registry names them."""

from __future__ import annotations

import inspect
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import crowdwise as cw  # noqa: E402
from crowdwise.core import method_registry as registry  # noqa: E402
from crowdwise.learn import CrowdClusterer, CrowdRanker, CrowdTagger  # noqa: E402
from crowdwise.learn.answers import AnswerMethod  # noqa: E402
from crowdwise.learn.fitting import method_class  # noqa: E402

ESTIMATORS = {each.takes: each for each in (CrowdRanker, CrowdTagger, CrowdClusterer)}
METHODS = sorted(name for name, card in registry.LEARNERS.items() if card.takes in ESTIMATORS)
N, WORKERS = 18, 4
every = pytest.mark.parametrize("name", METHODS)


def crowd_of(kind, seed=0, workers=("ann", "bob", "cat", "dan")):
    """Features and votes of a kind, with a tie here and an empty answer there."""
    rng = np.random.default_rng(seed)
    who = np.array(workers)[rng.integers(0, WORKERS, 120)]
    if kind == "spans":
        x = [rng.normal(size=(int(n), 3)).astype(np.float32) for n in rng.integers(2, 6, N)]
        task = rng.integers(0, N, 120)
        said = [[[0, 1, "T"]] if rng.random() < 0.5 else [[1, 2, "U"]] if rng.random() < 0.8 else [] for _ in task]
        return x, cw.spans.span_votes(task, who, said, tasks=range(N), duplicates="keep")
    x = rng.normal(size=(N, 3)).astype(np.float32)
    left = rng.integers(0, N, 120)
    right = (left + rng.integers(1, N, 120)) % N
    if kind == "comparisons":
        won = np.where(rng.random(120) < 0.1, "tie", np.where(x[left, 0] > x[right, 0], "left", "right"))
        return x, cw.comparisons.comparison_votes(left, right, won, worker=who, items=range(N), duplicates="keep")
    same = (x[left, 0] > 0) == (x[right, 0] > 0)
    return x, cw.similarities.similarity_votes(left, right, same, worker=who, items=range(N), duplicates="keep")


def made(name, **how):
    kind = registry.learner(name).takes
    more = {"clusters": 3} if kind == "similarities" else {}
    return ESTIMATORS[kind]("linear", name, **more, **{"epochs": 3, "lr": 0.05, "validation": 0, **how})


def answer(fitted, x):
    found = fitted.predict_proba(x) if hasattr(fitted, "clusters_") or isinstance(x, list) else fitted.predict(x)
    return np.concatenate(found) if isinstance(found, list) else found


@every
def test_the_card_and_the_class_agree(name):
    card, cls = registry.learner(name), method_class(name)
    assert issubclass(cls, AnswerMethod)
    assert (cls.name, bool(cls.__doc__), bool(card.paper)) == (name, True, True)
    kinds = {p.kind for p in list(inspect.signature(cls).parameters.values())[1:]}
    assert kinds <= {inspect.Parameter.KEYWORD_ONLY}
    x, votes = crowd_of(card.takes)
    fitted = made(name).fit(x, votes)
    if card.takes == "spans":
        with torch.no_grad():
            assert (
                (fitted.model_.method.confusion() is not None) == ("confusion" in card.can) == ("forecast" in card.can)
            )


@every
def test_the_same_seed_gives_the_same_bits_and_files_keep_them(name, tmp_path):
    x, votes = crowd_of(registry.learner(name).takes)
    one, two = made(name).fit(x, votes), made(name).fit(x, votes)
    np.testing.assert_array_equal(answer(one, x), answer(two, x))
    assert one.worker_table().equals(two.worker_table())
    one.save(tmp_path / "run")
    again = type(one).load(tmp_path / "run")
    np.testing.assert_array_equal(answer(again, x), answer(one, x))
    assert cw.Result.load(tmp_path / "run").to_table().equals(one.result_.to_table())


@every
def test_the_order_of_rows_and_of_features_changes_nothing(name):
    x, votes = crowd_of(registry.learner(name).takes)
    turn = np.random.default_rng(1).permutation(N)
    there = [x[i] for i in turn] if isinstance(x, list) else x[turn]
    where = {"tasks" if isinstance(x, list) else "items": turn}
    one = made(name, batch_size=500).fit(x, votes)  # one batch: no order of batches
    two = made(name, batch_size=500).fit(there, votes, **where)
    np.testing.assert_allclose(answer(one, x), answer(two, x), atol=1e-4)


@every
def test_new_names_of_workers_change_nothing_but_names(name):
    kind = registry.learner(name).takes
    x, votes = crowd_of(kind)
    x2, renamed = crowd_of(kind, workers=("zoe", "yan", "xia", "wim"))
    one, two = made(name, batch_size=500).fit(x, votes), made(name, batch_size=500).fit(x2, renamed)
    np.testing.assert_allclose(answer(one, x), answer(two, x), atol=1e-4)
    a = one.worker_table().drop("worker").to_numpy()
    b = two.worker_table().drop("worker").to_numpy()[::-1]
    np.testing.assert_allclose(a.astype(float), b.astype(float), atol=1e-3, equal_nan=True)


@every
def test_an_answer_that_weighs_nothing_is_absent(name):
    x, votes = crowd_of(registry.learner(name).takes)
    keep = np.arange(len(votes)) % 5 > 0
    weightless = replace(votes, weight=keep.astype(float))
    one, two = made(name).fit(x, weightless), made(name).fit(x, votes.take(keep))
    np.testing.assert_allclose(answer(one, x), answer(two, x), atol=1e-3)  # single precision, after many steps


@every
def test_losses_of_parts_add_up_to_that_of_the_whole(name):
    """As over processes that share a batch; the volume of outputs is gathered first, and tested there."""
    x, votes = crowd_of(registry.learner(name).takes)
    fitted = made(name).fit(x, votes)
    data, model = fitted._data(*_fed(fitted, x, votes)), fitted.model_
    tasks = data.crowd.labelled.nonzero().squeeze(1)[:7]
    whole = model(data.batch(tasks))
    parts = [model(data.batch(tasks, rank=rank, world=2)) for rank in range(2)]
    for term in whole:
        if term != "volume":
            torch.testing.assert_close(parts[0][term] + parts[1][term], whole[term], rtol=1e-4, atol=1e-6)


def _fed(fitted, x, votes):
    """What `fit` gives the loop: features and crowd."""
    kept = {}

    def look(given, crowd):
        kept["both"] = (given, crowd)

    again = type(fitted)(**{**fitted.get_params(), "epochs": 1})
    again._train = look
    with pytest.raises(AttributeError):  # nothing was trained
        again.fit(x, votes)
    return kept["both"]


@every
def test_the_gradient_is_the_slope_of_the_loss(name):
    x, votes = crowd_of(registry.learner(name).takes)
    fitted = made(name).fit(x, votes)
    data, model = fitted._data(*_fed(fitted, x, votes)), fitted.model_.double()
    batch = data.batch(data.crowd.labelled.nonzero().squeeze(1)[:9])
    batch.x = batch.x.double()
    loss = lambda: torch.stack(list(model(batch).values())).sum()  # noqa: E731
    model.zero_grad()
    loss().backward()
    generator = torch.Generator().manual_seed(0)
    for label, p in model.named_parameters():
        way = torch.randn(p.shape, generator=generator, dtype=p.dtype)
        with torch.no_grad():
            p += 1e-6 * way
            up = loss()
            p -= 2e-6 * way
            down = loss()
            p += 1e-6 * way
        slope = 0.0 if p.grad is None else float((p.grad * way).sum())
        assert float(up - down) / 2e-6 == pytest.approx(slope, rel=1e-3, abs=1e-6), label
