"""The interface of scikit-learn's estimators, without importing it: parameters by name, tags, its kinds of errors."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from inspect import signature
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ..core.errors import ParameterError
from .data.dataset import FeatureError

# Before the name of a parameter of the method, as scikit-learn's searches write it.
INNER = "params__"


class Estimator:
    """Parameters are the constructor's arguments, kept as given; attributes that `fit` sets end in an underscore."""

    classes_: npt.NDArray[Any]
    params: Any

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The class of every row."""
        raise NotImplementedError

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The constructor's parameters by name; with `deep`, also those of the method, as params__NAME."""
        own = {name: getattr(self, name) for name in signature(type(self).__init__).parameters if name != "self"}
        inner = own.get("params")
        inner = inner if deep and isinstance(inner, Mapping) else {}
        return own | {f"{INNER}{name}": value for name, value in inner.items()}

    def set_params(self, **params: Any) -> Self:
        """Set constructor parameters by name; params__NAME sets one of the method's."""
        params_now = self.get_params(deep=False)
        for name, value in params.items():
            if name.startswith(INNER) and "params" in params_now:
                self.params = {**(self.params or {}), name.removeprefix(INNER): value}
                continue
            if name not in params_now:
                raise ParameterError(f"{type(self).__name__} has no parameter {name!r}; it has {', '.join(params_now)}")
            setattr(self, name, value)
        return self

    def score(self, X: Any, y: Any) -> float:
        """Share of the rows whose predicted class is the true class y[row]."""
        predicted, truth = self.predict(X), np.asarray(y)
        if truth.shape != predicted.shape:
            raise FeatureError(
                f"y has shape {truth.shape}, but X has {len(predicted):,} rows; one true class per row is needed"
            )
        converted = as_type_of(truth, predicted)
        if len(predicted) and not np.isin(converted, self.classes_).any():
            raise FeatureError(
                f"no true class in y, such as {truth.tolist()[0]!r}, is a class of the training, such as "
                f"{self.classes_.tolist()[0]!r}"
            )
        return float(np.mean(predicted == converted))

    def __repr__(self) -> str:
        defaults = {name: p.default for name, p in signature(type(self).__init__).parameters.items()}
        changed = [
            f"{name}={value!r}" for name, value in self.get_params(deep=False).items() if value is not defaults[name]
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=True, two_d_labels=True),  # one column per worker
            classifier_tags=ClassifierTags(),
            input_tags=InputTags(three_d_array=True),
        )


def as_type_of(values: npt.NDArray[Any], like: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Values as text or numbers, like those of `like`, so that 3, 3.0 and "3" are one class."""
    text = like.dtype.kind in "OUS"
    if text == (values.dtype.kind in "OUS"):
        return values
    if text:
        is_whole = values.dtype.kind == "f" and bool((values == np.round(values)).all())
        return (values.astype(np.int64) if is_whole else values).astype(str)
    try:
        return values.astype(np.float64)
    except ValueError:
        return values


def not_fitted(name: str) -> ParameterError:
    """The error of an estimator that is used before `fit`; where scikit-learn is imported, also its NotFittedError."""
    kinds: tuple[type, ...] = (ParameterError,)
    if "sklearn" in sys.modules:
        from sklearn.exceptions import NotFittedError

        kinds = (ParameterError, NotFittedError)
    error: ParameterError = type("NotFitted", kinds, {})(f"this {name} is not fitted yet; call fit first")
    return error
