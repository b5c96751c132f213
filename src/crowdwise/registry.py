"""The registry: a static table of names, where their classes live, and what they need and can.

The command line, the docs, the common tests and the benchmarks all read it. A method is tested by being registered,
and a law is skipped only by a capability that its card does not declare. Nothing heavy is imported to read it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from importlib import import_module
from typing import TYPE_CHECKING, Any

from .errors import ParameterError

if TYPE_CHECKING:
    from .aggregate.base import Aggregator

DEFAULT = "hierarchical"


@dataclass(frozen=True)
class Card:
    """What a method is.

    `needs`: "gold". `can`: "confusion" (gives confusion matrices), "monotone" (its objective never falls within a
    stage), "single" (keeps every label when each task has only one), "equivariant" (renaming classes permutes its
    answer), "duplicates" (several votes of one worker on one task).
    """

    name: str
    where: str
    family: str
    summary: str
    paper: str
    needs: frozenset[str] = frozenset()
    can: frozenset[str] = frozenset()


def _card(
    name: str,
    cls: str,
    family: str,
    summary: str,
    paper: str,
    *,
    needs: str = "",
    can: str = "",
    module: str = "",
) -> tuple[str, Card]:
    where = f"crowdwise.aggregate.{module or name}:{cls}"
    return name, Card(name, where, family, summary, paper, frozenset(needs.split()), frozenset(can.split()))


_DS = "Dawid & Skene 1979, doi:10.2307/2346806"
METHODS: dict[str, Card] = dict(
    [
        _card("majority_vote", "MajorityVote", "voting", "every vote counts the same", "folklore", can="single"),
        _card("wawa", "Wawa", "voting", "votes weighted by agreement with the majority",
              "Appen's worker agreement with aggregate", can="single"),
        _card("zero_based_skill", "ZeroBasedSkill", "voting", "agreement weights refined step by step",
              "Toloka's zero-based skill", can="single"),
        _card("iwmv", "IWMV", "voting", "iterated weights K·accuracy - 1",
              "Li & Yu 2014, arXiv:1411.4086", can="single"),
        _card("log_odds_vote", "LogOddsVote", "voting", "iterated log-odds weights, optimal for one-coin workers",
              "Nitzan & Paroush 1982, doi:10.2307/2526438", can="single"),
        _card("gold_majority_vote", "GoldMajorityVote", "voting", "votes weighted by accuracy on gold tasks",
              "folklore", needs="gold", can="single"),
        _card("dawid_skene", "DawidSkene", "confusion", "one confusion matrix per worker, by EM", _DS,
              can="confusion monotone"),
        _card("one_coin", "OneCoin", "confusion", "one accuracy per worker, errors uniform, by EM",
              "Zhang et al. 2016, jmlr v17/14-511", can="confusion monotone"),
        _card("confusion_vector", "ConfusionVector", "confusion", "one accuracy per worker and class, by EM",
              "Ibrahim et al. 2023", can="confusion monotone"),
        _card("pooled", "Pooled", "confusion", "one confusion matrix for the whole crowd, by EM", _DS,
              can="confusion monotone"),
        _card("hierarchical", "Hierarchical", "confusion",
              "confusion matrices that shrink to the crowd's, as far as the data ask for it",
              "Paun et al. 2018, doi:10.1162/tacl_a_00040", can="confusion monotone single"),
    ]
)  # fmt: skip


def names() -> list[str]:
    """All registered names, plug-ins included."""
    return [*METHODS, *(ep.name for ep in _plugins())]


def card(name: str) -> Card:
    """The card of a method."""
    if name in METHODS:
        return METHODS[name]
    for plugin in _plugins():
        if plugin.name == name:
            found = plugin.load().card
            if isinstance(found, Card):
                return found
    raise ParameterError(f"there is no method {name!r}; `crowdwise methods` lists them" + _nearest(name))


def get(name: str) -> type[Aggregator]:
    """The class of a method."""
    module, _, cls = card(name).where.partition(":")
    found: type[Aggregator] = getattr(import_module(module), cls)
    return found


def method(name: str, **params: Any) -> Aggregator:
    """A method by its registry name.

    >>> method("wawa", seed=7)
    Wawa(seed=7, ties='split')
    """
    cls = get(name)
    known = [f.name for f in fields(cls)]
    for given in params:
        if given not in known:
            raise ParameterError(f"{name} has no parameter {given!r}; it has {', '.join(known)}")
    return cls(**params)


def _plugins() -> list[Any]:
    from importlib.metadata import entry_points

    return list(entry_points(group="crowdwise.methods"))


def _nearest(name: str) -> str:
    from difflib import get_close_matches

    close = get_close_matches(name, METHODS, n=1)
    return f" (did you mean {close[0]}?)" if close else ""
