"""A new kind costs one module and one registration: everything else finds it through its record."""

from __future__ import annotations

import numpy as np
import pytest

import crowdwise as cw
from crowdwise.core import registry as kind_table
from tests import angles


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    """One registration, for the time of these tests."""
    monkeypatch.setitem(kind_table._KINDS, "angles", angles.KIND)
    monkeypatch.setitem(cw.registry.CARDS, "mean_direction", angles.CARD)


@pytest.fixture
def folder(tmp_path):
    rng = np.random.default_rng(3)
    truth = rng.uniform(0, 360, 40)
    lines = ["task,worker,angle"]
    for task in range(40):
        for worker in rng.choice(12, 5, replace=False):
            lines.append(f"t{task:02},w{worker:02},{(truth[task] + rng.normal(0, 10)) % 360:.1f}")
    (tmp_path / "votes.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    known = "\n".join(f"t{task:02},{angle:.1f}" for task, angle in enumerate(truth))
    (tmp_path / "truth.csv").write_text(f"task,label\n{known}\n", encoding="utf-8")
    return tmp_path


def test_the_columns_tell_it(folder):
    votes = cw.read(folder / "votes.csv")
    assert isinstance(votes.answers, angles.Angles)
    assert repr(votes) == "Votes(200 directions, 40 tasks, 12 workers)"
    assert votes.describe()["tasks"] == 40
    halves = votes.split(0.5, by="task")
    both = halves[0].append(halves[1])
    assert np.array_equal(both.answers.angle, votes.answers.angle)


def test_from_file_to_scores_in_python(folder):
    votes = cw.read(folder / "votes.csv")
    result = cw.method("mean_direction").fit(votes)
    assert "angle" in result.to_table().columns
    assert result.angle.shape == (40,)
    cw.Run(result, votes).save(folder / "run")
    again = cw.Run.load(folder / "run")
    assert np.array_equal(again.result.estimate.angle, result.estimate.angle)
    assert np.array_equal(again.votes.answers.angle, votes.answers.angle)
    assert cw.evaluate(again.result, cw.read_truth(folder / "truth.csv")).mean_off < 8


def test_the_commands_know_it(folder, crowdwise_cli):
    run = folder / "run"
    for command in (
        ("inspect", folder / "votes.csv"),
        ("aggregate", folder / "votes.csv", "-o", run),
        ("show", run),
        ("evaluate", run, "--truth", folder / "truth.csv"),
    ):
        code, out, err = crowdwise_cli(*command)
        assert code == 0, err
    assert "mean distance in degrees" in out


def test_its_workers_and_its_page_cost_one_function(folder, crowdwise_cli):
    votes = folder / "votes.csv"
    lines = votes.read_text(encoding="utf-8").splitlines()
    lost = [line for line in lines[1:] if ",w00," in line]
    votes.write_text("\n".join(line if line not in lost else f"{line.rpartition(',')[0]},{i * 77 % 360}"
                               for i, line in enumerate(lines)) + "\n", encoding="utf-8")  # fmt: skip
    code, out, err = crowdwise_cli("workers", votes, "-o", folder / "tables")
    assert code == 0, err
    assert "Steadiness" in out
    assert "closeness" in out
    assert "1 worker is flagged" in err
    assert {path.name for path in (folder / "tables").iterdir()} == {"quality.csv", "agreement.csv", "flags.csv"}
    code, _, err = crowdwise_cli("report", votes, "-o", folder / "page.html")
    assert code == 0, err
    page = (folder / "page.html").read_text(encoding="utf-8")
    for words in ("200 directions by 12 workers on 40 tasks", "points elsewhere than the others", "closeness",
                  "<h3>Steadiness</h3>", "mean_direction", "labels.csv"):  # fmt: skip
        assert words in page, words
    code, _, err = crowdwise_cli("workers", votes, "--idle", 5)
    assert code == 2
    assert "idle does not go with directions" in err


def test_what_it_cannot_do_is_said_in_one_line(folder, crowdwise_cli):
    code, _, err = crowdwise_cli("compare", folder / "votes.csv")
    assert (code, err.count("\n")) == (2, 2), err
    assert "directions" in err


def test_methods_of_another_kind_are_refused(folder, crowdwise_cli):
    code, _, err = crowdwise_cli("aggregate", folder / "votes.csv", "--kind", "angles", "-m", "dawid_skene")
    assert code == 2
    assert "dawid_skene is for class labels, but these are directions" in err
