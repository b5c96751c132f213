"""Methods for tasks with links between them."""

from __future__ import annotations

from .card import Card, card

GRAPHS: dict[str, Card] = dict(
    [
        card("graph_field", "GraphField", "graphs", "linked tasks tend to have one class, by a centred mean field",
             "Traganitis & Giannakis 2022", needs="links", can="confusion"),
    ]
)  # fmt: skip
