"""The engine of the learn room: data on the way in, the loop, what comes out and what is kept on disk."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.utils.data import Dataset, TensorDataset  # noqa: E402

import crowdwise as cw  # noqa: E402
from crowdwise.kinds.classes.learn.methods.confusion import CCEM  # noqa: E402
from crowdwise.learn import Crowd, CrowdClassifier, CrowdData, CrowdModel, JsonLines, TensorBoard, train  # noqa: E402
from crowdwise.learn.training.hold_out import hold_out  # noqa: E402

N, M, K, D = 90, 6, 3, 4


def planted(seed=0, n=N):
    """Features, annotations with names, truth: classes are corners, workers right three times out of four."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(K, size=n)
    x = (rng.normal(size=(n, D)) + 3 * np.eye(K, D)[truth]).astype(np.float32)
    task = np.repeat(np.arange(n), 3)
    worker = np.concatenate([rng.choice(M, 3, replace=False) for _ in range(n)])
    label = np.where(rng.random(3 * n) < 0.75, truth[task], rng.integers(K, size=3 * n))
    names = np.array(["ant", "bee", "cat"])
    tasks = np.array([f"t{i:03d}" for i in range(n)])
    votes = cw.Annotations.from_arrays(tasks[task], np.array([f"w{j}" for j in range(M)])[worker], names[label])
    return x, votes, names[truth]


def quick(**params) -> CrowdClassifier:
    given = {"net": "linear", "method": "ccem", "epochs": 8, "lr": 0.1, "batch_size": 32, "validation": 0, **params}
    return CrowdClassifier(given.pop("net"), **given)


def small_model(crowd, seed=0):
    torch.manual_seed(seed)
    return CrowdModel(nn.Sequential(nn.Linear(D, 8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, K)), CCEM(crowd))


# -------------------------------------------------------------------------------------------- data on the way in
def test_rows_follow_tasks_in_any_order():
    x, votes, truth = planted()
    order = np.random.default_rng(1).permutation(N)
    one, other = Crowd.of(votes), Crowd.of(votes, votes.tasks.gather(order))
    assert torch.equal(other.votes, one.votes[torch.from_numpy(order)])
    fitted = quick(epochs=30).fit(x[order], votes, tasks=votes.tasks.gather(order).to_list())
    assert (fitted.predict(x) == truth).mean() > 0.9
    assert fitted.result_.tasks.to_list() == votes.tasks.to_list()  # a Result is sorted
    sure = fitted.result_.confidence > 0.9
    assert (fitted.result_.to_table()["label"].to_numpy() == truth)[sure].mean() > 0.9


def test_features_without_labels_are_forecast_but_not_trained_on():
    x, votes, _ = planted()
    more = np.concatenate([x, x[:5] + 100])
    names = [*votes.tasks.to_list(), *(f"u{i}" for i in range(5))]
    one, other = quick().fit(x, votes), quick().fit(more, votes, tasks=names)
    assert np.array_equal(one.predict_proba(x), other.predict_proba(x))
    table = other.result_.to_table()
    assert table.filter(pl.col("task").str.starts_with("u"))["n_labels"].to_list() == [0] * 5
    assert other.result_.posterior.shape == (N + 5, K)


def test_labels_without_features_are_named():
    x, votes, _ = planted()
    with pytest.raises(cw.DataError, match=r"^2 of 90 labelled tasks have no features: 't003', 't007'; give a row"):
        quick().fit(np.delete(x, [3, 7], 0), votes, tasks=np.delete(votes.tasks.to_numpy(), [3, 7]))
    with pytest.raises(cw.DataError, match="88 rows of features for 90 tasks; pass the names of the rows as tasks="):
        quick().fit(x[2:], votes)
    with pytest.raises(cw.DataError, match="tasks= names 89 tasks, X has 90 rows"):
        quick().fit(x, votes, tasks=votes.tasks[1:])
    with pytest.raises(cw.DataError, match="two rows for task 't001'"):
        quick().fit(x, votes, tasks=["t001", *votes.tasks[1:].to_list()])


