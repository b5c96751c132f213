"""Methods for comparisons."""

from __future__ import annotations

from functools import partial

from ...core.card import Card, kind_card

card = partial(kind_card, "comparisons")
METHODS: dict[str, Card] = dict(
    [
        card(
            "tournament",
            "Tournament",
            "the average of crowd_bt and davidson",
            "Chen et al. 2013, doi:10.1145/2433396.2433420; Davidson 1970, doi:10.1080/01621459.1970.10481082",
            can="interval",
        ),
        card(
            "crowd_bt",
            "CrowdBT",
            "Bradley-Terry with a reliability of each worker: right, guessing or reversed",
            "Chen et al. 2013, doi:10.1145/2433396.2433420",
            can="interval monotone",
        ),
        card(
            "davidson",
            "Davidson",
            "left, right or tie; slope, position and ties of each worker",
            "Davidson 1970, doi:10.1080/01621459.1970.10481082",
            can="interval monotone",
        ),
        card(
            "bradley_terry",
            "BradleyTerry",
            "one score per item, all workers alike",
            "Bradley & Terry 1952, doi:10.2307/2334029",
            can="interval monotone",
        ),
        card(
            "noisy_bt",
            "NoisyBT",
            "workers either compare or follow a habit for one side",
            "Bugakova et al. 2019, arXiv:1904.03045",
            can="interval monotone",
        ),
        card(
            "rank_centrality",
            "RankCentrality",
            "stationary distribution of a random walk towards winners",
            "Negahban, Oh & Shah 2017, doi:10.1287/opre.2016.1534",
        ),
        card("elo", "Elo", "ratings updated game by game", "Elo 1978, ISBN 0-668-04721-6"),
        card("win_rate", "WinRate", "the share of its comparisons that an item wins", "folklore"),
    ]
)
