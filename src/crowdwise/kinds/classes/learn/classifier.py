"""CrowdClassifier: fit on features and raw labels, then predict labels and assess workers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
import polars as pl
import torch

from ....core.arrays import F8
from ....core.errors import DataError, ParameterError
from ....core.method_registry import learner
from ....core.params import check_given
from ....core.result import Result
from ....core.vocabulary import quote
from ....learn.data.crowd import Crowd, codes_in
from ....learn.data.dataset import CrowdData, FeatureError, as_features, row_names
from ....learn.data.inputs import Inputs, warn_of_augmentation
from ....learn.fitting import CrowdEstimator
from ....learn.training.loop import Criterion
from ....learn.training.sweep import sweep_both
from ..annotations import Annotations
from .methods.confusion import aligned_confusion
from .outcome import outcome
from .selection import CriterionName, HeldOutCriterion
from .selection import score as likelihood
from .votes import annotations_for


@dataclass(eq=False, repr=False)
class CrowdClassifier(CrowdEstimator):
    """A classifier trained on the labels of a crowd.

    Args:
        net: "linear", "mlp", "cnn", any Module with one output per class, or a function (input shape, classes) ->
            Module.
        method: Name of a training method in `registry.LEARNERS`.
        criterion: Score of the held-out labels, "likelihood" or "information".
        balance: Weight tasks so that all classes, by the majority vote, have the same total weight.

    Its other arguments are those of `TrainingOptions`.

    >>> import numpy as np, crowdwise as cw
    >>> votes = cw.Annotations.from_arrays([0, 0, 1, 1], ["a", "b", "a", "b"], ["x", "x", "y", "y"])
    >>> fitted = CrowdClassifier("linear", "ccem", epochs=60, validation=0).fit(np.array([[-2.0], [2.0]]), votes)
    >>> fitted.predict([[-1.0]])
    array(['x'], dtype='<U1')
    """

    takes, what, other = "classes", "classifier", "CrowdRegressor"
    file_format = 2
    method: str = "max_mig"
    _: KW_ONLY
    criterion: CriterionName = "likelihood"
    balance: bool = False

    # ---------------------------------------------------------------- fitting
    def fit(
        self,
        X: Any,
        y: Any,
        *,
        tasks: Any = None,
        eval_X: Any = None,
        loader: Mapping[str, Any] | None = None,
        collate: Callable[[list[Any]], Any] | None = None,
    ) -> Self:
        """Fit the classifier.

        Args:
            X: Features, one row per task: an array, a dict of arrays, a Dataset, or a folder of files
                (`FeatureFolder`) that is read in pieces.
            y: Annotations, a wide matrix with one column per worker (missing: nan or -1), or one label per row.
            tasks: Names of the rows of X, by default `y.tasks`.
            eval_X: The same rows without augmentation, for the held-out score, E-steps and `result_`; by default X.
            loader: Options of torch's DataLoader for a Dataset, such as {"num_workers": 4, "pin_memory": True}.
            collate: Makes a batch of a list of rows of a Dataset, for example by padding.
        """
        check_given(type(self), self.get_params())
        self._method_class()  # report a method of another kind before data are read
        x = as_features(X)
        n = len(x)  # type: ignore[arg-type]
        if not n:
            raise FeatureError("X has no rows; there is nothing to learn from")
        if isinstance(x, torch.Tensor) and x.dim() == 2:
            self.n_features_in_ = x.shape[1]
        inputs = Inputs(x, None if eval_X is None else as_features(eval_X), loader or {}, collate)
        votes, names = annotations_for(y, row_names(x, tasks), n)
        if votes.n_classes < 2:
            raise FeatureError(f"there is only one class, {votes.classes[0]!r}; a classifier needs two")
        crowd = Crowd.of(votes, names)
        self._names(votes, names)
        warn_of_augmentation(inputs)
        self._train(inputs, crowd)
        self.result_ = outcome(self, votes, CrowdData(inputs, crowd))
        self.confusion_ = self.result_.confusion
        return self

    def _names(self, votes: Annotations, names: pl.Series) -> None:
        self.classes_ = np.array(votes.classes.to_list())
        self.class_names_, self.workers_, self.tasks_ = votes.classes, votes.workers, names

    def _n_outputs(self) -> int:
        """One output per class."""
        return len(self.classes_)

    def _data(self, x: Any, crowd: Any) -> CrowdData:
        return CrowdData(x, crowd, balance=self.balance)

    def _criterion(self, data: CrowdData, held_out: Any) -> Criterion:
        return HeldOutCriterion(data, held_out, self.criterion, self._device())

    def _given_params(self) -> dict[str, Any]:
        params = super()._given_params()
        if isinstance(params.get("confusion"), Result):  # matched by names, not by position
            params["confusion"] = aligned_confusion(params["confusion"], self.workers_, self.class_names_)
        return params

    def score(self, X: Any, y: Any) -> float:
        """Share of correct predictions, or without truth the mean log-likelihood of a crowd's labels.

        Args:
            X: Features.
            y: One true class per row; or, as in `fit`, Annotations or a wide matrix with one column per worker. Their
                likelihood is computed from the classifier and the workers' confusion matrices, so that a search can
                select parameters without truth. New workers are treated as average ones.
        """
        if not isinstance(y, Annotations) and np.ndim(y) < 2:
            return super().score(X, y)
        self._refuse_unfitted()
        log_proba = torch.from_numpy(self.predict_proba(X)).clamp_min(1e-12).log()
        crowd = self._recoded(y, None, "average", len(log_proba))
        if not len(crowd):
            raise FeatureError("y holds no label to score by")
        confusion = torch.from_numpy(np.array(self.confusion_))
        share = torch.from_numpy(np.array(self.result_.labels_per_worker, dtype=np.float64))
        mean = torch.einsum("w,wkl->kl", share / share.sum(), confusion)
        return likelihood(log_proba, torch.cat([confusion, mean[None]]).clamp_min(1e-12).log(), crowd, "likelihood")

    # ---------------------------------------------------------------- prediction
    def predict_proba(self, X: Any) -> F8:
        """Return p(class | x) [task, class], in the order of `classes_`."""
        return self._sweep(X, None)[0]

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the most probable class of every row."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def forecast_proba(
        self, X: Any, votes: Any, *, tasks: Any = None, unknown_workers: Literal["error", "average"] = "error"
    ) -> F8:
        """Return p(class | x, labels) [task, class], from features and votes.

        Args:
            X: Features.
            votes: The votes on these tasks.
            tasks: Names of the rows of X.
            unknown_workers: With "average", workers who were not in the training data are treated as average workers;
                with "error" they are an error.
        """
        if "forecast" not in learner(self.method).can:
            raise ParameterError(f"{self.method} has no forecaster; use predict_proba")
        return self._sweep(X, (votes, tasks, unknown_workers))[1]

    def _sweep(self, X: Any, new_votes: tuple[Any, Any, str] | None) -> tuple[F8, F8]:
        self._refuse_unfitted()
        x = as_features(X)
        n = len(x)  # type: ignore[arg-type]
        k, m = len(self.classes_), len(self.workers_)
        crowd = Crowd.shape(m, k, n) if new_votes is None else self._recoded(*new_votes, n)
        data = CrowdData(x, crowd)
        self._refuse_other_shape(data.row_shape())
        log_proba, posterior = sweep_both(self.model_, data, self._device())
        return tuple(p.cpu().double().numpy() for p in (log_proba.exp(), posterior))  # type: ignore[return-value]

    def _recoded(self, votes: Any, tasks: Any, unknown_workers: str, n: int) -> Crowd:
        """Encode new votes with the codes of training; unknown workers, if allowed, get an additional code."""
        annotations, task_names = annotations_for(votes, tasks, n)
        worker = self._worker_codes(annotations.workers, unknown_workers)
        code, is_known = codes_in(self.class_names_, annotations.classes)
        if not is_known.all():
            names = quote(annotations.classes.filter(pl.Series(~is_known)))
            raise DataError(f"class {names} was not seen in training")
        label = torch.from_numpy(code.astype(np.int64))
        crowd = Crowd.of(annotations, task_names)
        return replace(
            crowd, worker=worker[crowd.worker], label=label[crowd.label], n_workers=len(self.workers_) + 1,
            n_classes=len(self.classes_),
        )  # fmt: skip

    # ---------------------------------------------------------------- saving
    def _facts(self) -> dict[str, Any]:
        return {"n_tasks": len(self.tasks_)}

    def _restore(self, facts: Mapping[str, Any]) -> Crowd:
        self.confusion_, self.class_names_ = self.result_.confusion, self.result_.classes
        self.classes_ = np.array(self.class_names_.to_list())
        if facts["n_tasks"] != len(self.tasks_):
            raise ValueError(f"{len(self.tasks_):,} rows for {quote([facts['n_tasks']])} tasks")
        return Crowd.shape(len(self.workers_), len(self.classes_), len(self.tasks_))
