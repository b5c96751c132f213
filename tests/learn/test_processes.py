"""Two processes that share every batch, through Lightning Fabric on gloo, end where one process ends."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("lightning_fabric")

from torch import nn  # noqa: E402

import crowdwise as cw  # noqa: E402
from crowdwise.core import method_registry as registry  # noqa: E402
from crowdwise.learn import Crowd, CrowdClassifier, CrowdData, CrowdModel, FeatureFolder, train  # noqa: E402
from crowdwise.learn.data.folder import PIECES  # noqa: E402
from crowdwise.learn.fitting import method_class  # noqa: E402
from crowdwise.learn.probe import last_linear  # noqa: E402

N, M, K, D = 101, 7, 3, 5
FORMS = [("ccem", {"sparse": True}), ("crowd_layer", {"sparse": True}), ("max_mig", {"prior": "learnt"})]
ALONE = ["ccem", "doctor_net", "max_mig", "geo_crowd_net_f"]
OF_CLASSES = sorted(name for name, card in registry.LEARNERS.items() if card.takes == "classes")
CASES = [*((name, {}) for name in OF_CLASSES), *FORMS]

SCRIPT = """
import faulthandler, json, sys
import torch
from lightning_fabric import Fabric
from tests.learn.test_processes import ALONE, CASES, classify, in_folder, run

def work(fabric, folder):
    faulthandler.dump_traceback_later(230, exit=True)  # a process that waits for ever is a fault
    found = [run(*case, fabric) for case in CASES]
    found.append(in_folder(folder, fabric))
    # Killed after two of four epochs, as it were, and resumed.
    run("agg_net", {}, fabric, epochs=2, folder=folder)
    found.append(run("agg_net", {}, fabric, epochs=4, folder=folder, resume=True))
    found.append(run("agg_net", {}, fabric, epochs=4))
    # A batch of one leaves the second process with nothing.
    found.append([run(name, {}, fabric, epochs=1, batch_size=1) for name in ALONE])
    fitted = classify(fabric)
    found.append([fitted.history_["score"], fitted.history_.best_epoch])
    if fabric.global_rank == 0:
        with open(folder + "/found.json", "w") as file:
            json.dump(found, file)
    fabric.barrier()
    torch.distributed.destroy_process_group()

if __name__ == "__main__":
    Fabric(accelerator="cpu", devices=2, strategy="ddp_fork").launch(work, sys.argv[1])
"""


def planted():
    """One to three labels a task, so that the two halves of a batch have different numbers of labels."""
    rng = np.random.default_rng(0)
    truth = rng.integers(K, size=N)
    x = (rng.normal(size=(N, D)) + 2 * np.eye(K, D)[truth]).astype(np.float32)
    task = np.repeat(np.arange(N), 3)
    worker = np.concatenate([rng.choice(M, 3, replace=False) for _ in range(N)])
    label = np.where(rng.random(3 * N) < 0.7, truth[task], rng.integers(K, size=3 * N))
    keep = (rng.random(3 * N) < 0.6) | (np.arange(3 * N) % 3 == 0)
    votes = cw.Annotations.from_arrays(task[keep], worker[keep], label[keep], tasks=range(N), workers=range(M))
    return x, votes


def run(name, params, fabric=None, epochs=3, batch_size=25, **how):
    """The losses of a few epochs; the last batch has 26 tasks, the others 25: the halves differ in size."""
    x, votes = planted()
    crowd = Crowd.of(votes)
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(D, 8), nn.ReLU(), nn.Linear(8, K))
    cls = method_class(name)
    params = dict(params)
    if cls.needs_features:
        params["n_features"] = last_linear(net).in_features
    if name == "known_confusion":
        params["confusion"] = np.full((M, K, K), 0.1) + 0.7 * np.eye(K)
    model = CrowdModel(net, cls(crowd, **params))
    history = train(model, CrowdData(x, crowd), epochs=epochs, batch_size=batch_size, fabric=fabric, **how)
    return history["loss"]


def classify(fabric=None):
    x, votes = planted()
    return CrowdClassifier("linear", "ccem", epochs=4, batch_size=25, validation=0.2, fabric=fabric).fit(x, votes)


def in_folder(folder, fabric=None):
    """The losses of a fit whose features are read a piece at a time."""
    x = FeatureFolder(f"{folder}/x", memory=20 * PIECES * D * 4)
    how = {"epochs": 4, "batch_size": 25, "validation": 0.2, "fabric": fabric}
    return CrowdClassifier("linear", "agg_net", **how).fit(x, planted()[1]).history_["loss"]


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("two")
    (folder / "x").mkdir()
    for number, part in enumerate(np.array_split(planted()[0], 3)):
        np.save(folder / "x" / f"{number}.npy", part)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(folder)], capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return [*json.loads((folder / "found.json").read_text()), str(folder)]


@pytest.mark.parametrize("number", range(len(CASES)), ids=["-".join([n, *p]) for n, p in CASES])
def test_two_processes_have_the_losses_of_one(found, number):
    assert np.allclose(found[number], run(*CASES[number]), rtol=1e-4, atol=0)


def test_two_processes_resume_together(found):
    assert found[-5] == found[-4]


def test_a_process_without_tasks_waits_for_the_others(found):
    assert np.allclose(found[-3], [run(name, {}, epochs=1, batch_size=1) for name in ALONE], rtol=1e-4)


def test_the_classifier_takes_a_fabric(found):
    one = classify()
    assert np.allclose(found[-2][0], one.history_["score"], rtol=1e-4)
    assert found[-2][1] == one.history_.best_epoch


def test_two_processes_share_the_batches_of_a_folder(found):
    assert np.allclose(found[len(CASES)], in_folder(found[-1]), rtol=1e-4, atol=0)


@pytest.mark.parametrize("name", ["ccem", "agg_net", "max_mig", "geo_crowd_net_f"])
def test_mixed_precision(name):
    from lightning_fabric import Fabric

    fabric = Fabric(accelerator="cpu", devices=1, precision="bf16-mixed")
    fabric.launch()
    mixed, full = run(name, {}, fabric), run(name, {})
    assert mixed != full
    assert np.allclose(mixed, full, atol=0.03)


@pytest.mark.parametrize("case", CASES, ids=["-".join([n, *p]) for n, p in CASES])
def test_true_half_precision_of_the_net(case):
    """The net is bfloat16; what counts labels and workers stays in single precision."""
    from lightning_fabric import Fabric

    fabric = Fabric(accelerator="cpu", devices=1, precision="bf16-true")
    fabric.launch()
    half, full = run(*case, fabric), run(*case)
    assert half != full
    assert np.allclose(half, full, atol=0.03)


@pytest.mark.parametrize("method", ["ccem", "doctor_net"])
def test_a_classifier_in_true_half_precision(method, tmp_path):
    from lightning_fabric import Fabric

    fabric = Fabric(accelerator="cpu", devices=1, precision="bf16-true")
    fabric.launch()
    x, votes = planted()
    fitted = CrowdClassifier("mlp", method, epochs=4, validation=0.2, fabric=fabric).fit(x, votes)
    assert {p.dtype for p in fitted.model_.net.parameters()} == {torch.bfloat16}
    assert {p.dtype for p in fitted.model_.method.parameters()} == {torch.float32}
    assert np.allclose(fitted.predict_proba(x).sum(1), 1, atol=1e-5)
    fitted.save(tmp_path / "run")
    assert np.allclose(CrowdClassifier.load(tmp_path / "run").predict_proba(x), fitted.predict_proba(x), atol=0.03)
