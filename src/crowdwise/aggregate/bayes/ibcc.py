"""IBCC: Dawid-Skene with beliefs instead of estimates, by variational Bayes.

    z_i ~ Cat(d),   y_iw | z_i = k ~ Cat(A[w, k]),   A[w, k] ~ Dir(prior_off + (prior_diagonal - prior_off) e_k),
    d ~ Dir(prior_class)

Kim & Ghahramani (2012), Bayesian classifier combination, AISTATS, proceedings.mlr.press/v22/kim12.html; variational
form: Simpson et al. (2013), doi:10.1007/978-3-642-36406-8_1. A worker with few labels stays near the prior, so it
is safer than `dawid_skene` where labels are scarce.
Fails where the prior is wrong for many: with K classes a spammer needs about (prior_diagonal - prior_off) · K labels
before it shows (web: .75 against .82 of `dawid_skene`), and with workers who copy each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .base import BayesAggregator


@dataclass(frozen=True, kw_only=True)
class IBCC(BayesAggregator):
    """Independent Bayesian classifier combination; its objective is the evidence lower bound.

    `prior_diagonal` (4) and `prior_off` (1) are pseudo-counts of the right and of each wrong label in every row of
    a worker's matrix, `prior_class` (1) of each class; all at least 0.05.

    >>> import crowdwise as cw
    >>> votes = cw.Annotations.from_arrays([1, 1, 2, 2], ["a", "b", "a", "b"], ["x", "x", "y", "y"])
    >>> IBCC().fit(votes).confusion[0].round(2)
    array([[0.83, 0.17],
           [0.17, 0.83]])
    """

    name: ClassVar[str] = "ibcc"
