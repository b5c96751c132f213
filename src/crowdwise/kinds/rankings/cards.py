"""Methods for rankings."""

from __future__ import annotations

from ...core.card import Card, card

METHODS: dict[str, Card] = dict(
    [
        card(
            "podium",
            "rankings.methods:Podium",
            "rankings",
            "plackett_luce, or borda where there is little information about each worker",
            "Plackett 1975, doi:10.2307/2346567; Borda 1784",
            can="interval",
            takes="rankings",
        ),
        card(
            "plackett_luce",
            "rankings.methods:PlackettLuce",
            "rankings",
            "items chosen one by one; a temperature of each worker",
            "Plackett 1975, doi:10.2307/2346567",
            can="interval monotone",
            takes="rankings",
        ),
        card(
            "borda",
            "rankings.methods:Borda",
            "rankings",
            "the mean rank of each item",
            "Borda 1784",
            can="interval",
            takes="rankings",
        ),
        card(
            "copeland",
            "rankings.methods:Copeland",
            "rankings",
            "number of other items that an item beats by majority",
            "Copeland 1951",
            takes="rankings",
        ),
        card(
            "kemeny",
            "rankings.methods:Kemeny",
            "rankings",
            "the order with the fewest disagreements",
            "Kemeny 1959, Daedalus 88(4)",
            takes="rankings",
        ),
        card(
            "mallows",
            "rankings.methods:Mallows",
            "rankings",
            "rankings scatter around a centre; a dispersion of each worker",
            "Mallows 1957, doi:10.1093/biomet/44.1-2.114",
            takes="rankings",
        ),
    ]
)
