"""Every experiment of the papers: its smoke version runs, is not run twice, and makes a page with its claims."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from benchmarks.papers import catalogue, cifar
from benchmarks.papers.__main__ import all_cells, load
from benchmarks.papers.experiment import Experiment
from benchmarks.papers.page import write
from benchmarks.papers.store import Store
from benchmarks.papers.verdict import judged, mean_of

# These make all their data themselves.
SYNTHETIC = {
    "max_mig_copies", "deepbp_fig2_inference", "deepbp_fig3_inference", "tutorial_spammer_curves",
    "tutorial_colluders", "tutorial_groups_planted", "tutorial_map_fusion", "tutorial_more_workers",
    "tutorial_identifiability",
}  # fmt: skip
EVERY = [pytest.param(name, marks=[] if name in SYNTHETIC else pytest.mark.data) for name in catalogue.EXPERIMENTS]


@pytest.fixture(autouse=True)
def _plain_features(monkeypatch, tmp_path_factory):
    """The k-means features take minutes: average pixels will do to see that everything runs."""

    def pooled(train, test):
        return tuple(
            part.reshape(len(part), 3, 8, 4, 8, 4).mean((3, 5)).reshape(len(part), -1) for part in (train, test)
        )

    monkeypatch.setattr(cifar, "_features", pooled)
    monkeypatch.setattr(cifar, "CACHE", tmp_path_factory.getbasetemp() / "papers")


@pytest.fixture(autouse=True, scope="module")
def _forget():
    cifar.features.cache_clear()
    yield
    cifar.features.cache_clear()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", EVERY)
def test_the_smoke_version_runs_and_makes_a_page(name, tmp_path):
    experiment = load(catalogue.EXPERIMENTS[name])
    cells = all_cells(experiment, "smoke", 1)
    store = Store(experiment, "smoke", tmp_path)
    for cell in cells:
        figures = experiment.run(cell, "smoke")
        assert figures
        assert all(np.isfinite(value) for value in figures.values())
        store.add(cell, figures, 0.1)
    again = Store(experiment, "smoke", tmp_path)
    assert all(cell in again for cell in cells)
    page = write(experiment, "smoke", 1, again.table(cells), tmp_path).read_text(encoding="utf-8")
    assert experiment.title in page
    assert f"benchmarks.papers {name} " in page
    assert pl.read_parquet(tmp_path / f"{name}.parquet").height == len(cells)
    assert all(claim.text in page for claim in experiment.claims(again.table(cells)))


@pytest.mark.parametrize("name", catalogue.EXPERIMENTS)
def test_cells_are_plain_and_different(name):
    experiment = load(catalogue.EXPERIMENTS[name])
    assert experiment.name == name
    for scale in ("smoke", "small", "paper"):
        keys = [str(sorted(cell.items())) for cell in all_cells(experiment, scale, 2)]
        assert len(keys) == len(set(keys)) > 0


def test_a_claim_without_its_figures_is_not_run():
    rows = pl.DataFrame({"method": ["a", "a"], "accuracy": [0.5, 0.7]})
    assert mean_of(rows, "accuracy", {"method": "a"}) == pytest.approx(0.6)
    missing = mean_of(rows, "accuracy", {"method": "b"})
    assert np.isnan(missing)
    assert judged("x", "1", "2", [missing], True).verdict == "not run"
    assert judged("x", "1", "2", [1.0], True).verdict == "reproduced"
    assert judged("x", "1", "2", [1.0], False).verdict == "not reproduced"


def test_every_experiment_has_a_paper():
    papers = {"Max-MIG", "deepBP", "BayesDGC", "Trace", "Tutorial", "Crowd Layer", "CrowdBT"}
    for name, where in catalogue.EXPERIMENTS.items():
        experiment = load(where)
        assert isinstance(experiment, Experiment)
        assert experiment.paper in papers, name
