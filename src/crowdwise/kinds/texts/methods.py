"""Methods for free texts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from ...core.arrays import F8
from ...core.params import NonNegative
from ...core.votes import Votes
from .answers import Texts
from .fitting import (
    DistanceName,
    PreparedTexts,
    TextAggregator,
    TextAnswers,
    make_distance,
    select_answers,
    usual_distance,
    vote_on_words,
)


@dataclass(frozen=True, kw_only=True)
class Medoid(TextAggregator):
    """Medoid: the answer to a task that is closest to all others.

        argmin over answers a of  sum over answers b of  weight_b · distance(a, b)

    The estimate is always a text that a worker wrote. Fails where no single answer is right.

    Args:
        distance: "words" or "characters" (relative edit distance), or "gleu" (one minus GLEU, for translations). A
            custom function of two texts can be passed to `fit(votes, distance=...)`.

    >>> import crowdwise as cw
    >>> votes = cw.texts.text_votes([1, 1, 1], ["a", "b", "c"], ["the cat sat", "the cat sat down", "a dog"])
    >>> Medoid().fit(votes).outputs
    ['the cat sat']
    """

    name: ClassVar[str] = "medoid"
    distance: DistanceName = "words"

    def distance_name(self, votes: Votes[Texts]) -> str:  # noqa: ARG002
        """Return the parameter `distance`."""
        return self.distance

    def solve(self, work: PreparedTexts, weight: F8) -> TextAnswers:
        """Select the medoid of each task."""
        return select_answers(work, weight)


@dataclass(frozen=True, kw_only=True)
class Rover(TextAggregator):
    """ROVER: answers aligned word by word, and an unweighted vote on each slot.

    The medoid comes first; each further answer is aligned at minimum cost with the network of those before it (aligning
    a word costs the share of the answers without it in that slot). In each slot the word, or the empty word, with most
    votes wins; its share is its confidence.

    Fiscus (1997), A post-processing system to yield reduced word error rates: recognizer output voting error
    reduction, doi:10.1109/ASRU.1997.659110. For transcripts, where answers differ in a few words. Fails on
    translations, where a vote between different sentences does not give a sentence.

    >>> import crowdwise as cw
    >>> votes = cw.texts.text_votes([1, 1, 1], ["a", "b", "c"], ["the cat sat", "the bat sat down", "a cat sat down"])
    >>> Rover().fit(votes).outputs
    ['the cat sat down']
    """

    name: ClassVar[str] = "rover"

    def solve(self, work: PreparedTexts, weight: F8) -> TextAnswers:
        """Vote on the words."""
        return vote_on_words(work, weight)


# Largest median distance of two answers to the same task at which they count as versions of one text.
ALIKE = 0.5


@dataclass(frozen=True, kw_only=True)
class TextCombined(TextAggregator):
    """Weighted vote word by word where answers are similar, else the weighted medoid by GLEU; the default for texts.

    Where the median distance of two answers to the same task is at most half of their words, they are versions of one
    text, and a vote on each word is better than any of them: `weighted_rover`. Where they differ more, as translations
    do, a vote between them does not give a sentence: `weighted_medoid` by GLEU.

    Args:
        choose: "words" for the vote, "answers" for the medoid, "auto" to choose by the distances of the answers.

    >>> import crowdwise as cw
    >>> votes = cw.texts.text_votes([1, 1, 1], ["a", "b", "c"], ["the cat sat", "the bat sat down", "a cat sat down"])
    >>> TextCombined().fit(votes).outputs
    ['the cat sat down']
    """

    name: ClassVar[str] = "text_combined"
    calibrates: ClassVar[bool] = True
    choose: Literal["auto", "words", "answers"] = "auto"

    def distance_name(self, votes: Votes[Texts]) -> str:
        """Return "words", or "gleu" where the answers are dissimilar."""
        if self.choose != "auto":
            return "words" if self.choose == "words" else "gleu"
        plain = PreparedTexts(votes, votes.task_offsets[:-1] * 0 - 1, make_distance(votes.answers, "words", None))
        return "words" if usual_distance(plain) <= ALIKE else "gleu"

    def learn(self, work: PreparedTexts) -> tuple[F8, str]:
        """Return worker weights and the reason for the choice of algorithm."""
        plain = replace(work, distance=make_distance(work.votes.answers, "words", None))
        how = f"two answers to a task mostly differ in {usual_distance(plain):.0%} of their words"
        if self._votes(work):
            return work.weights(1.0), f"a weighted vote on every word, as {how}"
        return work.weights(1.0), f"the answer in the middle by GLEU, as {how}"

    def solve(self, work: PreparedTexts, weight: F8) -> TextAnswers:
        """Vote on the words, or select the medoid of each task."""
        return vote_on_words(work, weight) if self._votes(work) else select_answers(work, weight)

    def _votes(self, work: PreparedTexts) -> bool:
        return self.distance_name(work.votes) == "words"


@dataclass(frozen=True, kw_only=True)
class WeightedMedoid(TextAggregator):
    """Weighted medoid: the answer closest to the others, weighted by the typical distance of their workers.

        error_w: weighted mean distance of w from the others' answers to the same tasks
        weight_w = error_w ^ -power

    Computed in rounds. Similar to RASA (Li & Fukumoto 2019, A dataset of crowdsourced word sequences, AnnoNLP,
    doi:10.18653/v1/D19-5904), with any distance in place of embeddings. Fails where most workers copy the same source.

    Args:
        distance: "words", "characters" or "gleu", as in `medoid`.
        power: How strongly weights depend on the error; 0 is `medoid`.

    >>> import crowdwise as cw
    >>> votes = cw.texts.text_votes([1, 1, 1], ["a", "b", "c"], ["the cat sat", "the cat sat down", "a dog"])
    >>> WeightedMedoid().fit(votes).outputs
    ['the cat sat']
    """

    name: ClassVar[str] = "weighted_medoid"
    distance: DistanceName = "words"
    power: NonNegative = 1.0

    def distance_name(self, votes: Votes[Texts]) -> str:  # noqa: ARG002
        """Return the parameter `distance`."""
        return self.distance

    def learn(self, work: PreparedTexts) -> tuple[F8, str]:
        """Return worker weights."""
        return work.weights(self.power), ""

    def solve(self, work: PreparedTexts, weight: F8) -> TextAnswers:
        """Select the medoid of each task."""
        return select_answers(work, weight)


@dataclass(frozen=True, kw_only=True)
class WeightedRover(TextAggregator):
    """Weighted ROVER: a vote word by word, weighted by the workers' typical distance from the others.

    The weights are those of `weighted_medoid`, the alignment and the vote those of `rover`. Default for transcripts.

    Args:
        power: How strongly weights depend on the error; 0 is `rover`.

    >>> import crowdwise as cw
    >>> votes = cw.texts.text_votes([1, 1, 1], ["a", "b", "c"], ["the cat sat", "the bat sat down", "a cat sat down"])
    >>> WeightedRover().fit(votes).outputs
    ['the cat sat down']
    """

    name: ClassVar[str] = "weighted_rover"
    power: NonNegative = 1.0

    def learn(self, work: PreparedTexts) -> tuple[F8, str]:
        """Return worker weights."""
        return work.weights(self.power), ""

    def solve(self, work: PreparedTexts, weight: F8) -> TextAnswers:
        """Vote on the words."""
        return vote_on_words(work, weight)