@pytest.mark.parametrize(
    ("x", "words"),
    [
        ([["red"], ["blue"]], "features must be numbers"),
        (np.array([["red", 1], ["blue", 2]], dtype=object), "could not convert string to float"),
        (np.array([[1.0], [np.nan]]), "1 rows of features hold NaN or infinity, the first is row 1"),
        (torch.tensor([[np.inf], [1.0]]), "the first is row 0"),
        (np.ones(2), r"got shape \(2,\)"),
        (np.ones((2, 0)), r"0 feature\(s\)"),
        (np.ones((2, 1), dtype=complex), "Complex data not supported"),
    ],
)
def test_features_that_are_none(x, words):
    votes = cw.Annotations.from_arrays([0, 1], ["a", "a"], ["x", "y"])
    with pytest.raises(cw.DataError, match=words) as caught:
        quick().fit(x, votes)
    assert "\n" not in str(caught.value)


class Pictures(Dataset):
    """Yields (x, something else), as torchvision's sets do."""

    def __init__(self, x):
        self.x = torch.as_tensor(x)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], "ignored"


def test_every_kind_of_features_gives_the_same_model():
    import pandas as pd

    x, votes, _ = planted()
    want = quick().fit(x, votes).predict_proba(x)
    columns = [f"f{i}" for i in range(D)]
    kinds = [
        torch.from_numpy(x), x.astype(np.float64), x.tolist(), TensorDataset(torch.from_numpy(x)), Pictures(x),
        pd.DataFrame(x, columns=columns), pl.DataFrame(x, schema=columns),
    ]  # fmt: skip
    for kind in kinds:
        assert np.array_equal(quick().fit(kind, votes).predict_proba(kind), want), type(kind)


def test_bytes_of_images_stay_bytes():
    _, votes, _ = planted()
    images = np.random.default_rng(0).integers(0, 255, (N, 3, 8, 8), dtype=np.uint8)
    data = CrowdData(images, Crowd.of(votes))
    assert data.x.dtype == torch.uint8
    batch = next(data.batches(10))
    assert batch.x.dtype == torch.float32
    assert torch.equal(batch.x, torch.from_numpy(images)[batch.task].float())
    fitted = quick(epochs=1).fit(images, votes)
    with pytest.raises(cw.DataError, match=r"shape \(3, 8, 9\); CrowdClassifier was trained on \(3, 8, 8\)"):
        fitted.predict(np.zeros((2, 3, 8, 9), dtype=np.uint8))


def test_a_net_with_the_wrong_number_of_outputs():
    x, votes, _ = planted()
    with pytest.raises(cw.DataError, match="there are 3 classes; its last layer must have 3 outputs"):
        quick(net=nn.Linear(D, 5)).fit(x, votes)
    with pytest.raises(cw.ParameterError, match="net must be a name, a Module or a function, got int"):
        quick(net=3).fit(x, votes)
    with pytest.raises(cw.ParameterError, match="there is no net 'mpl'"):
        quick(net="mpl").fit(x, votes)


def test_parameters_that_make_no_sense():
    x, votes, _ = planted()
    for params, words in [
        ({"method": "max_mag"}, "did you mean max_mig"),
        ({"params": {"stat": 1}}, "ccem has no parameter 'stat'; it has start, scale, form, sparse"),
        ({"epochs": 0}, "epochs must be a whole number of at least 1, got 0"),
        ({"batch_size": -1}, "batch_size must be a whole number of at least 1, got -1"),
        ({"validation": 1.5}, "validation must be at least 0 and below 1, got 1.5"),
        ({"validation": 0.2, "criterion": "luck"}, "criterion must be 'likelihood' or 'information', got 'luck'"),
    ]:
        with pytest.raises(cw.ParameterError, match=words):
            quick(**params).fit(x, votes)
    with pytest.raises(cw.DataError, match="only one class"):
        quick().fit(x, np.zeros(N, dtype=int))


# ------------------------------------------------------------------------------------------------------ the loop
def test_batches_pass_over_every_labelled_task_once_and_shards_make_up_the_batch():
    x, votes, _ = planted()
    data = CrowdData(np.concatenate([x, x[:3]]), Crowd.of(votes, pl.Series([*votes.tasks, "u0", "u1", "u2"])))
    whole = list(data.batches(32, seed=3, epoch=2))
    assert sorted(torch.cat([b.task for b in whole]).tolist()) == list(range(N))
    assert [len(b) for b in whole] == [32, 32, 26]
    assert [len(b) for b in data.batches(89)] == [90]  # a task left over joins the last batch
    for rank in range(2):
        for part, batch in zip(data.batches(32, seed=3, epoch=2, rank=rank, world=2), whole, strict=True):
            assert torch.equal(part.task, batch.task[rank::2])
            assert part.label_total == batch.label_total
            assert torch.equal(data.crowd.label[part.place], part.label)
    again = [b.task.tolist() for b in data.batches(32, seed=3, epoch=2)]
    assert again == [b.task.tolist() for b in whole]
    assert again != [b.task.tolist() for b in data.batches(32, seed=3, epoch=3)]


