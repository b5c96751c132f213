"""Regression from crowds: laws of every method for numbers, planted workers found again, one line for every mistake."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

torch = pytest.importorskip("torch")

import crowdwise as cw  # noqa: E402
from crowdwise.core import method_registry as registry  # noqa: E402
from crowdwise.kinds.numbers.answers import number_votes  # noqa: E402
from crowdwise.kinds.numbers.learn.crowd import AnswerScale, Lines, clamp_outliers, renew, truth  # noqa: E402  # noqa: E402
from crowdwise.kinds.numbers.learn.regressor import HeldOutNumbers  # noqa: E402
from crowdwise.learn import CrowdClassifier, CrowdData, CrowdModel, CrowdRegressor, NumberCrowd, make_net  # noqa: E402
from crowdwise.learn.fitting import method_class  # noqa: E402
from crowdwise.learn.training.hold_out import hold_out  # noqa: E402

METHODS = sorted(name for name, card in registry.LEARNERS.items() if card.takes == "numbers")
LAYERS = [name for name in METHODS if name.startswith("crowd_layer")]
every = pytest.mark.parametrize("method", METHODS)
D = 3
FAST = {"epochs": 6, "lr": 0.03, "batch_size": 16}


def planted(n=60, m=6, labels=3, seed=0, gap=0.2, slope=None, bias=None, spread=None, parts=1):
    """x, votes, truth and the workers' lines: y = 4 + 2 x·w + gap, answers slope · (y - 4) + 4 + bias + noise."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, D)).astype(np.float32)
    y = 4 + 2 * x @ (np.array([1.0, -0.5, 0.25])[:, None] * np.ones(parts)) + gap * rng.normal(size=(n, parts))
    slope = np.ones(m) if slope is None else np.asarray(slope)
    bias = np.linspace(-1, 1, m) if bias is None else np.asarray(bias)
    spread = np.full(m, 0.3) if spread is None else np.asarray(spread)
    worker = np.concatenate([rng.choice(m, labels, replace=False) for _ in range(n)])
    task = np.repeat(np.arange(n), labels)
    noise = spread[worker, None] * rng.normal(size=(n * labels, parts))
    value = 4 + slope[worker, None] * (y[task] - 4) + bias[worker, None] + noise
    votes = number_votes(task, worker, value if parts > 1 else value[:, 0], tasks=range(n), workers=range(m))
    return x, votes, y if parts > 1 else y[:, 0]


def fitted_on(x, votes, method, **how):
    return CrowdRegressor("linear", method, **{**FAST, "validation": 0, **how}).fit(x, votes)


# -------------------------------------------------------------------- laws of every method
@every
def test_the_card_and_the_class_agree(method):
    cls = method_class(method)
    assert cls.name == method
    assert cls.__doc__
    x, votes, _ = planted()
    fitted = fitted_on(x, votes, method, epochs=1)
    assert ("interval" in registry.learner(method).can) == (fitted.gap_ is not None)
    moved = fitted.worker_table().select(pl.col("bias").abs().max(), (pl.col("slope") - 1).abs().max()).row(0)
    assert (max(moved) > 0) == ("workers" in registry.learner(method).can)


@every
def test_the_same_seed_gives_the_same_bits_and_another_one_others(method):
    x, votes, _ = planted()
    one, two, other = (fitted_on(x, votes, method, seed=seed, validation=0.2).predict(x) for seed in (3, 3, 4))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, other)


@every
def test_order_of_rows_and_names_of_workers_do_not_matter(method):
    x, votes, _ = planted()
    base = fitted_on(x, votes, method).predict(x)
    frame = votes.to_frame().sample(fraction=1.0, shuffle=True, seed=1)
    shuffled = number_votes(frame["task"], frame["worker"], frame["value"], tasks=votes.tasks, workers=votes.workers)
    assert np.array_equal(base, fitted_on(x, shuffled, method).predict(x))
    renamed = number_votes(frame["task"], 9 - frame["worker"], frame["value"], tasks=votes.tasks)
    np.testing.assert_allclose(fitted_on(x, renamed, method).predict(x), base, rtol=1e-3, atol=1e-3)


