"""Losses of the confusion-matrix methods against dense formulas, closed values and one another."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402

import crowdwise as cw  # noqa: E402
from crowdwise.core.errors import DataError, ParameterError  # noqa: E402
from crowdwise.kinds.classes.learn.methods import confusion as union_net  # noqa: E402
from crowdwise.kinds.classes.learn.methods.confusion import (  # noqa: E402  # noqa: E402
    CCEM,
    CoNAL,
    CrowdLayer,
    InstanceConfusion,
    KnownConfusion,
    LogTrace,
    SingleConfusion,
    Trace,
    UnionNet,
    log_normaliser,
)
from crowdwise.kinds.classes.learn.methods.geometry import (  # noqa: E402
    COINNet,
    GeoCrowdNetF,
    GeoCrowdNetW,
    log_volume,
)
from crowdwise.kinds.classes.learn.methods.simple import (  # noqa: E402
    SoftBootstrap,
    Vanilla,
)
from crowdwise.kinds.classes.learn.tables import ConfusionLogits, starting_logits  # noqa: E402
from crowdwise.learn import Crowd, CrowdClassifier, CrowdData, CrowdModel, Output, train  # noqa: E402
from crowdwise.learn.nets.heads import WorkerHeads  # noqa: E402
from crowdwise.learn.optimizers import make_optimizers  # noqa: E402
from crowdwise.learn.training.hold_out import hold_out  # noqa: E402

N, M, K, D = 9, 5, 3, 4


def labels(seed=0, m=M, each=3):
    """`each` labels a task at random, as a Crowd, and as a dense task × worker matrix with -1 where there is none."""
    rng = np.random.default_rng(seed)
    dense = torch.full((N, m), -1)
    for i in range(N):
        for w in rng.choice(m, each, replace=False):
            dense[i, w] = int(rng.integers(K))
    task, worker = (dense >= 0).nonzero(as_tuple=True)
    offset = torch.searchsorted(task, torch.arange(N + 1))
    crowd = Crowd(N, m, K, task, worker, dense[task, worker], torch.ones(len(task)), offset)
    return crowd, dense


def batch_of(crowd):
    x = torch.randn(crowd.n_tasks, D, generator=torch.Generator().manual_seed(5))
    return CrowdData(x, crowd).batch(torch.arange(crowd.n_tasks))


def output(seed=1, n=N, features=None):
    logits = torch.randn(n, K, generator=torch.Generator().manual_seed(seed), requires_grad=True)
    return Output(logits, features)


def shaken(method, seed=2, size=0.3):
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for p in method.parameters():
            p += size * torch.randn(p.shape, generator=generator)
    return method


def equal(one, two, **tolerance):
    torch.testing.assert_close(one, two, **({"rtol": 1e-4, "atol": 1e-6} | tolerance))


@pytest.mark.parametrize("kind", ["mw", "vw", "vb", "vwb", "s"])
def test_crowd_layer_has_the_gradients_of_the_dense_formula(kind):
    crowd, dense = labels()
    method = shaken(CrowdLayer(crowd, kind=kind))
    table = dict(method.tables())

    def dense_loss(logits):
        p = torch.softmax(logits, 1)[:, None, :]  # task, worker, class
        if kind == "mw":
            z = torch.einsum("nwk,wkl->nwl", p.expand(-1, M, -1), table["matrix"].all())
        else:
            z = p * table["weight"].all() if "weight" in table else p.expand(-1, M, -1)
            z = z + table["bias"].all() if "bias" in table else z
        return nn.functional.cross_entropy(z.reshape(-1, K), dense.reshape(-1), ignore_index=-1)

    out = output()
    wanted = [out.logits, *method.parameters()]
    mine = method.loss(out, batch_of(crowd))["cross_entropy"]
    other = dense_loss(out.logits)
    equal(mine, other)
    for a, b in zip(torch.autograd.grad(mine, wanted), torch.autograd.grad(other, wanted), strict=True):
        equal(a, b)


def test_confusions_of_a_crowd_layer_are_its_answers_at_the_corners():
    crowd, _ = labels()
    method = shaken(CrowdLayer(crowd))
    equal(method.confusion(), torch.softmax(method.layer["matrix"].all(), 2))
    equal(CrowdLayer(crowd, kind="vb").confusion()[0], torch.softmax(torch.eye(K), 1))
    with pytest.raises(ParameterError, match="full matrices"):
        CrowdLayer(crowd, kind="s", start="votes")


@pytest.mark.parametrize(
    ("start", "scale", "form", "k", "diagonal"),
    [
        ("eye", 1, "softmax", 10, 0.232),
        ("eye", 2, "softmax", 10, 0.451),
        ("eye", 10, "softmax", 10, 0.9996),
        ("tanno", 1, "softplus", 10, 0.956),
        ("tanno", 1, "softplus", 8, 0.965),
        ("tanno", 1, "softplus", 2, 0.995),
    ],
)
def test_where_confusions_begin(start, scale, form, k, diagonal):
    table = ConfusionLogits(starting_logits(Crowd.shape(2, k), start, scale=scale, form=form), form=form)
    found = table.log_all().exp().detach()
    equal(found.sum(2), torch.ones(2, k))
    assert float(found[1, k - 1, k - 1]) == pytest.approx(diagonal, abs=5e-5 if scale == 10 else 5e-4)


def test_the_volume_is_largest_at_balanced_corners():
    rows = torch.eye(4).repeat(5, 1)
    best = float(log_volume(rows))
    assert best == pytest.approx(4 * np.log(20 / 4), abs=1e-4)
    rng = np.random.default_rng(0)
    for sharp in (0.1, 1.0, 10.0):
        other = torch.from_numpy(rng.dirichlet(np.full(4, sharp), 20)).float()
        assert float(log_volume(other)) < best
    assert np.isfinite(float(log_volume(torch.eye(4)[:1])))  # one row of four has no volume, but a floor


def test_geometric_terms_are_the_papers_determinants():
    crowd, _ = labels()
    out, batch = output(), batch_of(crowd)
    by_f = shaken(GeoCrowdNetF(crowd, strength=0.2))
    f = torch.softmax(out.logits, 1).detach().double().T.numpy()
    terms = by_f.loss(out, batch)
    assert float(terms["volume"].detach()) == pytest.approx(-0.2 * np.log(np.linalg.det(f @ f.T)), rel=1e-3)
    by_w = shaken(GeoCrowdNetW(crowd, strength=0.2))
    a = by_w.confusion().detach().double().numpy()
    gram = sum(one @ one.T for one in a)
    assert float(by_w.loss(out, batch)["volume"].detach()) == pytest.approx(
        -0.2 * np.log(np.linalg.det(gram)), rel=1e-3
    )
    plain = KnownConfusion(crowd, confusion=by_f.confusion())
    equal(terms["cross_entropy"], plain.loss(out, batch)["cross_entropy"])


def test_coin_net_without_corrections_is_ccem_with_a_volume():
    crowd, _ = labels()
    out, batch = output(), batch_of(crowd)
    method = COINNet(crowd, strength=0.5, volume=0.2, power=0.4, zeta=1e-4)
    terms = method.loss(out, batch)
    ccem = CCEM(crowd, start="eye", form="softmax")
    equal(terms["cross_entropy"], ccem.loss(out, batch)["cross_entropy"])
    equal(terms["volume"], GeoCrowdNetF(crowd, strength=0.2).loss(out, batch)["volume"])
    assert float(terms["outliers"].detach()) == pytest.approx(0.5 * 1e-4**0.2)


def test_corrections_of_coin_net_belong_to_their_own_labels():
    crowd, _ = labels()
    method = COINNet(crowd, strength=1.0, power=0.4, zeta=1e-6)
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        method.errors.weight.copy_(0.05 * torch.randn(len(crowd), K, generator=generator))
    out = output()
    e = torch.zeros(N, M, K)
    e[crowd.task, crowd.worker] = method.errors.weight.detach()
    e -= e.mean(2, keepdim=True)
    p = torch.einsum("nk,wkl->nwl", torch.softmax(out.logits, 1), method.confusion()) + e
    said = p[crowd.task, crowd.worker, crowd.label] / p.sum(2)[crowd.task, crowd.worker]
    size = e.square().sum((1, 2))
    data = CrowdData(torch.zeros(N, D), crowd)
    tasks = torch.tensor([6, 1, 8, 0, 3, 2, 7, 5, 4])  # shuffled: positions in a batch are not tasks
    terms = method.loss(Output(out.logits[tasks]), data.batch(tasks))
    equal(terms["cross_entropy"], -said.log().mean())
    equal(terms["outliers"], ((size + 1e-6) ** 0.2).mean())
    equal(method.task_scores()["outlier"], size)


def test_coin_net_finds_the_outliers():
    """One task in ten has labels drawn at random, whatever the workers' skill."""
    rng = np.random.default_rng(1)
    n, m, k = 300, 6, 3
    truth = rng.integers(k, size=n)
    x = 3.0 * np.eye(k)[truth] + 0.5 * rng.normal(size=(n, k))
    odd = rng.random(n) < 0.1
    said = np.where(rng.random((n, m)) < 0.95, truth[:, None], rng.integers(k, size=(n, m)))
    said[odd] = (truth[odd, None] + 1) % k
    task, worker = np.divmod(np.arange(n * m), m)
    crowd = Crowd(n, m, k, *(torch.from_numpy(a) for a in (task, worker, said.reshape(-1))), torch.ones(n * m),
                  torch.arange(n + 1) * m)  # fmt: skip
    torch.manual_seed(0)
    model = CrowdModel(nn.Linear(k, k), COINNet(crowd, scale=4.0))
    train(model, CrowdData(x, crowd), optimizer=make_optimizers(model, lr=1e-2), epochs=60, batch_size=64)
    score = model.method.task_scores()["outlier"].detach().numpy()
    above = (score[odd][:, None] > score[~odd]).mean()  # area under the curve
    assert above > 0.9


