"""A training process that is killed in mid-epoch goes on from its checkpoint to the very same weights."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from safetensors.torch import load_file  # noqa: E402
from torch import nn  # noqa: E402

import crowdwise as cw  # noqa: E402
from crowdwise.kinds.classes.learn.selection import HeldOutCriterion  # noqa: E402
from crowdwise.learn import Crowd, CrowdClassifier, CrowdData, CrowdModel, train  # noqa: E402
from crowdwise.learn.fitting import method_class  # noqa: E402
from crowdwise.learn.optimizers import make_optimizers  # noqa: E402
from crowdwise.learn.training.hold_out import hold_out  # noqa: E402

# Every method's process is killed in the third epoch, after the second checkpoint within it (step 4 of 7).
METHODS = [("ccem", {}), ("ccem", {"sparse": True}), ("agg_net", {}), ("max_mig", {}), ("mbem", {}), ("bayes_dgc", {})]
EPOCHS, SIZE = 5, 16

SCRIPT = """
import os, signal, sys
import torch._dynamo  # what the first optimizer imports: once, not in every child
from crowdwise.learn.training import checkpoint
from tests.learn.test_resume import METHODS, run

write = checkpoint.write
def write_and_die(folder, name, tensors, facts):
    write(folder, name, tensors, facts)
    if (facts["epoch"], facts["step"]) == (2, 4):
        os.kill(os.getpid(), signal.SIGKILL)
checkpoint.write = write_and_die

for i, method in enumerate(METHODS):
    if os.fork() == 0:
        run(*method, folder=f"{sys.argv[1]}/{i}")
        os._exit(0)
    _, status = os.wait()
    print(os.WTERMSIG(status) if os.WIFSIGNALED(status) else "ended")
