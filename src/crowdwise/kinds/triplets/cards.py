"""Methods for triplets."""

from __future__ import annotations

from ...core.card import Card, card

METHODS: dict[str, Card] = dict(
    [
        card(
            "crowd_embedding",
            "triplets.methods:CrowdEmbedding",
            "triplets",
            "an embedding of the items, and a slope for each worker",
            "van der Maaten & Weinberger 2012, doi:10.1109/MLSP.2012.6349720",
            can="infer",
            takes="triplets",
        ),
        card(
            "triplet_embedding",
            "triplets.methods:TripletEmbedding",
            "triplets",
            "an embedding of the items without worker parameters (STE, t-STE)",
            "van der Maaten & Weinberger 2012, doi:10.1109/MLSP.2012.6349720",
            can="infer",
            takes="triplets",
        ),
    ]
)