def dominant(rng, k, n):
    """Random row-stochastic matrices whose every column is largest on the diagonal."""
    found = []
    while len(found) < n:
        drawn = rng.dirichlet(np.ones(k), (4000, k))
        diagonal = drawn[:, np.arange(k), np.arange(k)]
        off = drawn.copy()
        off[:, np.arange(k), np.arange(k)] = -1
        found.extend(drawn[(diagonal > off.max(1)).all(1)])
    return np.array(found[:n])


def test_of_all_explanations_the_true_one_has_the_least_trace():
    """Lemma 1 of Tanno et al.: the same cross-entropy, and a trace that only grows with the classifier's errors."""
    rng = np.random.default_rng(0)
    found = []
    for wrong, estimated in zip(rng.dirichlet(np.ones(K), (400, K)), dominant(rng, K, 400), strict=True):
        true = wrong @ estimated  # truth -> what the classifier says -> label
        if all(true[k, k] > np.delete(true[:, k], k).max() for k in range(K)):
            found.append((wrong, estimated, true))
    assert len(found) > 20
    assert all(np.trace(estimated) >= np.trace(true) - 1e-12 for _, estimated, true in found)
    wrong, estimated, true = found[0]
    sure = torch.eye(K) * 60  # a classifier that knows; the other errs as in `wrong`
    task, label = torch.arange(K).repeat_interleave(K), torch.arange(K).repeat(K)
    weight = torch.from_numpy(true.reshape(-1)).float()  # every label as often as it comes
    crowd = Crowd(K, 1, K, task, torch.zeros_like(task), label, weight, torch.arange(K + 1) * K)
    batch = batch_of(crowd)
    losses = []
    for logits, matrix in ((sure, true), (torch.from_numpy(wrong).float().log(), estimated)):
        method = Trace(crowd, form="softmax", strength=1.0)
        with torch.no_grad():
            method.table.table.weight.copy_(torch.from_numpy(matrix).log().reshape(1, -1))
        losses.append(method.loss(Output(logits), batch))
    equal(losses[0]["cross_entropy"], losses[1]["cross_entropy"])
    assert float(losses[0]["trace"].detach()) == pytest.approx(np.trace(true), rel=1e-4)
    assert bool(losses[0]["trace"] < losses[1]["trace"])


