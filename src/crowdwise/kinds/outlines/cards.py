"""Methods for outlines."""

from __future__ import annotations

from functools import partial

from ...core.card import Card, kind_card

card = partial(kind_card, "outlines")
METHODS: dict[str, Card] = dict(
    [
        card(
            "outline_vote",
            "OutlineVote",
            "pixel vote weighted by each worker's overlap over all images",
            "folklore",
            can="infer",
        ),
        card("pixel_vote", "PixelVote", "majority vote on every pixel", "folklore", can="infer"),
        card(
            "staple",
            "Staple",
            "EM on pixels with a sensitivity and a specificity per worker",
            "Warfield et al. 2004, doi:10.1109/TMI.2004.828354",
            can="infer",
        ),
        card(
            "pixel_rasa",
            "PixelRasa",
            "pixel vote weighted by each worker's overlap with it",
            "Li 2019, RASA, for masks",
            can="infer",
        ),
    ]
)
