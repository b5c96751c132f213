"""Methods for classes with an order."""

from __future__ import annotations

from functools import partial

from ...core.card import Card, kind_card

card = partial(kind_card, "ordered", takes="classes")
METHODS: dict[str, Card] = dict(
    [
        card(
            "ordinal_committee",
            "OrdinalCommittee",
            "average of six dissimilar methods, three of which use the order",
            "Stone 1961, doi:10.1214/aoms/1177704873",
            needs="order",
            can="confusion single",
        ),
        card(
            "ordinal_types",
            "OrdinalTypes",
            "a bias and a scale of each worker on the ordinal scale",
            "Samejima 1969, Psychometrika Monograph 17",
            needs="order",
            can="infer confusion monotone shard",
        ),
        card(
            "ordinal_prior",
            "OrdinalPrior",
            "confusion matrices shrunk to the worker's ordinal model",
            "Minka 2000, Estimating a Dirichlet distribution",
            needs="order",
            can="infer confusion monotone shard",
        ),
        card(
            "ordinal_split",
            "OrdinalSplit",
            "one binary problem per threshold between classes",
            "Raykar et al. 2010, jmlr v11/raykar10a",
            needs="order",
            can="confusion single",
        ),
    ]
)
