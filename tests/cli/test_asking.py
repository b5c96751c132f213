"""Every command that reads votes reads the same files, with the same options."""

from __future__ import annotations

import json

import numpy as np
import pytest

from crowdwise.cli import app
from crowdwise.cli.vote_options import OPTIONS as CLI_OPTIONS
from tests.exports import MTURK, annotation, choice, label_studio, potato

# Command -> its arguments; IN stands for the votes, OUT for what it writes, FEATURES and RUN for what it needs besides.
COMMANDS = {
    "inspect": "IN",
    "convert": "IN OUT.csv",
    "aggregate": "IN -m majority_vote",
    "compare": "IN -m majority_vote -m wawa --folds 0",
    "judges": "IN",
    "workers": "IN -m hierarchical",
    "estimate": "IN -m majority_vote --gold GOLD --metric accuracy --sampling random",
    "accept": "IN -m majority_vote --plan",
    "fairness": "IN -m majority_vote --groups GROUPS",
    "next": "IN -m hierarchical",
    "report": "IN -m hierarchical -o OUT.html",
    "train": "FEATURES IN -m crowd_layer --net linear --epochs 1 --validation 0 -o OUT",
    "predict": "RUN FEATURES --votes IN",
}
OPTIONS = ("--columns", "--duplicates", "--format", "--question", "--multiple", "--predictions", "--rejected",
           "--missing", "--kind", "--offered", "--order", "--about-tasks", "--about-workers",
           "--links", "--allow", "--worker-columns")  # fmt: skip
TASKS = [f"t{i}" for i in range(12)]
every = pytest.mark.parametrize("command", sorted(COMMANDS))
# Commands with the same options that need more human labels than these files have (tests/evaluation/guarantee).
CERTIFICATES = ("certify", "gate")
NEEDS_MORE = ("train", "predict", "estimate", "fairness")  # features, gold or groups, which other files do not have


def two_questions() -> bytes:
    """Twelve tasks, three workers, a mood and a topic each."""
    rng = np.random.default_rng(0)
    labels = {"mood": ["glad", "sad"], "topic": ["art", "news"]}
    said = [
        (task, [annotation(w, *(choice(str(rng.choice(of)), name=q) for q, of in labels.items())) for w in "abc"])
        for task in TASKS
    ]
    return label_studio(*said)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """export.json, features.npz, moods of all tasks as gold, and two groups of tasks."""
    path = tmp_path_factory.mktemp("asking")
    (path / "export.json").write_bytes(two_questions())
    for name, column, values in (("gold", "label", ("glad", "sad")), ("groups", "group", "ab")):
        rows = "".join(f"{task},{values[i % 2]}\n" for i, task in enumerate(TASKS))
        (path / f"{name}.csv").write_text(f"task,{column}\n{rows}", encoding="utf-8")
    np.savez(path / "features.npz", task=np.array(TASKS), x=np.random.default_rng(1).normal(size=(12, 3)))
    return path


@pytest.fixture
def arguments(folder, tmp_path, crowdwise_cli):
    """The command line of a command, with what it needs made first."""

    def make(command, votes):
        if command in ("train", "predict"):
            pytest.importorskip("torch")
        run = tmp_path / "run"
        if command == "predict":
            before = ("-m", "crowd_layer", "--net", "linear", "--epochs", "1", "--validation", "0", "-o", run)
            features, export = folder / "features.npz", folder / "export.json"
            code, _, err = crowdwise_cli("train", features, export, "--question", "mood", *before)
            assert code == 0, err
        places = {"IN": votes, "FEATURES": folder / "features.npz", "RUN": run}
        places |= {"GOLD": folder / "gold.csv", "GROUPS": folder / "groups.csv"}
        places |= {"OUT": tmp_path / "out", "OUT.csv": tmp_path / "out.csv", "OUT.html": tmp_path / "out.html"}
        return [command, *(str(places.get(word, word)) for word in COMMANDS[command].split())]

    return make


def test_every_command_that_reads_votes_is_here():
    readers = [c.name for c in app.registered_commands if getattr(c.callback, "__wrapped__", None) is not None]
    assert sorted(readers) == sorted((*COMMANDS, *CERTIFICATES))
    assert {f"--{name.replace('_', '-')}" for name in CLI_OPTIONS} == set(OPTIONS)


@pytest.mark.parametrize("command", sorted((*COMMANDS, *CERTIFICATES)))
def test_every_command_has_every_option(command, crowdwise_cli):
    code, out, _ = crowdwise_cli(command, "--help")
    assert code == 0
    assert [option for option in OPTIONS if option.replace("worker-columns", "workers") not in out] == []


@pytest.mark.slow
@every
def test_an_export_with_two_questions(command, folder, arguments, crowdwise_cli, fails):
    line = arguments(command, folder / "export.json")
    if command == "inspect":  # lists them
        code, _, err = crowdwise_cli(*line)
        assert code == 0
        assert "2 questions" in err
    else:
        fails(*line, words="export.json has 2 questions, 'mood', 'topic' | --question NAME")
    code, out, err = crowdwise_cli(*line, "--question", "mood")
    assert code == 0, err
    if command == "aggregate":
        assert {row.split(",")[1] for row in out.splitlines()[1:]} <= {"glad", "sad"}


@pytest.mark.parametrize("command", [c for c in sorted(COMMANDS) if c not in NEEDS_MORE])
def test_rejected_assignments_are_left_out_when_asked(command, tmp_path, arguments, crowdwise_cli):
    (tmp_path / "e.csv").write_bytes(MTURK)
    line = [*arguments(command, tmp_path / "e.csv"), "--rejected", "drop"]
    code, out, err = crowdwise_cli(*line, *(["--json"] if command == "inspect" else []))
    assert code == 0, err
    told = json.loads(out)["ledger"]["dropped"] if command == "inspect" else err
    assert "rejected by the requester" in told


@pytest.mark.parametrize("command", ["workers", "report"])
def test_a_folder_that_a_tool_wrote_is_votes_and_not_a_run(command, tmp_path, arguments, crowdwise_cli):
    for who, labels in (("ann", "xyxy"), ("bob", "xyyy"), ("eve", "xxxy")):
        path = tmp_path / "annotation_output" / who / "user_state.json"
        path.parent.mkdir(parents=True)
        path.write_bytes(potato(who, [(f"t{i}", label) for i, label in enumerate(labels)]))
    code, _, err = crowdwise_cli(*arguments(command, tmp_path / "annotation_output"))
    assert code == 0, err
