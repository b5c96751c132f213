"""Bayesian methods: variational Bayes over confusion matrices, belief propagation, mean field and Gibbs sampling.

    q(z) Π_w q(A_w) q(d),   theta = exp E log A,   class_prior = exp E log d

For variational Bayes, the usual E-step under theta (whose rows sum to less than one) gives q(z). The log-likelihood
under theta minus the divergence of the beliefs from their priors is then exactly the evidence lower bound (ELBO), which
never falls, so that the EM loop can be used unchanged.
Attias (2000), NIPS 12; Kim & Ghahramani (2012), AISTATS, proceedings.mlr.press/v22/kim12.html.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from ....core.arrays import F8, I4, I8
from ....core.errors import DataError, ParameterError
from ....core.params import AtLeast, Between, Count, NonNegative, Positive, PositiveShare, Proportions, Whole
from ....em.kernels import Stats, Workspace, stats_of, transposed
from ....em.rows import LabelRows
from ....stats.coins import even
from ....stats.dirichlet import divergence, log_mean
from ..annotations import Annotations
from ..maths import messages as priors
from ..maths.messages import MessageBeliefs, Nodes, VoteEdges, propagate
from .base import Aggregator, SolveOptions
from .confusion.base import ConfusionAggregator, ConfusionFit, ConfusionModel, Params, fit_state
from .gold import ClassOrder, GoldLabels
from .partitioned import FitState, PartitionedVotes, PartPosterior, Predictor, Solution, VotesShape
from .voting import SamplerRows

# exp(digamma(prior)) reaches the kernels' floor of 1e-18 below about 0.025; from this value up the ELBO is exact.
LEAST_PRIOR = 0.05
PriorCount = Annotated[float, AtLeast(LEAST_PRIOR)]


@dataclass(frozen=True)
class BaseBeliefs(Params):
    """theta and class_prior of the E-step, the means that are reported, and the divergence of the beliefs."""

    confusion_mean: F8  # worker, observed, true
    class_mean: F8
    divergence: float


class BayesModel(ConfusionModel):
    """Dirichlet beliefs over the rows of every worker's matrix and over the classes.

    prior[observed, true] (or [worker, observed, true]) holds the parameters of the rows' priors.
    """

    def maximise(self, stats: Stats) -> BaseBeliefs:
        """Return the best beliefs for these expected counts: priors plus counts."""
        theta, mean, row_divergence = self.rows(stats.counts)
        weight, class_mean, class_divergence = self.classes(stats.mass)
        return BaseBeliefs(theta, weight, mean, class_mean, row_divergence + class_divergence)

    def log_prior(self, params: Params) -> float:
        """Return minus the divergence; with the log-likelihood under theta it is the ELBO."""
        assert isinstance(params, BaseBeliefs)
        return -params.divergence

    def rows(self, counts: F8) -> tuple[F8, F8, float]:
        """Return exp E log A, E A, and the divergence, for counts[worker, observed, true]."""
        belief = counts + self.prior
        theta = np.exp(log_mean(belief, axis=1))
        mean = belief / belief.sum(axis=1, keepdims=True)
        return theta, mean, divergence(belief, np.broadcast_to(self.prior, belief.shape), axis=1)

    def classes(self, mass: F8) -> tuple[F8, F8, float]:
        """Return exp E log d, E d, and the divergence."""
        belief = mass + self.prior_class
        prior = np.full_like(belief, self.prior_class)
        return np.exp(log_mean(belief, axis=0)), belief / belief.sum(), divergence(belief, prior, axis=0)


@dataclass(frozen=True, kw_only=True)
class BayesAggregator(ConfusionAggregator):
    """Variational Bayes with prior pseudo-counts of the right label, of each wrong label, and of each class.

    Args:
        prior_diagonal: Pseudo-count of the right label in every row of a worker's matrix; values above `prior_off`
            assume workers better than guessing, and larger ones need more labels to be overruled.
        prior_off: Pseudo-count of each wrong label in every row; larger values assume less accurate workers.
        prior_class: Pseudo-count of each class; larger values make the class frequencies more equal.
    """

    prior_diagonal: PriorCount = 4.0
    prior_off: PriorCount = 1.0
    prior_class: PriorCount = 1.0

    def model(self, shape: VotesShape) -> ConfusionModel:
        """Return the model with Dirichlet priors."""
        return BayesModel(diagonal_prior(shape.n_classes, self.prior_diagonal, self.prior_off), self.prior_class)

    def learn(self, data: PartitionedVotes, options: SolveOptions) -> FitState:
        """Return the fit with the highest ELBO over the starts."""
        return bayes_fit_state(*self.search(data, options))


def diagonal_prior(k: int, diagonal: float, off: float) -> F8:
    """Return the same pseudo-counts for every class, [observed, true]."""
    return even(diagonal, off, k)


def prior_where_empty(posterior: F8, rows: LabelRows, class_mean: F8) -> F8:
    """Return the posterior with the mean of the class beliefs, not their exp E log, on tasks without labels."""
    return np.where((rows.labels_per_task > 0)[:, None], posterior, class_mean)


@dataclass(frozen=True, eq=False)
class BayesPredictor:
    """The posterior of a predictor, with the mean of the class beliefs on tasks without labels."""

    predictor: Predictor
    class_mean: F8

    def __call__(self, space: Workspace) -> PartPosterior:
        """Posterior of a part's tasks."""
        return PartPosterior(prior_where_empty(self.predictor(space).posterior, space.shard, self.class_mean))


