"""Methods for triplets."""

from __future__ import annotations

from .card import Card, card

TRIPLETS: dict[str, Card] = dict(
    [
        card("crowd_embedding", "CrowdEmbedding", "triplets", "places of items, and a slope of each worker",
             "van der Maaten & Weinberger 2012, doi:10.1109/MLSP.2012.6349720", can="infer", takes="triplets"),
        card("triplet_embedding", "TripletEmbedding", "triplets", "places of items, workers all alike (STE, t-STE)",
             "van der Maaten & Weinberger 2012, doi:10.1109/MLSP.2012.6349720", can="infer", takes="triplets"),
    ]
)  # fmt: skip
