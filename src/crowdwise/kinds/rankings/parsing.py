"""Rankings in text: a>b>c, a>b=c, a>b>... (the rest after these, in no order), or JSON: ["a", ["b", "c"], "..."]."""

from __future__ import annotations

import json
from typing import Any

from ...core.errors import DataError

REST = "..."
# Groups of items that share a place, best first, and whether all others come after them.
Groups = tuple[list[list[str]], bool]


def parse(text: str) -> Groups | str:
    """The groups of a ranking, or what is wrong with it."""
    text = text.strip()
    if text.startswith("["):
        try:
            found = json.loads(text)
        except ValueError:
            return "is no JSON list"
        return _of_list(found)
    parts = [[item.strip() for item in place.split("=")] for place in text.split(">")]
    return _checked(parts)


def _of_list(found: Any) -> Groups | str:
    if not isinstance(found, list):
        return "is no list"
    parts = []
    for place in found:
        if isinstance(place, dict):
            place = place.get("value", place.get("id"))
        some = place if isinstance(place, list) else [place]
        if any(isinstance(item, dict | list | bool) or item is None for item in some):
            return "holds something that is no item's name"
        parts.append([str(item).strip() for item in some])
    return _checked(parts)


def _checked(parts: list[list[str]]) -> Groups | str:
    rest = bool(parts) and parts[-1] in ([REST], ["…"])
    groups = parts[:-1] if rest else parts
    flat = [item for group in groups for item in group]
    if any(not item for item in flat):
        return "has a place without an item"
    if REST in flat or "…" in flat:
        return f"has {REST} elsewhere than at its end"
    if len(set(flat)) < len(flat):
        return "holds an item twice"
    if not flat:
        return "holds no item"
    return groups, rest


def written(groups: list[list[str]], rest: bool, plain: bool) -> str:
    """A ranking in text again; as JSON where names hold the signs themselves."""
    if plain:
        return ">".join(["=".join(group) for group in groups] + [REST] * rest)
    out: list[Any] = [group[0] if len(group) == 1 else group for group in groups]
    return json.dumps(out + [REST] * rest, ensure_ascii=False)


def is_plain(names: list[str]) -> bool:
    """Whether no name holds a sign that means something in a ranking."""
    return not any(">" in name or "=" in name or name.startswith("[") or name in (REST, "…") for name in names)


def written_lists(rankings: Any) -> list[str | None]:
    """A user's column of rankings as text: lists become JSON."""
    out: list[str | None] = []
    for each in rankings:
        if each is None or isinstance(each, str):
            out.append(each)
        else:
            out.append(json.dumps([list(p) if isinstance(p, list | tuple) else _plain(p) for p in each]))
    return out


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else value


def items_in(text: str, column: str) -> list[str]:
    """The items of a list that are to be put in order, from a cell: JSON, or items with | between."""
    try:
        found = json.loads(text) if text.lstrip().startswith("[") else text.split("|")
    except ValueError:
        raise DataError(
            f"the column {column} holds {text[:60]!r}; write a JSON list, or items with | between"
        ) from None
    return [str(each).strip() for each in found]
