"""Methods for numbers."""

from __future__ import annotations

from functools import partial

from ...core.card import Card, kind_card

card = partial(kind_card, "numbers")
METHODS: dict[str, Card] = dict(
    [
        card(
            "combined",
            "Combined",
            "average of four dissimilar methods after clamping outliers",
            "Stone 1961, doi:10.1214/aoms/1177704873",
            can="interval",
        ),
        card("mean", "Mean", "the mean of a task's answers", "folklore", can="infer interval"),
        card("median", "Median", "the median of a task's answers", "folklore", can="infer"),
        card("trimmed_mean", "TrimmedMean", "the mean without the highest and lowest answers", "folklore", can="infer"),
        card(
            "biased_mean",
            "BiasedMean",
            "the mean of answers corrected for each worker's offset",
            "two-way additive model, folklore",
            can="infer interval",
        ),
        card(
            "gaussian",
            "Gaussian",
            "hierarchical model of each worker's bias and noise, fitted by EM",
            "Raykar et al. 2010, jmlr v11/raykar10a",
            can="infer interval monotone shard",
        ),
        card(
            "student",
            "Student",
            "gaussian with heavy-tailed noise, robust to outliers",
            "Lange, Little & Taylor 1989, doi:10.1080/01621459.1989.10478852",
            can="interval",
        ),
        card(
            "bayesian_iterative",
            "BayesianIterative",
            "workers with one of a few noise levels, by belief propagation",
            "Ok et al. 2019, pmlr v89/ok19a",
            can="interval",
        ),
        card(
            "spectral_regression",
            "SpectralRegression",
            "slopes from the covariance of the workers' answers",
            "Parisi et al. 2014, doi:10.1073/pnas.1219097111, for numbers",
            can="infer interval",
        ),
        card(
            "crh",
            "CRH",
            "answers weighted by the negative log of the worker's share of all errors",
            "Li et al. 2014, doi:10.1145/2588555.2610509",
            can="infer",
        ),
        card(
            "catd",
            "CATD",
            "conservative weights for workers with few answers",
            "Li et al. 2014, doi:10.14778/2735496.2735505",
            can="infer",
        ),
    ]
)
