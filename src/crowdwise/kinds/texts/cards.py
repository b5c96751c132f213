"""Methods for free texts."""

from __future__ import annotations

from functools import partial

from ...core.card import Card, kind_card

card = partial(kind_card, "texts")
METHODS: dict[str, Card] = dict(
    [
        card(
            "text_combined",
            "TextCombined",
            "a weighted vote word by word, or the medoid",
            "this project, after Fiscus 1997 and Li & Fukumoto 2019",
            can="infer",
        ),
        card("medoid", "Medoid", "the answer closest to the others, by any distance", "folklore", can="infer"),
        card(
            "weighted_medoid",
            "WeightedMedoid",
            "medoid with workers weighted by their distance from the others",
            "Li & Fukumoto 2019, doi:10.18653/v1/D19-5904",
            can="infer",
        ),
        card(
            "rover",
            "Rover",
            "answers aligned, and a vote on each word",
            "Fiscus 1997, doi:10.1109/ASRU.1997.659110",
            can="infer",
        ),
        card(
            "weighted_rover",
            "WeightedRover",
            "rover with workers weighted by their distance from the others",
            "Fiscus 1997, doi:10.1109/ASRU.1997.659110, with weights",
            can="infer",
        ),
    ]
)
