"""Deep EM and related methods: the posterior of every task given classifier and crowd is the classifier's target.

    E   log q_i(k) = log f_k(x_i) + sum_w log confusion[w, k, y_iw]           (+ constant)
    M   confusion[w, k, l] ∝ sum_i q_i(k) [y_iw = l] + smoothing,   f minimises -sum_i sum_k q_i(k) log f_k(x_i)

One E-step before each epoch, from the soft majority vote. With a linear net it is Raykar's method (`raykar`).
Fails where workers copy each other (their votes multiply); with one label per task it becomes vanilla training.
Albarqouni et al. 2016, doi:10.1109/TMI.2016.2528120; Raykar et al. 2010, jmlr v11/raykar10a.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from .....core.errors import ParameterError
from .....core.params import AtLeast, Count, NonNegative, Positive, PositiveShare, Share, Whole
from .....learn.data.batch import CrowdBatch
from .....learn.data.crowd import Crowd
from .....learn.em import EMMethod, WarmUp
from .....learn.method import CrowdMethod, Defaults, Output
from .....learn.simplex import clip_simplex, diagonal_matrix, log_mean, rows_to_one
from .....learn.training.processes import gather, sum_over_processes
from .....learn.training.sweep import Part, Sweep
from ...maths.messages import Nodes, VoteEdges, propagate
from ...methods.bayes import BeliefPropagation, Damping, Prior, PriorCount
from ..tables import annotations_of, expected_log_likelihood

# Steps of a warm-up: with Adam at 1e-3 a net has learnt most of what clear targets teach within 50 of them.
WARM_UP = 50


class AggNet(EMMethod):
    """AggNet, deep EM: classifier, posteriors and confusion matrices in turn.

    `smoothing` pseudo-counts keep confusion matrices positive; `inner` is the number of epochs between two E-steps.
    """

    name = "agg_net"
    defaults = Defaults(epochs=50, batch_size=64, lr=1e-3)
    matrices: Tensor
    pseudo: Tensor

    def __init__(self, crowd: Crowd, *, smoothing: NonNegative = 0.01, inner: Count = 1) -> None:
        super().__init__(crowd)
        self.inner = inner
        self.register_buffer("pseudo", diagonal_matrix(crowd.n_classes, smoothing, smoothing), persistent=False)
        self.register_buffer("matrices", self._m_step(crowd))

    def begin_epoch(self, sweep: Sweep) -> None:
        """E-step with the current classifier, and the corresponding confusion matrices."""
        if sweep.epoch == 0 or sweep.epoch % self.inner:
            return
        log = self.matrices.log()
        counts = self.renew(sweep, lambda part: part.log_proba + part.crowd.evidence(log))
        self.matrices = rows_to_one(counts + self.pseudo)

    def confusion(self) -> Tensor:
        """Confusion matrices of the last M-step."""
        return self.matrices

    def _m_step(self, crowd: Crowd) -> Tensor:
        return rows_to_one(crowd.counts(self.target) + self.pseudo)


class BayesDGC(WarmUp, CrowdMethod):
    """BayesDGC: beliefs over class prior and confusion matrices, updated by natural-gradient steps.

        log q_i(k) = E log d_k + log softmax_k(gamma(x_i)) + sum_w E log confusion[w, k, y_iw]     (eq. 14; + constant)
        class_belief     += rho (prior_class + N / B sum_batch q_i              - class_belief)    (eq. 17)
        belief[w, k, l]  += rho (prior[k, l] + N_w / B_w sum_batch q_i(k) [y_iw = l] - belief)     (eq. 18)
        gamma ascends J = sum_i log sum_k exp(the right side of eq. 14), whose gradient is q - softmax(gamma)

    Eq. 14 as printed sums over i and drops a logarithm; this is its correct form. q is the best response to every
    gamma, so the second term of eq. 16 vanishes and the gradient of J is that of -KL(q || softmax gamma) with fixed q.
    The step is an ascent: a re-implementation with the opposite sign moves away from the counts. rho_t = (t +
    tau)^-kappa, t from 1 on; with kappa = 0 and a full batch the step is coordinate ascent, `deep_mf` with a learned
    class prior. The paper's class prior d (`use_pi=True`) is redundant with f, which learns the class frequencies too:
    they count twice, and a frequent class grows in every round until f predicts nothing else. Fails where the prior is
    wrong for many workers. Li, Huang & Chen 2021, doi:10.1007/s11432-020-3118-7.

    `prior_diagonal`, `prior_off`, `prior_class` are Dirichlet parameters, at least 0.05.

    `tau` >= 0 and `kappa` in [0, 1] set the step size rho; `use_pi=True` adds the paper's class prior; without it,
    eq. 17 has no effect on the posterior.

    `warm_up` is the number of steps in which the labels alone decide; over as many further steps the classifier gains
    its weight. The paper has none (0), and then an untrained classifier may exchange classes.
    """

    name = "bayes_dgc"
    defaults = Defaults(epochs=100, batch_size=64, lr=1e-3)
    belief: Tensor
    class_belief: Tensor
    prior: Tensor
    labels_of: Tensor
    n_labelled: Tensor

    def __init__(
        self,
        crowd: Crowd,
        *,
        prior_diagonal: PriorCount = 5.0,
        prior_off: PriorCount = 2.0,
        prior_class: PriorCount = 1.1,
        use_pi: bool = False,
        tau: NonNegative = 1.0,
        kappa: Share = 0.7,
        warm_up: Whole = WARM_UP,
    ) -> None:
        super().__init__(crowd)
        self.prior_class, self.use_pi, self.tau, self.kappa = prior_class, use_pi, tau, kappa
        self._score: Tensor | None = None
        votes = crowd.soft_majority
        labels_of = torch.zeros(crowd.n_workers).index_add(0, crowd.worker, crowd.weight)
        self.register_buffer("prior", diagonal_matrix(crowd.n_classes, prior_diagonal, prior_off), persistent=False)
        self.register_buffer("belief", (self.prior + crowd.counts(votes)).contiguous())  # worker, true, observed
        self.register_buffer("class_belief", prior_class + votes[crowd.labelled].sum(0))
        self.register_buffer("labels_of", labels_of)
        self.register_buffer("n_labelled", crowd.labelled.sum().float())
        self.start_warm_up(warm_up)

    def score(self, out: Output, batch: CrowdBatch) -> Tensor:
        """Right-hand side of eq. 14, with the trust in the classifier: B, K."""
        score = self.trust * out.log_proba + batch.sum_by_task(expected_log_likelihood(self.belief, batch))
        return score + log_mean(self.class_belief) if self.use_pi else score

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Negative J, the bound at the optimal q."""
        score = self.score(out, batch)
        self._score = score.detach()
        bound, trust = torch.logsumexp(score, dim=1), self.trust
        if trust == 0:  # q does not depend on f
            bound = (torch.softmax(score, dim=1) * out.log_proba).sum(1)
        elif trust < 1:  # its gradient in gamma is again q - softmax(gamma)
            bound = (bound - torch.logsumexp(score.detach() - trust * out.log_proba.detach(), dim=1)) / trust
        return {"bound": -batch.mean_over_tasks(bound)}

    def end_step(self, batch: CrowdBatch) -> None:
        """Natural-gradient step of both beliefs (eq. 17 and 18), for the workers in the batch."""
        if self._score is None:
            return
        q = torch.softmax(self._score, dim=1)
        rho = float(self.steps + 1 + self.tau) ** -self.kappa
        self._score = None
        mass, n = sum_over_processes(q.sum(0)), sum_over_processes(torch.tensor(float(len(q)), device=q.device))
        self.class_belief.lerp_(self.prior_class + self.n_labelled / n * mass, rho)
        posterior, worker, label, weight = map(gather, (q[batch.row], batch.worker, batch.label, batch.weight))
        workers, worker_index = torch.unique(worker, return_inverse=True)
        # Scale by the worker's labels instead of N / B: the same mean, with smaller steps for workers with few labels.
        scale = self.labels_of[workers] / weight.new_zeros(len(workers)).index_add_(0, worker_index, weight).clamp_min(
            1e-12
        )
        new = self.belief[workers].lerp_(self.prior, rho).transpose(1, 2).contiguous()  # worker, observed, true
        counts = (rho * scale[worker_index] * weight)[:, None].to(q) * posterior
        new.view(-1, self.n_classes).index_add_(0, worker_index * self.n_classes + label, counts)
        self.belief[workers] = new.transpose(1, 2)
        self.steps += 1

    def posterior(self, out: Output, batch: CrowdBatch) -> Tensor:
        """Eq. 14, normalised."""
        return torch.softmax(self.score(out, batch), dim=1)

    def confusion(self) -> Tensor:
        """The mean of the beliefs."""
        return self.belief / self.belief.sum(2, keepdim=True)


