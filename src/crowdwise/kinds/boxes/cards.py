"""Methods for boxes."""

from __future__ import annotations

from functools import partial

from ...core.card import Card, kind_card

card = partial(kind_card, "boxes")
METHODS: dict[str, Card] = dict(
    [
        card(
            "box_clusters",
            "BoxClusters",
            "clusters of overlapping boxes that most workers drew, median sides",
            "average linkage: Sokal & Michener 1958",
            can="infer",
        ),
        card(
            "box_mean",
            "BoxMean",
            "the same clusters, sides corrected for each worker's bias",
            "Raykar et al. 2010, jmlr v11/raykar10a, for sides",
            can="infer",
        ),
        card(
            "box_hungarian",
            "BoxHungarian",
            "boxes matched one-to-one between workers, median sides",
            "Kuhn 1955, doi:10.1002/nav.3800020109",
            can="infer",
        ),
        card(
            "box_latent_class",
            "BoxLatentClass",
            "the same clusters, true or not by a model of every reader's sensitivity and false alarms",
            "Dawid & Skene 1979, doi:10.2307/2346806, for objects that somebody drew",
            can="infer",
        ),
    ]
)
