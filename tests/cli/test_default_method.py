"""One function chooses the default method: the command line, Python, the server and scikit-learn agree."""

from __future__ import annotations

import json

import polars as pl
import pytest

import crowdwise as cw
from crowdwise import simulate
from crowdwise.core import method_registry as registry
from crowdwise.core import registry as kind_table
from crowdwise.evaluation.guarantee.order import split_fit
from crowdwise.evaluation.guarantee.verdicts import fitted
from crowdwise.kinds.classes.methods.judges import ENOUGH

ORDER = ["1", "2", "3", "4"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Votes as files: judges with a table about them, plain classes, numbers; gold of the judges' tasks."""
    path = tmp_path_factory.mktemp("default")
    judges = simulate.scenario("judges_families", tasks=120, workers=5, seed=1)
    votes = judges.annotations
    votes.to_frame().select("task", "worker", "label").write_csv(path / "judges.csv")
    pl.DataFrame({"worker": votes.workers, "kind": ["model"] * votes.n_workers}).write_csv(path / "models.csv")
    some = ["human", *["model"] * (votes.n_workers - 1)]
    pl.DataFrame({"worker": votes.workers, "kind": some}).write_csv(path / "mixed.csv")
    truth = judges.truth_table()
    truth.head(ENOUGH + 10).write_csv(path / "gold.csv")
    truth.head(ENOUGH - 1).write_csv(path / "little.csv")
    here = truth.head(ENOUGH - 1).with_columns(pl.col("task").cast(pl.String))
    strangers = here.with_columns(task="x" + pl.col("task"))
    pl.concat([here, strangers]).write_csv(path / "elsewhere.csv")
    simulate.scenario("one_coin", tasks=60, workers=8, seed=1).annotations.to_frame().write_csv(path / "plain.csv")
    simulate.scenario("numbers_plain", tasks=40, workers=8, seed=1).annotations.to_frame().write_csv(
        path / "numbers.csv"
    )
    return path


CASES = {
    "models": ("judges", "models", None, None, "family_vote"),
    "models with gold": ("judges", "models", "gold", None, "judge_stack"),
    "models with little gold": ("judges", "models", "little", None, registry.DEFAULT),
    "models with gold of other tasks": ("judges", "models", "elsewhere", None, registry.DEFAULT),
    "people among them": ("judges", "mixed", None, None, registry.DEFAULT),
    "nothing known of the workers": ("judges", None, "gold", None, registry.DEFAULT),
    "ordered": ("plain", None, None, ORDER, "ordinal_committee"),
    "plain": ("plain", None, None, None, registry.DEFAULT),
    "numbers": ("numbers", None, None, None, kind_table.get("numbers").default),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::crowdwise.core.errors.LedgerWarning")
@pytest.mark.parametrize("case", CASES)
def test_the_command_line_and_python_choose_alike(case, folder, crowdwise_cli):
    votes, about, gold, order, expected = CASES[case]
    line, more = [folder / f"{votes}.csv"], {}
    if about is not None:
        line += ["--about-workers", folder / f"{about}.csv"]
    if gold is not None:
        line += ["--gold", folder / f"{gold}.csv"]
    if votes == "plain":
        names = sorted(map(str, pl.read_csv(folder / "plain.csv")["label"].unique()))
        order = names if order is not None else None
    if order is not None:
        line += ["--order", ",".join(order)]
        more = {"order": order}
    answers = cw.read(folder / f"{votes}.csv", **more)
    if about is not None:
        answers = answers.about(workers=pl.read_csv(folder / f"{about}.csv"))
    known = None if gold is None else cw.read_truth(folder / f"{gold}.csv")
    assert cw.default_method(answers, known) == expected
    code, out, err = crowdwise_cli("aggregate", *line, "--json")
    assert code == 0, err
    assert json.loads(out)["method"] == expected
    if known is None:
        assert fitted(answers).method == expected


def test_gold_may_be_a_mapping_or_a_table(folder):
    answers = cw.read(folder / "judges.csv").about(workers=pl.read_csv(folder / "models.csv"))
    table = cw.read_truth(folder / "gold.csv")
    assert cw.default_method(answers, dict(table.iter_rows())) == cw.default_method(answers, table) == "judge_stack"


def test_gold_that_is_split_counts_as_far_as_it_is_fitted(folder):
    answers = cw.read(folder / "judges.csv").about(workers=pl.read_csv(folder / "models.csv"))
    table = cw.read_truth(folder / "gold.csv")
    result, rest = split_fit(answers, None, table, 0.5, 0)
    assert len(table) - len(rest) < ENOUGH
    assert result.method == registry.DEFAULT


@pytest.mark.parametrize("command", ["workers", "report"])
def test_other_commands_choose_the_same(command, folder, crowdwise_cli, tmp_path, monkeypatch):
    chosen, own = [], registry.method
    monkeypatch.setattr(registry, "method", lambda name, **more: chosen.append(name) or own(name, **more))
    line = [folder / "judges.csv", "--about-workers", folder / "models.csv", "--gold", folder / "gold.csv"]
    code, _, err = crowdwise_cli(command, *line, "-o", tmp_path / "out.html" if command == "report" else tmp_path / "o")
    assert code == 0, err
    assert chosen[0] == "judge_stack"


@pytest.mark.slow
def test_in_parts_the_default_is_the_same_or_refused(folder, crowdwise_cli, tmp_path):
    code, out, err = crowdwise_cli("aggregate", folder / "plain.csv", "--out-of-core", "-o", tmp_path / "run", "--json")
    assert code == 0, err
    assert json.loads(out)["method"] == registry.DEFAULT
    assert cw.fit_files(folder / "plain.csv", None, tmp_path / "python").result.method == registry.DEFAULT
    names = sorted(map(str, pl.read_csv(folder / "plain.csv")["label"].unique()))
    line = ("--order", ",".join(names), "--out-of-core", "-o", tmp_path / "ordered")
    code, _, err = crowdwise_cli("aggregate", folder / "plain.csv", *line)
    assert code == 2
    assert "ordinal_committee needs all votes at once" in err
    assert "-m" in err
    with pytest.raises(cw.ParameterError, match="ordinal_committee"):
        cw.fit_files(folder / "plain.csv", None, tmp_path / "ordered", order=names)


def test_scikit_learn_and_the_kinds_name_the_same_default(folder):
    from crowdwise.sklearn.estimator import CrowdAggregator

    frame = pl.read_csv(folder / "plain.csv").select("task", "worker", "label")
    assert CrowdAggregator().method == cw.default_method(cw.Annotations.from_frame(frame))
    for kind in kind_table.names():
        assert registry.default_for(kind) == kind_table.get(kind).default