class Breaks(CCEM):
    """Its second term is lost in the third epoch."""

    def begin_epoch(self, sweep):
        self.epoch = sweep.epoch

    def loss(self, out, batch):
        bad = float("nan") if self.epoch == 2 else 0.0
        return {**super().loss(out, batch), "volume": out.logits.sum() * bad}


def test_a_loss_that_is_not_a_number_names_its_term():
    x, votes, _ = planted()
    crowd = Crowd.of(votes)
    model = CrowdModel(nn.Linear(D, K), Breaks(crowd))
    with pytest.raises(
        cw.errors.TrainingError, match=r"loss term 'volume' of ccem became nan in epoch 3, step 1; lower"
    ):
        train(model, CrowdData(x, crowd), epochs=5)


def test_history_holds_every_term_and_callbacks_see_it(tmp_path):
    x, votes, _ = planted()
    log, board = JsonLines(tmp_path / "deep" / "log.jsonl"), TensorBoard(tmp_path / "board")
    fitted = quick(method="geo_crowd_net_f", epochs=4, callbacks=[log, board]).fit(x, votes)
    history = fitted.history_
    assert history["epoch"] == [1, 2, 3, 4]
    assert np.allclose(np.add(history["cross_entropy"], history["volume"]), history["loss"], rtol=1e-5)
    assert history.to_table().columns == ["epoch", "loss", "cross_entropy", "volume"]
    written = [json.loads(line) for line in (tmp_path / "deep" / "log.jsonl").read_text().splitlines()]
    assert written == history.rows
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(tmp_path / "board")).Reload()
    assert np.allclose([e.value for e in events.Scalars("loss")], history["loss"])
    assert [e.step for e in events.Scalars("volume")] == [1, 2, 3, 4]


class StopsAt:
    def __init__(self, epoch):
        self.at, self.closed = epoch, 0

    def epoch(self, history):
        return len(history) == self.at

    def close(self):
        self.closed += 1


def test_a_callback_may_stop_the_training_and_is_closed_whatever_happens():
    x, votes, _ = planted()
    stop = StopsAt(3)
    fitted = quick(epochs=50, callbacks=[stop]).fit(x, votes)
    assert (len(fitted.history_), fitted.history_.stopped_early, stop.closed) == (3, True, 1)
    crowd = Crowd.of(votes)
    with pytest.raises(cw.errors.TrainingError):
        train(CrowdModel(nn.Linear(D, K), Breaks(crowd)), CrowdData(x, crowd), epochs=5, callbacks=[stop])
    assert stop.closed == 2


def test_the_best_epoch_by_the_criterion_is_kept():
    x, votes, _ = planted()
    data = CrowdData(x, Crowd.of(votes))
    scores, seen = iter([0.1, 0.7, 0.3, 0.2, 0.9]), []

    def criterion(model):
        seen.append({name: value.clone() for name, value in model.state_dict().items()})
        return next(scores)

    model = small_model(data.crowd)
    history = train(model, data, epochs=5, criterion=criterion, patience=2)
    assert (history.best_epoch, len(history), history.stopped_early) == (2, 4, True)
    assert history["score"] == [0.1, 0.7, 0.3, 0.2]
    for name, value in model.state_dict().items():
        assert torch.equal(value, seen[1][name])
    assert not torch.equal(seen[1]["net.0.weight"], seen[3]["net.0.weight"])


def test_held_out_labels_belong_to_other_tasks():
    _, votes, _ = planted()
    crowd = Crowd.of(votes)
    kept, held = hold_out(crowd, 0.2, seed=4)
    assert len(kept) + len(held) == len(crowd)
    assert not (kept.labelled & held.labelled).any()
    assert int(held.labelled.sum()) == 18
    with pytest.raises(cw.DataError, match="too few to hold out"):
        hold_out(Crowd.of(planted(n=2)[1]), 0.2)


@pytest.mark.parametrize("criterion", ["likelihood", "information"])
def test_validation_chooses_an_epoch_and_refit_uses_all_tasks(criterion):
    x, votes, truth = planted(n=150)
    fitted = quick(epochs=15, validation=0.2, criterion=criterion, patience=4).fit(x, votes)
    best = fitted.history_.best_epoch
    assert best == 1 + int(np.argmax(fitted.history_["score"]))
    again = quick(epochs=15, validation=0.2, criterion=criterion, patience=4, refit=True).fit(x, votes)
    assert (len(again.history_), again.history_.best_epoch) == (best, best)
    whole = quick(epochs=best).fit(x, votes)
    assert np.array_equal(again.predict_proba(x), whole.predict_proba(x))
    assert (fitted.predict(x) == truth).mean() > 0.9