def test_the_trace_is_weighed_as_in_the_paper():
    """Sum over a task's labels, mean over tasks, plus the mean trace: three times our loss with three labels a task."""
    crowd, _ = labels()
    out, batch = output(), batch_of(crowd)
    mean, total = shaken(Trace(crowd, strength=0.5)), shaken(Trace(crowd, strength=0.5, over="sum"))
    said = torch.einsum("nk,wkl->nwl", torch.softmax(out.logits, 1), mean.confusion())
    cross = -said[crowd.task, crowd.worker, crowd.label].log().sum() / N
    traces = torch.einsum("wkk->w", mean.confusion())
    equal(3 * sum(mean.loss(out, batch).values()), cross + 0.5 * traces.mean())
    equal(3 * sum(total.loss(out, batch).values()), cross + 0.5 * traces.sum())


def test_log_trace_is_eq_35():
    crowd, _ = labels()
    out, batch = output(), batch_of(crowd)
    method = shaken(LogTrace(crowd, strength=0.5))
    log_confusion = method.confusion().log()
    f = torch.softmax(out.logits, 1)[crowd.task]
    bound = (f * log_confusion[crowd.worker, :, crowd.label]).sum() - 0.5 * torch.einsum("wkk->", log_confusion)
    equal(-len(crowd) * sum(method.loss(out, batch).values()), bound)
    other = shaken(LogTrace(crowd, strength=0.0, likelihood="marginal")).loss(out, batch)
    equal(
        other["cross_entropy"],
        shaken(CCEM(crowd, start="eye", scale=2.0, form="softmax")).loss(out, batch)["cross_entropy"],
    )
    assert other["cross_entropy"] < method.loss(out, batch)["cross_entropy"]  # Jensen