"""


def planted(n=130, m=6, k=3):
    rng = np.random.default_rng(0)
    truth = rng.integers(k, size=n)
    x = (rng.normal(size=(n, 4)) + 2 * np.eye(k, 4)[truth]).astype(np.float32)
    task = np.repeat(np.arange(n), 3)
    worker = np.concatenate([rng.choice(m, 3, replace=False) for _ in range(n)])
    label = np.where(rng.random(3 * n) < 0.7, truth[task], rng.integers(k, size=3 * n))
    return x, Crowd.of(cw.Annotations.from_arrays(task, worker, label))


def run(name, params, **how):
    """Train a net with dropout under a schedule, keeping the best epoch: all that a checkpoint must carry."""
    x, crowd = planted()
    labels, held = hold_out(crowd, 0.2)
    data = CrowdData(x, labels)
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 3))
    model = CrowdModel(net, method_class(name)(labels, **params))
    optimizers = make_optimizers(model, lr=how.pop("lr", 0.02))
    scheduler = torch.optim.lr_scheduler.StepLR(optimizers[0], 2, 0.5)
    history = train(model, data, optimizer=optimizers, epochs=EPOCHS, batch_size=SIZE, scheduler=scheduler,
                    criterion=HeldOutCriterion(data, held), every=2, seed=7, **how)  # fmt: skip
    return model, history


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """Folders of runs that were killed."""
    folder = tmp_path_factory.mktemp("killed")
    done = subprocess.run([sys.executable, "-c", SCRIPT, str(folder)], capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["9"] * len(METHODS), done.stderr
    return folder


@pytest.mark.parametrize("number", range(len(METHODS)), ids=[f"{n}{'-sparse' * bool(p)}" for n, p in METHODS])
def test_a_killed_run_ends_at_the_same_weights(killed, number, tmp_path):
    facts = json.loads((killed / str(number) / "last.json").read_text())
    assert (facts["epoch"], facts["step"]) == (2, 4)
    whole, history = run(*METHODS[number])
    model, resumed = run(*METHODS[number], folder=killed / str(number), resume=True)
    for name, value in whole.state_dict().items():
        assert torch.equal(value, model.state_dict()[name]), name
    assert resumed.rows == history.rows
    assert resumed.best_epoch == history.best_epoch
    # What was resumed is what ran: without the checkpoint's random state or optimizer it would end elsewhere.
    last = load_file(next((killed / str(number)).glob("last-*.safetensors")))
    assert {"random.0", "model.net.0.weight", "best.net.0.weight", "optimizer.0.0.exp_avg"} <= set(last)


def test_resuming_a_finished_run_changes_nothing(tmp_path):
    model, history = run("ccem", {}, folder=tmp_path)
    again, same = run("ccem", {}, folder=tmp_path, resume=True)
    assert same.rows == history.rows
    for name, value in model.state_dict().items():
        assert torch.equal(value, again.state_dict()[name]), name


def test_resume_with_nothing_there_starts(tmp_path):
    _, history = run("ccem", {}, folder=tmp_path / "new", resume=True)
    assert len(history) == EPOCHS


def test_checkpoints_of_another_run_are_refused(tmp_path):
    run("ccem", {}, folder=tmp_path)
    with pytest.raises(cw.errors.TrainingError, match=r"another run \(method ccem, now agg_net"):
        run("agg_net", {}, folder=tmp_path, resume=True)
    with pytest.raises(cw.errors.TrainingError, match=r"another run \(lr \[0.02, 0.02\], now \[0.1, 0.1\]\)"):
        run("ccem", {}, folder=tmp_path, resume=True, lr=0.1)
    (tmp_path / "last.json").write_text("{")
    with pytest.raises(cw.errors.TrainingError, match="no readable checkpoint"):
        run("ccem", {}, folder=tmp_path, resume=True)
    with pytest.raises(cw.ParameterError, match="resume=True needs folder="):
        run("ccem", {}, resume=True)


@pytest.mark.parametrize(("method", "then", "now", "words"), [
    ("ccem", {}, {"start": "votes"}, "start tanno, now votes"),
    ("ccem", {"scale": 2.0}, {"scale": 3.0}, "scale 2.0, now 3.0"),
    ("trace", {"strength": 0.01}, {"strength": 0.1}, "strength 0.01, now 0.1"),
    ("max_mig", {"prior": (0.2, 0.3, 0.5)}, {"prior": (0.2, 0.4, 0.4)}, r"prior \[0.2, 0.3, 0.5\], now \[0.2, "),
    ("known_confusion", {"confusion": np.eye(3)}, {"confusion": np.full((3, 3), 1 / 3)}, r"confusion \d+, now \d+"),
    ("two_stage", {"params": {"smoothing": 0.1}, "aggregator": "dawid_skene"},
     {"params": {"smoothing": 0.2}, "aggregator": "dawid_skene"}, r"params \{'smoothing': 0.1\}, now"),
])  # fmt: skip
def test_checkpoints_of_other_hyper_parameters_are_refused(tmp_path, method, then, now, words):
    whole, _ = run(method, then, folder=tmp_path)
    again, _ = run(method, then, folder=tmp_path, resume=True)
    for name, value in whole.state_dict().items():
        assert torch.equal(value, again.state_dict()[name]), name
    with pytest.raises(cw.errors.TrainingError, match=rf"another run \({words}"):
        run(method, now, folder=tmp_path, resume=True)


def test_checkpoints_of_other_data_or_optimizers_are_refused(tmp_path):
    x, crowd = planted()

    def fit(x=x, **given):
        how = {"epochs": 2, "validation": 0, "folder": tmp_path, "resume": True, **given}
        votes = cw.Annotations.from_arrays(crowd.task, crowd.worker, crowd.label)
        return CrowdClassifier("linear", "ccem", **how).fit(x, votes)

    fit(epochs=1)
    assert len(fit().history_) == 2  # more epochs are more of the same run
    for given, words in [
        ({"weight_decay": 0.1}, "other settings of the optimizers"),
        ({"balance": True}, "other weights"),
        ({"x": x + 1}, "other features"),
        ({"validation": 0.2}, "labels 390, now 312"),
        ({"batch_size": 7}, "batch_size 128, now 7"),
    ]:
        with pytest.raises(cw.errors.TrainingError, match=f"another run .*{words}"):
            fit(**given)