@every
def test_an_answer_that_weighs_nothing_is_not_there(method):
    x, votes, _ = planted()
    weight = np.where(np.arange(len(votes)) % 5 == 0, 0.0, 1.0)
    wild = votes.to_frame().with_columns(value=pl.when(pl.Series(weight) == 0).then(1e5).otherwise(pl.col("value")))
    columns = [wild[name] for name in ("task", "worker", "value")]
    heavy = number_votes(*columns, weight=weight, tasks=votes.tasks, workers=votes.workers)
    without = votes.take(weight > 0)
    assert np.array_equal(fitted_on(x, heavy, method).predict(x), fitted_on(x, without, method).predict(x))


@every
def test_units_of_the_numbers_do_not_matter(method):
    x, votes, _ = planted()
    frame = votes.to_frame()
    other = number_votes(frame["task"], frame["worker"], 1000 * frame["value"] - 7, tasks=votes.tasks)
    one, two = (fitted_on(x, each, method).predict(x) for each in (votes, other))
    np.testing.assert_allclose(1000 * one - 7, two, rtol=1e-4, atol=1)


@every
def test_the_mean_worker_is_the_gauge(method):
    x, votes, _ = planted(slope=[0.5, 0.8, 1.0, 1.2, 1.5, 1.8])
    fitted = fitted_on(x, votes, method)
    with torch.no_grad():
        slope, bias = fitted.model_.method.lines()
        by_slope, by_bias = (each / each.sum(0) for each in fitted.model_.method.trust())
    np.testing.assert_allclose((by_slope * slope).sum(0), 1, atol=1e-5)
    np.testing.assert_allclose((by_bias * bias).sum(0), 0, atol=1e-5)


@every
def test_a_silent_worker_is_the_mean_worker_and_changes_nobody(method):
    x, votes, _ = planted()
    frame = votes.to_frame()
    more = number_votes(frame["task"], frame["worker"], frame["value"], tasks=votes.tasks, workers=range(8))
    base, with_silent = (fitted_on(x, each, method) for each in (votes, more))
    np.testing.assert_allclose(with_silent.predict(x), base.predict(x), rtol=1e-5, atol=1e-5)
    silent = with_silent.worker_table().filter(pl.col("worker") == 7).row(0, named=True)
    assert (silent["n_labels"], silent["bias"], silent["slope"]) == (0, 0.0, 1.0)
    assert silent["spread"] > 0


@every
@pytest.mark.parametrize("parts", [1, 2])
def test_what_was_learnt_of_the_workers_judges_other_answers(method, parts, tmp_path):
    """Tasks whose features nobody has; a saved run says the same."""
    x, votes, truth = planted(n=80, parts=parts, bias=np.zeros(6))
    fitted = fitted_on(x, votes, method, epochs=30)
    new, truth = planted(n=40, parts=parts, bias=np.zeros(6), seed=5)[1:]
    found = fitted.result_.infer(new)
    r = np.corrcoef(np.asarray(found.value).reshape(40, -1)[:, 0], truth.reshape(40, -1)[:, 0])[0, 1]
    assert r > 0.9
    mean, variance = fitted.result_.model.posterior(new)
    assert mean.shape == (40, parts)
    assert (variance > 0).all()
    fitted.save(tmp_path / "run")
    again = cw.Result.load(tmp_path / "run").infer(new)
    np.testing.assert_allclose(again.value, found.value, rtol=1e-12)
    look = cw.workers.study(votes, fitted.result_)
    assert look.quality["correlation"].min() > 0.5


@every
def test_a_saved_regressor_predicts_the_same(method, tmp_path):
    x, votes, _ = planted()
    fitted = CrowdRegressor("linear", method, **FAST, validation=0.2, refit=True).fit(x, votes)
    fitted.save(tmp_path / "run")
    found = CrowdRegressor.load(tmp_path / "run")
    assert np.array_equal(found.predict(x), fitted.predict(x))
    assert found.worker_table().equals(fitted.worker_table())
    assert found.result_.to_table().equals(fitted.result_.to_table(), null_equal=True)
    assert found.history_.to_dict() == fitted.history_.to_dict()
    if fitted.gap_ is not None:
        assert np.array_equal(found.predict_std(x), fitted.predict_std(x))
        for one, two in zip(found.forecast(x, votes), fitted.forecast(x, votes), strict=True):
            assert np.array_equal(one, two)


