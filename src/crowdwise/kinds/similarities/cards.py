"""Methods for same or different."""

from __future__ import annotations

from ...core.card import Card, card

METHODS: dict[str, Card] = dict(
    [
        card(
            "clusters",
            "similarities.methods:Clusters",
            "similarities",
            "crowd_clusters or spectral_clusters, whichever suits the answers",
            "Gomes et al. 2011, NIPS; Rohe et al. 2011, doi:10.1214/11-AOS887",
            takes="similarities",
        ),
        card(
            "crowd_clusters",
            "similarities.methods:CrowdClusters",
            "similarities",
            "clusters, with two error rates of each worker",
            "Gomes et al. 2011, NIPS",
            takes="similarities",
        ),
        card(
            "spectral_clusters",
            "similarities.methods:SpectralClusters",
            "similarities",
            "eigenvectors of the answers, then k-means",
            "Rohe et al. 2011, doi:10.1214/11-AOS887",
            takes="similarities",
        ),
        card(
            "free_logits",
            "similarities.methods:FreeLogits",
            "similarities",
            "soft clusters and error rates of workers, by gradient",
            "Gomes et al. 2011, NIPS; without features",
            takes="similarities",
        ),
    ]
)