def bayes_fit_state(fit: ConfusionFit, predictor: Predictor) -> FitState:
    """Return the state of a fit: means are reported, the parameters of the E-step are kept for `Result.infer`."""
    beliefs = fit.params
    assert isinstance(beliefs, BaseBeliefs)
    return replace(
        fit_state(fit, BayesPredictor(predictor, beliefs.class_mean)),
        class_prior=beliefs.class_mean,
        confusion=transposed(beliefs.confusion_mean),
        extra={"theta": transposed(beliefs.theta), "class_weight": beliefs.class_prior},
    )


@dataclass(frozen=True, kw_only=True)
class BayesGC(BayesAggregator):
    """BayesGC: the crowd model of BayesDGC, which is IBCC under a flatter prior.

        z_i ~ Cat(d),   y_iw | z_i = k ~ Cat(A[w, k]),   A[w, k] ~ Dir(2 + 3 e_k),   d ~ Dir(1.1)

    Li, Huang & Chen (2021), Crowdsourcing aggregation with deep Bayesian learning, Science China Information
    Sciences 64, doi:10.1007/s11432-020-3118-7: the model without its network, by variational Bayes. Fails as `ibcc`
    does, but sooner: with K classes its prior rows are 5 / (5 + 2 (K - 1)) right, near guessing for large K, and a
    spammer is recognised late (web: .73).

    `prior_diagonal` (5), `prior_off` (2) and `prior_class` (1.1) are pseudo-counts of at least 0.05, as in `ibcc`.

    >>> import crowdwise as cw
    >>> votes = cw.Annotations.from_arrays([1, 1, 2, 2], ["a", "b", "a", "b"], ["x", "x", "y", "y"])
    >>> BayesGC().fit(votes).to_table()["label"].to_list()
    ['x', 'y']
    """

    name: ClassVar[str] = "bayes_gc"
    prior_diagonal: PriorCount = 5.0
    prior_off: PriorCount = 2.0
    prior_class: PriorCount = 1.1


Damping = Annotated[float, Between(0, 0.99)]
Prior = Literal["one_coin", "two_coin", "dirichlet", "hammer_spammer"]

# More quadrature nodes make no visible difference.
MAX_NODES = {"one_coin": 100, "two_coin": 16}
# log h of a class that gold excludes.
NEVER = -1e4


