"""crowd-kit's GLAD: EM with an M-step of a few conjugate gradient steps on abilities and easiness."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import expit

from ....core.arrays import F8
from ....stats.logspace import normalise_rows
from .base import InputError, ProbabilisticAggregator
from .table import CodedFrame, read


@dataclass(eq=False)
class GLAD(ProbabilisticAggregator):
    """P(right) = sigma(alpha[worker] · exp(beta[task])), with normal priors around `alphas_priors_mean` and
    `betas_priors_mean` (Series, default 1). At most `n_iter` rounds until the loss rises by less than `tol`, each with
    at most `m_step_max_iter` steps of conjugate gradients, to `m_step_tol`.

    The iterations, and so the numbers, are those of crowd-kit: `probas_` belong to the parameters before the last
    M-step, and `loss_history_` is the expected log density per label and class. `silent` has no effect: there is no
    progress bar. `crowdwise.GLAD` maximises the marginal likelihood itself and reaches a higher value.

    >>> votes = pd.DataFrame({"task": [1, 1, 2, 2], "worker": [*"abab"], "label": [*"xxyy"]})
    >>> GLAD().fit_predict(votes).to_dict()
    {1: 'x', 2: 'y'}
    """

    n_iter: int = 100
    tol: float = 1e-5
    silent: bool = True
    labels_priors: Any = None
    alphas_priors_mean: Any = None
    betas_priors_mean: Any = None
    m_step_max_iter: int = 25
    m_step_tol: float = 1e-2
    alphas_: Any = field(init=False, repr=False)
    betas_: Any = field(init=False, repr=False)
    loss_history_: list[float] = field(init=False, repr=False)
    _table: CodedFrame = field(init=False, repr=False)
    _model: _Model = field(init=False, repr=False)
    _right: F8 = field(init=False, repr=False)

    def fit(self, data: Any) -> GLAD:
        """Fit to `data` with task, worker, label."""
        table = read(data)
        if not len(table.votes):
            raise InputError("there are no labels to learn from: the frame is empty")
        self._names(table)
        model = _Model(table, self.labels_priors, self.alphas_priors_mean, self.betas_priors_mean)
        m, x = table.votes.n_workers, np.ones(table.votes.n_workers + table.votes.n_tasks)
        loss, self.loss_history_ = model.loss(x, model.e_step(x)), []
        posterior = model.posterior
        for _ in range(self.n_iter):
            last, q = loss, model.e_step(x)
            posterior = model.posterior
            solution = minimize(
                model.down,
                x,
                args=(q,),
                method="CG",
                jac=model.down_slope,
                tol=self.m_step_tol,
                options={"disp": False, "maxiter": self.m_step_max_iter},
            )
            x = solution.x
            loss = model.loss(x, q) / (len(table.votes) * model.k)
            self.loss_history_.append(loss)
            if loss - last < self.tol:
                break
        self.probas_ = pd.DataFrame(posterior, index=table.tasks, columns=model.classes.rename("variable"))
        winners = model.classes.take(posterior.argmax(axis=1))
        self.labels_ = winners.to_series(index=table.tasks, name="agg_label")
        self.alphas_ = table.by_worker(x[:m], table.first["worker"], "alpha")
        tasks = table.first["task"]
        self.betas_ = pd.Series(x[m:][tasks], index=table.tasks.take(tasks), name="beta")
        return self

    # The steps of `fit`, by the names that subclasses of crowd-kit's class call. They take and return crowd-kit's frame
    # of rows, which is not needed here: the model holds the rows.

    def _init(self, data: Any) -> None:
        table = read(data)
        self._names(table)
        self._table = table
        self._model = _Model(table, self.labels_priors, self.alphas_priors_mean, self.betas_priors_mean)
        self._update_alphas_betas(*self._get_alphas_betas_by_point(np.ones(len(self.workers_) + len(self.tasks_))))

    def _join_all(self, data: Any, alphas: Any, betas: Any, priors: Any) -> Any:  # noqa: ARG002
        return data.assign(alpha=data["worker"].map(alphas), beta=data["task"].map(betas))

    def _e_step(self, data: Any) -> Any:
        self._right = self._model.e_step(self._point())
        columns = self._model.classes.rename("variable")
        self.probas_ = pd.DataFrame(self._model.posterior, index=self._table.tasks, columns=columns)
        return data

    def _compute_Q(self, data: Any) -> float:  # noqa: ARG002
        return self._model.loss(self._point(), self._right)

    def _gradient_Q(self, data: Any) -> tuple[Any, Any]:  # noqa: ARG002
        m, slope = len(self._table.workers), self._model.slope(self._point(), self._right)
        alphas = pd.Series(slope[:m], index=self._table.workers, name="dQa")
        return alphas, pd.Series(slope[m:], index=self._table.tasks, name="dQb")

    def _get_alphas_betas_by_point(self, x: F8) -> tuple[Any, Any]:
        m = len(self.workers_)
        alphas = pd.Series(x[:m], index=pd.Index(self.workers_, name="worker"), name="alpha")
        return alphas, pd.Series(x[m:], index=pd.Index(self.tasks_, name="task"), name="beta")

    def _update_alphas_betas(self, alphas: Any, betas: Any) -> None:
        self.alphas_, self.betas_ = alphas, betas

    def _point(self) -> F8:
        """Return the parameters in the order of the model."""
        parts = (self.alphas_.reindex(self._table.workers), self.betas_.reindex(self._table.tasks))
        return np.concatenate([part.to_numpy(dtype=np.float64) for part in parts])

    def _names(self, table: CodedFrame) -> None:
        """Set the attributes that describe the data."""
        self.tasks_ = table.tasks.take(table.first["task"]).array
        self.workers_ = table.workers.take(table.first["worker"]).array
        if self.labels_priors is None:
            self.prior_labels_ = table.classes.take(table.first["label"]).array
            self.priors_ = pd.Series(1.0 / len(table.classes), index=pd.Index(self.prior_labels_))
        else:
            self.priors_ = self.labels_priors
            self.prior_labels_ = self.labels_priors.index


class _Model:
    """Expected log density of the labels given each row's probability of being right, and its gradient."""

    def __init__(self, table: CodedFrame, priors: Any, alphas: Any, betas: Any) -> None:
        self.votes = table.votes
        self.classes = table.classes if priors is None else pd.Index(sorted(priors.index))
        self.k = len(self.classes)
        self.label = self.votes.label
        self.log_prior = np.full(self.k, -np.log(self.k))
        if priors is not None:
            code = self.classes.get_indexer(table.classes)
            if (code < 0).any():
                raise InputError(f"labels_priors lacks the label {table.classes[int(np.argmin(code))]!r}; add it")
            self.label = code[self.votes.label]
            with np.errstate(divide="ignore"):
                self.log_prior = np.log(priors.reindex(self.classes).to_numpy(dtype=np.float64))
        self.others = float(np.log(max(self.k - 1, 1)))
        m = self.votes.n_workers
        self.mean = np.ones(m + self.votes.n_tasks)
        for part, prior_mean, index in ((slice(m), alphas, table.workers), (slice(m, None), betas, table.tasks)):
            if prior_mean is not None:
                self.mean[part] = prior_mean.reindex(index).to_numpy(dtype=np.float64)
        if np.isnan(self.mean).any():
            raise InputError("alphas_priors_mean and betas_priors_mean need a value for every worker and every task")

    def e_step(self, x: F8) -> F8:
        """Return the probability that each row's label is right; `posterior` is set."""
        s, n = self._odds(x)[0], self.votes.n_tasks
        flat = self.votes.task.astype(np.int64) * self.k + self.label
        score = np.bincount(flat, weights=s + self.others, minlength=n * self.k).reshape(n, self.k)
        self.posterior: F8 = normalise_rows(score + self.log_prior)[0]
        return np.asarray(self.posterior[self.votes.task, self.label])

    def loss(self, x: F8, q: F8) -> float:
        """Return the sum of log sigma if right, log (1 - sigma) / (K - 1) if wrong, and the log priors."""
        s = self._odds(x)[0]
        wrong = np.logaddexp(0.0, s) + self.others
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            # Not in log space: the density may underflow, and the line search must get crowd-kit's infinity.
            density = np.log(np.exp(-((x - self.mean) ** 2) / 2) / np.sqrt(2 * np.pi)).sum()
            total = float((q * (s + self.others) - wrong).sum() + density)
        return -np.inf if np.isnan(total) else total

    def down(self, x: F8, q: F8) -> float:
        """Return the negative loss, which scipy minimises."""
        return -self.loss(x, q)

    def down_slope(self, x: F8, q: F8) -> F8:
        """Return the gradient of `down`."""
        return -self.slope(x, q)

    def slope(self, x: F8, q: F8) -> F8:
        """Return the gradient by ability[worker], then easiness[task]."""
        s, ability, ease = self._odds(x)
        pull = (q - expit(s)) * ease
        by_worker = np.bincount(self.votes.worker, weights=pull, minlength=self.votes.n_workers)
        by_task = np.bincount(self.votes.task, weights=pull * ability, minlength=self.votes.n_tasks)
        return np.concatenate([by_worker, by_task]) - (x - self.mean)

    def _odds(self, x: F8) -> tuple[F8, F8, F8]:
        m = self.votes.n_workers
        ability, ease = x[:m][self.votes.worker], np.exp(np.minimum(x[m:], 700.0))[self.votes.task]
        return ability * ease, ability, ease
