"""Methods for outlines."""

from __future__ import annotations

from ...core.card import Card, card

METHODS: dict[str, Card] = dict(
    [
        card(
            "outline_vote",
            "outlines.methods:OutlineVote",
            "outlines",
            "a vote weighted by each worker's overlap in all pictures",
            "folklore",
            can="infer",
            takes="outlines",
        ),
        card(
            "pixel_vote",
            "outlines.methods:PixelVote",
            "outlines",
            "every pixel by majority",
            "folklore",
            can="infer",
            takes="outlines",
        ),
        card(
            "staple",
            "outlines.methods:Staple",
            "outlines",
            "pixels by EM, workers with sensitivity and specificity",
            "Warfield et al. 2004, doi:10.1109/TMI.2004.828354",
            can="infer",
            takes="outlines",
        ),
        card(
            "pixel_rasa",
            "outlines.methods:PixelRasa",
            "outlines",
            "a vote weighted by each worker's overlap with it",
            "Li 2019, RASA, for masks",
            can="infer",
            takes="outlines",
        ),
    ]
)
