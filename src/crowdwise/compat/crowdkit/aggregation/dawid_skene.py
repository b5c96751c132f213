"""crowd-kit's DawidSkene and OneCoinDawidSkene: crowd-kit's EM iterations on crowdwise's kernels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from ....core.arrays import F8
from ....em.kernels import Stats, Workspace, accumulate, stats_of
from ....kinds.classes.methods.confusion.matrices import MaximumLikelihood, coin_matrix
from ....stats.logspace import shares
from .base import InputError, ProbabilisticAggregator
from .history import EPS, assigned, counted, normalised
from .table import CodedFrame, read

FRAMES = ("probas_", "priors_", "errors_")


@dataclass(eq=False)
class DawidSkene(ProbabilisticAggregator):
    """One error matrix per worker, by maximum likelihood EM: at most `n_iter` rounds, until the bound per label rises
    by less than `tol`. Probabilities, priors and errors are crowd-kit's, except for four corrections:

    - `loss_history_` is the evidence lower bound per label. crowd-kit's adds the log prior once per label instead of
      once per task; its stopping rule, which reads that number, is kept, so that the rounds are the same.
    - `initial_error` with "addition" holds in every M-step. crowd-kit adds the history to the first M-step only.
      With "assign" it is only the starting point, in both.
    - a class of `initial_error` that does not occur in the data has no column here (crowd-kit: one of NaN); its counts
      stay in the workers' shares.
    - repeated labels count once, and rows with a null are left out; both with a warning.

    >>> votes = pd.DataFrame({"task": [1, 1, 2, 2], "worker": [*"abab"], "label": [*"xxyy"]})
    >>> DawidSkene(100).fit_predict(votes).to_dict()
    {1: 'x', 2: 'y'}
    """

    n_iter: int = 100
    tol: float = 1e-5
    initial_error_strategy: Literal["assign", "addition"] | None = None
    priors_: Any = field(init=False, repr=False)
    errors_: Any = field(init=False, repr=False)
    loss_history_: list[float] = field(init=False, repr=False)
    _state: tuple[CodedFrame, F8, F8, F8] = field(init=False, repr=False)

    def fit(self, data: Any, true_labels: Any = None, initial_error: Any = None) -> DawidSkene:
        """Fit to `data` with task, worker and label.

        `true_labels` (Series by task; of several of one task the last) are held fixed. `initial_error[(worker, label),
        true]` is used according to `initial_error_strategy`.
        """
        return self.fit_table(read(data), true_labels, initial_error)._make_frames()

    def fit_table(self, table: CodedFrame, true_labels: Any = None, initial_error: Any = None) -> Self:
        """Fit to a frame that has been read; the larger tables are computed on access."""
        if not len(table.votes):
            self._set_empty()
            return self
        history = None
        errors = _Errors(table)
        if initial_error is not None and self.initial_error_strategy == "assign":
            errors.start = assigned(table, initial_error)
        elif initial_error is not None and self.initial_error_strategy == "addition":
            history, errors.elsewhere = counted(table, initial_error)
        elif self.initial_error_strategy not in (None, "assign", "addition"):
            raise InputError(
                f"initial_error_strategy must be 'assign' or 'addition', got {self.initial_error_strategy!r}"
            )
        errors.model = errors.model.with_history(history)
        self._run(table, errors, _gold(table, true_labels))
        if errors.start is not None and self.n_iter < 1:
            self.errors_ = normalised(initial_error)  # nothing was estimated: the given errors are returned
        return self

    def fit_predict_proba(self, data: Any, true_labels: Any = None, initial_error: Any = None) -> Any:
        """probas_ of the data: one row a task, one column a class."""
        return self.fit(data, true_labels, initial_error).probas_

    def fit_predict(self, data: Any, true_labels: Any = None, initial_error: Any = None) -> Any:
        """labels_ of the data."""
        return self.fit(data, true_labels, initial_error).labels_

    def _run(self, table: CodedFrame, errors: _Errors, gold: npt.NDArray[np.int32] | None) -> None:
        votes = table.votes
        space = Workspace.of(votes, gold)
        posterior = shares(votes.votes)
        if gold is not None:
            is_gold = np.flatnonzero(gold < votes.n_classes)
            posterior[is_gold] = np.eye(votes.n_classes)[gold[is_gold]]
        stats = stats_of(space, posterior)
        theta = errors.first_step(stats.counts)
        prior = stats.mass / votes.n_tasks
        self.loss_history_, last = [], -np.inf
        for _ in range(self.n_iter):
            old = np.maximum(prior, EPS)
            stats, log_likelihood = accumulate(space, theta, old)
            # The posterior is the exact one under the old parameters, so its entropy is what the bound leaves over.
            entropy = log_likelihood - _expected(stats, theta, old)
            theta, prior = errors.m_step(stats.counts), stats.mass / votes.n_tasks
            bound = _expected(stats, theta, np.maximum(prior, EPS)) + entropy
            self.loss_history_.append(bound / len(votes))
            # crowd-kit's objective: the log prior counts once per label, not once per task.
            excess = stats.counts.sum(axis=(0, 1)) - stats.mass
            loss = (bound + float(excess @ np.log(np.maximum(prior, EPS)))) / len(votes)
            if loss - last < self.tol:
                break
            last = loss
        if self.loss_history_:
            posterior = space.memory.take()
        self.labels_ = table.labels(posterior.argmax(axis=1), table.first["task"])
        self._state = table, posterior, prior, theta
        for name in FRAMES:
            self.__dict__.pop(name, None)

    def __getattr__(self, name: str) -> Any:
        """Compute the frames on access, which saves time if only the labels are needed."""
        if name not in FRAMES or "_state" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        table, posterior, prior, theta = self._state
        names = table.classes
        if name == "probas_":
            frame: Any = table.by_task(posterior, table.first["task"], None, "label")
        elif name == "priors_":
            frame = pd.Series(prior, index=names, name="prior")
        else:
            worker, label = np.divmod(table.cells, len(names))
            index = pd.MultiIndex.from_arrays([table.workers.take(worker), names.take(label)],
                                              names=["worker", "label"])  # fmt: skip
            frame = pd.DataFrame(theta[worker, label], index=index, columns=names.rename(None))
        setattr(self, name, frame)
        return frame

    def __dir__(self) -> list[str]:
        """List also the tables that are computed on access."""
        return sorted({*super().__dir__(), *(FRAMES if "_state" in self.__dict__ else ())})

    def _make_frames(self) -> Self:
        for name in FRAMES:
            getattr(self, name)
        return self

    def _set_empty(self) -> None:
        self.probas_, self.errors_ = pd.DataFrame(), pd.DataFrame()
        self.priors_ = pd.Series(dtype=float, name="prior")
        self.labels_ = pd.Series(dtype=float, name="agg_label")
        self.loss_history_ = []


@dataclass(eq=False)
class OneCoinDawidSkene(DawidSkene):
    """One accuracy per worker (`skills_`), errors spread evenly over the other classes; as `DawidSkene` otherwise.

    >>> votes = pd.DataFrame({"task": [1, 1, 2, 2], "worker": [*"abab"], "label": [*"xxyy"]})
    >>> OneCoinDawidSkene().fit(votes).skills_.round(3).to_dict()
    {'a': 1.0, 'b': 1.0}
    """

    skills_: Any = field(init=False, repr=False)

    def fit(self, data: Any) -> OneCoinDawidSkene:  # type: ignore[override]
        """Fit to `data` with task, worker, label."""
        return self.fit_table(read(data))._make_frames()

    def fit_table(self, table: CodedFrame, *_: Any) -> Self:
        """Fit to a frame that has been read."""
        if not len(table.votes):
            self._set_empty()
            return self
        coins = _Coins(table)
        self._run(table, coins, None)
        self.skills_ = table.by_worker(coins.skill, table.first["worker"], "skill")
        return self

    fit_predict = ProbabilisticAggregator.fit_predict  # type: ignore[assignment]
    fit_predict_proba = ProbabilisticAggregator.fit_predict_proba  # type: ignore[assignment]


class _Errors:
    """The M-step: theta[worker, observed, true] from expected counts; `start`, where given, replaces the first."""

    def __init__(self, table: CodedFrame) -> None:
        k = table.votes.n_classes
        self.start: F8 | None = None
        self.model = MaximumLikelihood(np.zeros((k, k)), 0.0)
        self.elsewhere: F8 | None = None  # [worker, true]: counts of earlier labels that do not occur in the data

    def first_step(self, counts: F8) -> F8:
        return self.m_step(counts) if self.start is None else self.start

    def m_step(self, counts: F8) -> F8:
        theta = self.model.confusion(counts)
        if self.elsewhere is None:
            return theta
        today = (counts + self.model.prior).sum(axis=1)
        total = today + self.elsewhere
        share = np.divide(today, total, out=np.ones_like(total), where=total > 0)
        return np.asarray(np.maximum(theta * share[:, None, :], np.minimum(theta, EPS)))


class _Coins(_Errors):
    """One probability per worker, clipped as crowd-kit does."""

    def __init__(self, table: CodedFrame) -> None:
        super().__init__(table)
        self.n = np.maximum(table.votes.labels_per_worker, 1)
        self.skill: F8 = np.empty(0)

    def m_step(self, counts: F8) -> F8:
        self.skill = np.einsum("wkk->w", counts) / self.n
        theta = coin_matrix(self.skill[:, None].repeat(counts.shape[1], axis=1))
        return np.clip(theta, EPS, 1 - EPS)


def _expected(stats: Stats, theta: F8, prior: F8) -> float:
    """Expected log joint density of labels and truth under theta and prior."""
    observed = stats.counts > 0
    logs = np.log(theta, out=np.zeros_like(theta), where=observed)
    return float(np.vdot(stats.counts, logs) + stats.mass @ np.log(prior))


def _gold(table: CodedFrame, true_labels: Any) -> npt.NDArray[np.int32] | None:
    """Return gold[task]: a class, or the number of classes if the truth is not known."""
    if true_labels is None:
        return None
    truth = pd.Series(true_labels).dropna()
    # Several labels of one task: the one whose class appears last counts, as in crowd-kit.
    truth = truth.iloc[np.argsort(pd.factorize(truth)[0], kind="stable")]
    task, label = table.codes_of("task", truth.index), table.codes_of("label", truth.to_numpy())
    is_unknown = (task >= 0) & (label < 0)
    if is_unknown.any():
        raise InputError(
            f"true label {truth.to_numpy()[is_unknown][0]!r} was never given by a worker; leave such tasks out"
        )
    gold = np.full(table.votes.n_tasks, table.votes.n_classes, dtype=np.int32)
    gold[task[task >= 0]] = label[task >= 0]
    return gold
