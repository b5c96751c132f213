"""What goes into a net: token ids, arrays on disk, nets declared in any order; and truth in another type."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402
from torch.utils.data import TensorDataset  # noqa: E402

import crowdwise as cw  # noqa: E402
from crowdwise.learn import Crowd, CrowdClassifier, CrowdData, CrowdModel  # noqa: E402
from crowdwise.learn.fitting import method_class  # noqa: E402
from crowdwise.learn.probe import last_linear  # noqa: E402

N, K, VOCABULARY, LENGTH = 120, 3, 30, 5


def labels(truth, seed=0, m=5):
    rng = np.random.default_rng(seed)
    task, worker = np.repeat(np.arange(N), 2), rng.integers(m, size=2 * N)
    said = np.where(rng.random(2 * N) < 0.8, truth[task], rng.integers(K, size=2 * N))
    return cw.Annotations.from_arrays(task, worker, said, classes=range(K), duplicates="first")


class Words(nn.Module):
    """Token ids -> mean embedding -> logits."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, 8)
        self.head = nn.Linear(8, K)

    def forward(self, ids):
        return self.head(self.words(ids).mean(1))


def sentences():
    """Each class has ten words of its own."""
    rng = np.random.default_rng(1)
    truth = rng.integers(K, size=N)
    return truth[:, None] * 10 + rng.integers(10, size=(N, LENGTH)), truth


@pytest.mark.parametrize("kind", ["numpy", "int32", "tensor", "list", "dataset"])
@pytest.mark.parametrize("method", ["ccem", "doctor_net"])
def test_token_ids_stay_whole(kind, method, tmp_path):
    ids, truth = sentences()
    given = {"numpy": ids, "int32": ids.astype(np.int32), "tensor": torch.from_numpy(ids), "list": ids.tolist(),
             "dataset": TensorDataset(torch.from_numpy(ids))}[kind]  # fmt: skip
    torch.manual_seed(0)
    fitted = CrowdClassifier(Words(), method, epochs=15, lr=0.05, validation=0.1).fit(given, labels(truth))
    assert (fitted.predict(given) == truth).mean() > 0.9
    fitted.save(tmp_path / "run")
    assert np.array_equal(CrowdClassifier.load(tmp_path / "run", Words()).predict(given), fitted.predict(given))
    if kind == "numpy":
        with pytest.raises(IndexError):  # an unknown word is not made a float of
            fitted.predict(ids + VOCABULARY)


@pytest.mark.parametrize("net", ["linear", "mlp", nn.Sequential(nn.BatchNorm1d(LENGTH), nn.Linear(LENGTH, K))])
def test_whole_numbers_are_floats_for_nets_that_compute(net):
    rng = np.random.default_rng(0)
    truth = rng.integers(K, size=N)
    counts = rng.poisson(1 + 6 * np.eye(K, LENGTH)[truth])
    fitted = CrowdClassifier(net, "ccem", epochs=30, lr=0.05, validation=0).fit(counts, labels(truth))
    assert (fitted.predict(counts) == truth).mean() > 0.8
    same = CrowdClassifier(net, "ccem", epochs=30, lr=0.05, validation=0).fit(counts.astype(float), labels(truth))
    assert np.array_equal(fitted.predict_proba(counts), same.predict_proba(counts.astype(float)))


class HeadFirst(nn.Module):
    """Declares its head before its trunk, as people do."""

    def __init__(self, width=7):
        super().__init__()
        self.head = nn.Linear(width, K)
        self.trunk = nn.Sequential(nn.Linear(LENGTH, 11), nn.ReLU(), nn.Linear(11, width), nn.Tanh())

    def forward(self, x):
        return self.head(self.trunk(x))


@pytest.mark.parametrize("width", [7, 11])  # 11: the trunk's last layer takes as many numbers, so that no shape tells
@pytest.mark.parametrize("method", ["doctor_net", "instance_confusion", "conal", "weighted_doctor_net"])
def test_the_last_layer_is_the_one_that_runs_last(method, width, tmp_path):
    rng = np.random.default_rng(0)
    truth = rng.integers(K, size=N)
    x = (rng.normal(size=(N, LENGTH)) + 2 * np.eye(K, LENGTH)[truth]).astype(np.float32)
    net = HeadFirst(width)
    assert last_linear(net, torch.zeros(1, LENGTH)) is net.head
    assert last_linear(net) is net.trunk[2]  # without an input only the order of declaration is known
    crowd = Crowd.of(labels(truth))
    model = CrowdModel(net, method_class(method)(crowd, n_features=width))
    batch = CrowdData(x, crowd).batch(torch.arange(10))
    assert torch.equal(model.output(batch.x).features, net.trunk(batch.x))
    fitted = CrowdClassifier(net, method, epochs=3, validation=0).fit(x, labels(truth))
    fitted.save(tmp_path / "run")
    assert np.array_equal(CrowdClassifier.load(tmp_path / "run", HeadFirst(width)).predict(x), fitted.predict(x))


