"""Methods for numbers."""

from __future__ import annotations

from ...core.card import Card, card

METHODS: dict[str, Card] = dict(
    [
        card(
            "combined",
            "numbers.methods:Combined",
            "numbers",
            "average of four dissimilar methods after clamping outliers",
            "Stone 1961, doi:10.1214/aoms/1177704873",
            can="interval",
            takes="numbers",
        ),
        card(
            "mean",
            "numbers.methods:Mean",
            "numbers",
            "the mean of a task's answers",
            "folklore",
            can="infer interval",
            takes="numbers",
        ),
        card(
            "median",
            "numbers.methods:Median",
            "numbers",
            "the median of a task's answers",
            "folklore",
            can="infer",
            takes="numbers",
        ),
        card(
            "trimmed_mean",
            "numbers.methods:TrimmedMean",
            "numbers",
            "the mean without the highest and lowest answers",
            "folklore",
            can="infer",
            takes="numbers",
        ),
        card(
            "biased_mean",
            "numbers.methods:BiasedMean",
            "numbers",
            "the mean of answers corrected for each worker's offset",
            "two-way additive model, folklore",
            can="infer interval",
            takes="numbers",
        ),
        card(
            "gaussian",
            "numbers.methods:Gaussian",
            "numbers",
            "hierarchical model of each worker's bias and noise, fitted by EM",
            "Raykar et al. 2010, jmlr v11/raykar10a",
            can="infer interval monotone shard",
            takes="numbers",
        ),
        card(
            "student",
            "numbers.methods:Student",
            "numbers",
            "gaussian with heavy-tailed noise, robust to outliers",
            "Lange, Little & Taylor 1989, doi:10.1080/01621459.1989.10478852",
            can="interval",
            takes="numbers",
        ),
        card(
            "bayesian_iterative",
            "numbers.methods:BayesianIterative",
            "numbers",
            "workers with one of a few noise levels, by belief propagation",
            "Ok et al. 2019, pmlr v89/ok19a",
            can="interval",
            takes="numbers",
        ),
        card(
            "spectral_regression",
            "numbers.methods:SpectralRegression",
            "numbers",
            "slopes from the covariance of the workers' answers",
            "Parisi et al. 2014, doi:10.1073/pnas.1219097111, for numbers",
            can="infer interval",
            takes="numbers",
        ),
        card(
            "crh",
            "numbers.methods:CRH",
            "numbers",
            "answers weighted by the negative log of the worker's share of all errors",
            "Li et al. 2014, doi:10.1145/2588555.2610509",
            can="infer",
            takes="numbers",
        ),
        card(
            "catd",
            "numbers.methods:CATD",
            "numbers",
            "conservative weights for workers with few answers",
            "Li et al. 2014, doi:10.14778/2735496.2735505",
            can="infer",
            takes="numbers",
        ),
    ]
)
