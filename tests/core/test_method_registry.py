"""Methods from outside: classes and cards that are registered, loaded as module:Class, or installed as a package."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

import crowdwise as cw
from crowdwise.core import method_registry
from tests.conftest import planted

METHOD = '''
from dataclasses import dataclass
import numpy as np
import crowdwise as cw

@dataclass(frozen=True, kw_only=True)
class Counted(cw.classes.Aggregator):
    """Shares of the votes."""

    name = "{name}"
    power: float = 1.0

    def solve(self, votes, gold, options):
        score = np.zeros((votes.n_tasks, votes.n_classes))
        np.add.at(score, (votes.task, votes.label), 1)
        score **= self.power
        posterior = score / score.sum(axis=1, keepdims=True)
        return cw.classes.Solution(posterior=posterior, class_prior=posterior.mean(axis=0))
'''


@pytest.fixture(autouse=True)
def _own_tables(monkeypatch):
    """The tables of methods as before, after each test."""
    monkeypatch.setattr(method_registry, "_CLASSES", {})
    before = dict(method_registry.cards())
    yield
    method_registry.cards().clear()
    method_registry.cards().update(before)


@dataclass(frozen=True, kw_only=True)
class First(cw.classes.Aggregator):
    """Says the first class."""

    name: ClassVar[str] = "first_class"

    def solve(self, annotations, gold, options):
        posterior = np.zeros((annotations.n_tasks, annotations.n_classes))
        posterior[:, 0] = 1
        return cw.classes.Solution(posterior=posterior, class_prior=posterior.mean(axis=0))


def test_an_object_of_a_class_that_is_not_registered_can_be_fitted():
    votes, _, _ = planted(n=40, m=6)
    assert set(First().fit(votes).labels) == {0}
    assert set(cw.fit(votes, First(), {0: 1}).labels) == {0, 1}
    checked = cw.fit(votes, First(), dict.fromkeys(range(20), 1), sampling="random")
    assert "not registered" in checked.extra["gold_check"]["reason"]


def test_a_registered_class_has_a_name_a_card_and_a_place_in_comparisons():
    assert cw.registry.register(First) is First
    assert cw.registry.card("first_class").summary == "Says the first class"
    assert isinstance(cw.method("first_class", seed=3), First)
    assert "first_class" in cw.methods("classes")
    assert "first_class" not in cw.methods("numbers")
    votes, truth, _ = planted(n=60, m=6)
    rows = cw.compare(votes, ["first_class", "majority_vote"], truth=dict(enumerate(truth.tolist())), folds=0).methods
    assert rows["accuracy"][0] == pytest.approx((truth == 0).mean())


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_other_processes_know_it_too(jobs):
    cw.registry.register(First)
    votes, _, _ = planted(n=60, m=6)
    assert cw.compare(votes, ["first_class", "wawa"], folds=0, jobs=jobs).methods["reason"].to_list() == [None, None]


class Nameless(cw.MajorityVote):
    """Has the name of its base."""


class Forgotten(cw.MajorityVote):
    """Has a parameter without being a dataclass."""

    name = "forgotten"
    share: float = 0.3


class Unsolved(cw.classes.Aggregator):
    """Has no solve."""

    name = "unsolved"


class Taken(cw.MajorityVote):
    """Has the name of a built-in method."""

    name = "dawid_skene"


class Strange(cw.MajorityVote):
    """Needs what no card can state."""

    name = "strange"
    needs = "luck"


CARD = cw.registry.Card("mine", "module:Class", "external", "what it does", "paper")


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("majority_vote", "class derived from"),
        (cw.MajorityVote(), "class derived from"),
        (dict, "class derived from"),
        (cw.classes.Aggregator, "does not implement solve"),
        (Unsolved, "Unsolved does not implement solve"),
        (cw.Method, "neither fit nor fit_votes"),
        (Nameless, "Nameless has no name of its own"),
        (Forgotten, "@dataclass"),
        (Taken, "has a method 'dawid_skene' already"),
        (Strange, "needs has 'luck'"),
        (replace(CARD, name="my method"), "'my method'"),
        (replace(CARD, where="module.Class"), "module:Class"),
        (replace(CARD, takes="feelings"), "no kind of answers"),
        (replace(CARD, can="confusion"), "can has 'confusion'"),
        (replace(CARD, name="glad"), "has a method 'glad' already"),
    ],
)
def test_what_is_no_method_is_refused_in_one_line(what, words):
    with pytest.raises(cw.ParameterError, match=words) as error:
        cw.registry.register(what)
    assert "\n" not in str(error.value)


def test_a_card_that_leads_nowhere_is_refused_when_it_is_used():
    cw.registry.register(replace(CARD, where="no_such_module:Class"))
    with pytest.raises(cw.ParameterError, match="mine is registered as no_such_module:Class, which cannot be imported"):
        cw.method("mine")


def test_a_method_of_ones_own_by_module_and_class(tmp_path, monkeypatch, crowdwise_cli):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry != ""])
    (tmp_path / "own_counted.py").write_text(METHOD.format(name="counted_here"))
    (tmp_path / "votes.csv").write_text("task,worker,label\n1,a,x\n1,b,x\n1,c,y\n2,a,y\n2,b,y\n2,c,y\n")
    code, out, err = crowdwise_cli("aggregate", "votes.csv", "-m", "own_counted:Counted", "-p", "power=2", "-o", "run")
    assert (code, out) == (0, ""), err
    assert "counted_here" in err
    assert cw.Run.load("run").result.posterior[0].tolist() == [0.8, 0.2]
    for spec, words in {
        "own_counted:Other": "own_counted has no Other; it defines Counted",
        "own_counted.py:Counted": "write own_counted:Counted",
        "nowhere:Counted": "there is no module 'nowhere'",
        "os:path": "class derived from",
        ":Counted": "written module:Class",
    }.items():
        code, out, err = crowdwise_cli("aggregate", "votes.csv", "-m", spec)
        assert (code, out, err.count("\n")) == (2, "", 1), err
        assert words in err
    (tmp_path / "own_broken.py").write_text("1 / 0")
    code, _, err = crowdwise_cli("aggregate", "votes.csv", "-m", "own_broken:X")
    assert (code, err.count("\n")) == (2, 1)
    assert "ZeroDivisionError" in err


def test_a_run_of_ones_own_method_is_shown_without_its_class(tmp_path, crowdwise_cli):
    votes, _, _ = planted(n=40, m=6)
    cw.Run(First().fit(votes), votes).save(tmp_path / "run")
    for command in (("show", tmp_path / "run"), ("workers", tmp_path / "run"), ("next", tmp_path / "run")):
        code, _, err = crowdwise_cli(*command)
        assert code == 0, err


@pytest.mark.slow
def test_an_installed_package_brings_methods(tmp_path):
    """A real package, built and installed by pip into a folder of its own."""
    project, target = tmp_path / "project", tmp_path / "target"
    project.mkdir()
    (project / "counting.py").write_text(METHOD.format(name="counted"))
    (project / "pyproject.toml").write_text(
        '[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n'
        '[project]\nname = "counting"\nversion = "1"\n'
        '[project.entry-points."crowdwise.methods"]\ncounted = "counting:Counted"\nmissing = "counting:Nothing"\n'
        "[tool.setuptools]\npy-modules = ['counting']\n"
    )
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--target", str(target)]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, str(project)], check=True, capture_output=True)
    code = (
        "import sys, warnings\n"
        f"sys.path.append({str(target)!r})\n"
        "import crowdwise as cw\n"
        "with warnings.catch_warnings(record=True) as caught:\n"
        "    warnings.simplefilter('always')\n"
        "    print('counted' in cw.methods('classes'), 'counted' in cw.methods('numbers'), 'missing' in cw.methods())\n"
        "print([str(w.message) for w in caught][0])\n"
        "votes = cw.Annotations.from_arrays([1, 1, 1], ['a', 'b', 'c'], ['x', 'x', 'y'])\n"
        "print(cw.fit(votes, 'counted').to_table()['label'].to_list())\n"
        "try:\n    cw.method('missing')\nexcept cw.ParameterError as error:\n    print(error)\n"
    )
    shown = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.splitlines()
    assert shown[0] == "True False False"
    assert shown[1].startswith("the method missing of the package counting cannot be loaded: AttributeError")
    assert shown[2] == "['x']"
    assert shown[3] == shown[1]