class DeepMF(WarmUp, EMMethod):
    """deepMF: deep EM with beliefs over confusion matrices and a classifier with bounded confidence.

        h = clip(f(x), c)                                                                       (section 3.3)
        log q_i(k) = log h_k(x_i) + sum_w E log confusion[w, k, y_iw]      (+ constant)         (eq. 16)
        belief[w, k, l] = prior[k, l] + sum_i q_i(k) [y_iw = l]                                 (eq. 29)
        f minimises KL(q || f)                                                                  (eq. 30)

    With point beliefs and one label per task its steps are those of `ccem`, and with prior < 1 on the diagonal those
    of the log-trace (appendix C). Like every mean field, it fails with an unsuitable prior if a worker labels
    everything at random: see `deep_bp`. Kim, Cho, Kim & Ok 2022, Robust deep learning from crowds with belief
    propagation, AISTATS.

    `prior_diagonal` and `prior_off` are pseudo-counts of right and of each wrong label, at least 0.05.

    `clip` bounds the classifier's probabilities in the E-step: 1 trusts it fully, 1 / classes ignores it. `warm_up` is
    the number of steps in which the labels alone decide; over as many further steps h gains its weight. The paper has
    none (0), and then an untrained classifier may exchange classes.
    """

    name = "deep_mf"
    defaults = Defaults(epochs=200, batch_size=None, lr=1e-3)
    belief: Tensor
    prior: Tensor

    def __init__(
        self,
        crowd: Crowd,
        *,
        prior_diagonal: PriorCount = 2.0,
        prior_off: PriorCount = 1.0,
        clip: Share = 0.9,
        warm_up: Whole = WARM_UP,
    ) -> None:
        super().__init__(crowd)
        self.start_warm_up(warm_up)
        self.clip = check_clip(clip, crowd.n_classes)
        self.register_buffer("prior", diagonal_matrix(crowd.n_classes, prior_diagonal, prior_off), persistent=False)
        self.register_buffer("belief", self.prior + crowd.counts(crowd.soft_majority))

    def begin_epoch(self, sweep: Sweep) -> None:
        """E-step with the clipped classifier, then the beliefs in closed form."""
        expected = log_mean(self.belief)

        def log_posterior(part: Part) -> Tensor:  # eq. 16
            return self._log_h(part.log_proba) + part.crowd.evidence(expected)

        self.belief = self.prior + self.renew(sweep, log_posterior)  # eq. 29

    def posterior(self, out: Output, batch: CrowdBatch) -> Tensor:
        """Return eq. 16 for the tasks of the batch."""
        return torch.softmax(
            self._log_h(out.log_proba) + batch.sum_by_task(expected_log_likelihood(self.belief, batch)), dim=1
        )

    def end_step(self, batch: CrowdBatch) -> None:  # noqa: ARG002
        """Count the steps of the warm-up."""
        self.steps += 1

    def _log_h(self, log_proba: Tensor) -> Tensor:
        return self.trust * clip_simplex(log_proba.exp(), self.clip).clamp_min(1e-12).log()

    def confusion(self) -> Tensor:
        """The mean of the beliefs."""
        return self.belief / self.belief.sum(2, keepdim=True)


