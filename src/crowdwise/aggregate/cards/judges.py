"""Methods for classes that judges give, that come with predictions of others, or that have no single truth."""

from __future__ import annotations

from .card import Card, card

JUDGES: dict[str, Card] = dict(
    [
        card("judge_stack", "JudgeStack", "judges", "one weight a judge, learnt on the labels of people",
             "Wolpert 1992, doi:10.1016/S0893-6080(05)80023-1", needs="gold", can="infer"),
        card("judge_symbols", "JudgeSymbols", "judges", "what was said and how firmly, as one symbol, by EM",
             "Dawid & Skene 1979, doi:10.2307/2346806", can="confusion monotone"),
        card("family_vote", "FamilyVote", "judges", "each family of judges has one vote",
             "folklore", can="single"),
        card("surprisingly_popular", "SurprisinglyPopular", "predictions",
             "the answer that is given more often than people predict",
             "Prelec, Seung & McCoy 2017, doi:10.1038/nature21054", needs="predictions"),
        card("truth_serum", "TruthSerum", "predictions", "the answer with the highest information score",
             "Prelec 2004, doi:10.1126/science.1102081", needs="predictions"),
        card("subjective", "Subjective", "voting", "the distribution of what people say, no single truth",
             "Uma et al. 2021, doi:10.1613/jair.1.12752", can="single"),
    ]
)  # fmt: skip