def test_one_worker_alone_is_the_whole_crowd():
    crowd, _ = labels(m=1, each=1)
    out, batch = output(), batch_of(crowd)
    one = shaken(SingleConfusion(crowd, strength=0.3)).loss(out, batch)
    two = shaken(Trace(crowd, strength=0.3)).loss(out, batch)
    equal(one["cross_entropy"], two["cross_entropy"])
    equal(one["trace"], two["trace"])
    hard = shaken(SingleConfusion(crowd, targets="hard")).loss(out, batch)
    equal(hard["cross_entropy"], one["cross_entropy"])  # with one label a task the majority is the label


def test_relatives_agree_where_they_should():
    crowd, _ = labels()
    features = torch.randn(N, D, generator=torch.Generator().manual_seed(4))
    out, batch = output(features=features), batch_of(crowd)
    ccem = CCEM(crowd)
    loss = ccem.loss(out, batch)["cross_entropy"]
    equal(KnownConfusion(crowd, confusion=ccem.confusion().detach().numpy()).loss(out, batch)["cross_entropy"], loss)
    heads = InstanceConfusion(crowd, n_features=D, strength=0.1)
    terms = heads.loss(out, batch)
    equal(terms["cross_entropy"], loss)  # heads begin at zero: the same matrix for every task
    equal(terms["trace"], 0.1 * ccem.confusion()[0].trace())
    equal(heads.posterior(out, batch), ccem.posterior(out, batch))
    mixed = CoNAL(crowd, n_features=D)  # common and own kernels begin alike, so omega does not matter
    layer = CrowdLayer(crowd, scale=2.0)
    equal(mixed.loss(out, batch)["cross_entropy"], layer.loss(out, batch)["cross_entropy"])
    equal(mixed.posterior(out, batch), layer.posterior(out, batch))
    each = Vanilla(crowd, targets="each").loss(out, batch)["cross_entropy"]
    equal(KnownConfusion(crowd, confusion=torch.eye(K)).loss(out, batch)["cross_entropy"], each)
    equal(
        sum(SoftBootstrap(crowd, beta=1.0).loss(out, batch).values()), Vanilla(crowd).loss(out, batch)["cross_entropy"]
    )
    own = sum(SoftBootstrap(crowd, beta=0.0).loss(out, batch).values())
    equal(own, torch.distributions.Categorical(logits=out.logits).entropy().mean())


