"""CrowdAggregator: a registered aggregation method as a scikit-learn estimator."""

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
from .containers import InputError, WideMatrix, is_long, proba_to_container, to_container

try:
    from sklearn.base import BaseEstimator
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    raise MissingDependencyError(
        "crowdwise.sklearn needs scikit-learn 1.6 or newer; install it with: pip install 'crowdwise[sklearn]'"
    ) from error


class CrowdAggregator(BaseEstimator):  # type: ignore[misc]
    """Aggregate the labels of a crowd with any registered method.

    X is either wide (one row per task, one column per worker; None, NaN and `missing` are empty cells) or a long pandas
    or polars table with the columns task, worker and label. The output has the type of the input: pandas, polars, or
    arrays otherwise. For a long table it has one row per task, sorted by task. Ties go to the first class. `predict`
    holds all fitted parameters fixed and takes tasks of the same workers.

    Args:
        method: Name of a registered method of class labels.
        params: Parameters of the method, by name.
        missing: Value that marks an empty cell of a wide matrix.

    Attributes:
        result_: The crowdwise Result of the fit.
        classes_: The classes, sorted.
        labels_: The labels of the fitted tasks, as `fit_predict` returns them.

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
        """Aggregate the labels in X; y is ignored."""
        aggregator = method(self.method, **dict(self.params or {}))
        self.long_ = is_long(X)
        if self.long_:
            votes = Annotations.from_frame(X)
            self.classes_ = np.array(votes.classes.to_list())
        else:
            cells = WideMatrix.of(self._matrix(X, reset=True), self.missing)
            self.classes_ = cells.classes()
            votes = cells.annotations(self.classes_)
        self.result_: Result = aggregator.fit(votes)
        self.labels_ = to_container(self._labels(self.result_), X, self._tasks(self.result_))
        return self

    def fit_predict(self, X: Any, y: Any = None) -> Any:
        """Fit and return the labels of the fitted tasks."""
        return self.fit(X, y).labels_

    def predict(self, X: Any) -> Any:
        """Return the labels of tasks that the fitted workers labelled."""
        result = self._infer(X)
        return to_container(self._labels(result), X, self._tasks(result))

    def predict_proba(self, X: Any) -> Any:
        """Return the class probabilities, one row per task."""
        result = self._infer(X)
        return proba_to_container(result.posterior, X, self.classes_, self._tasks(result))

    def _infer(self, X: Any) -> Result:
        check_is_fitted(self, "result_")
        if is_long(X) != self.long_:
            kinds = ("a wide matrix", "a table task, worker, label")
            raise InputError(f"this estimator was fitted on {kinds[self.long_]}, but X is {kinds[not self.long_]}")
        if self.long_:
            return self.result_.infer(Annotations.from_frame(X))
        cells = WideMatrix.of(self._matrix(X, reset=False), self.missing)
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
