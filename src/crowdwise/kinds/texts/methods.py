""""""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from ...core.params import NonNegative
from ...core.votes import Votes
from .answers import Texts
from .fitting import BASE_F8 as F8
from .fitting import DistanceName, Said, TextAggregator, Work, by_words, distance_of, picked, usual_distance


@dataclass(frozen=True, kw_only=True)
class Medoid(TextAggregator):
    """Medoid: of the answers to a task, the one that is nearest to all the others.

        argmin over answers a of  sum over answers b of  weight_b · distance(a, b)

    The distance is that of words to change (`words`), of letters (`characters`), one minus GLEU (`gleu`, for
    translations), or any function of two texts that `fit(votes, distance=...)` is given. It is always something that
    somebody wrote. Fails where no single answer is right.

    The answer nearest to the others.

    >>> import crowdwise as cw
    >>> votes = cw.text_votes([1, 1, 1], ["a", "b", "c"], ["the cat sat", "the cat sat down", "a dog"])
    >>> Medoid().fit(votes).outputs
    ['the cat sat']
    """

    name: ClassVar[str] = "medoid"
    distance: DistanceName = "words"

    def distance_name(self, votes: Votes[Texts]) -> str:  # noqa: ARG002
        """As `distance` says."""
        return self.distance

    def judge(self, work: Work, weight: F8) -> Said:
        """The answer in the middle."""
        return picked(work, weight)


@dataclass(frozen=True, kw_only=True)
class Rover(TextAggregator):
    """ROVER: answers aligned word by word, and a vote on every place.

        The answer nearest to the others comes first; each further one is aligned with the network of those before it at
        the least cost (a word costs the share of those who did not say it there). On each place the word, or silence,
        with most votes wins; its share is its confidence.

    Fiscus (1997), A post-processing system to yield reduced word error rates: recognizer output voting error
    reduction, doi:10.1109/ASRU.1997.659110. For transcripts, where answers differ in a few words. Fails on
    translations: a vote between different sentences is no sentence.

    A vote word by word, all workers alike.

    >>> import crowdwise as cw
    >>> votes = cw.text_votes([1, 1, 1], ["a", "b", "c"], ["the cat sat", "the bat sat down", "a cat sat down"])
    >>> Rover().fit(votes).outputs
    ['the cat sat down']
    """

    name: ClassVar[str] = "rover"

    def judge(self, work: Work, weight: F8) -> Said:
        """The vote."""
        return by_words(work, weight)


# Median distance of two answers to one task up to which they are versions of one text.
ALIKE = 0.5


@dataclass(frozen=True, kw_only=True)
class TextCombined(TextAggregator):
    """The default for texts: a weighted vote word by word where answers are alike, else the answer in the middle by
    GLEU.

    Where two answers to one task mostly (in the median) differ in at most half of their words, they are versions of
    one text, and a vote on every word is better than any of them: `weighted_rover`. Where they differ more, as
    translations do, a vote between them is no sentence: `weighted_medoid` by GLEU.

    `choose` says which of the two it is; auto looks at how far the answers are apart.

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


@dataclass(frozen=True, kw_only=True)
class WeightedMedoid(TextAggregator):
    """Weighted medoid: the answer nearest to the others, who count by how near they usually are to each other.

        error_w: mean distance of w from the others' answers to the same tasks, each by their weight
        weight_w = error_w ^ -power

    In rounds. In the spirit of RASA (Li & Fukumoto 2019, A dataset of crowdsourced word sequences, AnnoNLP,
    doi:10.18653/v1/D19-5904), with any distance in place of embeddings. Fails where most workers copy one machine.

    `power` says how much better workers count for more; 0 is `medoid`.

    >>> import crowdwise as cw
    >>> votes = cw.text_votes([1, 1, 1], ["a", "b", "c"], ["the cat sat", "the cat sat down", "a dog"])
    >>> WeightedMedoid().fit(votes).outputs
    ['the cat sat']
    """

    name: ClassVar[str] = "weighted_medoid"
    distance: DistanceName = "words"
    power: NonNegative = 1.0

    def distance_name(self, votes: Votes[Texts]) -> str:  # noqa: ARG002
        """As `distance` says."""
        return self.distance

    def learn(self, work: Work) -> tuple[F8, str]:
        """Everybody's weight."""
        return work.weights(self.power), ""

    def judge(self, work: Work, weight: F8) -> Said:
        """The answer in the middle."""
        return picked(work, weight)


@dataclass(frozen=True, kw_only=True)
class WeightedRover(TextAggregator):
    """Weighted ROVER: a vote word by word in which workers count by how near they usually are to the others.

    Weights are those of `weighted_medoid`, the alignment and the vote those of `rover`. The default for transcripts.

    `power` says how much better workers count for more; 0 is `rover`.

    >>> import crowdwise as cw
    >>> votes = cw.text_votes([1, 1, 1], ["a", "b", "c"], ["the cat sat", "the bat sat down", "a cat sat down"])
    >>> WeightedRover().fit(votes).outputs
    ['the cat sat down']
    """

    name: ClassVar[str] = "weighted_rover"
    power: NonNegative = 1.0

    def learn(self, work: Work) -> tuple[F8, str]:
        """Everybody's weight."""
        return work.weights(self.power), ""

    def judge(self, work: Work, weight: F8) -> Said:
        """The vote."""
        return by_words(work, weight)
