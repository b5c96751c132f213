"""Methods for comparisons."""

from __future__ import annotations

from ...core.card import Card, card

METHODS: dict[str, Card] = dict(
    [
        card(
            "tournament",
            "comparisons.methods:Tournament",
            "comparisons",
            "the average of crowd_bt and davidson",
            "Chen et al. 2013, doi:10.1145/2433396.2433420; Davidson 1970, doi:10.1080/01621459.1970.10481082",
            can="interval",
            takes="comparisons",
        ),
        card(
            "crowd_bt",
            "comparisons.methods:CrowdBT",
            "comparisons",
            "Bradley-Terry with a reliability of each worker: right, guessing or reversed",
            "Chen et al. 2013, doi:10.1145/2433396.2433420",
            can="interval monotone",
            takes="comparisons",
        ),
        card(
            "davidson",
            "comparisons.methods:Davidson",
            "comparisons",
            "left, right or tie; slope, position and ties of each worker",
            "Davidson 1970, doi:10.1080/01621459.1970.10481082",
            can="interval monotone",
            takes="comparisons",
        ),
        card(
            "bradley_terry",
            "comparisons.methods:BradleyTerry",
            "comparisons",
            "one score per item, all workers alike",
            "Bradley & Terry 1952, doi:10.2307/2334029",
            can="interval monotone",
            takes="comparisons",
        ),
        card(
            "noisy_bt",
            "comparisons.methods:NoisyBT",
            "comparisons",
            "workers either compare or follow a habit for one side",
            "Bugakova et al. 2019, arXiv:1904.03045",
            can="interval monotone",
            takes="comparisons",
        ),
        card(
            "rank_centrality",
            "comparisons.methods:RankCentrality",
            "comparisons",
            "stationary distribution of a random walk towards winners",
            "Negahban, Oh & Shah 2017, doi:10.1287/opre.2016.1534",
            takes="comparisons",
        ),
        card(
            "elo",
            "comparisons.methods:Elo",
            "comparisons",
            "ratings updated game by game",
            "Elo 1978, ISBN 0-668-04721-6",
            takes="comparisons",
        ),
        card(
            "win_rate",
            "comparisons.methods:WinRate",
            "comparisons",
            "the share of its comparisons that an item wins",
            "folklore",
            takes="comparisons",
        ),
    ]
)
