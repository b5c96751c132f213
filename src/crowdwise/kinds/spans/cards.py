"""Methods for spans of a text."""

from __future__ import annotations

from ...core.card import Card, card

METHODS: dict[str, Card] = dict(
    [
        card(
            "span_combined",
            "spans.methods:SpanCombined",
            "spans",
            "a weighted vote on passages, an average of three on names",
            "this project, after Nguyen et al. 2017 and Simpson & Gurevych 2019",
            can="infer",
            takes="spans",
        ),
        card(
            "span_majority",
            "spans.methods:SpanMajority",
            "spans",
            "a place is marked where more than half mark it",
            "folklore",
            can="infer",
            takes="spans",
        ),
        card(
            "span_vote",
            "spans.methods:SpanVote",
            "spans",
            "votes weighted by the worker's F1 against the others",
            "folklore",
            can="infer",
            takes="spans",
        ),
        card(
            "token_dawid_skene",
            "spans.methods:TokenDawidSkene",
            "spans",
            "every piece of the text by itself, confusions shrunk",
            "Dawid & Skene 1979, doi:10.2307/2346806, on tokens",
            can="infer",
            takes="spans",
        ),
        card(
            "hmm_crowd",
            "spans.methods:HMMCrowd",
            "spans",
            "a chain of labels and a confusion matrix of each worker, by EM",
            "Nguyen et al. 2017, doi:10.18653/v1/P17-1028",
            can="infer monotone",
            takes="spans",
        ),
        card(
            "bsc",
            "spans.methods:BSC",
            "spans",
            "a chain, and workers who also go by their own last label, by variational Bayes",
            "Simpson & Gurevych 2019, doi:10.18653/v1/D19-1101",
            can="infer monotone",
            takes="spans",
        ),
    ]
)