@every
def test_losses_of_the_parts_of_a_batch_add_up(method):
    x, votes, _ = planted()
    crowd = NumberCrowd.of(votes, units=AnswerScale.of(votes))
    data = CrowdData(x, crowd)
    model = CrowdModel(make_net("linear", (D,), 1), method_class(method)(crowd))
    tasks = torch.arange(31)
    whole = sum(model(data.batch(tasks)).values())
    parts = sum(sum(model(data.batch(tasks, rank=rank, world=2)).values()) for rank in range(2))
    torch.testing.assert_close(parts, whole)


@every
def test_an_interrupted_run_ends_at_the_same_bits(method, tmp_path):
    x, votes, _ = planted()
    straight = fitted_on(x, votes, method, validation=0.2).predict(x)
    fitted_on(x, votes, method, validation=0.2, epochs=3, folder=tmp_path)
    resumed = fitted_on(x, votes, method, validation=0.2, folder=tmp_path, resume=True)
    assert np.array_equal(straight, resumed.predict(x))


@every
def test_answers_of_several_parts(method):
    x, votes, y = planted(parts=2, n=120)
    fitted = fitted_on(x, votes, method, epochs=30, lr=0.1)
    assert fitted.predict(x).shape == y.shape
    assert fitted.score(x, y) > 0.9
    assert {"value_0", "low_1"} <= set(fitted.result_.to_table().columns)
    assert {"bias_0", "slope_1", "spread_1"} <= set(fitted.worker_table().columns)


@every
@pytest.mark.parametrize("case", ["one worker", "all equal", "one task", "one answer each"])
def test_degenerate_crowds(method, case):
    task, worker, value = {
        "one worker": ([0, 1, 2], ["a"] * 3, [1.0, 2, 4]),
        "all equal": ([0, 0, 1, 2], ["a", "b", "a", "b"], [5.0] * 4),
        "one task": ([0, 0], ["a", "b"], [1.0, 3.0]),
        "one answer each": ([0, 1, 2], ["a", "b", "c"], [1.0, 2.0, 9.0]),
    }[case]
    votes = number_votes(task, worker, value)
    fitted = fitted_on(np.arange(2.0 * votes.n_tasks).reshape(-1, 2), votes, method)
    assert np.isfinite(fitted.predict(np.ones((2, 2)))).all()
    table = fitted.worker_table().drop("worker", "n_labels")
    assert np.isfinite(table.to_numpy()).all()


# -------------------------------------------------------------------- planted crowds
SLOPES, BIASES, SPREADS = (
    [1.3, 0.7, 1.0, 1.0, 1.2, 0.8],
    [1.0, -1.0, 0.5, -0.5, 0.2, -0.2],
    [0.2, 0.4, 0.8, 1.6, 0.3, 0.3],
)


def test_bias_slope_and_spread_are_found_again():
    x, votes, y = planted(400, slope=SLOPES, bias=BIASES, spread=SPREADS)
    fitted = CrowdRegressor("linear", epochs=60, lr=0.03).fit(x, votes)
    found = fitted.worker_table().sort("worker")
    by_slope, by_bias = (each[:, 0].numpy() for each in fitted.model_.method.trust())
    assert by_slope[0] > by_slope[1] > by_slope[2] > by_slope[3]  # who tells most counts most
    slope = np.array(SLOPES) / np.average(SLOPES, weights=by_slope)
    bias = BIASES - slope * np.average(BIASES, weights=by_bias) / np.average(slope, weights=by_bias)
    np.testing.assert_allclose(found["slope"], slope, atol=0.1)
    np.testing.assert_allclose(found["bias"], bias, atol=0.2)
    np.testing.assert_allclose(found["spread"][1:], SPREADS[1:], rtol=0.2)
    assert 0.2 < found["spread"][0] < 0.3  # held to the crowd's, and to a quarter of the median's variance
    both, net = fitted.result_.mean, fitted.result_.extra["net"][:, 0]
    assert np.corrcoef(both, y)[0, 1] > np.corrcoef(net, y)[0, 1]


@pytest.mark.parametrize("method", ["crowd_layer_sb", "crowd_layer_bs"])
def test_layers_find_slopes_and_biases(method):
    x, votes, _ = planted(400, slope=SLOPES, bias=BIASES, spread=[0.2] * 6)
    found = CrowdRegressor("linear", method, epochs=100, lr=0.03, validation=0).fit(x, votes).worker_table()
    found, counts = found.sort("worker"), found.sort("worker")["n_labels"].to_numpy()
    slope = np.array(SLOPES) / np.average(SLOPES, weights=counts)
    np.testing.assert_allclose(found["slope"], slope, atol=0.1)
    np.testing.assert_allclose(found["bias"], BIASES - slope * np.average(BIASES, weights=counts), atol=0.2)


