"""Methods over several sets: statistics against scipy, statsmodels and published tables; resuming; what is refused."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.weightstats import DescrStatsW

import crowdwise as cw
from crowdwise.evaluation import sets_compared as study
from crowdwise.evaluation.critical_difference import groups
from tests.conftest import planted

METHODS = ["majority_vote", "wawa", "one_coin", "dawid_skene"]


def crowd_set(seed):
    votes, truth, _ = planted(n=60, m=12, k=3, labels=4, seed=seed, low=0.3)
    return votes, dict(enumerate(truth.tolist()))


@pytest.fixture(scope="module")
def sets():
    return {f"set{seed}": crowd_set(seed) for seed in range(8)}


@pytest.fixture(scope="module")
def comparison(sets):
    return cw.compare_sets(sets, METHODS, seeds=2)


def test_scores_are_means_of_the_accuracies_over_seeds(sets, comparison):
    for row in comparison.scores.iter_rows(named=True):
        votes, truth = sets[row["set"]]
        for name in METHODS:
            runs = [cw.evaluate(cw.method(name, seed=seed).fit(votes), truth).accuracy for seed in (0, 1)]
            assert row[name] == pytest.approx(np.mean(runs))
    assert len(comparison.runs) == 8 * 4 * 2


def test_differences_are_those_of_scipy_and_statsmodels(comparison):
    scores = comparison.scores
    p = []
    for row in comparison.differences.iter_rows(named=True):
        delta = np.round((scores[row["first"]] - scores[row["second"]]).to_numpy(), 12)
        assert row["difference"] == pytest.approx(delta.mean())
        assert (row["low"], row["high"]) == pytest.approx(DescrStatsW(delta).tconfint_mean())
        assert (row["wins"], row["ties"], row["losses"]) == tuple((np.sign(delta) == s).sum() for s in (1, 0, -1))
        p.append(row["p"])
    assert len(p) == 6
    assert comparison.differences["p_holm"].to_list() == pytest.approx(multipletests(p, method="holm")[1])


def exact_signed_rank(delta):
    """Two-sided p-value over all signs of the ranked differences."""
    delta = delta[delta != 0]
    ranks = stats.rankdata(np.abs(delta))
    signs = np.array(np.meshgrid(*[[0, 1]] * len(delta))).reshape(len(delta), -1)
    every, seen = ranks @ signs, ranks @ (delta > 0)
    return min(1.0, 2 * min((every <= seen + 1e-9).mean(), (every >= seen - 1e-9).mean()))


@pytest.mark.parametrize("seed", range(3))
def test_the_signed_rank_test_is_exact_for_few_sets(seed):
    rng = np.random.default_rng(seed)
    delta = rng.normal(0.4, 1, 9)
    assert study.signed_rank(delta) == pytest.approx(exact_signed_rank(delta))
    tied = np.round(delta * 2) / 2
    assert study.signed_rank(tied) == pytest.approx(exact_signed_rank(tied))
    assert study.signed_rank(np.zeros(5)) == 1


def test_ranks_and_friedman(comparison):
    table = comparison.scores.select(METHODS).to_numpy()
    ranks = [[1 + sum(b > a for b in row) + (sum(b == a for b in row) - 1) / 2 for a in row] for row in table.round(12)]
    expected = dict(zip(METHODS, np.mean(ranks, axis=0), strict=True))
    assert dict(comparison.summary.select("method", "mean_rank").iter_rows()) == pytest.approx(expected)
    assert comparison.summary["mean_rank"].is_sorted()
    assert comparison.friedman_p == pytest.approx(stats.friedmanchisquare(*table.round(12).T).pvalue)


def test_nemenyi_has_the_published_critical_values():
    """Demsar (2006), table 5a."""
    q = dict(zip(range(2, 11), (1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164), strict=True))
    for k, value in q.items():
        assert study.nemenyi(k, 10) / np.sqrt(k * (k + 1) / 60) == pytest.approx(value, abs=1e-3)


def test_bars_join_those_that_do_not_differ():
    rng = np.random.default_rng(1)
    for _ in range(30):
        names = "abcdef"
        close = {pair for pair in combinations(names, 2) if rng.random() < 0.6}
        runs = groups(names, lambda x, y, close=close: (x, y) in close)
        cliques = [
            (i, j)
            for i in range(6)
            for j in range(i + 1, 6)
            if all(p in close for p in combinations(names[i : j + 1], 2))
        ]
        longest = [c for c in cliques if not any(o != c and o[0] <= c[0] and c[1] <= o[1] for o in cliques)]
        assert runs == longest


def test_picture_and_tables(comparison, tmp_path):
    comparison.save(tmp_path)
    svg = ET.fromstring((tmp_path / "ranks.svg").read_text())
    words = " ".join(text.text for text in svg.iter("{http://www.w3.org/2000/svg}text"))
    assert all(name in words for name in METHODS)
    latex = (tmp_path / "table.tex").read_text()
    best = comparison.summary["method"][0].replace("_", r"\_")
    assert latex.count(r" \\") == 1 + len(METHODS)
    assert latex.index(best) < min(latex.index(m.replace("_", r"\_")) for m in METHODS if m.replace("_", r"\_") != best)
    assert "Friedman" in (tmp_path / "table.md").read_text()
    assert pl.read_csv(tmp_path / "differences.csv")["p_holm"].to_list() == comparison.differences["p_holm"].to_list()
    assert {"summary", "differences", "scores", "runs", "notes"} <= comparison.to_dict().keys()


def test_an_interrupted_comparison_continues(sets, tmp_path):
    few = {name: sets[name] for name in ("set0", "set1", "set2")}
    whole = cw.compare_sets(few, METHODS, folder=tmp_path)
    journal = tmp_path / "runs.jsonl"
    lines = journal.read_text().splitlines()
    changed = [json.dumps(json.loads(line) | {"score": 0.25}) for line in lines[:5]]
    journal.write_text("\n".join([*changed, lines[5][:20]]) + "\n")  # stopped within the sixth line
    again = cw.compare_sets(few, METHODS, folder=tmp_path)
    assert again.runs["score"][:5].to_list() == [0.25] * 5  # taken, not run again
    assert again.runs["score"][5:].to_list() == whole.runs["score"][5:].to_list()
    with pytest.raises(cw.DataError, match="runs of other votes or another truth for the set set0"):
        cw.compare_sets({**few, "set0": sets["set5"]}, METHODS, folder=tmp_path)


def test_a_method_whose_source_has_changed_runs_again(sets, tmp_path, monkeypatch):
    few = {"set0": sets["set0"]}
    first = cw.compare_sets(few, METHODS[:2], folder=tmp_path)
    monkeypatch.setattr(study, "_code_of", lambda name: "edited" if name == "wawa" else study.versions()["crowdwise"])
    cw.compare_sets(few, METHODS[:2], folder=tmp_path)
    runs = [json.loads(line)["method"] for line in (tmp_path / "runs.jsonl").read_text().splitlines()]
    assert runs == ["majority_vote", "wawa", "wawa"]
    assert len(first.runs) == 2


def test_progress_and_loading_one_set_at_a_time(sets):
    steps, loaded = [], []
    lazy = {name: lambda name=name: loaded.append(name) or sets[name] for name in ("set0", "set1")}
    cw.compare_sets(lazy, METHODS[:2], watch=lambda *step: steps.append((*step, len(loaded))))
    assert [step[:2] for step in steps] == [(i, 4) for i in range(4)]
    assert [step[3] for step in steps] == [1, 1, 2, 2]


def test_what_cannot_be_compared(sets):
    with pytest.raises(cw.ParameterError, match="at least two methods"):
        cw.compare_sets(sets, ["wawa"])
    with pytest.raises(cw.ParameterError, match="against"):
        cw.compare_sets(sets, METHODS[:2], against="glad")
    with pytest.raises(cw.ParameterError, match="no method 'waw'"):
        cw.compare_sets(sets, ["waw", "glad"])
    with pytest.raises(cw.DataError, match=r"fewer than two methods ran on every set \(sml on set0: sml is for two"):
        cw.compare_sets({"set0": sets["set0"]}, ["sml", "wawa"])
    left = cw.compare_sets({"set0": sets["set0"]}, ["sml", "wawa", "majority_vote"], against="wawa")
    assert "sml is not ranked: it did not run on set0" in left.notes[0]
    assert "no difference can be significant" in left.notes[1]
    assert left.differences["first"].to_list() == ["wawa"]


def test_other_kinds_have_their_own_score():
    crowds = {
        f"n{seed}": cw.simulate.scenario("numbers_plain", tasks=40, workers=6, labels=3, seed=seed) for seed in (1, 2)
    }
    sets = {name: (crowd.votes, crowd.truth_table()) for name, crowd in crowds.items()}
    comparison = cw.compare_sets(sets, ["mean", "median"])
    first = next(iter(cw.evaluate(cw.method("mean").fit(sets["n1"][0]), sets["n1"][1]).headline()))
    assert comparison.score == first
    with pytest.raises(cw.DataError, match="numbers are needed, got class labels"):
        cw.compare_sets({**sets, "c": crowd_set(1)}, ["mean", "median"])
