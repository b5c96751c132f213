"""ROVER: answers aligned word by word, and a vote on every place.

    The answer nearest to the others comes first; each further one is aligned with the network of those before it at the
    least cost (a word costs the share of those who did not say it there). On each place the word, or silence, with most
    votes wins; its share is its confidence.

Fiscus (1997), A post-processing system to yield reduced word error rates: recognizer output voting error reduction,
doi:10.1109/ASRU.1997.659110. For transcripts, where answers differ in a few words. Fails on translations: a vote
between different sentences is no sentence.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .base import F8, Said, TextAggregator
from .choosing import by_words
from .work import Work


@dataclass(frozen=True, kw_only=True)
class Rover(TextAggregator):
    """A vote word by word, all workers alike.

    >>> import crowdwise as cw
    >>> votes = cw.text_votes([1, 1, 1], ["a", "b", "c"], ["the cat sat", "the bat sat down", "a cat sat down"])
    >>> Rover().fit(votes).outputs
    ['the cat sat down']
    """

    name: ClassVar[str] = "rover"

    def judge(self, work: Work, weight: F8) -> Said:
        """The vote."""
        return by_words(work, weight)
