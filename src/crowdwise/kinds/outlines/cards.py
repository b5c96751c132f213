"""Methods for outlines."""

from __future__ import annotations

from ...core.card import Card, card

METHODS: dict[str, Card] = dict(
    [
        card(
            "outline_vote",
            "outlines.methods:OutlineVote",
            "outlines",
            "pixel vote weighted by each worker's overlap over all images",
            "folklore",
            can="infer",
            takes="outlines",
        ),
        card(
            "pixel_vote",
            "outlines.methods:PixelVote",
            "outlines",
            "majority vote on every pixel",
            "folklore",
            can="infer",
            takes="outlines",
        ),
        card(
            "staple",
            "outlines.methods:Staple",
            "outlines",
            "EM on pixels with a sensitivity and a specificity per worker",
            "Warfield et al. 2004, doi:10.1109/TMI.2004.828354",
            can="infer",
            takes="outlines",
        ),
        card(
            "pixel_rasa",
            "outlines.methods:PixelRasa",
            "outlines",
            "pixel vote weighted by each worker's overlap with it",
            "Li 2019, RASA, for masks",
            can="infer",
            takes="outlines",
        ),
    ]
)
