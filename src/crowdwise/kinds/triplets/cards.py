"""Methods for triplets."""

from __future__ import annotations

from functools import partial

from ...core.card import Card, kind_card

card = partial(kind_card, "triplets")
METHODS: dict[str, Card] = dict(
    [
        card(
            "crowd_embedding",
            "CrowdEmbedding",
            "an embedding of the items, and a slope for each worker",
            "van der Maaten & Weinberger 2012, doi:10.1109/MLSP.2012.6349720",
            can="infer",
        ),
        card(
            "triplet_embedding",
            "TripletEmbedding",
            "an embedding of the items without worker parameters (STE, t-STE)",
            "van der Maaten & Weinberger 2012, doi:10.1109/MLSP.2012.6349720",
            can="infer",
        ),
    ]
)