def test_conal_shades_between_common_and_own_noise():
    crowd, _ = labels()
    out = output(features=torch.randn(N, D, generator=torch.Generator().manual_seed(4)))
    batch = batch_of(crowd)
    torch.manual_seed(0)
    method = shaken(CoNAL(crowd, n_features=D, form="softmax", strength=0.1))
    omega = method.omega(out, batch)
    assert 0.268 < omega.min().item() < omega.max().item() < 0.732
    common, own = torch.softmax(method.common, 1), torch.softmax(method.own.all(), 2)
    p = torch.softmax(out.logits, 1)[crowd.task, None, :]
    said = omega[:, None] * (p @ common)[:, 0] + (1 - omega[:, None]) * (p @ own[crowd.worker])[:, 0]
    terms = method.loss(out, batch)
    equal(terms["cross_entropy"], -said.gather(1, crowd.label[:, None]).log().mean())
    equal(terms["distance"], -0.1 * (method.own.all() - method.common).square().sum((1, 2)).sqrt().sum())


def test_union_net_is_one_distribution_over_workers_and_labels():
    crowd, _ = labels()
    out, batch = output(), batch_of(crowd)
    p = torch.softmax(out.logits, 1)
    for form in ("a", "b"):
        method = shaken(UnionNet(crowd, form=form))
        stacked = method.table.all().transpose(0, 1).reshape(K, M * K)  # true, worker·observed
        said = torch.softmax(p @ stacked, 1) if form == "a" else p @ torch.softmax(stacked, 1)
        equal(said.sum(1), torch.ones(N))
        hit = said[crowd.task, crowd.worker * K + crowd.label].log()
        equal(method.loss(out, batch)["cross_entropy"], -hit.mean())  # all tasks have three labels
        by_worker = torch.softmax(stacked, 1).view(K, M, K).transpose(0, 1)
        equal(method.confusion(), by_worker / by_worker.sum(2, keepdim=True))


def test_the_normaliser_in_blocks_is_the_whole_one(monkeypatch):
    generator = torch.Generator().manual_seed(0)
    proba = torch.softmax(torch.randn(6, K, generator=generator), 1).requires_grad_()
    columns = torch.randn(40, K, generator=generator, requires_grad=True)
    whole = log_normaliser(proba, columns)
    one = torch.autograd.grad(whole.square().sum(), [proba, columns])
    monkeypatch.setattr(union_net, "BLOCK", 42)  # seven columns at a time
    parts = log_normaliser(proba, columns)
    equal(parts, whole)
    for a, b in zip(torch.autograd.grad(parts.square().sum(), [proba, columns]), one, strict=True):
        equal(a, b)


def test_every_worker_has_a_head_of_his_own():
    """One worker with most of the labels, others with one to three: as a loop over labels would say it."""
    rng = np.random.default_rng(0)
    task = torch.arange(40)
    worker = torch.from_numpy(rng.choice(6, 40, p=[0.6, 0.1, 0.1, 0.1, 0.1, 0]))
    crowd = Crowd(40, 6, 2, task, worker, torch.zeros(40, dtype=torch.int64), torch.ones(40), torch.arange(41))
    batch = batch_of(crowd)
    generator = torch.Generator().manual_seed(0)
    weight, bias = torch.randn(6, 7, D, generator=generator), torch.randn(6, 7, generator=generator)
    heads = WorkerHeads(weight, bias)
    features = torch.randn(40, D, generator=generator)
    equal(
        heads(features, batch),
        torch.stack([weight[w] @ features[i] + bias[w] for i, w in zip(task, worker, strict=True)]),
    )


def test_known_confusions_must_fit():
    crowd, _ = labels()
    with pytest.raises(DataError, match="workers and 3 classes need"):
        KnownConfusion(crowd, confusion=np.full((2, K, K), 1 / K))
    with pytest.raises(DataError, match="worker 0, class 0"):
        KnownConfusion(crowd, confusion=np.ones((M, K, K)))
    with pytest.raises(ParameterError, match="needs the matrices"):
        KnownConfusion(crowd)


