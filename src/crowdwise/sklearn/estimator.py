"""CrowdAggregator: a registered method with scikit-learn's manners."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ..core.errors import MissingDependencyError
from ..core.method_registry import DEFAULT, method
from ..core.result import Result
from ..kinds.classes.annotations import Annotations
from ..stats.ties import winners
from .shapes import InputError, Wide, dress, dress_proba, is_long

try:
    from sklearn.base import BaseEstimator
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    raise MissingDependencyError(
        "crowdwise.sklearn needs scikit-learn 1.6 or newer; install it with: pip install 'crowdwise[sklearn]'"
    ) from error


class CrowdAggregator(BaseEstimator):  # type: ignore[misc]
    """Labels of a crowd by any registered `method` with its `params` (a mapping of names to values).

    X is wide (one row a task, one column a worker; None, NaN and `missing` are empty cells) or a long pandas or polars
    table with columns task, worker, label. pandas in, pandas out; polars in, polars out; arrays else. A long table's
    answers come by task, sorted. Ties go to the first class. After fit: `result_` (a crowdwise Result), `classes_`,
    `labels_` (what fit_predict gave). predict judges tasks of the same workers with everything learnt held fixed.

    >>> votes = [[0, 0, 1], [1, 1, -1], [0, -1, 0]]
    >>> CrowdAggregator("majority_vote").fit_predict(votes)
    array([0, 1, 0])
    """

    def __init__(self, method: str = DEFAULT, params: Mapping[str, Any] | None = None, missing: Any = -1) -> None:
        self.method = method
        self.params = params
        self.missing = missing

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True  # an empty cell
        tags.input_tags.string = tags.input_tags.categorical = True
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Aggregate the labels in X; y is not used."""
        aggregator = method(self.method, **dict(self.params or {}))
        self.long_ = is_long(X)
        if self.long_:
            votes = Annotations.from_frame(X)
            self.classes_ = np.array(votes.classes.to_list())
        else:
            cells = Wide.of(self._matrix(X, reset=True), self.missing)
            self.classes_ = cells.classes()
            votes = cells.annotations(self.classes_)
        self.result_: Result = aggregator.fit(votes)
        self.labels_ = dress(self._labels(self.result_), X, self._tasks(self.result_))
        return self

    def fit_predict(self, X: Any, y: Any = None) -> Any:
        """fit, and the labels of its own tasks."""
        return self.fit(X, y).labels_

    def predict(self, X: Any) -> Any:
        """Labels of tasks labelled by the same workers."""
        found = self._infer(X)
        return dress(self._labels(found), X, self._tasks(found))

    def predict_proba(self, X: Any) -> Any:
        """Probabilities of the classes, one row a task."""
        found = self._infer(X)
        return dress_proba(found.posterior, X, self.classes_, self._tasks(found))

    def _infer(self, X: Any) -> Result:
        check_is_fitted(self, "result_")
        if is_long(X) != self.long_:
            kinds = ("a wide matrix", "a table task, worker, label")
            raise InputError(f"this estimator was fitted on {kinds[self.long_]}, but X is {kinds[not self.long_]}")
        if self.long_:
            return self.result_.infer(Annotations.from_frame(X))
        cells = Wide.of(self._matrix(X, reset=False), self.missing)
        return self.result_.infer(cells.annotations(self.classes_))

    def _matrix(self, X: Any, *, reset: bool) -> npt.NDArray[Any]:
        if isinstance(X, Annotations):
            raise InputError("X is Annotations; fit those with crowdwise.method(...), or pass votes.to_frame()")
        matrix = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite="allow-nan")
        return np.asarray(matrix)

    def _labels(self, result: Result) -> npt.NDArray[Any]:
        return np.asarray(self.classes_[winners(result.posterior).argmax(axis=1)])

    def _tasks(self, result: Result) -> Any:
        return result.tasks if self.long_ else None
