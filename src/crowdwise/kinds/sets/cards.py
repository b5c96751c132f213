"""Methods for label sets."""

from __future__ import annotations

from functools import partial

from ...core.card import Card, kind_card

card = partial(kind_card, "sets")
METHODS: dict[str, Card] = dict(
    [
        card(
            "joint_sets",
            "JointSets",
            "hits and false alarms per worker and class with shared priors",
            "Carpenter 2008, Multilevel Bayesian models of categorical data annotation",
            can="infer monotone",
        ),
        card("set_majority", "SetMajority", "classes named by enough answers", "folklore", can="infer"),
        card(
            "set_coin",
            "SetCoin",
            "one hit rate and one false-alarm rate per worker, by EM",
            "Raykar et al. 2010, jmlr v11/raykar10a",
            can="infer monotone",
        ),
        card(
            "binary_relevance",
            "BinaryRelevance",
            "each class separately, by any method for classes",
            "Boutell et al. 2004, doi:10.1016/j.patcog.2004.03.009",
            can="infer",
        ),
    ]
)
