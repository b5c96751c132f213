"""Methods for outlines."""

from __future__ import annotations

from .card import Card, card

OUTLINES: dict[str, Card] = dict(
    [
        card("outline_vote", "OutlineVote", "outlines", "a vote weighted by each worker's overlap in all pictures",
             "folklore", can="infer", takes="outlines"),
        card("pixel_vote", "PixelVote", "outlines", "every pixel by majority", "folklore", can="infer",
             takes="outlines"),
        card("staple", "Staple", "outlines", "pixels by EM, workers with sensitivity and specificity",
             "Warfield et al. 2004, doi:10.1109/TMI.2004.828354", can="infer", takes="outlines"),
        card("pixel_rasa", "PixelRasa", "outlines", "a vote weighted by each worker's overlap with it",
             "Li 2019, RASA, for masks", can="infer", takes="outlines"),
    ]
)  # fmt: skip
