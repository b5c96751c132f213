"""Methods for same or different."""

from __future__ import annotations

from functools import partial

from ...core.card import Card, kind_card

card = partial(kind_card, "similarities")
METHODS: dict[str, Card] = dict(
    [
        card(
            "clusters",
            "Clusters",
            "crowd_clusters or spectral_clusters, whichever suits the answers",
            "Gomes et al. 2011, NIPS; Rohe et al. 2011, doi:10.1214/11-AOS887",
        ),
        card(
            "crowd_clusters",
            "CrowdClusters",
            "clusters, with two error rates of each worker",
            "Gomes et al. 2011, NIPS",
        ),
        card(
            "spectral_clusters",
            "SpectralClusters",
            "eigenvectors of the answers, then k-means",
            "Rohe et al. 2011, doi:10.1214/11-AOS887",
        ),
        card(
            "free_logits",
            "FreeLogits",
            "soft clusters and error rates of workers, by gradient",
            "Gomes et al. 2011, NIPS; without features",
        ),
    ]
)
