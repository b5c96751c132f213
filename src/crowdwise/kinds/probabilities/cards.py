"""Methods for probabilities."""

from __future__ import annotations

from functools import partial

from ...core.card import Card, kind_card

card = partial(kind_card, "probabilities")
METHODS: dict[str, Card] = dict(
    [
        card(
            "pooled_probabilities",
            "PooledProbabilities",
            "the mean of three dissimilar pools",
            "Stone 1961, doi:10.1214/aoms/1177704873",
            can="infer",
        ),
        card("mean_probability", "MeanProbability", "the mean of a task's probabilities", "folklore", can="infer"),
        card(
            "median_probability", "MedianProbability", "the median of a task's probabilities", "folklore", can="infer"
        ),
        card(
            "extremized",
            "Extremized",
            "the mean of log odds, extremised away from 1/2",
            "Satopää et al. 2014, doi:10.1016/j.ijforecast.2013.09.009",
            can="infer",
        ),
        card(
            "followed",
            "Followed",
            "log odds weighted by the worker's correlation with the others",
            "Budescu & Chen 2015, doi:10.1287/mnsc.2014.1909, without outcomes",
            can="infer",
        ),
        card(
            "signals",
            "Signals",
            "each worker's shift, gap and spread in log odds, fitted by EM",
            "two classes of Gaussian signals, after Dawid & Skene 1979",
            can="infer monotone",
        ),
    ]
)