def test_workers_who_always_say_the_same_teach_nothing():
    """One in three answers 2.5 whatever the task; the mean of the answers is bent, the Gaussian net is not."""
    x, votes, y = planted(
        300, m=6, slope=[1, 1, 1, 1, 0, 0], bias=[0, 0, 0, 0, -1.5, -1.5], spread=[0.3] * 4 + [0.01] * 2
    )
    scores = {
        method: CrowdRegressor("linear", method, epochs=60, lr=0.03).fit(x, votes).score(x, y)
        for method in ("mean_target", "gaussian_net")
    }
    assert scores["gaussian_net"] > 0.97
    assert scores["mean_target"] < 0.9


def test_intervals_cover_new_tasks():
    x, votes, _ = planted(400, gap=1.0, seed=5)
    new_x, _, new_y = planted(1000, gap=1.0, seed=6)
    fitted = CrowdRegressor("linear", epochs=40, lr=0.03).fit(x, votes)
    offset = (fitted.predict(new_x) - new_y).mean()  # what is common to all workers cannot be known
    low, high = fitted.predict_interval(new_x, 0.9)
    assert 0.85 < ((low - offset < new_y) & (new_y < high - offset)).mean() < 0.95


def test_a_worker_with_one_answer_stays_near_the_crowd():
    x, votes, _ = planted(200, bias=[0.0] * 6)
    frame = votes.to_frame().select("task", pl.col("worker").cast(pl.String), "value")
    odd = pl.DataFrame({"task": [0], "worker": ["once"], "value": [frame["value"][0] + 1]})
    both = pl.concat([frame, odd])
    fitted = fitted_on(x, number_votes(both["task"], both["worker"], both["value"]), "gaussian_net", epochs=20)
    once = fitted.worker_table().filter(pl.col("worker") == "once").row(0, named=True)
    assert abs(once["bias"]) < 0.7
    assert 0.9 < once["slope"] < 1.1
    assert 0.2 < once["spread"] < 0.45


@pytest.mark.parametrize("method", ["mean_target", "gaussian_net"])
def test_one_slip_of_the_keyboard_does_not_bend_the_net(method):
    x, votes, y = planted(200)
    frame = (
        votes.to_frame()
        .with_row_index()
        .with_columns(value=pl.when(pl.col("index") == 7).then(1e6).otherwise(pl.col("value")))
    )
    slipped = number_votes(frame["task"], frame["worker"], frame["value"])
    assert fitted_on(x, slipped, method, epochs=60).score(x, y) > 0.9
    assert clamp_outliers(votes).answers.value.tolist() == votes.answers.value.tolist()


# -------------------------------------------------------------------- the Gaussian model, by hand
def by_hand(seed=0):
    x, votes, _ = planted(9, m=4, labels=3, seed=seed)
    crowd = NumberCrowd.of(votes, units=AnswerScale.of(votes))
    rng = np.random.default_rng(seed)
    lines = Lines.start(4, 1)
    given = {
        "slope": torch.tensor(rng.normal(1, 0.3, (4, 1))), "bias": torch.tensor(rng.normal(0, 0.4, (4, 1))),
        "variance": torch.tensor(rng.uniform(0.1, 1, (4, 1))), "gap": torch.tensor([0.7], dtype=torch.float64),
    }  # fmt: skip
    return x, crowd, replace(lines, **given), torch.tensor(rng.normal(size=(9, 1)))


def test_the_truth_is_that_of_a_dense_gaussian():
    _, crowd, lines, value = by_hand()
    mean, variance = truth(lines, value, crowd)
    for n in range(9):
        rows = crowd.task == n
        w, r = crowd.worker[rows], crowd.label[rows, 0].double()
        s, b, v = lines.slope[w, 0], lines.bias[w, 0], lines.variance[w, 0]
        cov = torch.diag(v) + lines.gap * torch.outer(s, s)
        gain = lines.gap * torch.linalg.solve(cov, s)
        assert mean[n, 0] == pytest.approx(float(value[n, 0] + gain @ (r - b - s * value[n, 0])), abs=1e-10)
        assert variance[n, 0] == pytest.approx(float(lines.gap[0] - lines.gap[0] * gain @ s), abs=1e-10)


