"""Methods for probabilities."""

from __future__ import annotations

from ...core.card import Card, card

_TAKES = "probabilities"
METHODS: dict[str, Card] = dict(
    [
        card(
            "pooled_probabilities",
            "probabilities.methods:PooledProbabilities",
            _TAKES,
            "the mean of three dissimilar pools",
            "Stone 1961, doi:10.1214/aoms/1177704873",
            can="infer",
            takes=_TAKES,
        ),
        card(
            "mean_probability",
            "probabilities.methods:MeanProbability",
            _TAKES,
            "the mean of a task's probabilities",
            "folklore",
            can="infer",
            takes=_TAKES,
        ),
        card(
            "median_probability",
            "probabilities.methods:MedianProbability",
            _TAKES,
            "the median of a task's probabilities",
            "folklore",
            can="infer",
            takes=_TAKES,
        ),
        card(
            "extremized",
            "probabilities.methods:Extremized",
            _TAKES,
            "the mean of log odds, extremised away from 1/2",
            "Satopää et al. 2014, doi:10.1016/j.ijforecast.2013.09.009",
            can="infer",
            takes=_TAKES,
        ),
        card(
            "followed",
            "probabilities.methods:Followed",
            _TAKES,
            "log odds weighted by the worker's correlation with the others",
            "Budescu & Chen 2015, doi:10.1287/mnsc.2014.1909, without outcomes",
            can="infer",
            takes=_TAKES,
        ),
        card(
            "signals",
            "probabilities.methods:Signals",
            _TAKES,
            "each worker's shift, gap and spread in log odds, fitted by EM",
            "two classes of Gaussian signals, after Dawid & Skene 1979",
            can="infer monotone",
            takes=_TAKES,
        ),
    ]
)