def check_clip(clip: float, n_classes: int) -> float:
    """Return the bound on the classifier's probabilities, 1 for a single class.

    Raises:
        ParameterError: If the bound is below 1 / n_classes.
    """
    if n_classes > 1 and clip < 1 / n_classes:
        raise ParameterError(f"clip must be at least {1 / n_classes:g}, 1 / classes, got {clip!r}")
    return clip if n_classes > 1 else 1.0


class DeepBP(WarmUp, EMMethod):
    """deepBP: belief propagation between tasks and workers, with the classifier as the prior of every task.

        h = clip(f(x), c),   q = BP(h, labels, prior)                      (algorithm 2; eq. 20 and 21)
        f minimises -sum_i sum_k q_i(k) log f_k(x_i)                       (eq. 23)

    The workers' confusion matrices are integrated out, exactly for Beta priors, so that a wrong prior and workers
    who label everything at random do little harm. Fails where many labels come from workers who are very different from
    the prior (one coin: errors spread evenly), and costs up to `max_iter` passes over all labels in every epoch. Kim,
    Cho, Kim & Ok 2022, Robust deep learning from crowds with belief propagation, AISTATS.

    `prior`, `prior_right`, `prior_wrong`, `hammer_accuracy`, `n_nodes`, `n_samples`, `max_iter`, `tol`, `damping`:
    as in the aggregator `belief_propagation`; `prior="dirichlet"` uses samples, the others are exact.

    `clip` bounds the classifier's probabilities in the inference. `loss_on_clipped=True` also trains on the clipped
    output, as the authors' code does. If the classifier is more confident than `clip`, two classes then have no
    gradient at all; of more classes the others still have one, among themselves. The forecaster uses the workers' mean
    confusion matrices under their beliefs; the posterior of the training tasks by propagation is `target`.

    `warm_up` is the number of steps in which the labels alone decide, as in `belief_propagation`; over as many further
    steps h gains its weight. The paper has none (0), and then an untrained classifier may exchange classes.
    """

    name = "deep_bp"
    defaults = Defaults(epochs=200, batch_size=None, lr=1e-3)
    matrices: Tensor

    def __init__(
        self,
        crowd: Crowd,
        *,
        prior: Prior = "one_coin",
        prior_right: Positive = 2.0,
        prior_wrong: Positive = 1.0,
        hammer_accuracy: PositiveShare = 0.95,
        n_nodes: Count | None = None,
        n_samples: Count = 400,
        max_iter: Count = 100,
        tol: NonNegative = 1e-3,
        damping: Damping = 0.0,
        clip: Share = 0.9,
        loss_on_clipped: bool = False,
        warm_up: Whole = WARM_UP,
        seed: Whole = 0,
    ) -> None:
        super().__init__(crowd)
        self.start_warm_up(warm_up)
        self.inference = BeliefPropagation(
            prior=prior, prior_right=prior_right, prior_wrong=prior_wrong, hammer_accuracy=hammer_accuracy,
            n_nodes=n_nodes, n_samples=n_samples, max_iter=max_iter, tol=tol, damping=damping, seed=seed,
        )  # fmt: skip
        self.clip, self.loss_on_clipped = check_clip(clip, crowd.n_classes), loss_on_clipped
        self.register_buffer("matrices", rows_to_one(crowd.counts(crowd.soft_majority) + 0.01))
        self._graph: tuple[VoteEdges, Nodes] | None = None

    def begin_epoch(self, sweep: Sweep) -> None:
        """Propagate from uniform messages with the clipped classifier (line 3 of algorithm 2)."""
        if self._graph is None or sweep.epoch == 0:
            annotations = annotations_of(sweep.crowd.to("cpu"))
            self._graph = VoteEdges.of(annotations), self.inference.nodes(annotations)
        edges, nodes = self._graph
        unary = self.trust * self._log_h(sweep.log_proba.double()).cpu().numpy()
        how = self.inference
        beliefs = propagate(edges, nodes, unary, max_iter=how.max_iter, tol=how.tol, damping=how.damping)
        self.target.copy_(torch.from_numpy(beliefs.posterior))
        mean = np.einsum("us,sto->uto", beliefs.belief, nodes.theta)
        self.matrices = rows_to_one(torch.from_numpy(mean).to(self.matrices))

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Cross-entropy to the posterior by propagation; the target carries no gradient."""
        return {
            "cross_entropy": self.cross_entropy(
                self._log_h(out.log_proba) if self.loss_on_clipped else out.log_proba, batch
            )
        }

    def posterior(self, out: Output, batch: CrowdBatch) -> Tensor:
        """Clipped classifier × mean confusion matrices under the workers' beliefs, normalised."""
        log_confusion = self.matrices.index_select(0, batch.present[0]).log()
        return torch.softmax(self.trust * self._log_h(out.log_proba) + batch.evidence(log_confusion), dim=1)

    def end_step(self, batch: CrowdBatch) -> None:  # noqa: ARG002
        """Count the steps of the warm-up."""
        self.steps += 1

    def confusion(self) -> Tensor:
        """Mean confusion matrices under the workers' beliefs."""
        return self.matrices

    def _log_h(self, log_proba: Tensor) -> Tensor:
        return clip_simplex(log_proba.exp(), self.clip).clamp_min(1e-12).log()