def test_a_result_is_matched_by_names_and_survives_saving(tmp_path):
    """Matrices estimated with one worker more, so that places differ, serve those who are here."""
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=60)
    workers = np.array(["ann", "bob", "cyd"])
    right = rng.random((60, 3)) < np.array([0.95, 0.6, 0.8])
    said = np.where(right, truth[:, None], 1 - truth[:, None])
    task, worker = np.divmod(np.arange(180), 3)
    votes = cw.Annotations.from_arrays(task, workers[worker], np.array(["no", "yes"])[said.reshape(-1)])
    result = cw.DawidSkene().fit(votes)
    fewer = votes.select(workers=["bob", "cyd"])
    x = np.stack([2.0 * truth - 1, rng.normal(size=60)], axis=1)
    params = {"confusion": result}
    fitted = CrowdClassifier("linear", "known_confusion", params=params, epochs=2, validation=0).fit(x, fewer)
    np.testing.assert_allclose(fitted.confusion_, result.confusion[1:], rtol=1e-5)
    fitted.save(tmp_path / "run")
    again = CrowdClassifier.load(tmp_path / "run")
    np.testing.assert_array_equal(again.predict_proba(x), fitted.predict_proba(x))
    np.testing.assert_allclose(again.forecast_proba(x, fewer), fitted.forecast_proba(x, fewer), rtol=1e-6)


def test_outlier_scores_are_in_the_result(tmp_path):
    votes = cw.Annotations.from_arrays([2, 2, 1, 1, 0], ["a", "b", "a", "b", "a"], [0, 1, 1, 1, 0])
    fitted = CrowdClassifier("linear", "coin_net", epochs=3, validation=0).fit(np.eye(3), votes)
    assert fitted.result_.extra["outlier"].shape == (3,)
    assert (fitted.result_.extra["outlier"] > 0).all()
    fitted.save(tmp_path / "run")
    np.testing.assert_array_equal(CrowdClassifier.load(tmp_path / "run").predict(np.eye(3)), fitted.predict(np.eye(3)))


@pytest.mark.parametrize("validation", [0.15, 0])
def test_outliers_are_found_among_tasks_kept_aside_too(validation):
    rng = np.random.default_rng(1)
    n, m, k = 300, 6, 3
    truth = rng.integers(k, size=n)
    x = 3.0 * np.eye(k)[truth] + 0.5 * rng.normal(size=(n, k))
    odd = rng.random(n) < 0.1
    said = np.where(rng.random((n, m)) < 0.95, truth[:, None], rng.integers(k, size=(n, m)))
    said[odd] = (truth[odd, None] + 1) % k
    fitted = CrowdClassifier(
        "linear", "coin_net", params={"scale": 4.0}, epochs=60, lr=1e-2, batch_size=64, validation=validation
    ).fit(x, said)
    score = fitted.result_.extra["outlier"]
    aside = np.zeros(n, dtype=bool)
    if validation:
        aside = hold_out(Crowd.of(cw.Annotations.from_matrix(said)), validation, 0)[1].labelled.numpy()
    for some in (aside, ~aside) if validation else (~aside,):
        assert (score[some] > 0).all()
        assert (score[some & odd][:, None] > score[some & ~odd]).mean() > 0.9
    # one scale: those aside are no more and no less suspect than the others
    if validation:
        assert 0.2 < np.median(score[aside & odd]) / np.median(score[~aside & odd]) < 5
        assert (score[odd][:, None] > score[~odd]).mean() > 0.9


def test_scores_of_tasks_that_a_method_knows_nothing_of_are_missing():
    """A method with a score of its own, which says nothing of labels kept aside."""
    from crowdwise.learn.method import CrowdMethod

    class Own(CCEM):
        def task_scores(self):
            return {"mine": torch.ones(9)}

    crowd, _ = labels()
    found = Own(crowd).held_out_task_scores(torch.zeros(9, K), crowd, {})
    assert found["mine"].isnan().all()
    assert CrowdMethod.held_out_task_scores(CCEM(crowd), torch.zeros(9, K), crowd, {}) == {}


def test_conal_says_where_it_departs_from_its_authors():
    crowd, _ = labels()
    text = " ".join(CoNAL.__doc__.split())
    method = CoNAL(crowd, n_features=D)
    assert [type(part) for part in method.of_task] == [nn.Linear, nn.ReLU, nn.Linear]
    assert method.of_task[0].in_features == D  # what the last layer sees
    assert "Departure" in text
    assert "ReLU on what the classifier's last layer sees" in text
