"""Raykar's method: logistic regression and every worker's sensitivity and specificity, by EM with priors on both.

    f(x) = softmax(V x),  V ~ N(0, .)          confusion[w, k] ~ Dir(prior_off + (prior_diagonal - prior_off) e_k)
    E   q_i(k) ∝ f_k(x_i) prod_w confusion[w, k, y_iw]
    M   confusion[w, k, l] ∝ sum_i q_i(k) [y_iw = l] + prior - 1   (the mode),   V by gradient steps on q

It is deep EM (`agg_net`) under priors; use it with `linear`. The Gaussian prior of V is the optimizer's weight decay.
Fails as `agg_net` does: workers who copy, one label per task.
Raykar et al. 2010, jmlr v11/raykar10a (two classes, Beta priors; here any number of classes).
"""

from __future__ import annotations

from typing import Annotated

from ....core.params import Count
from ....core.rules import AtLeast
from ...feeding.crowd import Crowd
from ...method import Defaults
from ...simplex import diagonal_matrix
from .agg_net import AggNet

FromOne = Annotated[float, AtLeast(1)]


class Raykar(AggNet):
    """`prior_diagonal` and `prior_off`, from 1 up, are the Dirichlet parameters of right and of each wrong label.

    For two classes they are the Beta priors of sensitivity and specificity; at 1 a prior says nothing.
    """

    name = "raykar"
    defaults = Defaults(epochs=100, batch_size=64, lr=1e-2, weight_decay=1e-4)

    def __init__(
        self, crowd: Crowd, *, prior_diagonal: FromOne = 2.0, prior_off: FromOne = 1.01, inner: Count = 1
    ) -> None:
        super().__init__(crowd, inner=inner)
        self.pseudo = diagonal_matrix(crowd.n_classes, prior_diagonal - 1, prior_off - 1)
        self.matrices = self._m_step(crowd)
