"""BayesGC: the crowd's half of BayesDGC, which is IBCC under a flatter prior.

    z_i ~ Cat(d),   y_iw | z_i = k ~ Cat(A[w, k]),   A[w, k] ~ Dir(2 + 3 e_k),   d ~ Dir(1.1)

Li, Huang & Chen (2021), Crowdsourcing aggregation with deep Bayesian learning, Science China Information Sciences
64, doi:10.1007/s11432-020-3118-7: the model without its network, by variational Bayes.
Fails as `ibcc` does, sooner: with K classes its prior rows are 5 / (5 + 2 (K - 1)) right, near guessing for large K,
and a spammer is recognised late (web: .73).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .base import BayesAggregator, PriorCount


@dataclass(frozen=True, kw_only=True)
class BayesGC(BayesAggregator):
    """IBCC with pseudo-counts 5 on the diagonal, 2 off it and 1.1 for each class.

    All three are at least 0.05; see `ibcc` for their meaning.

    >>> import crowdwise as cw
    >>> votes = cw.Annotations.from_arrays([1, 1, 2, 2], ["a", "b", "a", "b"], ["x", "x", "y", "y"])
    >>> BayesGC().fit(votes).to_table()["label"].to_list()
    ['x', 'y']
    """

    name: ClassVar[str] = "bayes_gc"
    prior_diagonal: PriorCount = 5.0
    prior_off: PriorCount = 2.0
    prior_class: PriorCount = 1.1