def test_looking_at_a_net_changes_nothing_in_it():
    net = nn.Sequential(nn.BatchNorm1d(LENGTH), nn.Dropout(), nn.Linear(LENGTH, K))
    net[0].eval()
    before = {name: value.clone() for name, value in net.state_dict().items()}
    state = torch.get_rng_state()
    assert last_linear(net, torch.ones(4, LENGTH)) is net[2]
    assert torch.equal(state, torch.get_rng_state())
    assert [part.training for part in net] == [False, True, True]
    assert all(torch.equal(value, before[name]) for name, value in net.state_dict().items())


# --------------------------------------------------------------------------------------------- arrays on the disk
@pytest.mark.parametrize("kind", ["float32", "float64", "float16", "uint8", "int64"])
def test_arrays_in_files_are_not_copied(tmp_path, kind):
    given = np.random.default_rng(0).integers(0, 200, (N, 4)).astype(kind)
    np.save(tmp_path / "x.npy", given)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    crowd = Crowd.of(labels(np.arange(N) % K))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = CrowdData(mapped, crowd)
    assert data.x.data_ptr() == mapped.ctypes.data
    assert np.array_equal(data.take(torch.arange(5, 9)), given[5:9])
    every_other = mapped[:, ::2]
    assert CrowdData(every_other, crowd).x.data_ptr() == mapped.ctypes.data
    backwards = mapped[::-1]  # which torch cannot have
    assert np.array_equal(CrowdData(backwards, crowd).take(torch.arange(3)), given[::-1][:3])
    swapped = given.astype(np.dtype(kind).newbyteorder(">"))
    assert np.array_equal(CrowdData(swapped, crowd).take(torch.arange(3)), given[:3])


def test_a_number_too_large_for_single_precision_is_named(monkeypatch):
    from crowdwise.learn.data import dataset as room

    monkeypatch.setattr(room, "CHECKED_AT_A_TIME", 12)  # three rows at a time
    x = np.zeros((N, 4))
    x[77, 2] = 1e300
    with pytest.raises(cw.DataError, match="1 rows of features hold NaN or infinity, the first is row 77"):
        CrowdData(x, Crowd.of(labels(np.arange(N) % K)))


# ------------------------------------------------------------------------------------------ truth of another type
@pytest.mark.parametrize("classes", [["0", "1", "2"], [0, 1, 2]])
@pytest.mark.parametrize("kind", [int, float, str, object])
def test_truth_in_another_type_is_the_same_truth(classes, kind):
    rng = np.random.default_rng(0)
    truth = rng.integers(K, size=N)
    x = rng.normal(size=(N, K)) + 4 * np.eye(K)[truth]
    votes = cw.Annotations.from_arrays(range(N), ["w"] * N, [classes[t] for t in truth])
    fitted = CrowdClassifier("linear", "vanilla", epochs=30, lr=0.1, validation=0).fit(x, votes)
    y = truth.astype(str).astype(object) if kind is object else truth.astype(kind)
    assert fitted.score(x, y) > 0.95
    assert fitted.score(x, y.tolist()) == fitted.score(x, y)


def test_truth_that_cannot_be_one():
    x, truth = np.eye(3), ["ant", "bee", "cat"]
    votes = cw.Annotations.from_arrays(range(3), ["w"] * 3, truth)
    fitted = CrowdClassifier("linear", "vanilla", epochs=2, validation=0).fit(x, votes)
    with pytest.raises(cw.DataError, match="no true class in y, such as 0, is a class of the training, such as 'ant'"):
        fitted.score(x, [0, 1, 2])
    with pytest.raises(cw.DataError, match=r"y has shape \(2,\), but X has 3 rows"):
        fitted.score(x, truth[:2])
