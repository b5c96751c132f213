"""Methods for boxes."""

from __future__ import annotations

from ...core.card import Card, card

METHODS: dict[str, Card] = dict(
    [
        card(
            "box_clusters",
            "boxes.methods:BoxClusters",
            "boxes",
            "clusters of overlapping boxes that most workers drew, median sides",
            "average linkage: Sokal & Michener 1958",
            can="infer",
            takes="boxes",
        ),
        card(
            "box_mean",
            "boxes.methods:BoxMean",
            "boxes",
            "the same clusters, sides corrected for each worker's bias",
            "Raykar et al. 2010, jmlr v11/raykar10a, for sides",
            can="infer",
            takes="boxes",
        ),
        card(
            "box_hungarian",
            "boxes.methods:BoxHungarian",
            "boxes",
            "boxes matched one-to-one between workers, median sides",
            "Kuhn 1955, doi:10.1002/nav.3800020109",
            can="infer",
            takes="boxes",
        ),
    ]
)
