"""BayesDGC: beliefs over class prior and confusions, by natural-gradient steps beside the classifier's.

    log q_i(k) = E log d_k + log softmax_k(gamma(x_i)) + sum_w E log confusion[w, k, y_iw]     (eq. 14; + constant)
    class_belief     += rho (prior_class + N / B sum_batch q_i              - class_belief)    (eq. 17)
    belief[w, k, l]  += rho (prior[k, l] + N_w / B_w sum_batch q_i(k) [y_iw = l] - belief)     (eq. 18)
    gamma ascends J = sum_i log sum_k exp(the right side of eq. 14), whose gradient is q - softmax(gamma)

The printed eq. 14 sums over i and drops a logarithm; this is its correct form. q is the best response to every gamma,
so the second term of eq. 16 vanishes and the gradient of J is that of -KL(q || softmax gamma) with q held. The step is
an ascent: a re-implementation with the sign turned drifts away from the counts. rho_t = (t + tau)^-kappa, t from 1 on;
at kappa = 0 and a full batch the step is coordinate ascent, `deep_mf` with a learnt class prior.
The paper's class prior d (`use_pi=True`) stands beside f, which knows the classes' frequencies too: counted twice, a
frequent class grows at each round, until f gives nothing else. Fails where the prior misjudges many workers.
Li, Huang & Chen 2021, doi:10.1007/s11432-020-3118-7.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ....aggregate.bayes.base import PriorCount
from ....core.params import NonNegative, Share
from ...feeding.batch import CrowdBatch
from ...feeding.crowd import Crowd
from ...method import CrowdMethod, Defaults, Output
from ...simplex import diagonal_matrix, log_mean
from ...tables import said_log_mean
from ...training.processes import add_up, gather


class BayesDGC(CrowdMethod):
    """`prior_diagonal`, `prior_off`, `prior_class` are Dirichlet parameters, at least 0.05.

    `tau` >= 0 and `kappa` in [0, 1] set the step rho; `use_pi=True` adds the paper's class prior, which
    the classifier knows already; without it eq. 17 is only kept as a record.
    """

    name = "bayes_dgc"
    defaults = Defaults(epochs=100, batch_size=64, lr=1e-3)
    belief: Tensor
    class_belief: Tensor
    prior: Tensor
    labels_of: Tensor
    n_labelled: Tensor
    steps: Tensor

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
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))

    def score(self, out: Output, batch: CrowdBatch) -> Tensor:
        """The right side of eq. 14: B, K."""
        found = out.log_proba + batch.sum_by_task(said_log_mean(self.belief, batch))
        return found + log_mean(self.class_belief) if self.use_pi else found

    def loss(self, out: Output, batch: CrowdBatch) -> dict[str, Tensor]:
        """Minus J, the bound with every q at its best."""
        score = self.score(out, batch)
        self._score = score.detach()
        return {"bound": -batch.mean_over_tasks(torch.logsumexp(score, dim=1))}

    def end_step(self, batch: CrowdBatch) -> None:
        """The natural-gradient step of both beliefs (eq. 17 and 18), over the whole batch, of the workers in it."""
        if self._score is None:
            return
        q = torch.softmax(self._score, dim=1)
        rho = float(self.steps + 1 + self.tau) ** -self.kappa
        self._score = None
        mass, n = add_up(q.sum(0)), add_up(torch.tensor(float(len(q)), device=q.device))
        self.class_belief.lerp_(self.prior_class + self.n_labelled / n * mass, rho)
        said, worker, label, weight = map(gather, (q[batch.row], batch.worker, batch.label, batch.weight))
        found, place = torch.unique(worker, return_inverse=True)
        # Scaled by the worker's own labels, not by N / B: the same mean, and a rare worker does not jump.
        scale = self.labels_of[found] / weight.new_zeros(len(found)).index_add_(0, place, weight).clamp_min(1e-12)
        new = self.belief[found].lerp_(self.prior, rho).transpose(1, 2).contiguous()  # worker, observed, true
        counts = (rho * scale[place] * weight)[:, None].to(q) * said
        new.view(-1, self.n_classes).index_add_(0, place * self.n_classes + label, counts)
        self.belief[found] = new.transpose(1, 2)
        self.steps += 1

    def posterior(self, out: Output, batch: CrowdBatch) -> Tensor:
        """Eq. 14, normalised."""
        return torch.softmax(self.score(out, batch), dim=1)

    def confusion(self) -> Tensor:
        """The mean of the beliefs."""
        return self.belief / self.belief.sum(2, keepdim=True)
