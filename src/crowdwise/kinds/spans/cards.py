"""Methods for spans of a text."""

from __future__ import annotations

from functools import partial

from ...core.card import Card, kind_card

card = partial(kind_card, "spans")
METHODS: dict[str, Card] = dict(
    [
        card(
            "span_combined",
            "SpanCombined",
            "weighted vote for passages, average of three models for short spans",
            "this project, after Nguyen et al. 2017 and Simpson & Gurevych 2019",
            can="infer",
        ),
        card(
            "span_majority",
            "SpanMajority",
            "text is marked if more than half of the workers mark it",
            "folklore",
            can="infer",
        ),
        card("span_vote", "SpanVote", "vote weighted by each worker's F1 against the others", "folklore", can="infer"),
        card(
            "token_dawid_skene",
            "TokenDawidSkene",
            "Dawid-Skene on single pieces of text with shrunk confusions",
            "Dawid & Skene 1979, doi:10.2307/2346806, on tokens",
            can="infer",
        ),
        card(
            "hmm_crowd",
            "HMMCrowd",
            "hidden chain of labels and a confusion matrix per worker, by EM",
            "Nguyen et al. 2017, doi:10.18653/v1/P17-1028",
            can="infer monotone",
        ),
        card(
            "bsc",
            "BSC",
            "chain of labels and workers whose labels depend on their previous one, by variational Bayes",
            "Simpson & Gurevych 2019, doi:10.18653/v1/D19-1101",
            can="infer monotone",
        ),
    ]
)
