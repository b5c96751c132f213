"""The demo's terminal and its report agree with each other and with the votes."""

from __future__ import annotations

import html
import re

import numpy as np
import polars as pl
import pytest

import crowdwise as cw
from crowdwise.cli.demo import LABELLED, _adversary, _crowd, load_digits
from crowdwise.core.method_registry import DEFAULT
from crowdwise.evaluation.statement import trust


@pytest.mark.slow
def test_every_number_of_the_demo_agrees(crowdwise_cli, tmp_path):
    code, out, _ = crowdwise_cli("demo", "-o", tmp_path / "demo")
    assert code == 0
    text = " ".join(out.split())
    page = (tmp_path / "demo" / "run" / "report.html").read_text(encoding="utf-8")
    shown = " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).split())
    result, votes = cw.Result.load(tmp_path / "demo" / "run"), cw.read(tmp_path / "demo" / "crowd" / "labels.csv")
    level = trust(result)
    assert f"crowdwise states about the labels by adaptive: {level.sentence()}." in text
    measured = re.search(r"shows: m(easured on 1,200 tasks .*? are right)\.", text)[1]
    assert f"M{measured}." in shown
    right = re.search(r"([\d.]+) % of the labels are right", measured)[1]
    assert re.search(rf"adaptive +{right}%", out)
    assert f'data-number="right">{right} %<' in page
    assert f"of the {level.n_ship:,} labels that its confidence lets ship" in measured
    assert "similar crowds" not in shown
    truth = dict(cw.read_truth(tmp_path / "demo" / "crowd" / "truth.csv").iter_rows())
    worker, share = re.search(r"Worker (\w+) is an adversary: right (\d+)% of the time", text).groups()
    rows = votes.to_frame().filter(pl.col("worker") == worker)
    hits = [truth[task] == label for task, label in rows.select("task", "label").iter_rows()]
    assert int(share) == round(100 * float(np.mean(hits)))
    row = re.search(rf"{worker} +adversary +[\d.]+ .* (0\.\d+) *\n", out)
    assert float(row[1]) == pytest.approx(np.mean(hits), abs=0.0051)


class Lines:
    def __init__(self) -> None:
        self.text = ""

    def print(self, text: str) -> None:
        self.text += text


@pytest.mark.slow
@pytest.mark.parametrize("method", [DEFAULT, "committee", "mace"])
@pytest.mark.parametrize("seed", range(3))
def test_the_mapping_of_the_adversary_is_that_of_the_votes(seed, method):
    digits = load_digits()
    crowd = _crowd(digits.target[:LABELLED], digits.data[:LABELLED], seed)
    votes, out = crowd.annotations, Lines()
    _adversary(crowd, cw.method(method, seed=seed).fit(votes), out)
    worker = re.search(r"Worker (\w+) is an adversary", out.text)[1]
    printed = {int(true): int(observed) for true, observed in re.findall(r"(\d)→(\d)", out.text)}
    own = votes.worker == votes.workers.to_list().index(worker)
    counts = np.zeros((10, 10), dtype=int)
    np.add.at(counts, (np.asarray(crowd.truth)[votes.task[own]], votes.label[own]), 1)
    most = dict(enumerate(counts.argmax(axis=1).tolist()))
    assert printed == {true: observed for true, observed in most.items() if true != observed}
    assert sorted(most.values()) == list(range(10))
    assert len(printed) >= 8