class MBEM(EMMethod):
    """MBEM: confusion matrices against the classifier's hard predictions, then a classifier trained from scratch.

        c_i = argmax_k f_k(x_i)                                             f trained on q, at first the vote shares
        confusion[w, k, l] = #(c_i = k, y_iw = l) / #(c_i = k),   d_k = share of c_i = k
        log q_i(k) = log d_k + sum_w log confusion[w, k, y_iw]              (f itself is left out; + constant)

    The final confusion matrices are consistent with f: the last step counts them against the predictions of the
    selected f. Works with one label per task, because f has many tasks of a worker. Fails where the first classifier,
    trained on the votes, is bad at some class, because its hard predictions determine the confusion matrices. Khetan,
    Lipton & Anandkumar 2018, arXiv:1712.04577, algorithm 1. Computed in log space; the authors' code multiplies
    probabilities.

    Model-bootstrapped EM: the epochs are divided among `rounds`, each starting at the net's initial weights.

    `smoothing` pseudo-counts keep confusion matrices positive; a class that is never predicted gets a uniform row.
    """

    name = "mbem"
    defaults = Defaults(epochs=100, batch_size=128, lr=1e-3)
    restarts = True
    matrices: Tensor

    def __init__(self, crowd: Crowd, *, rounds: Count = 2, smoothing: NonNegative = 0.01) -> None:
        super().__init__(crowd)
        self.rounds, self.smoothing = rounds, smoothing
        self.register_buffer("matrices", rows_to_one(crowd.counts(crowd.soft_majority) + smoothing))

    def begin_epoch(self, sweep: Sweep) -> None:
        """At the end of a round, compute confusion matrices and targets, and reset the net."""
        if sweep.epochs < self.rounds:
            raise ParameterError(f"mbem needs an epoch for each of its {self.rounds} rounds, got {sweep.epochs}")
        if sweep.epoch == 0 or sweep.epoch * self.rounds % sweep.epochs >= self.rounds:
            return  # of the epochs e in 1 .. E - 1, rounds - 1 are the first to reach a whole r · E / rounds
        class_prior = rows_to_one(self._count(sweep) + self.smoothing)
        log, log_prior = self.matrices.log(), class_prior.log()
        self.renew(sweep, lambda part: log_prior + part.crowd.evidence(log))
        sweep.restart()

    def finish(self, sweep: Sweep) -> None:
        """Compute the confusion matrices of the selected classifier."""
        self._count(sweep)

    def _count(self, sweep: Sweep) -> Tensor:
        """Compute confusion matrices against the predictions; return the labelled tasks predicted for each class."""
        counts, mass = self.target.new_zeros(self.n_workers, 1, 1), self.target.new_zeros(self.n_classes)
        for part in sweep.parts():
            predicted = F.one_hot(part.log_proba.argmax(1), self.n_classes).to(self.target.dtype)
            counts = counts + part.crowd.counts(predicted)
            mass = mass + predicted[part.crowd.labelled].sum(0)
        self.matrices = rows_to_one(counts + self.smoothing)
        return mass

    def confusion(self) -> Tensor:
        """Confusion matrices against the predictions; in training those of the previous round."""
        return self.matrices


