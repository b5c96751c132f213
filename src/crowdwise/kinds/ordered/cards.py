"""Methods for classes with an order."""

from __future__ import annotations

from ...core.card import Card, card

METHODS: dict[str, Card] = dict(
    [
        card(
            "ordinal_committee",
            "ordered.methods:OrdinalCommittee",
            "ordered",
            "six unlike methods averaged, three know the order",
            "Stone 1961, doi:10.1214/aoms/1177704873",
            needs="order",
            can="confusion single",
        ),
        card(
            "ordinal_types",
            "ordered.methods:OrdinalTypes",
            "ordered",
            "a bias and a scale of each worker on the ladder of classes",
            "Samejima 1969, Psychometrika Monograph 17",
            needs="order",
            can="infer confusion monotone shard",
        ),
        card(
            "ordinal_prior",
            "ordered.methods:OrdinalPrior",
            "ordered",
            "confusion matrices that shrink to the worker's ladder",
            "Minka 2000, Estimating a Dirichlet distribution",
            needs="order",
            can="infer confusion monotone shard",
        ),
        card(
            "ordinal_split",
            "ordered.methods:OrdinalSplit",
            "ordered",
            "one question with two answers for each step",
            "Raykar et al. 2010, jmlr v11/raykar10a",
            needs="order",
            can="confusion single",
        ),
    ]
)