def test_the_loss_is_the_density_of_a_dense_gaussian():
    x, crowd, lines, _ = by_hand()
    model = CrowdModel(make_net("linear", (D,), 1), method_class("gaussian_net")(crowd))
    for name, part in lines.tensors().items():
        getattr(model.method, name).copy_(part)
    batch = CrowdData(x, crowd).batch(torch.arange(9))
    value = model.output(batch.x).logits.detach().double()
    total = 0.0
    for n in range(9):
        rows = crowd.task == n
        w, r = crowd.worker[rows], crowd.label[rows, 0].double()
        s, b, v = lines.slope[w, 0], lines.bias[w, 0], lines.variance[w, 0]
        cov = torch.diag(v) + lines.gap * torch.outer(s, s)
        total += float(torch.distributions.MultivariateNormal(s * value[n, 0] + b, cov).log_prob(r))
    constant = 0.5 * np.log(2 * np.pi) * len(crowd)
    assert model(batch)["likelihood"].item() == pytest.approx(-(total + constant) / 9, rel=1e-5)


def test_em_raises_the_likelihood():
    """Priors kept far away: then a step of EM is one of the plain likelihood, with the noise's prior left out."""
    x, votes, _ = planted(80, slope=SLOPES, bias=BIASES, spread=SPREADS)
    crowd = NumberCrowd.of(votes, units=AnswerScale.of(votes))
    model = CrowdModel(make_net("linear", (D,), 1), method_class("gaussian_net")(crowd))
    batch = CrowdData(x, crowd).batch(torch.arange(80))
    value = model.output(batch.x).logits.detach()
    lines = replace(
        Lines.start(6, 1), bias_prior=torch.tensor([1e9]).double(), slope_prior=torch.tensor([1e9]).double()
    )
    losses = []
    for _ in range(8):
        for name, part in lines.tensors().items():
            getattr(model.method, name).copy_(part)
        losses.append(model(batch)["likelihood"].item())
        kept = {"bias_prior": lines.bias_prior, "slope_prior": lines.slope_prior}
        lines = replace(renew(lines, value, crowd, shape=1e-6), **kept)
    assert all(later <= earlier + 1e-6 for earlier, later in pairwise(losses)), losses
    assert losses[-1] < losses[0] - 0.1


# -------------------------------------------------------------------- choosing the epoch
def test_the_epoch_is_chosen_by_answers_that_were_kept_aside():
    x, votes, _ = planted(100)
    fitted = CrowdRegressor("linear", **FAST, validation=0.2).fit(x, votes)
    score = fitted.history_["score"]
    assert fitted.history_.best_epoch == 1 + int(np.argmax(score))
    assert all(-1 < each < 1 for each in score[2:])
    kept, held = hold_out(NumberCrowd.of(votes), 0.2, fitted.seed)
    assert float(fitted.model_.method.label_weight.sum()) == len(kept)
    assert len(held) == 60


def test_the_score_is_the_same_whichever_constant_the_net_says():
    x, votes, _ = planted(100)
    crowd = NumberCrowd.of(votes, units=AnswerScale.of(votes))
    kept, held = hold_out(crowd, 0.2)
    judge = HeldOutNumbers(CrowdData(x, kept), held)
    net = torch.nn.Linear(D, 1)
    torch.nn.init.zeros_(net.weight)
    scores = []
    for constant in (0.0, 0.5, 5.0):
        torch.nn.init.constant_(net.bias, constant)
        scores.append(judge(CrowdModel(net, method_class("mean_target")(kept))))
    assert scores[0] < 0.05
    assert scores[0] > scores[1] > scores[2]


# -------------------------------------------------------------------- votes on new tasks
def test_features_and_answers_together_beat_either():
    x, votes, _ = planted(300, gap=1.0, spread=[0.8] * 6, seed=1)
    new_x, new, y = planted(300, gap=1.0, spread=[0.8] * 6, seed=2)
    fitted = CrowdRegressor("linear", epochs=40, lr=0.03).fit(x, votes)
    together, std = fitted.forecast(new_x, new)
    errors = [np.std(said - y) for said in (together, fitted.predict(new_x))]
    assert errors[0] < 0.75 * errors[1]
    assert (std < fitted.predict_std(new_x)).all()
    strangers = number_votes(np.repeat(np.arange(300), 1), ["new"] * 300, y, tasks=range(300))
    with pytest.raises(cw.DataError, match="was not seen in training"):
        fitted.forecast(new_x, strangers)
    by_mean, _ = fitted.forecast(new_x, strangers, unknown_workers="average")
    assert np.std(by_mean - y) < errors[1]