def test_balance_gives_every_class_the_same_weight():
    votes = cw.Annotations.from_arrays(range(100), ["w"] * 100, [0] * 80 + [1] * 20)
    data = CrowdData(np.zeros((100, 1)), Crowd.of(votes), balance=True)
    assert float(data.task_weight[:80].sum()) == pytest.approx(50, rel=1e-5)
    assert float(data.task_weight[80:].sum()) == pytest.approx(50, rel=1e-5)
    x = np.random.default_rng(0).normal(size=(100, 2))  # features say nothing: only the class prior can be learnt
    plain, even = (quick(balance=b, epochs=60, method="vanilla").fit(x, votes).predict_proba(x)[:, 1].mean()
                   for b in (False, True))  # fmt: skip
    assert plain == pytest.approx(0.2, abs=0.05)
    assert even == pytest.approx(0.5, abs=0.05)


def test_one_seed_repeats_every_bit_and_leaves_the_global_generator_alone():
    x, votes, _ = planted()
    before = torch.get_rng_state()
    one, same, other = (
        quick(net="mlp", method="max_mig", validation=0.2, seed=seed).fit(x, votes) for seed in (5, 5, 6)
    )
    assert torch.equal(before, torch.get_rng_state())
    assert one.history_.rows == same.history_.rows
    for name, value in one.model_.state_dict().items():
        assert torch.equal(value, same.model_.state_dict()[name]), name
    assert not np.array_equal(one.predict_proba(x), other.predict_proba(x))


# ------------------------------------------------------------------------------------------------ what comes out
def test_the_result_works_like_any_other(tmp_path):
    x, votes, truth = planted()
    fitted = quick(epochs=30).fit(x, votes)
    result = fitted.result_
    table = result.to_table()
    assert table["task"].to_list() == votes.tasks.to_list()
    assert table["n_labels"].to_list() == [3] * N
    assert result.worker_table()["worker"].to_list() == votes.workers.to_list()
    assert np.allclose(result.confusion.sum(2), 1)
    known = pl.DataFrame({"task": votes.tasks, "label": truth})
    scores = cw.evaluate(result, known, resamples=0)
    assert scores.accuracy == (table["label"].to_numpy() == truth).mean() > 0.9
    assert np.allclose(result.extra["classifier"], fitted.predict_proba(x), atol=1e-6)
    result.save(tmp_path / "run")
    back = cw.Result.load(tmp_path / "run")
    assert np.array_equal(back.posterior, result.posterior)
    assert back.method == "ccem"


def test_forecasts_of_new_votes():
    x, votes, _ = planted()
    fitted = quick(epochs=30).fit(x, votes)
    assert np.allclose(fitted.forecast_proba(x, votes), fitted.result_.posterior, atol=1e-6)
    new = cw.Annotations.from_arrays(["a", "a", "b"], ["w1", "w4", "w4"], ["bee", "bee", "cat"])
    found = fitted.forecast_proba(x[:2], new)
    # by hand: classifier times the confusions' columns
    bee, cat = 1, 2
    by_hand = fitted.predict_proba(x[:2])
    by_hand[0] *= fitted.confusion_[1, :, bee] * fitted.confusion_[4, :, bee]
    by_hand[1] *= fitted.confusion_[4, :, cat]
    assert np.allclose(found, by_hand / by_hand.sum(1, keepdims=True), atol=1e-5)
    silent = fitted.forecast_proba(x[:3], new, tasks=["b", "a", "nobody said anything"])
    assert np.allclose(silent[2], fitted.predict_proba(x[2:3])[0], atol=1e-6)
    stranger = cw.Annotations.from_arrays(["a"], ["w9"], ["bee"])
    with pytest.raises(cw.DataError, match=r"^worker 'w9' was not seen in training"):
        fitted.forecast_proba(x[:1], stranger)
    with pytest.raises(cw.DataError, match=r"^class 'dog' was not seen in training"):
        fitted.forecast_proba(x[:1], cw.Annotations.from_arrays(["a"], ["w1"], ["dog"]))
    with pytest.raises(cw.ParameterError, match="vanilla has no forecaster"):
        quick(method="vanilla").fit(x, votes).forecast_proba(x, votes)


