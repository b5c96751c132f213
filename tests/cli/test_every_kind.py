"""Every command on a small crowd of every kind of answers: it works, and what is written is read again."""

from __future__ import annotations

import json

import pytest

import crowdwise as cw
from crowdwise import simulate
from crowdwise.core import method_registry as registry
from crowdwise.core import registry as kind_table

# A scenario of each kind; what else the commands are told of it.
SCENARIOS = {
    "one_coin": (),
    "ordered_plain": ("--order", "1,2,3,4,5"),
    "numbers_plain": (),
    "probabilities_plain": (),
    "sets_plain": (),
    "comparisons_ties": (),
    "rankings_plain": (),
    "similarities_plain": (),
    "triplets_plain": (),
    "spans_plain": (),
    "boxes_classes": (),
    "outlines_plain": (),
    "texts_plain": (),
}
# Where the truth is one of the items, what the folder is scored by, and the table of what was asked of them.
OF_ITEMS = {
    "comparisons": ("pairs_right", "accuracy"),
    "similarities": ("pairs", "pairs"),
    "triplets": ("triplets", "triplets"),
}
# Tasks, where other than forty: outlines take their time.
SIZES = {"outlines_plain": 8}
# Methods that compare runs beside the default.
BESIDE = 2


@pytest.fixture(scope="module", params=SCENARIOS)
def crowd(request, tmp_path_factory):
    """A folder with votes and truth, the votes themselves and further options."""
    folder = tmp_path_factory.mktemp(request.param)
    made = simulate.scenario(request.param, tasks=SIZES.get(request.param, 40), workers=10, labels=5, seed=1)
    made.save(folder)
    votes = next(folder / name for name in ("votes.csv", "labels.csv") if (folder / name).is_file())
    return votes, folder / "truth.csv", SCENARIOS[request.param]


@pytest.fixture
def works(crowdwise_cli):
    """Run a command that must work."""

    def run(*line):
        code, out, err = crowdwise_cli(*line)
        assert code == 0, (line, err)
        assert "Traceback" not in out + err
        return out + err

    return run


def test_every_kind_has_a_scenario():
    kinds = {simulate.scenario(name, tasks=20, workers=6, labels=3).annotations.kind.name for name in SCENARIOS}
    assert kinds == set(kind_table.BUILT_IN)


@pytest.mark.slow
def test_votes_to_answers(crowd, works, tmp_path):
    votes, truth, options = crowd
    run, page = tmp_path / "run", tmp_path / "page.html"
    works("inspect", votes, *options)
    works("aggregate", votes, *options, "-o", run)
    scored = works("evaluate", run, "--truth", truth)
    by_table = works("evaluate", run / "labels.csv", *options, "--truth", truth)
    names = OF_ITEMS.get(cw.read(votes).kind.name)
    if names is None:
        assert by_table == scored
    else:
        told = [json.loads(works("evaluate", each, "--truth", truth, "--json")) for each in (run, run / "labels.csv")]
        of_folder, of_table = (each[name]["value"] for each, name in zip(told, names, strict=True))
        assert of_table == of_folder if names[0] == names[1] else abs(of_table - of_folder) < 0.2
    works("show", run)
    works("workers", run)
    works("report", run, "-o", page)
    works("report", run, "--truth", truth, "-o", page, "--force")
    assert "</html>" in page.read_text(encoding="utf-8")


@pytest.mark.slow
def test_methods_side_by_side(crowd, works):
    votes, truth, options = crowd
    kind = cw.read(votes).kind
    names = [name for name in registry.names(kind.name) if not options or name != kind.default][:BESIDE]
    chosen = [part for name in dict.fromkeys([kind.default, *names]) for part in ("-m", name)]
    works("compare", votes, *options, "--truth", truth, "--folds", "0", *chosen)
    works("methods", kind.default)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_converted_and_back(crowd, works, tmp_path, form):
    votes, _, options = crowd
    there, back = tmp_path / f"there.{form}", tmp_path / "back.csv"
    works("convert", votes, there, *options)
    works("convert", there, back, *options)
    assert rows(there) == rows(back) == rows(votes)


def rows(path) -> list:
    """The votes in a file, in an order of their own."""
    read = cw.read(path)
    frame = read.to_frame()
    return [read.kind.name, *sorted(map(repr, frame.rows()))]
