"""Methods for triplets."""

from __future__ import annotations

from ...core.card import Card, card

METHODS: dict[str, Card] = dict(
    [
        card(
            "crowd_embedding",
            "triplets.methods:CrowdEmbedding",
            "triplets",
            "places of items, and a slope of each worker",
            "van der Maaten & Weinberger 2012, doi:10.1109/MLSP.2012.6349720",
            can="infer",
            takes="triplets",
        ),
        card(
            "triplet_embedding",
            "triplets.methods:TripletEmbedding",
            "triplets",
            "places of items, workers all alike (STE, t-STE)",
            "van der Maaten & Weinberger 2012, doi:10.1109/MLSP.2012.6349720",
            can="infer",
            takes="triplets",
        ),
    ]
)