@pytest.mark.parametrize("method", ["ccem", "max_mig", "agg_net", "conal", "doctor_net"])
def test_a_saved_classifier_is_the_same(tmp_path, method):
    x, votes, _ = planted()
    fitted = quick(net="mlp", method=method, epochs=3).fit(x, votes)
    fitted.save(tmp_path / "clf")
    back = CrowdClassifier.load(tmp_path / "clf")
    assert np.array_equal(back.predict_proba(x), fitted.predict_proba(x))
    assert back.predict(x).dtype == fitted.predict(x).dtype
    if "forecast" in cw.registry.learner(method).can:
        assert np.array_equal(back.forecast_proba(x, votes), fitted.forecast_proba(x, votes))
    assert back.history_.rows == fitted.history_.rows
    assert np.array_equal(back.result_.posterior, fitted.result_.posterior)
    for path in Path(tmp_path / "clf").iterdir():  # a pickle begins with this byte, or sits in a zip as data.pkl
        assert b"data.pkl" not in path.read_bytes()
        assert path.suffix in {".json", ".npz", ".parquet", ".safetensors", ".csv"}
    with pytest.raises(cw.DataError, match="already holds a classifier"):
        fitted.save(tmp_path / "clf")
    fitted.save(tmp_path / "clf", force=True)


def own_net():
    first = nn.Linear(D, D)
    tied = nn.Linear(D, D)
    tied.weight = first.weight  # shared memory, which safetensors refuses
    return nn.Sequential(first, nn.Tanh(), tied, nn.Linear(D, K))


def test_a_net_of_ones_own_is_given_again(tmp_path):
    x, votes, _ = planted()
    net = own_net()
    before = net[0].weight.clone()
    fitted = quick(net=net, epochs=3, folder=tmp_path / "steps").fit(x, votes)
    assert torch.equal(net[0].weight, before)  # the user's module is copied, not trained
    fitted.save(tmp_path / "clf")
    with pytest.raises(cw.ParameterError, match="give it again"):
        CrowdClassifier.load(tmp_path / "clf")
    back = CrowdClassifier.load(tmp_path / "clf", own_net())
    assert np.array_equal(back.predict_proba(x), fitted.predict_proba(x))
    with pytest.raises(cw.DataError, match="do not fit the net"):
        CrowdClassifier.load(tmp_path / "clf", nn.Linear(D, K))


def test_files_that_are_no_classifier(tmp_path):
    with pytest.raises(cw.DataError, match="holds no readable classifier"):
        CrowdClassifier.load(tmp_path)
    x, votes, _ = planted()
    quick(epochs=1).fit(x, votes).save(tmp_path / "clf")
    (tmp_path / "clf" / "model.safetensors").write_bytes(b"\x80\x04nonsense")
    with pytest.raises(cw.DataError, match="holds no readable classifier"):
        CrowdClassifier.load(tmp_path / "clf")


def test_a_frozen_backbone_stays_frozen():
    x, votes, truth = planted()
    backbone = nn.Linear(D, D)
    nn.init.eye_(backbone.weight)
    backbone.requires_grad_(False)
    fitted = quick(net=nn.Sequential(backbone, nn.Linear(D, K)), epochs=30).fit(x, votes)
    assert torch.equal(fitted.model_.net[0].weight, torch.eye(D))
    assert (fitted.predict(x) == truth).mean() > 0.9


@pytest.mark.parametrize("once", [True, False])
def test_lazy_adam_has_the_numbers_of_sparse_adam(once):
    from crowdwise.learn.optimizers import LazyAdam

    rng = np.random.default_rng(0)
    start = torch.randn(20, 6, generator=torch.Generator().manual_seed(0))
    mine, torchs = nn.Parameter(start.clone()), nn.Parameter(start.clone())
    optimizers = LazyAdam([mine], lr=0.1), torch.optim.SparseAdam([torchs], lr=0.1)
    for _ in range(8):
        rows = torch.from_numpy(np.sort(rng.choice(20, 5, replace=False)) if once else rng.integers(20, size=9))
        for table, optimizer in zip((mine, torchs), optimizers, strict=True):
            optimizer.zero_grad()
            (nn.functional.embedding(rows, table, sparse=True) ** 3).sum().backward()
            optimizer.step()
    assert torch.allclose(mine, torchs, atol=1e-6)
    assert not torch.allclose(mine, start, atol=0.1)