# -------------------------------------------------------------------- doors and mistakes
def test_a_wide_matrix_with_gaps_is_the_same_as_votes():
    x, votes, _ = planted()
    wide = np.full((60, 6), np.nan)
    wide[votes.task, votes.worker] = votes.answers.value[:, 0]
    assert np.array_equal(fitted_on(x, wide, "gaussian_net").predict(x), fitted_on(x, votes, "gaussian_net").predict(x))


def test_scikit_learn_knows_it():
    base = pytest.importorskip("sklearn.base")
    made = CrowdRegressor("linear", "crowd_layer_b", epochs=3, lr=0.1)
    assert base.clone(made).get_params() == made.get_params()
    assert base.is_regressor(made)


def test_kinds_are_not_mixed_up():
    x, votes, _ = planted()
    classes = cw.Annotations.from_arrays([0, 0, 1], ["a", "b", "a"], ["x", "y", "x"])
    with pytest.raises(cw.ParameterError, match="gaussian_net takes numbers, not classes; use CrowdRegressor"):
        CrowdClassifier("linear", "gaussian_net").fit(x[:2], classes)
    with pytest.raises(cw.ParameterError, match="max_mig takes classes, not numbers; use CrowdClassifier"):
        CrowdRegressor("linear", "max_mig").fit(x, votes)
    with pytest.raises(cw.DataError, match="learns from numbers, CrowdClassifier from classes"):
        CrowdRegressor("linear").fit(x[:2], classes)


def test_mistakes_get_one_line(tmp_path):
    x, votes, _ = planted()
    fitted = fitted_on(x, votes, "crowd_layer_b")
    for call, words in [
        (lambda: fitted.predict_std(x), "crowd_layer_b has no uncertainty estimates"),
        (lambda: fitted.forecast(x, votes), "crowd_layer_b has no uncertainty estimates"),
        (lambda: fitted.predict(x[:, :2]), "X has 2 features, but CrowdRegressor is expecting 3"),
        (lambda: fitted.score(x, np.zeros(3)), "one true number per row"),
        (lambda: CrowdRegressor().predict(x), "not fitted yet"),
        (lambda: fitted_on(x, votes, "gaussian_net", params={"slope": 1}), "has no parameter 'slope'"),
        (
            lambda: fitted_on(x, votes, "gaussian_net", params={"inner": 0}),
            "inner must be a whole number of at least 1",
        ),
        (lambda: CrowdRegressor(torch.nn.Linear(D, 2), epochs=1).fit(x, votes), "an answer is one number; its last"),
        (lambda: CrowdRegressor.load(tmp_path), "regressor.json is missing"),
    ]:
        with pytest.raises(cw.CrowdwiseError, match=words) as caught:
            call()
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("change", [{"scale": [0.0]}, {"scale": [1, 2]}, {"gap": ["x"]}, {"format": 9},
                                    {"method": "max_mig"}, {"input_shape": [4]}])  # fmt: skip
def test_a_folder_that_a_stranger_changed_is_refused(change, tmp_path):
    x, votes, _ = planted()
    fitted_on(x, votes, "gaussian_net", epochs=1).save(tmp_path)
    facts = json.loads((tmp_path / "regressor.json").read_text())
    (tmp_path / "regressor.json").write_text(json.dumps({**facts, **change}))
    with pytest.raises(cw.CrowdwiseError) as caught:
        CrowdRegressor.load(tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("method", LAYERS)
def test_large_tables_of_workers_have_sparse_gradients(method):
    x, votes, _ = planted()
    crowd = NumberCrowd.of(votes, units=AnswerScale.of(votes))
    dense, sparse = (CrowdModel(torch.nn.Linear(D, 1), method_class(method)(crowd, sparse=s)) for s in (False, True))
    sparse.load_state_dict(dense.state_dict())
    batch = CrowdData(x, crowd).batch(torch.arange(20))
    for model in (dense, sparse):
        sum(model(batch).values()).backward()
    for (_, one), (_, two) in zip(dense.method.tables(), sparse.method.tables(), strict=True):
        assert two.weight.grad.is_sparse
        torch.testing.assert_close(two.weight.grad.to_dense(), one.weight.grad)
