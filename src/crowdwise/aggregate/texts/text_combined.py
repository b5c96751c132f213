"""The default for texts: a weighted vote word by word where answers are alike, else the answer in the middle by GLEU.

Where two answers to one task mostly (in the median) differ in at most half of their words, they are versions of one
text, and a vote on every word is better than any of them: `weighted_rover`. Where they differ more, as translations do,
a vote between them is no sentence: `weighted_medoid` by GLEU.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from ...core.votes import Votes
from ...kinds.texts.answers import Texts
from .base import F8, Said, TextAggregator
from .choosing import by_words, picked
from .work import Work, distance_of, usual_distance

# Median distance of two answers to one task up to which they are versions of one text.
ALIKE = 0.5


@dataclass(frozen=True, kw_only=True)
class TextCombined(TextAggregator):
    """`choose` says which of the two it is; auto looks at how far the answers are apart.

    >>> import crowdwise as cw
    >>> votes = cw.text_votes([1, 1, 1], ["a", "b", "c"], ["the cat sat", "the bat sat down", "a cat sat down"])
    >>> TextCombined().fit(votes).outputs
    ['the cat sat down']
    """

    name: ClassVar[str] = "text_combined"
    calibrates: ClassVar[bool] = True
    choose: Literal["auto", "words", "answers"] = "auto"

    def distance_name(self, votes: Votes[Texts]) -> str:
        """words, or GLEU where the answers are far apart."""
        if self.choose != "auto":
            return "words" if self.choose == "words" else "gleu"
        plain = Work(votes, votes.task_offsets[:-1] * 0 - 1, distance_of(votes.answers, "words", None))
        return "words" if usual_distance(plain) <= ALIKE else "gleu"

    def learn(self, work: Work) -> tuple[F8, str]:
        """Everybody's weight, and the choice."""
        plain = replace(work, apart=distance_of(work.votes.answers, "words", None))
        how = f"two answers to a task mostly differ in {usual_distance(plain):.0%} of their words"
        if self._votes(work):
            return work.weights(1.0), f"a weighted vote on every word, as {how}"
        return work.weights(1.0), f"the answer in the middle by GLEU, as {how}"

    def judge(self, work: Work, weight: F8) -> Said:
        """The vote, or the answer in the middle."""
        return by_words(work, weight) if self._votes(work) else picked(work, weight)

    def _votes(self, work: Work) -> bool:
        return self.distance_name(work.votes) == "words"