@dataclass(frozen=True, kw_only=True)
class BeliefPropagation(Aggregator):
    """Belief propagation: integrate the workers' confusion matrices out instead of estimating them.

        p(z | y) ∝ prod_i h_i(z_i) prod_u ∫ p(theta) prod_{i of u} theta[z_i, y_iu] dtheta

    Messages are passed between tasks and workers (kinds/classes/maths/messages.py); exact on graphs without loops and
    the best known method on sparse random graphs when the prior is right. Liu, Peng & Ihler (2012), Variational
    inference for crowdsourcing, NeurIPS 25; Ok, Oh, Shin & Yi (2016), Optimality of belief propagation for
    crowdsourced classification, ICML. Fails with a prior far from the crowd's and, like all loopy propagation, may
    oscillate on dense graphs (see `damping`).

    `prior`: "one_coin" (accuracy ~ Beta(prior_right, prior_wrong)), "two_coin" (one such accuracy per class, two
    classes only), "dirichlet" (rows ~ Dir with `prior_right` on the diagonal and `prior_wrong` elsewhere, by
    `n_samples` draws) or "hammer_spammer" (hammers, right with `hammer_accuracy`, at odds of prior_right :
    prior_wrong). `n_nodes` quadrature nodes per accuracy (default: as many as make the integrals exact, at most 100,
    two-coin 16). `damping` in [0, 1) reduces oscillation; `learn_class_prior` fits class frequencies by an outer EM.

    Args:
        prior: Prior of the workers: "one_coin" (one accuracy each), "two_coin" (an accuracy per class, two classes
            only), "dirichlet" (a matrix each) or "hammer_spammer" (right with `hammer_accuracy`, or guessing).
        prior_right: First Beta parameter of an accuracy, Dirichlet parameter of the diagonal, or odds of a hammer;
            larger values assume better workers.
        prior_wrong: Second Beta parameter, Dirichlet parameter off the diagonal, or odds of a spammer; larger values
            assume worse workers.
        hammer_accuracy: Accuracy of the hammers; only for "hammer_spammer".
        n_nodes: Quadrature nodes per accuracy, for "one_coin" and "two_coin"; None takes as many as make the integrals
            exact, at most 100 ("two_coin": 16).
        n_samples: Number of matrices drawn for "dirichlet"; more are more exact and take longer.
        max_iter: Maximum number of rounds of messages, summed over the updates of the class prior.
        tol: Largest change of a message, and of a learnt class frequency, below which the fit has converged.
        damping: Share of each old message that is kept; larger values reduce oscillation but take longer.
        learn_class_prior: Whether to fit the class frequencies; otherwise they are uniform.

    >>> votes = Annotations.from_arrays([1, 1, 1], ["a", "b", "c"], ["x", "x", "y"])
    >>> BeliefPropagation().fit(votes).posterior.round(3)
    array([[0.667, 0.333]])
    """

    name: ClassVar[str] = "belief_propagation"
    prior: Prior = "one_coin"
    prior_right: Positive = 2.0
    prior_wrong: Positive = 1.0
    hammer_accuracy: PositiveShare = 0.95
    n_nodes: Count | None = None
    n_samples: Count = 400
    max_iter: Count = 100
    tol: NonNegative = 1e-3
    damping: Damping = 0.0
    learn_class_prior: bool = False

    def solve(self, annotations: Annotations, gold: GoldLabels | None, options: SolveOptions) -> Solution:
        """Propagate until the messages converge; with a learnt class prior, until that converges too."""
        k = annotations.n_classes
        edges, nodes = VoteEdges.of(annotations), self.nodes(annotations)
        class_prior, start, left = np.full(k, 1 / k), None, self.max_iter
        while True:
            unary = np.tile(np.log(np.maximum(class_prior, 1e-12)), (annotations.n_tasks, 1))
            if gold is not None:
                unary[gold.tasks] = np.where(np.eye(k)[gold.label[gold.tasks]] > 0, 0.0, NEVER)
            beliefs = propagate(
                edges,
                nodes,
                unary,
                max_iter=left,
                tol=self.tol,
                damping=self.damping,
                start=start,
                callback=options.callback,
            )
            left -= beliefs.n_iter
            new = beliefs.posterior.mean(axis=0)
            converged = not self.learn_class_prior or float(np.abs(new - class_prior).max()) < self.tol
            if converged or left < 1:
                return self._solution(beliefs, nodes, class_prior, self.max_iter - left, converged)
            class_prior, start = new, beliefs.message

    def nodes(self, annotations: Annotations) -> Nodes:
        """Return the prior as quadrature nodes for the messages."""
        k, a, b = annotations.n_classes, self.prior_right, self.prior_wrong
        if self.prior == "hammer_spammer":
            return priors.hammer_spammer(a / (a + b), self.hammer_accuracy, k)
        if self.prior == "dirichlet":
            return priors.dirichlet(a, b, k, self.n_samples, np.random.default_rng(self.seed))
        weight = np.bincount(annotations.worker, weights=annotations.weight, minlength=1)
        # A worker's factor is a polynomial with the degree of their number of labels; n nodes integrate degree 2 n - 1.
        exact = int(np.ceil((weight.max() + 1) / 2))
        n = min(exact, MAX_NODES[self.prior]) if self.n_nodes is None else self.n_nodes
        if self.prior == "one_coin":
            return priors.one_coin(a, b, k, n)
        if k != 2:
            raise DataError(f"the two-coin prior is for two classes, these data have {k}; take prior='dirichlet'")
        return priors.two_coin(a, b, n)

    def _solution(
        self, beliefs: MessageBeliefs, nodes: Nodes, class_prior: F8, n_iter: int, converged: bool
    ) -> Solution:
        # The expected confusion under the worker's belief, which applies to a new task.
        confusion = np.einsum("us,sto->uto", beliefs.belief, nodes.theta)
        return Solution(
            beliefs.posterior,
            class_prior,
            confusion=confusion / confusion.sum(axis=2, keepdims=True),
            n_iter=n_iter,
            converged=beliefs.converged and converged,
        )


