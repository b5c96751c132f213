"""Methods for rankings."""

from __future__ import annotations

from functools import partial

from ...core.card import Card, kind_card

card = partial(kind_card, "rankings")
METHODS: dict[str, Card] = dict(
    [
        card(
            "podium",
            "Podium",
            "plackett_luce, or borda where there is little information about each worker",
            "Plackett 1975, doi:10.2307/2346567; Borda 1784",
            can="interval",
        ),
        card(
            "plackett_luce",
            "PlackettLuce",
            "items chosen one by one; a temperature of each worker",
            "Plackett 1975, doi:10.2307/2346567",
            can="interval monotone",
        ),
        card("borda", "Borda", "the mean rank of each item", "Borda 1784", can="interval"),
        card("copeland", "Copeland", "number of other items that an item beats by majority", "Copeland 1951"),
        card("kemeny", "Kemeny", "the order with the fewest disagreements", "Kemeny 1959, Daedalus 88(4)"),
        card(
            "mallows",
            "Mallows",
            "rankings scatter around a centre; a dispersion of each worker",
            "Mallows 1957, doi:10.1093/biomet/44.1-2.114",
        ),
    ]
)
