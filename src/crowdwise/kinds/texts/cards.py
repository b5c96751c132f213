"""Methods for free texts."""

from __future__ import annotations

from ...core.card import Card, card

METHODS: dict[str, Card] = dict(
    [
        card(
            "text_combined",
            "texts.methods:TextCombined",
            "texts",
            "a weighted vote word by word, or the medoid",
            "this project, after Fiscus 1997 and Li & Fukumoto 2019",
            can="infer",
            takes="texts",
        ),
        card(
            "medoid",
            "texts.methods:Medoid",
            "texts",
            "the answer closest to the others, by any distance",
            "folklore",
            can="infer",
            takes="texts",
        ),
        card(
            "weighted_medoid",
            "texts.methods:WeightedMedoid",
            "texts",
            "medoid with workers weighted by their distance from the others",
            "Li & Fukumoto 2019, doi:10.18653/v1/D19-5904",
            can="infer",
            takes="texts",
        ),
        card(
            "rover",
            "texts.methods:Rover",
            "texts",
            "answers aligned, and a vote on each word",
            "Fiscus 1997, doi:10.1109/ASRU.1997.659110",
            can="infer",
            takes="texts",
        ),
        card(
            "weighted_rover",
            "texts.methods:WeightedRover",
            "texts",
            "rover with workers weighted by their distance from the others",
            "Fiscus 1997, doi:10.1109/ASRU.1997.659110, with weights",
            can="infer",
            takes="texts",
        ),
    ]
)
