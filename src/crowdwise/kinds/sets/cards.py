"""Methods for label sets."""

from __future__ import annotations

from ...core.card import Card, card

METHODS: dict[str, Card] = dict(
    [
        card(
            "joint_sets",
            "sets.methods:JointSets",
            "sets",
            "hits and false alarms of each class, shared over classes and workers",
            "Carpenter 2008, Multilevel Bayesian models of categorical data annotation",
            can="infer monotone",
            takes="sets",
        ),
        card(
            "set_majority",
            "sets.methods:SetMajority",
            "sets",
            "classes that enough answers name",
            "folklore",
            can="infer",
            takes="sets",
        ),
        card(
            "set_coin",
            "sets.methods:SetCoin",
            "sets",
            "one rate of hits and one of false alarms per worker, by EM",
            "Raykar et al. 2010, jmlr v11/raykar10a",
            can="infer monotone",
            takes="sets",
        ),
        card(
            "binary_relevance",
            "sets.methods:BinaryRelevance",
            "sets",
            "each class by itself, by any method for classes",
            "Boutell et al. 2004, doi:10.1016/j.patcog.2004.03.009",
            can="infer",
            takes="sets",
        ),
    ]
)
