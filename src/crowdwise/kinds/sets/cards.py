"""Methods for label sets."""

from __future__ import annotations

from ...core.card import Card, card

METHODS: dict[str, Card] = dict(
    [
        card(
            "joint_sets",
            "sets.methods:JointSets",
            "sets",
            "hits and false alarms per worker and class with shared priors",
            "Carpenter 2008, Multilevel Bayesian models of categorical data annotation",
            can="infer monotone",
            takes="sets",
        ),
        card(
            "set_majority",
            "sets.methods:SetMajority",
            "sets",
            "classes named by enough answers",
            "folklore",
            can="infer",
            takes="sets",
        ),
        card(
            "set_coin",
            "sets.methods:SetCoin",
            "sets",
            "one hit rate and one false-alarm rate per worker, by EM",
            "Raykar et al. 2010, jmlr v11/raykar10a",
            can="infer monotone",
            takes="sets",
        ),
        card(
            "binary_relevance",
            "sets.methods:BinaryRelevance",
            "sets",
            "each class separately, by any method for classes",
            "Boutell et al. 2004, doi:10.1016/j.patcog.2004.03.009",
            can="infer",
            takes="sets",
        ),
    ]
)
