"""crowd-kit's DawidSkene and OneCoinDawidSkene: EM as crowd-kit iterates it, over crowdwise's kernels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
import pandas as pd

from ....em.kernels import Stats, Workspace, accumulate, stats_of
from ....kinds.classes.methods.confusion.matrices import MaximumLikelihood, coin_matrix
from ....stats.logspace import shares
from .base import BaseClassificationAggregator, InputError
from .history import assigned, counted, normalised
from .table import F8, Table, read

# What crowd-kit floors probabilities at.
EPS = 1e-10
FRAMES = ("probas_", "priors_", "errors_")


@dataclass(eq=False)
class DawidSkene(BaseClassificationAggregator):
    """One error matrix per worker, by maximum likelihood EM: at most `n_iter` rounds, until the bound per label rises
    by less than `tol`. Probabilities, priors and errors are crowd-kit's; four things are fixed:

    - `loss_history_` is the evidence lower bound per label. crowd-kit's adds the log prior once per label instead of
      once per task; its stopping rule, which reads that number, is kept, so that the rounds are the same.
    - `initial_error` with "addition" holds in every M-step. crowd-kit adds the history to the first M-step only and
      forgets it in the second. With "assign" it is a start and nothing else, in both.
    - a class of `initial_error` that nobody gives today has no column here (crowd-kit: one of NaN); what the workers
      said of it stays in their shares.
    - a label sent twice counts once; a row with a null is left out; both with a warning.

    >>> votes = pd.DataFrame({"task": [1, 1, 2, 2], "worker": [*"abab"], "label": [*"xxyy"]})
    >>> DawidSkene(100).fit_predict(votes).to_dict()
    {1: 'x', 2: 'y'}
    """

    n_iter: int = 100
    tol: float = 1e-5
    initial_error_strategy: Literal["assign", "addition"] | None = None
    probas_: Any = field(init=False, repr=False)
    priors_: Any = field(init=False, repr=False)
    errors_: Any = field(init=False, repr=False)
    loss_history_: list[float] = field(init=False, repr=False)
    _found: tuple[Table, F8, F8, F8] = field(init=False, repr=False)

    def fit(self, data: Any, true_labels: Any = None, initial_error: Any = None) -> DawidSkene:
        """`true_labels` (Series by task) stay put, of several of one task the last; `initial_error[(worker, label),
        true]` as its strategy says."""
        return self.fit_table(read(data), true_labels, initial_error)._whole()

    def fit_table(self, table: Table, true_labels: Any = None, initial_error: Any = None) -> Self:
        """The same of a frame that has been read; the larger tables are made when they are asked for."""
        if not len(table.votes):
            self._nothing()
            return self
        history = None
        first = _Errors(table)
        if initial_error is not None and self.initial_error_strategy == "assign":
            first.start = assigned(table, initial_error)
        elif initial_error is not None and self.initial_error_strategy == "addition":
            history, first.elsewhere = counted(table, initial_error)
        elif self.initial_error_strategy not in (None, "assign", "addition"):
            raise InputError(
                f"initial_error_strategy must be 'assign' or 'addition', got {self.initial_error_strategy!r}"
            )
        first.model = first.model.with_history(history)
        self._run(table, first, _gold(table, true_labels))
        if first.start is not None and self.n_iter < 1:
            self.errors_ = normalised(initial_error)  # nothing was estimated: they are what was given
        return self

    def fit_predict_proba(self, data: Any, true_labels: Any = None, initial_error: Any = None) -> Any:
        """probas_ of the data: one row a task, one column a class."""
        return self.fit(data, true_labels, initial_error).probas_

    def fit_predict(self, data: Any, true_labels: Any = None, initial_error: Any = None) -> Any:
        """labels_ of the data."""
        return self.fit(data, true_labels, initial_error).labels_

    def _run(self, table: Table, errors: _Errors, gold: npt.NDArray[np.int32] | None) -> None:
        votes = table.votes
        space = Workspace.of(votes, gold)
        posterior = shares(votes.votes)
        if gold is not None:
            known = np.flatnonzero(gold < votes.n_classes)
            posterior[known] = np.eye(votes.n_classes)[gold[known]]
        stats = stats_of(space, posterior)
        theta = errors.first(stats.counts)
        prior = stats.mass / votes.n_tasks
        self.loss_history_, last = [], -np.inf
        for _ in range(self.n_iter):
            old = np.maximum(prior, EPS)
            stats, log_likelihood = accumulate(space, theta, old)
            # The posterior is the exact one under the old parameters, so its entropy is what the bound leaves over.
            entropy = log_likelihood - _expected(stats, theta, old)
            theta, prior = errors.again(stats.counts), stats.mass / votes.n_tasks
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
        self._found = table, posterior, prior, theta
        for name in FRAMES:
            self.__dict__.pop(name, None)

    def __getattr__(self, name: str) -> Any:
        """Who fits many tables and wants their labels waits for no frame."""
        if name not in FRAMES or "_found" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        table, posterior, prior, theta = self._found
        names = table.classes
        if name == "probas_":
            made: Any = table.by_task(posterior, table.first["task"], None, "label")
        elif name == "priors_":
            made = pd.Series(prior, index=names, name="prior")
        else:
            worker, label = np.divmod(table.cells, len(names))
            index = pd.MultiIndex.from_arrays([table.workers.take(worker), names.take(label)],
                                              names=["worker", "label"])  # fmt: skip
            made = pd.DataFrame(theta[worker, label], index=index, columns=names.rename(None))
        setattr(self, name, made)
        return made

    def __dir__(self) -> list[str]:
        """With the tables that are made when they are asked for."""
        return sorted({*super().__dir__(), *(FRAMES if "_found" in self.__dict__ else ())})

    def _whole(self) -> Self:
        for name in FRAMES:
            getattr(self, name)
        return self

    def _nothing(self) -> None:
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
        """`data` with task, worker, label."""
        return self.fit_table(read(data))._whole()

    def fit_table(self, table: Table, *_: Any) -> Self:
        """The same of a frame that has been read."""
        if not len(table.votes):
            self._nothing()
            return self
        coins = _Coins(table)
        self._run(table, coins, None)
        self.skills_ = table.by_worker(coins.skill, table.first["worker"], "skill")
        return self

    def fit_predict_proba(self, data: Any) -> Any:  # type: ignore[override]
        """probas_ of the data: one row a task, one column a class."""
        return self.fit(data).probas_

    def fit_predict(self, data: Any) -> Any:  # type: ignore[override]
        """labels_ of the data."""
        return self.fit(data).labels_


class _Errors:
    """The M-step: theta[worker, observed, true] from expected counts; `start`, where given, replaces the first."""

    def __init__(self, table: Table) -> None:
        k = table.votes.n_classes
        self.start: F8 | None = None
        self.model = MaximumLikelihood(np.zeros((k, k)), 0.0)
        self.elsewhere: F8 | None = None  # [worker, true]: counts of earlier labels that nobody gives today

    def first(self, counts: F8) -> F8:
        return self.again(counts) if self.start is None else self.start

    def again(self, counts: F8) -> F8:
        theta = self.model.confusion(counts)
        if self.elsewhere is None:
            return theta
        today = (counts + self.model.prior).sum(axis=1)
        total = today + self.elsewhere
        share = np.divide(today, total, out=np.ones_like(total), where=total > 0)
        return np.asarray(np.maximum(theta * share[:, None, :], np.minimum(theta, EPS)))


class _Coins(_Errors):
    """One probability per worker, clipped as crowd-kit does."""

    def __init__(self, table: Table) -> None:
        super().__init__(table)
        self.n = np.maximum(table.votes.labels_per_worker, 1)
        self.skill: F8 = np.empty(0)

    def again(self, counts: F8) -> F8:
        self.skill = np.einsum("wkk->w", counts) / self.n
        theta = coin_matrix(self.skill[:, None].repeat(counts.shape[1], axis=1))
        return np.clip(theta, EPS, 1 - EPS)


def _expected(stats: Stats, theta: F8, prior: F8) -> float:
    """Expected log joint density of labels and truth under theta and prior."""
    seen = stats.counts > 0
    logs = np.log(theta, out=np.zeros_like(theta), where=seen)
    return float(np.vdot(stats.counts, logs) + stats.mass @ np.log(prior))


def _gold(table: Table, true_labels: Any) -> npt.NDArray[np.int32] | None:
    """gold[task] is a class, or the number of classes where the truth is not known."""
    if true_labels is None:
        return None
    known = pd.Series(true_labels).dropna()
    # Several labels of one task: the one whose class appears last stands, as in crowd-kit.
    known = known.iloc[np.argsort(pd.factorize(known)[0], kind="stable")]
    task, label = table.codes_of("task", known.index), table.codes_of("label", known.to_numpy())
    strange = (task >= 0) & (label < 0)
    if strange.any():
        raise InputError(
            f"true label {known.to_numpy()[strange][0]!r} was never given by a worker; leave such tasks out"
        )
    gold = np.full(table.votes.n_tasks, table.votes.n_classes, dtype=np.int32)
    gold[task[task >= 0]] = label[task >= 0]
    return gold
