"""dir() names every attribute that is forwarded, so that notebooks and editors can complete it."""

from __future__ import annotations

import ast
from importlib import import_module

import pytest

import crowdwise as cw
from crowdwise import simulate

from ..architecture.packages import modules, name_of

SCENARIOS = {
    "one_coin": ("posterior", "labels", "skill", "confusion", "confidence", "class_prior", "counts", "classes"),
    "numbers_plain": ("mean", "low", "high", "bias", "spread"),
    "probabilities_plain": (),
    "sets_plain": (),
    "comparisons_ties": (),
    "rankings_plain": (),
    "similarities_plain": (),
    "triplets_plain": (),
    "spans_plain": (),
    "boxes_classes": (),
    "texts_plain": (),
}


@pytest.fixture(scope="module", params=SCENARIOS)
def fitted(request):
    crowd = simulate.scenario(request.param, tasks=40, workers=10, labels=5, seed=1)
    votes = crowd.annotations
    return cw.method(votes.kind.default).fit(votes), crowd, SCENARIOS[request.param]


def test_a_result_lists_what_it_forwards(fitted):
    result, _, names = fitted
    listed = dir(result)
    assert set(names) <= set(listed)
    for part in (result.estimate, result.worker_summary):
        own = {name for name in vars(part) if not name.startswith("_")}
        assert own
        assert own <= set(listed)
    assert {"tasks", "workers", "to_table", "extra", "kind"} <= set(listed)
    assert listed == sorted(set(listed))
    for name in set(listed) - {"plot"}:  # some kinds have no plots and refuse
        getattr(result, name)


def test_an_evaluation_lists_its_scores(fitted):
    result, crowd, _ = fitted
    evaluation = cw.evaluate(result, crowd.truth_table())
    scores = getattr(import_module(type(evaluation).__module__), "SCORES", {})
    listed = dir(evaluation)
    assert [name for name in scores if hasattr(evaluation, name) and name not in listed] == []
    assert {"n", "rows", "to_dict"} <= set(listed)
    for name in listed:
        getattr(evaluation, name)


def test_scores_are_among_the_names():
    crowd = simulate.scenario("numbers_plain", tasks=40, workers=10, labels=5, seed=1)
    result = cw.method(crowd.annotations.kind.default).fit(crowd.annotations)
    assert {"rmse", "mae", "pearson"} <= set(dir(cw.evaluate(result, crowd.truth_table())))


def test_a_result_in_parts_lists_the_same_without_reading_a_task(tmp_path, monkeypatch):
    crowd = simulate.scenario("one_coin", tasks=60, workers=10, labels=5, seed=1)
    crowd.annotations.to_frame().write_parquet(tmp_path / "votes.parquet")
    result = cw.fit_files(str(tmp_path / "votes.parquet"), "dawid_skene", tmp_path / "run").result
    monkeypatch.setattr(type(result), "_read", None)
    assert {"posterior", "labels", "skill", "confusion", "confidence", "tasks", "estimate"} <= set(dir(result))


@pytest.mark.slow
def test_whatever_forwards_attributes_lists_them():
    forwarding = []
    for path in modules():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name == "__getattr__":
                assert "__dir__" in vars(import_module(name_of(path))), path.name
                forwarding.append(path.name)
            methods = (
                [each.name for each in node.body if isinstance(each, ast.FunctionDef)]
                if (isinstance(node, ast.ClassDef))
                else []
            )
            if "__getattr__" in methods:
                owner = getattr(import_module(name_of(path)), node.name)
                assert owner.__dir__ is not object.__dir__, f"{path.name}: {node.name}"
                forwarding.append(node.name)
    assert {"Result", "PartitionedResult", "Mapped", "Scores"} <= set(forwarding)