FromOne = Annotated[float, AtLeast(1)]


class Raykar(AggNet):
    """Raykar's method: logistic regression and the workers' sensitivity and specificity, by EM with priors on both.

        f(x) = softmax(V x),  V ~ N(0, .)          confusion[w, k] ~ Dir(prior_off + (prior_diagonal - prior_off) e_k)
        E   q_i(k) ∝ f_k(x_i) prod_w confusion[w, k, y_iw]
        M   confusion[w, k, l] ∝ sum_i q_i(k) [y_iw = l] + prior - 1   (the mode),   V by gradient steps on q

    It is deep EM (`agg_net`) with priors; use it with `linear`. The Gaussian prior of V is the optimizer's weight
    decay. Fails like `agg_net`: workers who copy, one label per task. Raykar et al. 2010, jmlr v11/raykar10a (two
    classes, Beta priors; here any number of classes).

    `prior_diagonal` and `prior_off`, at least 1, are the Dirichlet parameters of right and of each wrong label.

    For two classes they are the Beta priors of sensitivity and specificity; 1 is the uniform prior.
    """

    name = "raykar"
    defaults = Defaults(epochs=100, batch_size=64, lr=1e-2, weight_decay=1e-4)

    def __init__(
        self, crowd: Crowd, *, prior_diagonal: FromOne = 2.0, prior_off: FromOne = 1.01, inner: Count = 1
    ) -> None:
        super().__init__(crowd, inner=inner)
        self.pseudo = diagonal_matrix(crowd.n_classes, prior_diagonal - 1, prior_off - 1)
        self.matrices = self._m_step(crowd)
