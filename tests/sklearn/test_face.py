"""CrowdAggregator: scikit-learn's own checks, frames in and out, and the same answers as the methods themselves."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import crowdwise as cw
from crowdwise.sklearn.estimator import CrowdAggregator

from ..conftest import planted

# Their random matrices are no crowds: methods say so, and rightly.
quiet = pytest.mark.filterwarnings("ignore::crowdwise.core.errors.CrowdwiseWarning")


def expected_failures(estimator) -> dict[str, str]:
    """Every check passes; a check that must fail would stand here with its reason."""
    return {}


@pytest.mark.slow
@quiet
@parametrize_with_checks(
    [CrowdAggregator(), CrowdAggregator("majority_vote"), CrowdAggregator("dawid_skene", {"smoothing": 0.1})],
    expected_failed_checks=expected_failures,
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.fixture
def wide() -> np.ndarray:
    votes, _, _ = planted(n=60, m=6, labels=4)
    matrix = np.full((60, 6), -1)
    matrix[votes.task, votes.worker] = votes.label
    return matrix


@pytest.mark.parametrize("name", ["majority_vote", "dawid_skene", "hierarchical", "wawa"])
def test_answers_are_the_methods_own(wide, name):
    found = CrowdAggregator(name).fit(wide)
    own = cw.method(name).fit(cw.Annotations.from_matrix(wide, missing=-1, classes=[0, 1, 2]))
    assert found.predict_proba(wide) == pytest.approx(own.posterior, abs=1e-6)
    sure = own.confidence > 0.5 + 1e-6
    assert (found.labels_[sure] == own.labels[sure]).all()
    assert (found.predict(wide)[sure] == found.labels_[sure]).all()
    assert list(found.classes_) == [0, 1, 2]


def test_empty_cells_may_be_written_in_any_way(wide):
    want = CrowdAggregator("dawid_skene").fit_predict(wide)
    nan = np.where(wide < 0, np.nan, wide)
    none = np.where(wide < 0, None, wide.astype(object))
    text = np.where(wide < 0, "", wide.astype(str))
    assert (CrowdAggregator("dawid_skene").fit_predict(nan) == want).all()
    assert (CrowdAggregator("dawid_skene").fit_predict(none) == want).all()
    assert (CrowdAggregator("dawid_skene", missing="").fit_predict(text) == want.astype(str)).all()
    nullable = pd.DataFrame(nan).astype("Int64")
    assert (CrowdAggregator("dawid_skene").fit_predict(nullable).to_numpy() == want).all()


def test_frames_come_back_as_they_came(wide):
    names = [f"w{i}" for i in range(6)]
    tasks = [f"t{i:02d}" for i in range(60)]
    pandas = pd.DataFrame(np.where(wide < 0, np.nan, wide), columns=names, index=tasks)
    polars = pl.DataFrame(pandas.to_numpy(), schema=names, nan_to_null=True)
    want = CrowdAggregator().fit(wide)
    one, two = CrowdAggregator().fit(pandas), CrowdAggregator().fit(polars)
    assert isinstance(one.predict(pandas), pd.Series)
    assert list(one.predict(pandas).index) == tasks
    assert isinstance(one.predict_proba(pandas), pd.DataFrame)
    assert isinstance(two.predict(polars), pl.Series)
    assert two.predict_proba(polars).columns == ["0.0", "1.0", "2.0"]
    assert two.predict_proba(polars).to_numpy() == pytest.approx(want.predict_proba(wide))
    assert (one.labels_.to_numpy() == want.labels_).all()
    assert list(one.feature_names_in_) == names


def test_long_tables():
    votes, _, _ = planted(n=40, m=5, labels=3)
    polars = votes.to_frame()
    pandas = polars.to_pandas()
    own = cw.DawidSkene().fit(votes)
    one = CrowdAggregator("dawid_skene").fit(pandas)
    assert one.predict_proba(pandas).to_numpy() == pytest.approx(own.posterior, abs=1e-6)
    assert one.predict(pandas).index.name == "task"
    two = CrowdAggregator("dawid_skene").fit(polars)
    assert two.predict(polars).columns == ["task", "label"]
    assert two.predict_proba(polars).columns == ["task", "0", "1", "2"]
    with pytest.raises(ValueError, match="was fitted on a table"):
        one.predict(np.zeros((3, 5)))


def test_clone_params_and_pipelines(wide):
    model = CrowdAggregator("dawid_skene", {"smoothing": 0.5})
    assert model.get_params() == {"method": "dawid_skene", "params": {"smoothing": 0.5}, "missing": -1}
    again = clone(model.fit(wide))
    assert not hasattr(again, "result_")
    assert (again.set_params(method="wawa", params=None).fit_predict(wide) >= 0).all()
    assert len(make_pipeline("passthrough", model).fit_predict(wide)) == 60


def test_what_is_refused(wide):
    with pytest.raises(NotFittedError):
        CrowdAggregator().predict(wide)
    with pytest.raises(cw.ParameterError, match="no method"):
        CrowdAggregator("nothing").fit(wide)
    with pytest.raises(cw.ParameterError, match="no parameter"):
        CrowdAggregator("wawa", {"x": 1}).fit(wide)
    with pytest.raises(ValueError, match="every cell is empty"):
        CrowdAggregator().fit(np.full((3, 2), -1))
    with pytest.raises(ValueError, match="label 7, which was not seen in fit"):
        CrowdAggregator("wawa").fit(wide).predict(np.full((1, 6), 7))
    with pytest.raises(ValueError, match="mixes labels"):
        CrowdAggregator().fit(np.array([["a", 1], ["b", 2]], dtype=object))
    with pytest.raises(ValueError, match="features"):
        CrowdAggregator("wawa").fit(wide).predict(wide[:, :3])