# Budget of votes × classes × sweeps per fit (about 40 s of one core): larger data get fewer sweeps.
WORK = 3_600_000_000
# Fewer sweeps than this are not a usable sample.
LEAST_SWEEPS = 50


@dataclass(frozen=True, kw_only=True)
class Gibbs(Aggregator):
    """Gibbs: the posterior of Bayesian Dawid-Skene by sampling, with matrices and class prior integrated out.

        p(z_i = k | all else) ∝ (prior_class + n_k) Π_w (prior[k, y_iw] + C[w, k, y_iw]) / (Σ_l prior[k, l] + C[w, k,
        l])

    with n and C counted without task i. Kim & Ghahramani (2012), AISTATS, proceedings.mlr.press/v22/kim12.html
    (their sampler, collapsed). Each task's posterior is the mean of its conditionals, which has a lower variance than
    the frequencies of its samples. Unlike `ibcc` it does not treat tasks as independent given the beliefs, so its
    confidence is well calibrated on little data. Fails by being slow, and by staying in one mode where the data allow
    several: prior_diagonal > prior_off keeps it at the one where workers are right.

    `burn_in` sweeps (200) are discarded, `n_sweeps` (1000) are averaged; large data get fewer of both.

    `prior_diagonal` (4, above `prior_off`), `prior_off` (1) and `prior_class` (1), at least 0.05, as in `ibcc`.

    Args:
        n_sweeps: Number of sweeps that are averaged; the random error falls as 1 / √n_sweeps. Large data get fewer.
        burn_in: Number of first sweeps that are discarded; more reduce the influence of the start, the majority vote.
        prior_diagonal: Pseudo-count of the right label in every row of a worker's matrix; must be above `prior_off`,
            and larger values assume more accurate workers.
        prior_off: Pseudo-count of each wrong label in every row; larger values assume less accurate workers.
        prior_class: Pseudo-count of each class; larger values make the class frequencies more equal.

    >>> import crowdwise as cw
    >>> votes = cw.Annotations.from_arrays([1, 1, 2, 2], ["a", "b", "a", "b"], ["x", "x", "y", "y"])
    >>> Gibbs(n_sweeps=300).fit(votes).to_table()["label"].to_list()
    ['x', 'y']
    """

    name: ClassVar[str] = "gibbs"
    n_sweeps: Count = 1000
    burn_in: Whole = 200
    prior_diagonal: PriorCount = 4.0
    prior_off: PriorCount = 1.0
    prior_class: PriorCount = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.prior_diagonal <= self.prior_off:
            raise ParameterError(
                f"prior_diagonal must be above {self.prior_off:g}, prior_off, got {self.prior_diagonal!r}"
            )

    def solve(self, annotations: Annotations, gold: GoldLabels | None, options: SolveOptions) -> Solution:
        """Run sweeps from the majority vote; `trace` is Σ log p(a task's votes | all else), which fluctuates."""
        order = ClassOrder.of(annotations, gold)
        chain = Chain(
            annotations, SamplerRows.of(annotations, order), order.ranked_gold(gold, annotations.n_tasks), self
        )
        burn_in, n_sweeps = self.plan(len(annotations) * annotations.n_classes)
        rng = np.random.default_rng(self.seed)
        trace = []
        for sweep in range(burn_in + n_sweeps):
            if sweep == burn_in:
                chain.reset_sums()
            trace.append(chain.sweep(rng))
            if options.callback is not None:
                options.callback(sweep + 1, trace[-1])
        posterior = order.invert(chain.posterior())
        counts = stats_of(Workspace.of(annotations), posterior).counts
        return Solution(
            posterior=posterior,
            class_prior=order.invert(chain.class_sum / chain.n_sweeps),
            confusion=order.invert_confusion(chain.confusion()),
            counts=transposed(counts),
            trace=np.array(trace),
            n_iter=burn_in + n_sweeps,
            extra={"n_sweeps": n_sweeps, "burn_in": burn_in},
        )

    def plan(self, work: int) -> tuple[int, int]:
        """Return (burn_in, n_sweeps) as requested, or scaled down in proportion to what WORK allows."""
        requested = self.burn_in + self.n_sweeps
        total = min(requested, WORK // max(work, 1))
        if total < min(requested, LEAST_SWEEPS):
            raise DataError(
                f"{work:,} votes × classes leave gibbs {total} sweeps, too few for a sample; "
                "ibcc fits the same model to data of any size"
            )
        burn_in = self.burn_in * total // requested
        return burn_in, total - burn_in


class Chain:
    """The sampler's state, with classes by rank: z, its counts, and the sums that become means."""

    def __init__(self, votes: Annotations, rows: SamplerRows, gold: I4, method: Gibbs) -> None:
        k, m = votes.n_classes, votes.n_workers
        self.rows, self.gold, self.prior_class = rows, gold, method.prior_class
        self.prior = diagonal_prior(k, method.prior_diagonal, method.prior_off)  # observed, true
        weight = rows.weight if len(rows.weight) else np.ones(len(rows.task))
        counts = np.bincount(rows.task * np.int64(k) + rows.label, weights=weight, minlength=len(gold) * k)
        is_gold, has_votes = gold < k, np.diff(rows.offset) > 0
        self.z = np.where(is_gold, gold, counts.reshape(-1, k).argmax(axis=1)).astype(np.int64)
        # Tasks without labels are integrated out: they follow the class prior and carry no information.
        self.free = np.flatnonzero(~is_gold & has_votes)
        self.mass = np.bincount(self.z[is_gold | has_votes], minlength=k).astype(np.float64)
        self.cell = rows.worker * np.int64(k) + rows.label
        self.counts = _count_classes(self.cell, self.z[rows.task], weight, m * k, k)
        self.total = _count_classes(rows.worker, self.z[rows.task], weight, m, k)
        self.q = np.zeros((len(gold), k))
        self.reset_sums()

    def reset_sums(self) -> None:
        """Restart the averages."""
        self.n_sweeps = 0
        self.q[:] = 0.0
        self.class_sum = np.zeros(len(self.mass))
        self.row_sum = np.zeros((len(self.counts) // len(self.mass) ** 2, *self.prior.shape))

    def sweep(self, rng: np.random.Generator) -> float:
        """Sample every free task once, with one random number each; return the log score."""
        from ..maths.sampling import GibbsVotes, Prior, State, gibbs_sweep

        b = self.rows
        votes = GibbsVotes(b.offset, self.cell, b.worker, b.label, b.weight, b.before)
        prior = Prior(self.prior.ravel(), self.prior.sum(axis=0), float(self.prior_class))
        state = State(self.z, self.counts, self.total, self.mass, self.q)
        score = gibbs_sweep(self.free, rng.random(len(self.free)), votes, prior, state)
        self.n_sweeps += 1
        belief = self.mass + self.prior_class
        self.class_sum += belief / belief.sum()
        row_beliefs = self.counts.reshape(self.row_sum.shape) + self.prior
        self.row_sum += row_beliefs / (self.total.reshape(len(row_beliefs), 1, -1) + self.prior.sum(axis=0))
        return float(score)

    def posterior(self) -> F8:
        """Return the mean conditionals, with certainty on gold and the class prior on tasks without labels."""
        k = len(self.mass)
        out = np.tile(self.class_sum / self.n_sweeps, (len(self.gold), 1))
        out[self.free] = self.q[self.free] / self.n_sweeps
        gold_tasks = np.flatnonzero(self.gold < k)
        out[gold_tasks] = np.eye(k)[self.gold[gold_tasks]]
        return np.asarray(out)

    def confusion(self) -> F8:
        """Return the mean matrices, [worker, true, observed]."""
        rows = self.row_sum.transpose(0, 2, 1) / self.n_sweeps
        return np.ascontiguousarray(rows / rows.sum(axis=2, keepdims=True))


def _count_classes(cell: npt.NDArray[np.integer], z: I8, weight: F8, n: int, k: int) -> F8:
    """Return the summed weight of each (cell, true class), flat."""
    return np.bincount(cell * np.int64(k) + z, weights=weight, minlength=n * k).astype(np.float64)


@dataclass(frozen=True, kw_only=True)
class IBCC(BayesAggregator):
    """IBCC: independent Bayesian classifier combination, Dawid-Skene with posteriors over parameters.

        z_i ~ Cat(d),   y_iw | z_i = k ~ Cat(A[w, k]),   A[w, k] ~ Dir(prior_off + (prior_diagonal - prior_off) e_k),
        d ~ Dir(prior_class)

    Kim & Ghahramani (2012), Bayesian classifier combination, AISTATS, proceedings.mlr.press/v22/kim12.html;
    variational form: Simpson et al. (2013), doi:10.1007/978-3-642-36406-8_1. A worker with few labels stays near the
    prior, so it is safer than `dawid_skene` where labels are scarce. Fails where the prior is wrong for many workers:
    with K classes a spammer is recognised only after about (prior_diagonal - prior_off) · K labels (web: .75 against
    .82 of `dawid_skene`). It also fails with workers who copy each other.

    The objective is the evidence lower bound.

    `prior_diagonal` (4) and `prior_off` (1) are pseudo-counts of the right and of each wrong label in every row of
    a worker's matrix, `prior_class` (1) of each class; all at least 0.05.

    >>> import crowdwise as cw
    >>> votes = cw.Annotations.from_arrays([1, 1, 2, 2], ["a", "b", "a", "b"], ["x", "x", "y", "y"])
    >>> IBCC().fit(votes).confusion[0].round(2)
    array([[0.83, 0.17],
           [0.17, 0.83]])
    """

    name: ClassVar[str] = "ibcc"


@dataclass(frozen=True, kw_only=True)
class MeanField(ConfusionAggregator):
    """Mean field: variational Bayes with the class prior held fixed, with one or two coins per worker.

        two:  y_iw | z_i = k ~ Cat(A[w, k]),   A[w, k] ~ Dir(prior_off + (prior_diagonal - prior_off) e_k)
        one:  y_iw = z_i with probability p[w], else any other class,   p[w] ~ Beta(prior_diagonal, prior_off)

    Liu, Peng & Ihler (2012), Variational inference for crowdsourcing, NIPS 25. It differs from EM in one place, the
    digamma function instead of the logarithm, which makes it rely on workers with many labels. Fails under a
    misspecified prior: with Beta(2, 1.4) assumed for Beta(2, 1) and one guesser who labels every task, it follows the
    guesser (accuracy .50 on a sparse binary graph), and it is overconfident on sparse graphs.

    `coin` is "two" (a matrix per worker) or "one" (an accuracy per worker); `prior_diagonal` (2) and `prior_off` (1),
    at least 0.05, are the pseudo-counts of right and wrong labels. `class_prior` is one probability per class, in
    class order (None: uniform).

    Args:
        coin: "two" for a confusion matrix per worker, "one" for a single accuracy with uniform errors.
        prior_diagonal: Pseudo-count of right labels, per row of a matrix or of the one accuracy; larger values assume
            more accurate workers.
        prior_off: Pseudo-count of each wrong label per row of a matrix, or of all wrong labels of the one accuracy;
            larger values assume less accurate workers.
        class_prior: Fixed probability of each class, in the order of the classes; None is uniform.

    >>> import crowdwise as cw
    >>> votes = cw.Annotations.from_arrays([1, 1, 2, 2], ["a", "b", "a", "b"], ["x", "x", "y", "y"])
    >>> MeanField(coin="one").fit(votes).class_prior
    array([0.5, 0.5])
    """

    name: ClassVar[str] = "mean_field"
    coin: Literal["two", "one"] = "two"
    prior_diagonal: PriorCount = 2.0
    prior_off: PriorCount = 1.0
    class_prior: Annotated[tuple[float, ...], Proportions()] | None = None

    def model(self, shape: VotesShape) -> ConfusionModel:
        """Return the model with beliefs over workers only."""
        k = shape.n_classes
        class_prior = np.full(k, 1 / k) if self.class_prior is None else np.asarray(self.class_prior, dtype=np.float64)
        if len(class_prior) != k:
            raise ParameterError(f"class_prior has {len(class_prior)} entries and the data have {k} classes")
        class_prior = class_prior / class_prior.sum()
        if self.coin == "one":
            return OneCoinBeliefs(np.array([self.prior_diagonal, self.prior_off]), class_prior)
        return FixedClasses(diagonal_prior(k, self.prior_diagonal, self.prior_off), class_prior)

    def learn(self, data: PartitionedVotes, options: SolveOptions) -> FitState:
        """Return the fit with the highest ELBO over the starts."""
        return bayes_fit_state(*self.search(data, options))


class FixedClasses(BayesModel):
    """Beliefs over matrices, with fixed class probabilities."""

    def __init__(self, prior: F8, probabilities: F8) -> None:
        super().__init__(prior, 0.0)
        self.probabilities = probabilities

    def classes(self, mass: F8) -> tuple[F8, F8, float]:  # noqa: ARG002
        """Return the fixed probabilities, whatever the data."""
        return self.probabilities, self.probabilities, 0.0


class OneCoinBeliefs(FixedClasses):
    """Beliefs over one accuracy per worker, Beta(right, wrong), with wrong labels uniform over the K - 1 other classes.

    The prior is the pair of Beta parameters, or one pair per worker.
    """

    def with_history(self, history: F8 | None) -> Self:
        """Return the same model with right and wrong labels of earlier projects added to the Beta parameters."""
        if history is None:
            return self
        right = np.einsum("wkk->w", history)
        return super().with_history(np.stack([right, history.sum(axis=(1, 2)) - right], axis=1))

    def rows(self, counts: F8) -> tuple[F8, F8, float]:
        """Return the matrices of exp E log p and exp E log (1 - p), their means, and the divergence."""
        k = counts.shape[1]
        right = np.einsum("wkk->w", counts)
        wrong = np.maximum(counts.sum(axis=(1, 2)) - right, 0.0)
        prior = np.broadcast_to(self.prior, (len(right), 2))
        belief = prior + np.stack([right, wrong], axis=1)  # worker, (right, wrong)
        share = np.array([1.0, 1.0 / max(k - 1, 1)])
        theta = _coin(np.exp(log_mean(belief, axis=1)) * share, k)
        mean = _coin(belief / belief.sum(axis=1, keepdims=True) * share, k)
        if k == 1:
            mean = np.ones_like(mean)
        return theta, mean, divergence(belief, prior, axis=1)


def _coin(pair: F8, k: int) -> F8:
    """Return (right, each wrong) of every worker as a matrix."""
    return even(pair[:, 0, None, None], pair[:, 1, None, None], k)
