"""Facts about a judge's verdict (occasion, version, cost, confidence), under the names that tools use."""

from __future__ import annotations

from collections.abc import Iterable
from math import exp
from typing import Any

from ..base import NAN
from ..cells import number

FACTS = {
    "repeat": ("repeat", "repetition", "run", "trial", "sample", "seed"),
    "prompt": ("prompt_name", "prompt_version", "template", "protocol", "prompt"),
    "order": ("order", "presentation_order"),
    "version": ("version", "model_version", "judge_version"),
    "cost": ("cost", "price", "price_per_example"),
}


def facts(record: dict[str, Any], taken: Iterable[str] = ()) -> dict[str, Any]:
    """Return repeat, prompt, order, version and cost; fields in `taken` have another role."""
    out: dict[str, Any] = {}
    for role, names in FACTS.items():
        value = next((record[n] for n in names if n in record and n not in taken), None)
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            out[role] = number(value) if role == "cost" else str(value)
    return out


def from_logprob(record: dict[str, Any]) -> float:
    """Return the probability of the label's token, if its logarithm is given."""
    value = number(record.get("logprob"))
    return exp(value) if value <= 0 else NAN
